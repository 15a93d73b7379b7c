//! Checks that imports go one way: files of a crate do not import each other in a circle. Two kinds
//! of circle are allowed: two files of one folder, or a file and a file in the folder of its name.
//! So are the circles of [`EXCUSED`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use syn::visit::{self, Visit};
use syn::{Attribute, ItemMod, ItemUse, UseTree, Visibility};

/// The path of a module or of an item in it: `commands`, `show`, `Table`.
type Way = Vec<String>;

#[derive(Default)]
struct File {
    path: PathBuf,
    /// Modules that the file declares, except test modules.
    children: Vec<String>,
    handed_on: BTreeMap<String, Way>,
    named: Vec<Way>,
    /// How many blocks `mod x { … }` are around the item that is visited.
    inside: usize,
}

impl File {
    fn is_only_for_tests(attributes: &[Attribute]) -> bool {
        attributes.iter().any(|attribute| {
            // Matches `cfg(test)` and `cfg(all(test, …))`.
            let is_test = |path: &syn::Path| path.is_ident("test");
            let is_of_tests = |list: &syn::MetaList| {
                list.path.is_ident("all") && list.tokens.to_string().starts_with("test")
            };
            attribute.path().is_ident("cfg")
                && match attribute.parse_args::<syn::Meta>() {
                    Ok(syn::Meta::Path(path)) => is_test(&path),
                    Ok(syn::Meta::List(list)) => is_of_tests(&list),
                    _ => false,
                }
        })
    }

    /// Returns the path as seen from the file: `super` in a module inside the file is the file
    /// itself.
    fn outside(&self, mut way: Way) -> Way {
        for _ in 0..self.inside {
            match way.first().map(String::as_str) {
                Some("super") => "self".clone_into(&mut way[0]),
                Some("self") => way.clear(),
                _ => break,
            }
        }
        way
    }
}

fn leaves(tree: &UseTree, before: &[String], found: &mut Vec<(String, Way)>) {
    let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
    match tree {
        UseTree::Path(path) => leaves(&path.tree, &with(&path.ident), found),
        UseTree::Group(group) => group.items.iter().for_each(|it| leaves(it, before, found)),
        UseTree::Name(name) => found.push((name.ident.to_string(), with(&name.ident))),
        UseTree::Rename(name) => found.push((name.rename.to_string(), with(&name.ident))),
        UseTree::Glob(_) => found.push(("*".to_owned(), before.to_vec())),
    }
}

impl<'ast> Visit<'ast> for File {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes = match item {
            syn::Item::Fn(it) => &it.attrs,
            syn::Item::Impl(it) => &it.attrs,
            syn::Item::Use(it) => &it.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !Self::is_only_for_tests(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if Self::is_only_for_tests(&module.attrs) {
        } else if module.content.is_none() {
            // A module with `#[path]` belongs to another crate, or imports nothing.
            if self.inside == 0
                && !module
                    .attrs
                    .iter()
                    .any(|attribute| attribute.path().is_ident("path"))
            {
                self.children.push(module.ident.to_string());
            }
        } else {
            self.inside += 1;
            visit::visit_item_mod(self, module);
            self.inside -= 1;
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let mut found = Vec::new();
        leaves(&item.tree, &[], &mut found);
        for (name, way) in found {
            if matches!(item.vis, Visibility::Inherited) || self.inside > 0 {
                self.named.push(self.outside(way));
            } else {
                self.handed_on.insert(name, way);
            }
        }
    }

    /// `pub(super)` is no import, so this function does not visit the path in it.
    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let way = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        self.named.push(self.outside(way));
        visit::visit_path(self, path);
    }
}

/// Lists the modules beside the file at `path` that the file itself does not declare, because its
/// build script declares them.
fn beside(path: &Path, declares: &[String]) -> Vec<String> {
    let entries = fs::read_dir(path.with_file_name("")).unwrap().flatten();
    let module = |entry: fs::DirEntry| Some(entry.path().file_stem()?.to_str()?.to_owned());
    entries
        .filter_map(module)
        .filter(|name| name != "mod" && !declares.contains(name))
        .collect()
}

struct Crate(BTreeMap<Way, File>);

impl Crate {
    fn read(root: &Path) -> Self {
        let mut files = BTreeMap::new();
        let mut left = vec![(Way::new(), root.to_owned())];
        while let Some((module, path)) = left.pop() {
            let text = fs::read_to_string(&path).unwrap();
            let mut file = File {
                path: path.clone(),
                ..File::default()
            };
            file.visit_file(&syn::parse_file(&text).unwrap());
            let is_face = module.is_empty() || path.ends_with("mod.rs");
            let folder = if is_face {
                path.with_file_name("")
            } else {
                path.with_extension("")
            };
            if text.contains("env!(\"OUT_DIR\")") {
                file.children.extend(beside(&path, &file.children));
            }
            for child in &file.children {
                let flat = folder.join(format!("{child}.rs"));
                let path = if flat.is_file() {
                    flat
                } else {
                    folder.join(child).join("mod.rs")
                };
                left.push(([&module[..], std::slice::from_ref(child)].concat(), path));
            }
            files.insert(module, file);
        }
        Self(files)
    }

    /// Returns the file that defines the item `way`, as `module` names it, if that file is in this
    /// crate.
    fn resolved(&self, module: &[String], way: &[String]) -> Option<&Way> {
        let (first, rest) = way.split_first()?;
        match first.as_str() {
            "crate" => self.walked(&[], rest),
            "self" => self.walked(module, rest),
            "super" => {
                let above = &module[..module.len().checked_sub(1)?];
                if rest.first().is_some_and(|next| next == "super") {
                    self.resolved(above, rest)
                } else {
                    self.walked(above, rest)
                }
            }
            _ => {
                let file = &self.0[module];
                let is_here = file.children.contains(first) || file.handed_on.contains_key(first);
                is_here.then(|| self.walked(module, way)).flatten()
            }
        }
    }

    fn walked(&self, module: &[String], way: &[String]) -> Option<&Way> {
        let (found, file) = self.0.get_key_value(module)?;
        let Some((first, rest)) = way.split_first() else {
            return Some(found);
        };
        if file.children.contains(first) {
            return self.walked(&[module, std::slice::from_ref(first)].concat(), rest);
        }
        match file.handed_on.get(first) {
            // A re-export such as `pub use serde;` leads out of the crate.
            Some(from) if from.first() != Some(first) => {
                self.resolved(module, &[from, rest].concat())
            }
            _ => Some(found),
        }
    }

    fn imports(&self) -> Imports<'_> {
        let mut imports = Imports::new();
        for (module, file) in &self.0 {
            let targets = file
                .named
                .iter()
                .filter_map(|way| self.resolved(module, way));
            imports.extend(targets.map(|target| (&*file.path, &*self.0[target].path)));
        }
        imports.retain(|(from, to)| from != to);
        imports
    }
}

type Imports<'a> = BTreeSet<(&'a Path, &'a Path)>;

fn reached<'a>(imported: &BTreeMap<&'a Path, Vec<&'a Path>>, from: &'a Path) -> BTreeSet<&'a Path> {
    let (mut reached, mut left) = (BTreeSet::new(), vec![from]);
    while let Some(file) = left.pop() {
        let next = imported.get(file).into_iter().flatten().copied();
        left.extend(next.filter(|to| reached.insert(*to)));
    }
    reached
}

/// Lists the circles of imports that are not allowed, each as a list of imports.
fn circles(root: &Path) -> Vec<String> {
    let read = Crate::read(root);
    let imports = read.imports();
    let mut imported: BTreeMap<&Path, Vec<&Path>> = BTreeMap::new();
    for &(from, to) in &imports {
        imported.entry(from).or_default().push(to);
    }
    let files: BTreeSet<&Path> = imported.keys().copied().collect();
    let reached: BTreeMap<&Path, BTreeSet<&Path>> = files
        .iter()
        .map(|file| (*file, reached(&imported, file)))
        .collect();
    let is_mutual = |one, other| reached[one].contains(other) && reached[other].contains(one);
    let circles: BTreeSet<Vec<&Path>> = files
        .iter()
        .map(|file| {
            files
                .iter()
                .copied()
                .filter(|other| is_mutual(*file, *other))
                .collect()
        })
        .collect();
    let is_large = |files: &&Vec<&Path>| {
        let face = |file: &Path| file.with_extension("");
        let is_pair = |one: &Path, other: &Path| {
            one.parent() == other.parent()
                || other.parent() == Some(&face(one))
                || one.parent() == Some(&face(other))
        };
        !matches!(files[..], [_] | []) && !matches!(files[..], [one, other] if is_pair(one, other))
    };
    let shown = |files: &Vec<&Path>| {
        let inside = imports
            .iter()
            .filter(|(from, to)| files.contains(from) && files.contains(to));
        let line = |(from, to): &(&Path, &Path)| format!("{} -> {}", from.display(), to.display());
        inside.map(line).collect::<Vec<_>>().join("\n")
    };
    let is_excused = |file: &&Path| EXCUSED.iter().any(|excused| file.ends_with(excused));
    circles
        .iter()
        .filter(is_large)
        .filter(|files| !files.iter().all(is_excused))
        .map(shown)
        .collect()
}

fn roots(checkout: &Path) -> Vec<PathBuf> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "*src/lib.rs", "*src/main.rs"])
        .current_dir(checkout)
        .output();
    let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
    listed.split_terminator('\0').map(PathBuf::from).collect()
}

const EXCUSED: [&str; 20] = [
    // The interface of rayon-core is circular: a pool has `join`, and `join` finds its pool.
    "rayon-fork/src/broadcast.rs",
    "rayon-fork/src/builder.rs",
    "rayon-fork/src/configuration.rs",
    "rayon-fork/src/current.rs",
    "rayon-fork/src/job.rs",
    "rayon-fork/src/join.rs",
    "rayon-fork/src/latch.rs",
    "rayon-fork/src/registry/global.rs",
    "rayon-fork/src/registry/mod.rs",
    "rayon-fork/src/registry/worker.rs",
    "rayon-fork/src/scope/base.rs",
    "rayon-fork/src/scope/mod.rs",
    "rayon-fork/src/spawn.rs",
    "rayon-fork/src/thread_builder.rs",
    "rayon-fork/src/thread_pool.rs",
    // The rivals implement the same circular interface on other crates' pools.
    "rivals/src/broadcast.rs",
    "rivals/src/lib.rs",
    "rivals/src/missing.rs",
    "rivals/src/pool.rs",
    "rivals/src/scope.rs",
];

#[test]
fn files_of_a_crate_do_not_import_each_other_in_a_circle() {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let roots = roots(checkout);
    assert!(roots.len() > 20, "{roots:?}");
    let circles: Vec<String> = roots
        .iter()
        .flat_map(|root| circles(&checkout.join(root)))
        .collect();
    assert!(
        circles.is_empty(),
        "circles of imports:\n{}",
        circles.join("\n\n")
    );
}

/// Lists imports against the order of the rows in `map`, which name the folders and files of
/// `source`.
fn against_the_map(map: &str, source: &Path) -> Vec<String> {
    let row = |line: &str| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned());
    let order: Vec<String> = map.lines().filter_map(row).collect();
    let place = |file: &Path| {
        let inside = file.strip_prefix(source).unwrap().iter().next().unwrap();
        let name = Path::new(inside).file_stem().unwrap().to_str().unwrap();
        let place = order.iter().position(|it| it == name);
        // The crate's root, `lib.rs`, may import every other file.
        (name != "lib").then(|| place.unwrap_or_else(|| panic!("no row for `{name}`")))
    };
    let read = Crate::read(&source.join("lib.rs"));
    let imports = read.imports();
    let is_against =
        |(from, to): &&(&Path, &Path)| place(from) < place(to) && place(from).is_some();
    let shown = |(from, to): &(&Path, &Path)| format!("{} -> {}", from.display(), to.display());
    imports.iter().filter(is_against).map(shown).collect()
}

#[test]
fn folders_of_the_runner_import_each_other_in_the_order_of_its_map() {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let source = checkout.join("runner/src");
    let map = fs::read_to_string(source.join("README.md")).unwrap();
    let wrong = against_the_map(&map, &source);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_import_against_the_map_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| fs::write(folder.path().join(path), text).unwrap();
    write("lib.rs", "mod a; mod b;");
    write("a.rs", "use crate::b::f;");
    write("b.rs", "pub fn f() {}");
    let found = |map: &str| against_the_map(map, folder.path()).len();
    assert_eq!(found("| `b` | |\n| `a` | |\n"), 0);
    assert_eq!(found("| `a` | |\n| `b` | |\n"), 1);
}

#[test]
fn a_circle_is_found_through_groups_children_and_names_that_are_handed_on() {
    let circles_of = |files: &[(&str, &str)]| {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        circles(&folder.path().join("lib.rs")).len()
    };
    let lib = ("lib.rs", "mod a; mod b; mod c;");
    let c = ("c/mod.rs", "pub use inner::Thing; mod inner;");
    let a = ("a.rs", "use crate::{b, c::Thing};");
    let back = (
        "c/inner.rs",
        "pub struct Thing; fn f() { super::super::a::g(); }",
    );
    let forth = ("c/inner.rs", "pub struct Thing;");
    let test = (
        "c/inner.rs",
        "pub struct Thing; #[cfg(test)] mod tests { use crate::a; }",
    );
    let b = ("b.rs", "");
    assert_eq!(
        circles_of(&[lib, c, a, b, back]),
        1,
        "two files of different folders"
    );
    assert_eq!(circles_of(&[lib, c, a, b, forth]), 0);
    assert_eq!(
        circles_of(&[lib, c, a, b, test]),
        0,
        "tests may import anything"
    );
    let b = ("b.rs", "use super::a;");
    assert_eq!(
        circles_of(&[lib, c, a, b, forth]),
        0,
        "two files of one folder"
    );
    let b = ("b.rs", "use super::c;");
    let c = ("c.rs", "use crate::a::g;");
    assert_eq!(circles_of(&[lib, a, b, c]), 1, "three files of one folder");
}
