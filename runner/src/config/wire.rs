//! `branches.toml` as written: every value with its place, nothing checked but the shape.

use serde::Deserialize;
use serde_spanned::Spanned;

use super::claims::{Expectation, Quantity};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[serde(default)]
    pub(super) branch: Vec<Spanned<Branch>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Branch {
    pub(super) name: Spanned<String>,
    pub(super) group: Option<Spanned<String>>,
    pub(super) published: Option<Spanned<String>>,
    pub(super) edits: Option<Spanned<String>>,
    pub(super) fork: Option<Vec<Spanned<String>>>,
    pub(super) without_each: Option<Spanned<String>>,
    pub(super) path: Option<Spanned<String>>,
    pub(super) git: Option<Spanned<String>>,
    pub(super) rev: Option<Spanned<String>>,
    pub(super) subdirectory: Option<Spanned<String>>,
    pub(super) features: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(default)]
    pub(super) baseline: Option<Spanned<bool>>,
    #[serde(default)]
    pub(super) hypothesis: String,
    #[serde(default)]
    pub(super) claims: Vec<Spanned<Claim>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Claim {
    pub(super) expect: Expectation,
    pub(super) against: Option<Spanned<String>>,
    pub(super) workloads: Option<Spanned<String>>,
    pub(super) threads: Option<Spanned<String>>,
    #[serde(default, alias = "figure")]
    pub(super) quantity: Quantity,
}
