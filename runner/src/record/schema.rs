//! The version of the record format, which is checked before any other field of a file.

use anyhow::{Result, bail};
use protocol::SCHEMA;
use serde::Deserialize;

use crate::stop::Stop;

/// Refuses a file of another version of the format, before its fields are read.
pub(crate) fn check_schema(json: &str, place: impl Fn() -> String) -> Result<()> {
    #[derive(Deserialize)]
    struct Version {
        schema: u32,
    }
    // A file without a version belongs to no sweep; the error names the missing field.
    let Ok(Version { schema }) = serde_json::from_str(json) else {
        return Ok(());
    };
    if schema == SCHEMA {
        return Ok(());
    }
    bail!(Stop::BadInput(format!(
        "{}: `schema` is {schema}, this runner reads {SCHEMA}; use the runner of the commit that the sweep's \
         name ends with",
        place()
    )))
}
