//! Translates positions in copied sources to positions that people know: the file in the original
//! crate, and the function.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use protocol::Simulated;
use syn::spanned::Spanned;
use syn::{ImplItem, Item, ItemImpl, Type};

use super::FOLDER;

type Functions = Vec<(Range<usize>, String)>;

/// The functions of files that were looked up: a sweep looks up the same few again and again.
static KNOWN: Mutex<BTreeMap<PathBuf, Functions>> = Mutex::new(BTreeMap::new());

/// Translates the positions in `simulated` by `shown`, and adds their functions. `root` is the
/// checkout, and `target` the folder of the copies.
pub(crate) fn named(mut simulated: Simulated, root: &Path, target: &Path) -> Simulated {
    for wait in &mut simulated.waits {
        let written_at = wait
            .written_at
            .iter_mut()
            .filter(|place| !place.starts_with('('));
        for place in std::iter::once(&mut wait.at).chain(written_at) {
            let name = function(place, root, target);
            *place = shown(place) + &name.map_or(String::new(), |name| format!(" ({name})"));
        }
    }
    simulated
}

/// Returns the text with the copies' paths replaced by paths that begin with the crate.
pub(crate) fn shown(text: &str) -> String {
    let folder = format!("{FOLDER}/");
    let mut parts = text.split(&folder);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |shown, part| {
        shown + part.split_once('/').map_or(part, |(_, rest)| rest)
    })
}

fn function(place: &str, root: &Path, target: &Path) -> Option<String> {
    let mut parts = place.rsplitn(3, ':');
    let (_, line, file) = (
        parts.next()?,
        parts.next()?.parse::<usize>().ok()?,
        parts.next()?,
    );
    let folder = if Path::new(file).starts_with(FOLDER) {
        target
    } else {
        root
    };
    let file = folder.join(file);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let functions = known.entry(file).or_insert_with_key(|file| functions(file));
    functions
        .iter()
        .find(|(lines, _)| lines.contains(&line))
        .map(|(_, name)| name.clone())
}

fn functions(file: &Path) -> Functions {
    let text = fs::read_to_string(file).unwrap_or_default();
    let Ok(source) = syn::parse_file(&text) else {
        return Functions::new();
    };
    let line = |at: usize| 1 + text[..at].matches('\n').count();
    let lines = |item: &dyn Spanned| {
        let place = item.span().byte_range();
        line(place.start)..line(place.end) + 1
    };
    let mut functions = Functions::new();
    for item in &source.items {
        match item {
            Item::Fn(it) => functions.push((lines(item), it.sig.ident.to_string())),
            Item::Impl(block) => {
                let block_name = name(block);
                for member in &block.items {
                    if let ImplItem::Fn(it) = member {
                        functions.push((lines(member), format!("{block_name}{}", it.sig.ident)));
                    }
                }
            }
            _ => {}
        }
    }
    functions
}

/// `Type::` or `impl Trait for Type / `, without paths and parameters.
fn name(block: &ItemImpl) -> String {
    let kind = match &*block.self_ty {
        Type::Path(it) => it.path.segments.last(),
        _ => None,
    };
    let kind = kind.map(|it| it.ident.to_string()).unwrap_or_default();
    let of = block.trait_.as_ref().and_then(|it| it.0.segments.last());
    match of {
        Some(of) => format!("impl {} for {kind} / ", of.ident),
        None => format!("{kind}::"),
    }
}

#[cfg(test)]
mod tests {
    use protocol::LineWait;

    use super::*;
    use crate::system::testing::MockRoot;

    #[test]
    fn a_place_is_reported_by_the_crates_own_file_and_the_function() {
        let source = "struct Pool;\n\nimpl Pool {\n    fn wake() {\n    }\n}\n";
        let mock = MockRoot::new(&[(&format!("{FOLDER}/0123/pool/src/lib.rs"), source)]);
        let target = mock.host().path("");
        let at = |line| format!("{FOLDER}/0123/pool/src/lib.rs:{line}:9");
        let wait = |at| LineWait {
            at,
            written_at: None,
            transfers: 1,
            waited_ns: 1,
        };
        let waits = vec![
            wait(at(4)),
            wait(at(1)),
            wait("elsewhere.rs:1:1".to_owned()),
        ];
        let simulated = Simulated {
            accesses: 0,
            spent_ns: BTreeMap::new(),
            waits,
        };
        let told = named(simulated, &target, &target).waits;
        assert_eq!(
            told.iter().map(|wait| wait.at.as_str()).collect::<Vec<_>>(),
            [
                "pool/src/lib.rs:4:9 (Pool::wake)",
                "pool/src/lib.rs:1:9",
                "elsewhere.rs:1:1"
            ]
        );
    }

    #[test]
    fn messages_tell_the_files_of_the_crate() {
        assert_eq!(
            shown(" --> rewritten/registry/a-1.0.0/src/b.rs:1:2 and rewritten/01/c/d.rs"),
            " --> a-1.0.0/src/b.rs:1:2 and c/d.rs"
        );
    }
}
