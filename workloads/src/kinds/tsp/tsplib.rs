//! Reads the part of the TSPLIB format that describes cities in the plane (`EUC_2D`).
//!
//! G. Reinelt defines the format in "TSPLIB 95", Heidelberg 1995. A file has `KEYWORD: value`
//! lines, then `NODE_COORD_SECTION` with one `number x y` line for each city. The file ends after
//! these lines, or at `EOF`. Many files end the cities by `-1`, and have remarks behind the type
//! and behind a city.

use std::collections::HashMap;

use super::cities::MAX_COORDINATE;

/// Keywords that say nothing about distances.
const IGNORED: [&str; 4] = ["NAME", "COMMENT", "DISPLAY_DATA_TYPE", "CAPACITY"];

/// Keywords with one supported value.
const REQUIRED: [(&str, &str); 3] = [
    ("TYPE", "TSP"),
    ("EDGE_WEIGHT_TYPE", "EUC_2D"),
    ("NODE_COORD_TYPE", "TWOD_COORDS"),
];

/// A round trip needs three cities.
const MIN_CITIES: usize = 3;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub(super) struct TsplibError {
    /// The number of the line, from 1; for a missing part, the line before which that part belongs.
    line: usize,
    problem: String,
}

/// The longest part of a file that a message repeats, in characters.
const QUOTED: usize = 60;

/// Returns a part of a file for a message. Escapes control characters, because a terminal could
/// interpret them.
fn quoted(text: &str) -> String {
    let start = text.chars().take(QUOTED);
    let mut shown: String = start.flat_map(char::escape_debug).collect();
    if text.chars().nth(QUOTED).is_some() {
        shown.push('…');
    }
    shown
}

pub(super) type Point = (f64, f64);

pub(super) fn parse(text: &str) -> Result<Vec<Point>, TsplibError> {
    // Some editors put an invisible byte-order mark before the first keyword.
    let mut lines = Lines {
        rest: text.trim_start_matches('\u{feff}').lines().enumerate(),
        number: 1,
    };
    let dimension = parse_keywords(&mut lines)?;
    parse_cities(&mut lines, dimension)
}

struct Lines<'a> {
    rest: std::iter::Enumerate<std::str::Lines<'a>>,
    number: usize,
}

impl<'a> Lines<'a> {
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

    fn error(&self, problem: String) -> TsplibError {
        TsplibError {
            line: self.number,
            problem,
        }
    }
}

/// Parses everything up to `NODE_COORD_SECTION`; returns the number of cities.
fn parse_keywords(lines: &mut Lines<'_>) -> Result<usize, TsplibError> {
    let mut values: HashMap<&str, &str> = HashMap::new();
    let mut dimension = None;
    loop {
        let Some(line) = lines.next() else {
            return Err(lines
                .error("the file ends without NODE_COORD_SECTION, the list of cities".to_owned()));
        };
        if line.trim_end_matches([':', ' ']) == "NODE_COORD_SECTION" {
            break;
        }
        let Some((keyword, value)) = line.split_once(':') else {
            return Err(lines.error(format!(
                "`{}` is neither `KEYWORD: value` nor NODE_COORD_SECTION",
                quoted(line)
            )));
        };
        let (keyword, value) = (keyword.trim(), value.trim());
        if IGNORED.contains(&keyword) {
            continue; // COMMENT may come any number of times
        }
        if values.insert(keyword, value).is_some() {
            return Err(lines.error(format!(
                "`{}` for the second time; remove one of the two",
                quoted(keyword)
            )));
        }
        if let Some(&(keyword, supported)) = REQUIRED.iter().find(|(known, _)| *known == keyword) {
            // Old files have a remark in parentheses behind a value.
            let (value_alone, _) = value.split_once('(').unwrap_or((value, ""));
            if value_alone.trim_end() != supported {
                return Err(lines.error(format!(
                    "{keyword} `{}` is not supported; only {supported} is",
                    quoted(value)
                )));
            }
        } else if keyword == "DIMENSION" {
            let count = value
                .parse()
                .ok()
                .filter(|&count: &usize| count >= MIN_CITIES);
            dimension = Some(count.ok_or_else(|| {
                lines.error(format!(
                    "DIMENSION `{}` is not a whole number of cities, at least {MIN_CITIES}",
                    quoted(value)
                ))
            })?);
        } else {
            return Err(lines.error(format!(
                "keyword `{}` is not supported; known: DIMENSION, {}, {}",
                quoted(keyword),
                REQUIRED.map(|(keyword, _)| keyword).join(", "),
                IGNORED.join(", ")
            )));
        }
    }
    // A file without EDGE_WEIGHT_TYPE could mean any distance.
    let missing =
        |what: &str| lines.error(format!("{what} is missing; it belongs before the cities"));
    if !values.contains_key("EDGE_WEIGHT_TYPE") {
        return Err(missing("EDGE_WEIGHT_TYPE: EUC_2D"));
    }
    dimension.ok_or_else(|| missing("DIMENSION"))
}

fn parse_cities(lines: &mut Lines<'_>, dimension: usize) -> Result<Vec<Point>, TsplibError> {
    // A map and not an array, because a wrong, huge DIMENSION must not reserve memory.
    let mut cities: HashMap<usize, (usize, Point)> = HashMap::new();
    while let Some(line) = lines.next() {
        if line == "-1" {
            let Some(line) = lines.next() else { break };
            return Err(lines.error(format!(
                "`{}` behind the line `-1`, which ends the cities; remove the text if it changes nothing",
                quoted(line)
            )));
        }
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (number, x, y) = match fields[..] {
            [number, x, y] => (number, x, y),
            // A text behind the coordinates is a remark, but a number there would be a third
            // coordinate.
            [number, x, y, remark, ..] if remark.parse::<f64>().is_err() => (number, x, y),
            _ => {
                return Err(lines.error(format!(
                    "expected `number x y` of a city, found `{}`",
                    quoted(line)
                )));
            }
        };
        let Some(number) = number
            .parse()
            .ok()
            .filter(|number| (1..=dimension).contains(number))
        else {
            return Err(lines.error(format!(
                "city number `{}` is not a whole number from 1 to {dimension}, the DIMENSION",
                quoted(number)
            )));
        };
        let coordinate = |axis, value: &str| {
            let parsed = value
                .parse()
                .ok()
                .filter(|number: &f64| number.abs() <= MAX_COORDINATE);
            parsed.ok_or_else(|| {
                lines.error(format!(
                    "{axis} coordinate `{}` of city {number} is not a number from -1e9 to 1e9",
                    quoted(value)
                ))
            })
        };
        let point = (coordinate("x", x)?, coordinate("y", y)?);
        if let Some((first_line, _)) = cities.insert(number, (lines.number, point)) {
            return Err(lines.error(format!(
                "city {number} is already on line {first_line}; give each city its own number"
            )));
        }
    }
    if cities.len() < dimension {
        return Err(lines.error(format!(
            "{} cities, but DIMENSION is {dimension}; add the missing cities or correct DIMENSION",
            cities.len()
        )));
    }
    Ok((1..=dimension).map(|number| cities[&number].1).collect())
}

#[cfg(test)]
mod tests;
