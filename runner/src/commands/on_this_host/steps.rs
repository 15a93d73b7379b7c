//! The steps, each by the command that does it alone.

use std::fs;
use std::io::Write as _;

use anyhow::{Context as _, Result, bail};

use super::plans::DRAWN;
use super::work::Work;
use crate::commands::calibrate::{self, Care};
use crate::commands::sweep::{self, SweepArgs, SweepCommand};
use crate::commands::{doctor, report, validate};
use crate::host::Host;
use crate::host::here;
use crate::kit::archive;
use crate::kit::parcel;
use crate::kit::record::Step;
use crate::options::meaning::asked;
use crate::plan::machines;
use crate::record::manifest::Manifest;
use crate::record::sweep_dir::SweepDir;
use crate::stop::{Exit, Stop};
use crate::system::whole_file;
use crate::text::table::print;

const COMMAND: &str = "on-this-host";

impl Work<'_> {
    /// Does a step, and says what it made.
    pub(super) fn step(&self, step: Step) -> Result<(String, Exit)> {
        match step {
            Step::Doctor => self.doctor(),
            Step::Calibrate => self.calibrate(),
            Step::Predict => {
                let (sweep, exit) = validate::predict(self.project, &self.plans.validation()?)?;
                self.swept(&sweep, exit)
            }
            Step::Study | Step::Classics => self.sweep(&self.plans.sweep(step)?),
            Step::Validate => {
                let predicted = self.sweep_of(Step::Predict)?;
                let arguments = self.plans.validation()?.sweep;
                let (sweep, exit) = validate::measure(self.project, &arguments, &predicted)?;
                // Cells whose trials failed are left out of the comparison.
                if matches!(exit, Exit::Good | Exit::TrialsFailed) {
                    passed(validate::compare(self.project, &predicted, &sweep)?)?;
                }
                self.swept(&sweep, exit)
            }
            Step::Report => self.report(),
        }
    }

    fn doctor(&self) -> Result<(String, Exit)> {
        let diagnosis = doctor::diagnose(self.project, &Host::default());
        print(&diagnosis.to_string())?;
        if !diagnosis.is_fit() {
            tell!(
                "note: going on all the same; readers of the results will see what the doctor found"
            );
        }
        let text = serde_json::to_string_pretty(&diagnosis)? + "\n";
        let text = self
            .personal
            .hidden(&self.project.checkout.without_folders(&text));
        self.keep("doctor.json", text.as_bytes())?;
        Ok(("doctor.json".to_owned(), Exit::Good))
    }

    fn calibrate(&self) -> Result<(String, Exit)> {
        let care = if self.record.is_quick {
            Care::QUICK
        } else {
            Care::WHOLE
        };
        calibrate::here(self.project, care)?;
        let root = self.project.checkout.root();
        let files = [
            ("here.toml", machines::file(root, here::NAME)),
            ("charges-here.toml", machines::charges_here(root)),
        ];
        for (name, path) in &files {
            let text =
                fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
            self.keep(name, &text)?;
        }
        Ok((files.map(|(name, _)| name).join(" "), Exit::Good))
    }

    fn keep(&self, name: &str, text: &[u8]) -> Result<()> {
        let path = self.folder.join(name);
        whole_file::write(&path, |file| file.write_all(text))
            .with_context(|| format!("{} cannot be written", path.display()))
    }

    /// Sweeps, or goes on with the sweep that an earlier call of this command began.
    fn sweep(&self, arguments: &SweepArgs) -> Result<(String, Exit)> {
        let mut arguments = arguments.clone();
        let (wanted, _) = asked(self.project, None, &arguments.selection)?;
        let id = Host::default().id();
        let is_it = |manifest: &Manifest| {
            manifest.asked == wanted
                && manifest.host == id
                && manifest.shards.is_empty()
                && manifest.created_at > self.record.begun_at
        };
        let newest = || SweepDir::newest(&self.results.join("sweeps"), is_it);
        arguments.resume = newest().map(|sweep| self.project.reference_to(&sweep));
        let exit = sweep::run_for(
            self.project,
            &arguments,
            &SweepCommand::going_on(COMMAND, None),
        )?;
        let sweep = newest().context("a sweep that was run is there")?;
        self.swept(&sweep, exit)
    }

    /// A sweep that was run; refuses at once what could not be sent at the end.
    fn swept(&self, sweep: &SweepDir, exit: Exit) -> Result<(String, Exit)> {
        if matches!(exit, Exit::Good | Exit::TrialsFailed) {
            for path in parcel::of_sweep(&sweep.name()) {
                let place = self.results.join(path);
                let content = fs::read(&place)
                    .with_context(|| format!("{} cannot be read", place.display()))?;
                archive::refuse_personal(&place, &content, &self.personal)?;
            }
        }
        Ok((sweep.name(), exit))
    }

    /// The sweep that a step left.
    fn sweep_of(&self, step: Step) -> Result<SweepDir> {
        let name = self
            .record
            .made(step)
            .with_context(|| format!("`{}` is done before", step.name()))?;
        SweepDir::find(&self.project.checkout, &self.results.join("sweeps"), name)
    }

    fn report(&self) -> Result<(String, Exit)> {
        // One page shows that pages can be drawn.
        let drawn = if self.record.is_quick { 1 } else { DRAWN.len() };
        for step in DRAWN.into_iter().take(drawn) {
            let sweep = self.sweep_of(step)?;
            let output = self.results.join("reports").join(sweep.name());
            passed(report::draw(self.project, &sweep, &output)?)?;
        }
        Ok(("reports".to_owned(), Exit::Good))
    }
}

/// The analysis tells by itself what is wrong.
fn passed(exit: Exit) -> Result<()> {
    match exit {
        Exit::Good => Ok(()),
        _ => bail!(Stop::HostNotFit(format!(
            "the analysis ended with {}; see above. What was measured is kept",
            exit.code()
        ))),
    }
}
