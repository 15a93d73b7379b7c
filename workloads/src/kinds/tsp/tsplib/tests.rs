use proptest::prelude::*;

use super::*;

const GOOD: &str = "\
NAME : square
COMMENT: first
COMMENT: second: with a colon
TYPE: TSP
DIMENSION : 4
EDGE_WEIGHT_TYPE : EUC_2D
NODE_COORD_SECTION
1 0 0
3 1e1 10.0
2 10 0

4   0   +10
EOF
anything after the end
";

fn with(from: &str, to: &str) -> String {
    let text = GOOD.replacen(from, to, 1);
    assert_ne!(text, GOOD, "nothing was replaced");
    text
}

#[test]
fn a_good_file_gives_its_cities_by_number_with_ends_lines_and_remarks_as_others_write_them() {
    for text in [
        GOOD.to_owned(),
        GOOD.split("EOF").next().unwrap().to_owned(),
        GOOD.replace('\n', "\r\n"),
        format!("\u{feff}{GOOD}"),
        with("EOF", "-1\nEOF"),
        with("TYPE: TSP", "TYPE: TSP (Somebody)"),
        with("TYPE : EUC_2D", "TYPE : EUC_2D(in the plane)"),
        with("1 0 0", "1 0 0 depot of 3"),
    ] {
        let square = [(0.0, 0.0), (10.0, 0.0), (10.0, 10.0), (0.0, 10.0)];
        assert_eq!(parse(&text).unwrap(), square, "{text}");
    }
}

#[test]
fn a_fault_is_named_with_its_line_and_value() {
    for (from, to, expected) in [
        (
            "EUC_2D",
            "GEO",
            "line 6: EDGE_WEIGHT_TYPE `GEO` is not supported; only EUC_2D is",
        ),
        ("TYPE: TSP", "TYPE: ATSP (TSP)", "TYPE `ATSP (TSP)`"),
        ("NAME : square", "NAME square", "line 1: `NAME square`"),
        ("NAME :", "FIXED_EDGES:", "`FIXED_EDGES` is not supported"),
        (
            "NAME : square",
            "TYPE: TSP",
            "line 4: `TYPE` for the second",
        ),
        (": 4", ": 2", "line 5: DIMENSION `2` is not"),
        ("DIMENSION : 4\n", "", "line 6: DIMENSION is missing"),
        (
            "EDGE_WEIGHT_TYPE : EUC_2D\n",
            "",
            "EDGE_WEIGHT_TYPE: EUC_2D is missing",
        ),
        (": 4", ": 5", "line 13: 4 cities, but DIMENSION is 5"),
        (": 4", ": 3", "line 12: city number `4` is not"),
        ("NODE_COORD_SECTION", "EOF", "without NODE_COORD_SECTION"),
        ("2 10 0", "3 10 0", "line 10: city 3 is already on line 9"),
        ("2 10 0", "2 10 y", "y coordinate `y` of city 2"),
        ("2 10 0", "2 NaN 0", "line 10: x coordinate `NaN` of city 2"),
        ("2 10 0", "2 1e10 0", "line 10: x coordinate `1e10` of"),
        ("2 10 0", "2 10", "line 10: expected `number x y`"),
        ("1 0 0", "1 0 0 5", "line 8: expected `number x y`"),
        ("3 1e1", "-1\n3 1e1", "line 10: `3 1e1 10.0` behind"),
        // The message escapes the null character, so that a terminal does not interpret it.
        ("2 10 0", "2 10\0 0", "x coordinate `10\\0` of city 2"),
    ] {
        let error = parse(&with(from, to)).expect_err(to).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_message_repeats_no_more_of_a_file_than_fits_a_line_and_nothing_that_a_terminal_obeys() {
    for part in ["NAME : square", "DIMENSION : 4", "EUC_2D", "1 0 0"] {
        let text = with(part, "\u{1b}[2J\u{7}\u{9b}: \u{1b}[31m");
        let error = parse(&text).unwrap_err().to_string();
        assert!(!error.contains(char::is_control), "{error:?}");
    }
    let error = parse(&"x".repeat(100_000)).unwrap_err().to_string();
    assert!(error.len() < 200 && error.contains("xxx…`"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 5 } else { 400 }))]

    #[test]
    fn no_text_makes_the_parser_panic(
        damages in prop::collection::vec(
            (any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<Vec<u8>>()), 0..6
        )
    ) {
        let mut bytes = GOOD.as_bytes().to_vec();
        for (from, to, new) in damages {
            let (from, to) = (from.index(bytes.len() + 1), to.index(bytes.len() + 1));
            bytes.splice(from.min(to)..from.max(to), new);
        }
        let _ = parse(&String::from_utf8_lossy(&bytes));
    }
}
