//! The files of `async-io`, one for each task, and the contents of their blocks.

use std::fs::{File, OpenOptions};
use std::io;
use std::mem;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use nix::fcntl::{OFlag, PosixFadviseAdvice, posix_fadvise, posix_fallocate};
use parking_lot::{Mutex, MutexGuard};
use protocol::{Refusal, Values};

use crate::user_threads::Direction;
use workloads::kinds::pacing::chain;
use workloads::random::{Random, mix};

/// The files of all tasks. The files have no names, so they disappear however the process ends.
pub(super) struct Area {
    tasks: Vec<Task>,
    blocks: usize,
    bytes: usize,
    compute_steps: u64,
    pub(super) direction: Direction,
    seed: u64,
    reaches_disk: bool,
}

struct Task {
    file: Arc<File>,
    /// One buffer for each block: the bytes to write, or room for the bytes to read.
    buffers: Mutex<Vec<Vec<u8>>>,
}

impl Area {
    pub(super) fn new(seed: u64, values: &Values) -> Result<Self, Refusal> {
        let tasks = values.count("tasks");
        let (blocks, bytes) = (values.count("operations"), values.count("bytes"));
        let reaches_disk = values.word("reaches") == "disk";
        let folder = std::env::temp_dir();
        let refuse = |what: String| {
            Refusal::new(format!(
                "temporary directory {}: {what}; free some space, name another directory by \
                 TMPDIR, or ask for fewer `tasks`, `operations` or `bytes`",
                folder.display()
            ))
        };
        // The product cannot overflow, because each parameter has a largest value.
        let needed = (tasks * blocks * bytes) as u64;
        let made: io::Result<Vec<Task>> = (0..tasks)
            .map(|_| Task::new(&folder, blocks, bytes, reaches_disk))
            .collect();
        let tasks = made.map_err(|error| refuse(format!("{needed} bytes are needed: {error}")))?;
        Ok(Self {
            tasks,
            blocks,
            bytes,
            compute_steps: values.whole("compute-steps"),
            direction: match values.word("operation") {
                "read" => Direction::Read,
                _ => Direction::Write,
            },
            seed,
            reaches_disk,
        })
    }

    pub(super) fn tasks(&self) -> usize {
        self.tasks.len()
    }

    pub(super) fn transfers(&self) -> u64 {
        (self.tasks.len() * self.blocks) as u64
    }

    pub(super) fn known_sum(&self) -> u64 {
        let sums = (0..self.transfers()).map(|word| chain(word, self.compute_steps));
        sums.fold(0, u64::wrapping_add)
    }

    /// Runs a task: `transfer` moves a block, and then `compute` makes the steps for that block.
    pub(super) fn run(
        &self,
        task: usize,
        mut transfer: impl FnMut(usize) -> io::Result<()>,
        compute: impl Fn(u64, u64) -> u64,
    ) -> io::Result<u64> {
        let mut sum = 0_u64;
        for block in 0..self.blocks {
            transfer(block)?;
            let word = (task * self.blocks + block) as u64;
            sum = sum.wrapping_add(compute(word, self.compute_steps));
        }
        Ok(sum)
    }

    pub(super) fn reset(&self) {
        for (number, task) in self.tasks.iter().enumerate() {
            let mut buffers = task.buffers();
            for (block, buffer) in buffers.iter_mut().enumerate() {
                let content = self.content(number, block);
                let nothing = vec![0; self.bytes];
                let (on_disk, in_memory) = match self.direction {
                    Direction::Read => (content, nothing),
                    Direction::Write => (nothing, content),
                };
                task.file
                    .write_all_at(&on_disk, self.offset(block))
                    .expect("the file's space on the disk is reserved");
                *buffer = in_memory;
            }
            if self.reaches_disk {
                // The data is on the disk already. So the kernel can drop the data from the page
                // cache, and reads come from the disk.
                let advice = PosixFadviseAdvice::POSIX_FADV_DONTNEED;
                posix_fadvise(&task.file, 0, 0, advice)
                    .expect("a process may give advice for its own file");
            }
        }
    }

    /// Returns the content of a block after the run, computed from the seed. The content differs
    /// for each task and block.
    fn content(&self, task: usize, block: usize) -> Vec<u8> {
        let place = (task * self.blocks + block) as u64;
        let mut random = Random::new(mix(self.seed) ^ mix(place));
        // The content has no zero bytes, because a block is all zero before the run.
        let words = std::iter::repeat_with(|| random.word() | 0x0101_0101_0101_0101);
        words.flat_map(u64::to_le_bytes).take(self.bytes).collect()
    }

    pub(super) fn offset(&self, block: usize) -> u64 {
        (block * self.bytes) as u64
    }

    pub(super) fn file(&self, task: usize) -> &Arc<File> {
        &self.tasks[task].file
    }

    pub(super) fn swap_buffer(&self, task: usize, block: usize, buffer: Vec<u8>) -> Vec<u8> {
        mem::replace(&mut self.tasks[task].buffers()[block], buffer)
    }

    /// Transfers a block, and blocks the OS thread until the transfer is done.
    pub(super) fn transfer(&self, task: usize, block: usize) -> io::Result<()> {
        let mut buffers = self.tasks[task].buffers();
        let offset = self.offset(block);
        let file = &self.tasks[task].file;
        self.direction.carry_out(file, &mut buffers[block], offset)
    }

    /// Returns the task and the number of the first block with wrong content.
    pub(super) fn first_wrong_block(&self) -> io::Result<Option<(usize, usize)>> {
        for (number, task) in self.tasks.iter().enumerate() {
            for (block, buffer) in task.buffers().iter().enumerate() {
                let mut found = buffer.clone();
                if self.direction == Direction::Write {
                    task.file.read_exact_at(&mut found, self.offset(block))?;
                }
                if found != self.content(number, block) {
                    return Ok(Some((number, block)));
                }
            }
        }
        Ok(None)
    }
}

impl Task {
    fn new(folder: &Path, blocks: usize, bytes: usize, reaches_disk: bool) -> io::Result<Self> {
        let named = tempfile::Builder::new()
            .prefix("async-io-")
            .tempfile_in(folder)?;
        let flags = if reaches_disk {
            OFlag::O_DSYNC
        } else {
            OFlag::empty()
        };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(flags.bits())
            .open(&named)?;
        named.close()?;
        let length = i64::try_from(blocks * bytes).map_err(io::Error::other)?;
        posix_fallocate(&file, 0, length)?;
        Ok(Self {
            file: Arc::new(file),
            buffers: Mutex::new(vec![Vec::new(); blocks]),
        })
    }

    fn buffers(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.buffers.lock()
    }
}
