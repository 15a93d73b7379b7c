//! Files as they should be, and every way in which they are not.

use proptest::prelude::*;

use super::*;
use crate::counted::peak_bytes;
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
fn a_good_file_gives_its_cities_in_the_order_of_their_numbers() {
    let cities = Cities::new(parse(GOOD).unwrap());
    assert_eq!(cities.len(), 4);
    assert_eq!(cities.round_trip_length(&[0, 1, 2, 3]), Some(40));
}

#[test]
fn the_end_mark_may_be_missing_and_lines_may_end_as_in_windows() {
    let without = GOOD.split("EOF").next().unwrap();
    assert_eq!(parse(without).unwrap().len(), 4);
    assert_eq!(parse(&GOOD.replace('\n', "\r\n")).unwrap().len(), 4);
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_keyword() {
    assert_eq!(parse(&format!("\u{feff}{GOOD}")).unwrap().len(), 4);
}

#[test]
fn another_kind_of_distance_is_refused_with_its_line() {
    let error = error_with("EUC_2D", "GEO");
    assert_eq!(
        error,
        "line 6: EDGE_WEIGHT_TYPE `GEO` is not supported; only EUC_2D is"
    );
    assert!(error_with("TYPE: TSP", "TYPE: CVRP").starts_with("line 4: TYPE `CVRP`"));
}

#[test]
fn wrong_keywords_are_refused_with_their_line() {
    assert!(error_with("NAME : square", "NAME square").starts_with("line 1: `NAME square`"));
    assert!(error_with("NAME :", "FIXED_EDGES:").contains("`FIXED_EDGES` is not supported"));
    assert!(error_with("NAME : square", "TYPE: TSP").contains("line 4: `TYPE` for the second"));
}

#[test]
fn a_wrong_or_missing_dimension_is_refused() {
    assert!(error_with(": 4", ": four").starts_with("line 5: DIMENSION `four`"));
    assert!(error_with(": 4", ": 2").contains("at least 3"));
    assert!(error_with("DIMENSION : 4\n", "").contains("line 6: DIMENSION is missing"));
    assert!(
        error_with("EDGE_WEIGHT_TYPE : EUC_2D\n", "")
            .contains("EDGE_WEIGHT_TYPE: EUC_2D is missing")
    );
}

#[test]
fn a_wrong_number_of_cities_is_refused() {
    let few = error_with(": 4", ": 5");
    assert!(
        few.starts_with("line 13: 4 cities, but DIMENSION is 5"),
        "{few}"
    );
    let many = error_with(": 4", ": 3");
    assert!(
        many.starts_with("line 12: city number `4` is not"),
        "{many}"
    );
    assert!(error_with("NODE_COORD_SECTION", "EOF").contains("without NODE_COORD_SECTION"));
    assert!(
        parse("")
            .unwrap_err()
            .to_string()
            .starts_with("line 1: the file ends")
    );
}

#[test]
fn a_city_twice_names_both_lines() {
    let error = error_with("2 10 0", "3 10 0");
    assert_eq!(
        error,
        "line 10: city 3 is already on line 9; give each city its own number"
    );
}

#[test]
fn coordinates_that_are_no_place_are_refused() {
    for bad in ["ten", "NaN", "inf", "-inf", "1e10", "1,5"] {
        let error = error_with("2 10 0", &format!("2 {bad} 0"));
        assert!(
            error.starts_with(&format!("line 10: x coordinate `{bad}` of city 2")),
            "{error}"
        );
    }
    assert!(error_with("2 10 0", "2 10 y").contains("y coordinate `y` of city 2"));
    assert!(error_with("2 10 0", "2 10").contains("line 10: expected `number x y`"));
    assert!(error_with("2 10 0", "two 10 0").contains("city number `two`"));
}

#[test]
fn remarks_behind_a_type_and_a_city_are_passed_over_and_another_number_is_not() {
    let read = |from: &str, to: &str| {
        let cities = Cities::new(parse(&GOOD.replacen(from, to, 1)).unwrap());
        assert_eq!(cities.round_trip_length(&[0, 1, 2, 3]), Some(40), "{to}");
    };
    read("TYPE: TSP", "TYPE: TSP (Somebody)");
    read("TYPE : EUC_2D", "TYPE : EUC_2D(in the plane)");
    read("1 0 0", "1 0 0 # depot");
    read("1 0 0", "1 0 0 depot of 3");
    assert!(error_with("1 0 0", "1 0 0 5").contains("line 8: expected `number x y`"));
    assert!(error_with("TYPE: TSP", "TYPE: ATSP (TSP)").contains("TYPE `ATSP (TSP)`"));
}

#[test]
fn cities_may_end_with_minus_one_and_what_comes_behind_is_refused() {
    assert_eq!(parse(&GOOD.replacen("EOF", "-1\nEOF", 1)).unwrap().len(), 4);
    assert_eq!(
        parse(
            GOOD.replacen("EOF", "-1\n\0", 1)
                .split('\0')
                .next()
                .unwrap()
        )
        .unwrap()
        .len(),
        4
    );
    let error = error_with("EOF", "-1\nFIXED_EDGES_SECTION\nEOF");
    assert!(
        error.starts_with("line 14: `FIXED_EDGES_SECTION` behind the line `-1`"),
        "{error}"
    );
    assert!(error_with("3 1e1", "-1\n3 1e1").contains("line 10: `3 1e1 10.0` behind"));
}

#[test]
fn a_message_shows_bytes_of_a_file_that_a_terminal_would_obey() {
    let nul = error_with("2 10 0", "2 10\0 0");
    assert!(nul.contains("x coordinate `10\\u{0}` of city 2"), "{nul}");
    for part in [
        "NAME : square",
        "DIMENSION : 4",
        "EUC_2D",
        "1 0 0",
        "TYPE: TSP",
    ] {
        let error = error_with(part, "\u{1b}[2J\u{7}\u{9b}: \u{1b}[31m");
        assert!(!error.contains(char::is_control), "{error:?}");
    }
}

#[test]
fn a_message_repeats_no_more_of_a_file_than_fits_a_line() {
    let error = parse(&"x".repeat(100_000)).unwrap_err().to_string();
    assert!(error.len() < 200 && error.contains("xxx…`"), "{error}");
}

/// Reads whatever it is: no panic, and no more memory than the text is worth. A city of six bytes
/// takes a place of 40 bytes in a table that doubles.
fn survives(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (_, peak) = peak_bytes(|| parse(&text).map_err(|error| error.to_string()));
    let bound = 40 * text.len() + 4_096;
    assert!(
        peak <= bound,
        "{peak} bytes for a text of {}: {text:?}",
        text.len()
    );
}

/// Lines as files have them, some with numbers that lie.
fn lines() -> impl Strategy<Value = Vec<u8>> {
    let line = "(TYPE: TSP|DIMENSION: [0-9]{1,20}|EDGE_WEIGHT_TYPE: EUC_2D\
        |NODE_COORD_SECTION|EOF|[0-9]{1,20} [0-9.e-]{1,5} [0-9.eE+]{1,5}|.{0,10})";
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n").into_bytes())
}

/// A good file of so many cities, damaged in some places: bytes overwritten, cut out, put in twice.
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
    fn no_bytes_make_the_parser_panic_or_take_memory(
        bytes in prop::collection::vec(any::<u8>(), 0..400)
    ) {
        survives(&bytes);
    }

    #[test]
    fn no_lines_make_the_parser_panic_or_take_memory(bytes in lines()) {
        survives(&bytes);
    }

    #[test]
    fn no_damaged_file_makes_the_parser_panic_or_take_memory(bytes in damaged()) {
        survives(&bytes);
    }
}
