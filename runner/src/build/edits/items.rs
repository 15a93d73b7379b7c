//! Where the items of a source file lie, and their statements, by the names that edits have for
//! them.

use std::ops::Range;

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Block, ImplItem, Item, Signature, Stmt, Type};

/// An item, and what of it an edit can name, as places in the text.
pub(crate) struct Place {
    pub(crate) name: String,
    pub(crate) item: Range<usize>,
    pub(crate) signature: Option<Range<usize>>,
    pub(crate) statements: Vec<Range<usize>>,
}

/// The items of a file at its top and in its `impl` blocks.
pub(crate) fn places(file: &syn::File) -> Vec<Place> {
    let mut places = Vec::new();
    for item in &file.items {
        let whole = item.span().byte_range();
        let named = |name: String| Place {
            name,
            item: whole.clone(),
            signature: None,
            statements: Vec::new(),
        };
        let ident = match item {
            Item::Fn(it) => {
                places.push(function(
                    it.sig.ident.to_string(),
                    whole.clone(),
                    &it.sig,
                    &it.block,
                ));
                continue;
            }
            Item::Impl(it) => {
                let kind = last_word(&it.self_ty);
                let of = it.trait_.as_ref().and_then(|it| it.0.segments.last());
                let (block, member) = match of {
                    Some(of) => (format!("impl {} for {kind}", of.ident), " / "),
                    None => (format!("impl {kind}"), "::"),
                };
                let before = if of.is_some() { &block } else { &kind };
                for inner in &it.items {
                    let ImplItem::Fn(it) = inner else { continue };
                    let name = format!("{before}{member}{}", it.sig.ident);
                    places.push(function(
                        name,
                        inner.span().byte_range(),
                        &it.sig,
                        &it.block,
                    ));
                }
                places.push(named(block));
                continue;
            }
            Item::Const(it) => &it.ident,
            Item::Enum(it) => &it.ident,
            Item::Mod(it) => &it.ident,
            Item::Static(it) => &it.ident,
            Item::Struct(it) => &it.ident,
            Item::Trait(it) => &it.ident,
            Item::Type(it) => &it.ident,
            _ => continue,
        };
        places.push(named(ident.to_string()));
    }
    places
}

fn function(name: String, item: Range<usize>, signature: &Signature, block: &Block) -> Place {
    let mut statements = Statements(Vec::new());
    statements.visit_block(block);
    Place {
        name,
        item,
        signature: Some(signature.span().byte_range()),
        statements: statements.0,
    }
}

/// The name of a type without its path and its parameters.
fn last_word(kind: &Type) -> String {
    match kind {
        Type::Path(it) => it
            .path
            .segments
            .last()
            .map(|it| it.ident.to_string())
            .unwrap_or_default(),
        _ => String::new(),
    }
}

/// Every statement where it begins, so an outer one before those in it.
struct Statements(Vec<Range<usize>>);

impl<'a> Visit<'a> for Statements {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        self.0.push(statement.span().byte_range());
        visit::visit_stmt(self, statement);
    }
}
