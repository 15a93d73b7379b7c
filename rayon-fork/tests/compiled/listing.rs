//! Turns rustdoc's JSON of a crate into one line for each item on which a program can rely.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// Returns one line for each public function, method, variant and trait implementation. The lines
/// leave out what makes no difference to programs: names of arguments, documentation, and whether a
/// bound is inline or in a where clause.
pub(crate) fn listing(document: &Value) -> BTreeSet<String> {
    let krate = Crate {
        index: document["index"]
            .as_object()
            .expect("rustdoc's JSON has an index"),
    };
    let mut lines = BTreeSet::new();
    for item in krate.children(&krate.item(&document["root"])["inner"]["module"]["items"]) {
        match item["inner"].get("use") {
            Some(reexport) => {
                assert_eq!(
                    reexport["is_glob"], false,
                    "a glob re-export hides which items are public"
                );
                krate.describe(
                    krate.item(&reexport["id"]),
                    &text(&reexport["name"]),
                    &mut lines,
                );
            }
            None => krate.describe(item, &text(&item["name"]), &mut lines),
        }
    }
    lines
}

struct Crate<'d> {
    index: &'d Map<String, Value>,
}

impl<'d> Crate<'d> {
    fn item(&self, id: &Value) -> &'d Value {
        &self.index[&id.to_string()]
    }

    fn children(&self, ids: &'d Value) -> impl Iterator<Item = &'d Value> + use<'_, 'd> {
        ids.as_array()
            .expect("a list of ids")
            .iter()
            .map(|id| self.item(id))
    }

    fn describe(&self, item: &'d Value, path: &str, lines: &mut BTreeSet<String>) {
        let (kind, inner) = item["inner"]
            .as_object()
            .and_then(|inner| inner.iter().next())
            .unwrap();
        let deprecated = if item["deprecation"].is_null() {
            ""
        } else {
            " deprecated"
        };
        let mut add = |what: &Value| lines.insert(format!("{path} {kind}{deprecated} {what}"));
        match kind.as_str() {
            "struct" | "enum" => {
                add(&generics(&inner["generics"]));
                for variant in inner
                    .get("variants")
                    .into_iter()
                    .flat_map(|ids| self.children(ids))
                {
                    self.describe(
                        variant,
                        &format!("{path}::{}", text(&variant["name"])),
                        lines,
                    );
                }
                for part in self.children(&inner["impls"]) {
                    self.describe_impl(part, path, lines);
                }
            }
            "function" => {
                add(&function(inner));
            }
            "variant" => {
                add(&cleaned(inner));
            }
            other => {
                panic!("{path}: a {other} in the interface is new; say here what matters about it")
            }
        }
    }

    fn describe_impl(&self, part: &'d Value, path: &str, lines: &mut BTreeSet<String>) {
        let inner = &part["inner"]["impl"];
        if !inner["blanket_impl"].is_null() {
            return;
        }
        let speller = Speller::new(inner);
        if inner["trait"].is_null() {
            for item in self.children(&inner["items"]) {
                let path = format!("{path}::{}", text(&item["name"]));
                let mut of_method = BTreeSet::new();
                self.describe(item, &path, &mut of_method);
                lines.extend(of_method.iter().map(|line| speller.spell(line)));
            }
        } else {
            let not = if inner["is_negative"] == true {
                "not "
            } else {
                ""
            };
            lines.insert(speller.spell(&format!("{path} is {not}{}", cleaned(&inner["trait"]))));
        }
    }
}

/// Normalises the spelling of an implementation: its lifetime may have any name or none, and `Self`
/// may be written out.
struct Speller {
    self_type: String,
    generics: String,
    lifetime: Option<String>,
}

impl Speller {
    fn new(inner: &Value) -> Self {
        let mut generics = generics(&inner["generics"]);
        let mut lifetime = None;
        generics[0]
            .as_array_mut()
            .expect("a list of parameters")
            .retain(|parameter| {
                let is_lifetime = parameter[1].get("lifetime").is_some();
                if is_lifetime {
                    assert_eq!(
                        parameter[1]["lifetime"]["outlives"],
                        json!([]),
                        "a bounded lifetime is new"
                    );
                    let second = lifetime.replace(parameter[0].to_string());
                    assert!(
                        second.is_none(),
                        "an implementation with two lifetimes is new"
                    );
                }
                !is_lifetime
            });
        let self_type = cleaned(&inner["for"])
            .to_string()
            .replace("\"'_\"", THE_LIFETIME);
        Self {
            self_type,
            generics: generics.to_string(),
            lifetime,
        }
    }

    fn spell(&self, line: &str) -> String {
        let line = format!("{line} for {} {}", self.self_type, self.generics);
        let line = line.replace(r#"{"generic":"Self"}"#, &self.self_type);
        match &self.lifetime {
            Some(lifetime) => line.replace(lifetime, THE_LIFETIME),
            None => line,
        }
    }
}

const THE_LIFETIME: &str = "\"'impl\"";

fn text(name: &Value) -> String {
    name.as_str().expect("a public item has a name").to_owned()
}

fn function(inner: &Value) -> Value {
    let arguments = inner["sig"]["inputs"]
        .as_array()
        .expect("a list of arguments")
        .iter();
    let types: Vec<Value> = arguments.map(|argument| cleaned(&argument[1])).collect();
    json!([
        inner["header"],
        generics(&inner["generics"]),
        types,
        cleaned(&inner["sig"]["output"])
    ])
}

/// Returns the parameters in order, then all bounds, sorted.
fn generics(generics: &Value) -> Value {
    let mut parameters = Vec::new();
    let mut bounds = BTreeSet::new();
    for parameter in generics["params"].as_array().expect("a list of parameters") {
        let name = text(&parameter["name"]);
        let mut kind = cleaned(&parameter["kind"]);
        if let Some(inline) = kind.get_mut("type").and_then(|kind| kind.get_mut("bounds")) {
            for bound in inline.as_array().expect("a list of bounds") {
                bounds.insert(format!("{name}: {bound}"));
            }
            *inline = Value::Null;
        }
        parameters.push(json!([name, kind]));
    }
    for predicate in generics["where_predicates"]
        .as_array()
        .expect("a list of predicates")
    {
        let predicate = cleaned(predicate);
        match &predicate["bound_predicate"] {
            Value::Null => drop(bounds.insert(predicate.to_string())),
            bounded => {
                let subject = match &bounded["type"]["generic"] {
                    Value::String(name) => name.clone(),
                    _ => bounded["type"].to_string(),
                };
                for bound in bounded["bounds"].as_array().expect("a list of bounds") {
                    bounds.insert(format!("{subject}: {bound}"));
                }
            }
        }
    }
    json!([parameters, bounds])
}

/// Returns the value without ids, and with only the last part of each path.
fn cleaned(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields
                .iter()
                .filter(|(name, _)| *name != "id")
                .map(|(name, value)| {
                    let value = match value {
                        Value::String(path) if name == "path" => path.rsplit("::").next().into(),
                        value => cleaned(value),
                    };
                    (name.clone(), value)
                });
            Value::Object(kept.collect())
        }
        Value::Array(values) => values.iter().map(cleaned).collect(),
        value => value.clone(),
    }
}
