//! Texts for people: messages on standard error, counted nouns (`1 trial`, `2 trials`), and times.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, SystemTime};

use console::Term;

use crate::text::output::{plain, wrapped};

/// Prints a message on standard error, in lines that fit the terminal. Quoted parts are printed as
/// `plain` text.
pub fn tell(text: &str) {
    let text = &plain(text);
    let columns = if std::io::stderr().is_terminal() {
        Term::stderr().size_checked()
    } else {
        None
    };
    let text = columns.map_or_else(|| text.clone(), |(_, width)| fitting(text, width.into()));
    // An error is ignored: a closed standard error must not end a sweep, since measurements are
    // worth more than messages.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

fn fitting(text: &str, columns: usize) -> String {
    text.split('\n')
        .map(|line| wrapped(line, columns, "  "))
        .collect::<Vec<_>>()
        .join("\n")
}

pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Returns a moment in the form of records: RFC 3339, UTC.
pub(crate) fn moment(at: SystemTime) -> String {
    humantime::format_rfc3339_nanos(at).to_string()
}

/// Returns a time in the form for people: `45 s`, `4 min 5 s`, `2 h 10 min`.
pub(crate) fn human(time: Duration) -> String {
    let seconds = (time + Duration::from_millis(500)).as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_fits_a_terminal_and_keeps_its_lines() {
        let text = "error: a word and another\n  and one below\nand/a/path/that/cannot/be/broken";
        assert_eq!(
            fitting(text, 20),
            "error: a word and\n  another\n  and one below\nand/a/path/that/cannot/be/broken"
        );
    }
}
