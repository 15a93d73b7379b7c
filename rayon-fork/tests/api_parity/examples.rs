//! Finds the items that no example shows, in rustdoc's JSON of a crate.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// The public types, functions and methods whose documentation has no example that runs.
///
/// Implementations of traits are left out: the trait documents them.
pub(crate) fn items_without(document: &Value) -> BTreeSet<String> {
    let index = document["index"]
        .as_object()
        .expect("rustdoc's JSON has an index");
    let mut items = BTreeSet::new();
    add_items_of(item(index, &document["root"]), "", index, &mut items);
    items
}

fn add_items_of(
    module: &Value,
    path: &str,
    index: &Map<String, Value>,
    without: &mut BTreeSet<String>,
) {
    for item in children(index, &module["inner"]["module"]["items"]) {
        let item = match item["inner"].get("use") {
            Some(reexport) => self::item(index, &reexport["id"]),
            None => item,
        };
        let path = format!(
            "{path}{}",
            item["name"].as_str().expect("a public item has a name")
        );
        if !has_example(item) {
            without.insert(path.clone());
        }
        let inner = item["inner"]
            .as_object()
            .and_then(|inner| inner.values().next())
            .unwrap();
        if item["inner"].get("module").is_some() {
            add_items_of(item, &format!("{path}::"), index, without);
        }
        for part in inner
            .get("impls")
            .into_iter()
            .flat_map(|ids| children(index, ids))
        {
            let part = &part["inner"]["impl"];
            if !part["trait"].is_null() {
                continue;
            }
            for method in children(index, &part["items"]).filter(|method| !has_example(method)) {
                let method = method["name"].as_str().expect("a method has a name");
                without.insert(format!("{path}::{method}"));
            }
        }
    }
}

fn item<'d>(index: &'d Map<String, Value>, id: &Value) -> &'d Value {
    &index[&id.to_string()]
}

fn children<'d>(index: &'d Map<String, Value>, ids: &'d Value) -> impl Iterator<Item = &'d Value> {
    ids.as_array()
        .expect("a list of ids")
        .iter()
        .map(|id| item(index, id))
}

/// Returns whether the documentation has a code block that rustdoc would compile and run.
fn has_example(item: &Value) -> bool {
    let text = item["docs"].as_str().unwrap_or_default();
    // Every other fence closes a block.
    let mut openings = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("```"))
        .step_by(2);
    openings.any(|words| {
        words
            .split(',')
            .all(|word| matches!(word.trim(), "" | "rust" | "should_panic"))
    })
}
