//! The programs: each uses rayon in what it is asked to do here, and promises its output whatever the threads do.

/// A program of the registry, and what it is asked to do.
#[derive(Debug)]
pub(super) struct Program {
    /// Its package.
    pub(super) name: &'static str,
    /// Its exact version. The package has a lock file, so everything below it is fixed, too.
    pub(super) version: &'static str,
    pub(super) binary: &'static str,
    /// Arguments before those that name the input.
    pub(super) arguments: &'static [&'static str],
    pub(super) input: Input,
}

/// What a program reads.
#[derive(Clone, Copy, Debug)]
pub(super) enum Input {
    /// Folders: sources of this checkout, and of every package that the program is made of.
    Sources,
    /// A made-up file of 200 MB.
    Bytes,
    /// A made-up picture.
    Picture,
}

/// In the order of the table.
pub(super) const PROGRAMS: [Program; 4] = [
    // Counts lines: a parallel iterator over a channel that threads of its own fill with names of files.
    Program {
        name: "tokei",
        version: "15.0.0",
        binary: "tokei",
        arguments: &[],
        input: Input::Sources,
    },
    // Hashes a file: joins all the way down.
    Program {
        name: "b3sum",
        version: "1.8.7",
        binary: "b3sum",
        arguments: &[],
        input: Input::Bytes,
    },
    // Compresses a picture in several ways at once (with less effort, only the choice of one is parallel): few long jobs, and workers that block until others are done.
    Program {
        name: "oxipng",
        version: "10.2.1",
        binary: "oxipng",
        arguments: &["--stdout", "--quiet", "--opt", "5"],
        input: Input::Picture,
    },
    // Adds up sizes of files: a job for each folder, and nearly all its time is the kernel's.
    Program {
        name: "du-dust",
        version: "1.2.7",
        binary: "dust",
        arguments: &["--no-progress", "--no-colors", "--apparent-size", "--number-of-lines", "60"],
        input: Input::Sources,
    },
];

impl Program {
    /// Name and version.
    pub(super) fn title(&self) -> String {
        format!("{} {}", self.name, self.version)
    }

    /// Its folder below `target/programs`.
    pub(super) fn folder_name(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }
}
