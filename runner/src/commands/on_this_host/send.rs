//! The end: one file, what is in it, and where it goes.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, Result};

use super::work::Work;
use crate::kit::archive::{self, ENDING};
use crate::kit::parcel::{self, SUMS};
use crate::text::table::print;

impl Work<'_> {
    /// Packs what is sent, and says what that is.
    pub(super) fn pack(&self) -> Result<()> {
        let files = archive::gather(&self.results, &self.folder, &self.record, &self.personal)?;
        let hosts = self.results.join("hosts");
        fs::create_dir_all(&hosts)
            .with_context(|| format!("{} cannot be made", hosts.display()))?;
        let path = hosts.join(format!("{}{ENDING}", self.record.host));
        archive::write(&path, &files)?;
        let size = fs::metadata(&path)
            .context("it was written a moment ago")?
            .len();
        let mut text = "\nin the file, in bytes:\n".to_owned();
        let sums = parcel::sums(&files).len();
        let listed = std::iter::once((SUMS, sums));
        for (name, bytes) in listed.chain(files.iter().map(|it| (it.0.as_str(), it.1.len()))) {
            _ = writeln!(text, "{bytes:>9}  {name}");
        }
        let shown = self.project.checkout.shown(&path);
        _ = writeln!(
            text,
            "{shown}: {:.1} MB, without names of people or of this machine",
            size as f64 / 1e6
        );
        _ = if self.record.is_quick {
            writeln!(text, "tried out; `cargo runner on-this-host` measures")
        } else {
            writeln!(
                text,
                "To send it, attach it to an issue or a pull request of this repository (CONTRIBUTING.md, \
                 \"Send us your host\").\nTo see your host in the findings here: cargo runner merge {shown}"
            )
        };
        print(&text)
    }
}
