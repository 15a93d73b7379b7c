//! The version of the record format, looked at before anything else that a file says.

use anyhow::{Result, bail};
use protocol::SCHEMA;
use serde::Deserialize;

use crate::stop::Stop;

/// Refuses what another version of the format says, before its fields are looked for.
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
