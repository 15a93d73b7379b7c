//! `repair`: broken lines of a sweep set aside, so that it can be resumed.

use anyhow::Result;

use super::Place;
use crate::cli::RepairArgs;
use crate::progress::count;
use crate::stop::Exit;
use crate::sweep_dir::SweepDir;

pub(crate) fn run(place: &Place, arguments: &RepairArgs) -> Result<Exit> {
    let parent = place.sweeps(arguments.output.as_deref());
    let sweep = SweepDir::find(&place.checkout, &parent, &arguments.sweep)?;
    match sweep.repair()? {
        None => eprintln!("{} has no broken line; nothing was changed", sweep.name()),
        Some((lines, aside)) => eprintln!(
            "{} of {} set aside in {}; every record is kept. `cargo runner sweep --resume {}` runs what is missing",
            count(lines, "broken line", "broken lines"),
            sweep.name(),
            place.checkout.shown(&aside),
            place.reference_to(&sweep)
        ),
    }
    Ok(Exit::Good)
}
