//! Valid files, and every kind of invalid file.

use proptest::prelude::*;

use super::*;
use crate::kinds::tsp::cities::Cities;

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

/// The error of a good file in which `from` is replaced by `to`.
fn error_with(from: &str, to: &str) -> String {
    let text = GOOD.replacen(from, to, 1);
    assert_ne!(text, GOOD, "nothing was replaced");
    parse(&text)
        .map(|_| ())
        .expect_err("the file is broken")
        .to_string()
}

#[test]
fn a_good_file_gives_its_cities_by_number_with_ends_lines_and_remarks_as_others_write_them() {
    let with = |from: &str, to: &str| GOOD.replacen(from, to, 1);
    for text in [
        GOOD.to_owned(),
        GOOD.split("EOF").next().unwrap().to_owned(),
        GOOD.replace('\n', "\r\n"),
        // A byte-order mark is no part of the first keyword.
        format!("\u{feff}{GOOD}"),
        with("EOF", "-1\nEOF"),
        with("EOF\nanything after the end\n", "-1\n"),
        with("TYPE: TSP", "TYPE: TSP (Somebody)"),
        with("TYPE : EUC_2D", "TYPE : EUC_2D(in the plane)"),
        with("1 0 0", "1 0 0 # depot"),
        with("1 0 0", "1 0 0 depot of 3"),
    ] {
        let cities = Cities::new(parse(&text).unwrap());
        assert_eq!(cities.round_trip_length(&[0, 1, 2, 3]), Some(40), "{text}");
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
        ("TYPE: TSP", "TYPE: CVRP", "line 4: TYPE `CVRP`"),
        ("TYPE: TSP", "TYPE: ATSP (TSP)", "TYPE `ATSP (TSP)`"),
        ("NAME : square", "NAME square", "line 1: `NAME square`"),
        ("NAME :", "FIXED_EDGES:", "`FIXED_EDGES` is not supported"),
        (
            "NAME : square",
            "TYPE: TSP",
            "line 4: `TYPE` for the second",
        ),
        (": 4", ": four", "line 5: DIMENSION `four`"),
        (": 4", ": 2", "at least 3"),
        ("DIMENSION : 4\n", "", "line 6: DIMENSION is missing"),
        (
            "EDGE_WEIGHT_TYPE : EUC_2D\n",
            "",
            "EDGE_WEIGHT_TYPE: EUC_2D is missing",
        ),
        (
            ": 4",
            ": 5",
            "line 13: 4 cities, but DIMENSION is 5; add the missing ones",
        ),
        (": 4", ": 3", "line 12: city number `4` is not"),
        ("NODE_COORD_SECTION", "EOF", "without NODE_COORD_SECTION"),
        (
            "2 10 0",
            "3 10 0",
            "line 10: city 3 is already on line 9; give each city its own number",
        ),
        ("2 10 0", "2 10 y", "y coordinate `y` of city 2"),
        ("2 10 0", "2 10", "line 10: expected `number x y`"),
        ("2 10 0", "two 10 0", "city number `two`"),
        ("1 0 0", "1 0 0 5", "line 8: expected `number x y`"),
        (
            "EOF",
            "-1\nFIXED_EDGES_SECTION\nEOF",
            "line 14: `FIXED_EDGES_SECTION` behind the line `-1`",
        ),
        ("3 1e1", "-1\n3 1e1", "line 10: `3 1e1 10.0` behind"),
        // Escaped, so that a terminal does not interpret it.
        ("2 10 0", "2 10\0 0", "x coordinate `10\\u{0}` of city 2"),
    ] {
        let error = error_with(from, to);
        assert!(error.contains(expected), "{error}");
    }
    for bad in ["ten", "NaN", "inf", "-inf", "1e10", "1,5"] {
        let error = error_with("2 10 0", &format!("2 {bad} 0"));
        assert!(
            error.starts_with(&format!("line 10: x coordinate `{bad}` of city 2")),
            "{error}"
        );
    }
    let empty = parse("").unwrap_err().to_string();
    assert!(empty.starts_with("line 1: the file ends"), "{empty}");
}

#[test]
fn a_message_repeats_no_more_of_a_file_than_fits_a_line_and_nothing_that_a_terminal_obeys() {
    for part in ["NAME : square", "DIMENSION : 4", "EUC_2D", "1 0 0"] {
        let error = error_with(part, "\u{1b}[2J\u{7}\u{9b}: \u{1b}[31m");
        assert!(!error.contains(char::is_control), "{error:?}");
    }
    let error = parse(&"x".repeat(100_000)).unwrap_err().to_string();
    assert!(error.len() < 200 && error.contains("xxx…`"), "{error}");
}

/// Lines as files have them, some with wrong numbers.
fn lines() -> impl Strategy<Value = Vec<u8>> {
    let line = "(TYPE: TSP|DIMENSION: [0-9]{1,20}|EDGE_WEIGHT_TYPE: EUC_2D\
        |NODE_COORD_SECTION|EOF|[0-9]{1,20} [0-9.e-]{1,5} [0-9.eE+]{1,5}|.{0,10})";
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n").into_bytes())
}

/// A valid file, damaged in some places: bytes are overwritten, removed or repeated.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let damage = (
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        0..4,
        any::<u8>(),
    );
    (3..200_usize, prop::collection::vec(damage, 0..6)).prop_map(|(cities, damages)| {
        let cities: Vec<String> = (1..=cities).map(|n| format!("{n} {n} {n}\n")).collect();
        let header = "TYPE: TSP\nDIMENSION: 100\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n";
        let mut bytes = [header, &cities.concat()].concat().into_bytes();
        for (from, to, kind, byte) in damages {
            let (from, to) = (from.index(bytes.len()), to.index(bytes.len()));
            match kind {
                0 => bytes[from] = byte,
                1 => bytes.truncate(from + 1),
                2 => drop(bytes.drain(from.min(to)..from.max(to))),
                _ => {
                    let again = bytes[from.min(to)..from.max(to)].to_vec();
                    bytes.splice(from..from, again);
                }
            }
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 5 } else { 400 }))]

    #[test]
    fn no_text_makes_the_parser_panic(
        bytes in prop_oneof![prop::collection::vec(any::<u8>(), 0..400), lines(), damaged()]
    ) {
        let _ = parse(&String::from_utf8_lossy(&bytes)).map_err(|error| error.to_string());
    }
}
