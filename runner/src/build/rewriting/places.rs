//! Translates positions in copied sources to positions in the original crate.

use protocol::Simulated;

use super::FOLDER;

pub(crate) fn named(mut simulated: Simulated) -> Simulated {
    for wait in &mut simulated.waits {
        for place in std::iter::once(&mut wait.at).chain(&mut wait.written_at) {
            *place = shown(place);
        }
    }
    simulated
}

pub(crate) fn shown(text: &str) -> String {
    let folder = format!("{FOLDER}/");
    let mut parts = text.split(&folder);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |shown, part| {
        shown + part.split_once('/').map_or(part, |(_, rest)| rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_tell_the_files_of_the_crate() {
        assert_eq!(
            shown(" --> rewritten/registry/a-1.0.0/src/b.rs:1:2 and rewritten/01/c/d.rs"),
            " --> a-1.0.0/src/b.rs:1:2 and c/d.rs"
        );
    }
}
