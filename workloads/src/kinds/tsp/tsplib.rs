//! Reads the part of the TSPLIB format that describes cities in the plane (`EUC_2D`).
//!
//! Format: G. Reinelt, "TSPLIB 95", Heidelberg 1995: `KEYWORD: value` lines, then
//! `NODE_COORD_SECTION` with one `number x y` line a city, then `EOF` or the end of the file.

use std::collections::HashMap;

use super::cities::{Cities, MAX_COORDINATE};

/// Keywords that say nothing about distances.
const IGNORED: [&str; 4] = ["NAME", "COMMENT", "DISPLAY_DATA_TYPE", "CAPACITY"];

/// Keywords, all values of which but one mean another problem than ours.
const REQUIRED: [(&str, &str); 3] =
    [("TYPE", "TSP"), ("EDGE_WEIGHT_TYPE", "EUC_2D"), ("NODE_COORD_TYPE", "TWOD_COORDS")];

/// A round trip needs three cities.
const MIN_CITIES: usize = 3;

/// Why a text is no instance that we can use.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct TsplibError {
    /// One-based line; for something missing, the line in which it was missed.
    pub line: usize,
    /// What is wrong there.
    pub problem: Problem,
}

/// What can be wrong with an instance file, with its remedy.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Problem {
    /// A line before the cities that is no `KEYWORD: value`.
    #[error("`{0}` is neither `KEYWORD: value` nor NODE_COORD_SECTION")]
    NoKeyword(String),
    /// A keyword that may change what the file means.
    #[error(
        "keyword `{0}` is not supported; known: DIMENSION, {required}, {ignored}",
        required = REQUIRED.map(|(keyword, _)| keyword).join(", "),
        ignored = IGNORED.join(", ")
    )]
    UnknownKeyword(String),
    /// A keyword or section that occurs again.
    #[error("`{0}` for the second time; remove one of the two")]
    Repeated(String),
    /// A keyword with another value than the only supported one.
    #[error("{keyword} `{value}` is not supported; only {supported} is")]
    Unsupported {
        /// The keyword.
        keyword: &'static str,
        /// Its value in the file.
        value: String,
        /// The supported value.
        supported: &'static str,
    },
    /// DIMENSION is no number of cities.
    #[error("DIMENSION `{0}` is not a whole number of cities, at least {MIN_CITIES}")]
    Dimension(String),
    /// Something without which the cities mean nothing.
    #[error("{0} is missing; it belongs before the cities")]
    Missing(&'static str),
    /// The file has no cities.
    #[error("the file ends without NODE_COORD_SECTION, the list of cities")]
    NoCities,
    /// A line of a city that has not three fields.
    #[error("expected `number x y` of a city, found `{0}`")]
    Fields(String),
    /// A city's number that is none.
    #[error("city number `{number}` is not a whole number from 1 to {dimension}, the DIMENSION")]
    Number {
        /// The field as written.
        number: String,
        /// How many cities there are.
        dimension: usize,
    },
    /// A city's number for the second time.
    #[error("city {number} is already on line {first_line}; give each city its own number")]
    Duplicate {
        /// The city's number.
        number: usize,
        /// Where it is first.
        first_line: usize,
    },
    /// A coordinate that is no place on a map.
    #[error("{axis} coordinate `{value}` of city {number} is not a number from -1e9 to 1e9")]
    Coordinate {
        /// `x` or `y`.
        axis: &'static str,
        /// The field as written.
        value: String,
        /// The city's number.
        number: usize,
    },
    /// Fewer cities than announced.
    #[error(
        "{found} cities, but DIMENSION is {dimension}; add the missing ones or correct DIMENSION"
    )]
    TooFew {
        /// Cities in the file.
        found: usize,
        /// Cities announced.
        dimension: usize,
    },
}

/// The cities of an instance, in the order of their numbers.
///
/// # Errors
/// At the first line that is wrong.
pub(super) fn parse(text: &str) -> Result<Cities, TsplibError> {
    // Some editors put a byte-order mark first, which nobody sees in a message about the first keyword.
    let mut lines = Lines::new(text.trim_start_matches('\u{feff}'));
    let dimension = parse_keywords(&mut lines)?;
    parse_cities(&mut lines, dimension)
}

/// Non-empty lines with their numbers, up to `EOF`.
struct Lines<'a> {
    rest: std::iter::Enumerate<std::str::Lines<'a>>,
    /// One-based number of the last line read.
    number: usize,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        Self { rest: text.lines().enumerate(), number: 1 }
    }

    fn next(&mut self) -> Option<&'a str> {
        loop {
            let (index, line) = self.rest.next()?;
            self.number = index + 1;
            match line.trim() {
                "" => {}
                "EOF" => return None,
                line => return Some(line),
            }
        }
    }

    fn error(&self, problem: Problem) -> TsplibError {
        TsplibError { line: self.number, problem }
    }
}

/// Everything up to `NODE_COORD_SECTION`; returns the number of cities.
fn parse_keywords(lines: &mut Lines<'_>) -> Result<usize, TsplibError> {
    let mut values: HashMap<&str, &str> = HashMap::new();
    let mut dimension = None;
    loop {
        let Some(line) = lines.next() else {
            return Err(lines.error(Problem::NoCities));
        };
        if line.trim_end_matches([':', ' ']) == "NODE_COORD_SECTION" {
            break;
        }
        let Some((keyword, value)) = line.split_once(':') else {
            return Err(lines.error(Problem::NoKeyword(line.to_owned())));
        };
        let (keyword, value) = (keyword.trim(), value.trim());
        if IGNORED.contains(&keyword) {
            continue; // COMMENT may come any number of times
        }
        if values.insert(keyword, value).is_some() {
            return Err(lines.error(Problem::Repeated(keyword.to_owned())));
        }
        if let Some(&(keyword, supported)) = REQUIRED.iter().find(|(known, _)| *known == keyword) {
            if value != supported {
                let value = value.to_owned();
                return Err(lines.error(Problem::Unsupported { keyword, value, supported }));
            }
        } else if keyword == "DIMENSION" {
            let count = value.parse().ok().filter(|&count: &usize| count >= MIN_CITIES);
            dimension =
                Some(count.ok_or_else(|| lines.error(Problem::Dimension(value.to_owned())))?);
        } else {
            return Err(lines.error(Problem::UnknownKeyword(keyword.to_owned())));
        }
    }
    // A file without EDGE_WEIGHT_TYPE could mean any distance; a missing TYPE can only mean a TSP
    // here.
    if !values.contains_key("EDGE_WEIGHT_TYPE") {
        return Err(lines.error(Problem::Missing("EDGE_WEIGHT_TYPE: EUC_2D")));
    }
    dimension.ok_or_else(|| lines.error(Problem::Missing("DIMENSION")))
}

/// The lines after `NODE_COORD_SECTION`.
fn parse_cities(lines: &mut Lines<'_>, dimension: usize) -> Result<Cities, TsplibError> {
    // By number, with the line: a wild DIMENSION must not reserve memory.
    let mut cities: HashMap<usize, (usize, (f64, f64))> = HashMap::new();
    while let Some(line) = lines.next() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [number, x, y] = fields[..] else {
            return Err(lines.error(Problem::Fields(line.to_owned())));
        };
        let Some(number) = number.parse().ok().filter(|number| (1..=dimension).contains(number))
        else {
            let number = number.to_owned();
            return Err(lines.error(Problem::Number { number, dimension }));
        };
        let coordinate = |axis, value: &str| {
            let parsed = value.parse().ok().filter(|number: &f64| number.abs() <= MAX_COORDINATE);
            parsed.ok_or_else(|| {
                let value = value.to_owned();
                lines.error(Problem::Coordinate { axis, value, number })
            })
        };
        let point = (coordinate("x", x)?, coordinate("y", y)?);
        if let Some((first_line, _)) = cities.insert(number, (lines.number, point)) {
            return Err(lines.error(Problem::Duplicate { number, first_line }));
        }
    }
    if cities.len() < dimension {
        return Err(lines.error(Problem::TooFew { found: cities.len(), dimension }));
    }
    Ok(Cities::new((1..=dimension).map(|number| cities[&number].1).collect()))
}

#[cfg(test)]
mod tests {
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

    /// The error of a good file in which `from` is replaced by `to`.
    fn error_with(from: &str, to: &str) -> String {
        let text = GOOD.replacen(from, to, 1);
        assert_ne!(text, GOOD, "nothing was replaced");
        parse(&text).map(|_| ()).expect_err("the file is broken").to_string()
    }

    #[test]
    fn a_good_file_gives_its_cities_in_the_order_of_their_numbers() {
        let cities = parse(GOOD).unwrap();
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
        assert_eq!(error, "line 6: EDGE_WEIGHT_TYPE `GEO` is not supported; only EUC_2D is");
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
        assert!(few.starts_with("line 13: 4 cities, but DIMENSION is 5"), "{few}");
        let many = error_with(": 4", ": 3");
        assert!(many.starts_with("line 12: city number `4` is not"), "{many}");
        assert!(error_with("NODE_COORD_SECTION", "EOF").contains("without NODE_COORD_SECTION"));
        assert!(parse("").unwrap_err().to_string().starts_with("line 1: the file ends"));
    }

    #[test]
    fn a_city_twice_names_both_lines() {
        let error = error_with("2 10 0", "3 10 0");
        assert_eq!(error, "line 10: city 3 is already on line 9; give each city its own number");
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

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(
            lines in prop::collection::vec("(TYPE: TSP|DIMENSION: [0-9]{1,20}|EDGE_WEIGHT_TYPE: EUC_2D\
                |NODE_COORD_SECTION|EOF|[0-9]{1,20} [0-9.e-]{1,5} [0-9.eE+]{1,5}|.{0,10})", 0..12)
        ) {
            let _ = parse(&lines.join("\n"));
        }
    }
}
