//! CPU hogs: processes that only use CPU time. Simulated machines have no processes, so this file
//! lies outside `kinds/`.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use nix::errno::Errno;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{getpid, getppid};
use protocol::Refusal;

/// The hogs are processes of another program, so a fence in all threads of this process does not
/// interrupt them.
const SHELL: &str = "/bin/sh";
const LOOP: &str = "while :; do :; done";

/// The hogs end when this value is dropped, or when the thread that started them ends.
pub(crate) struct Hogs(Vec<Child>);

impl Hogs {
    pub(crate) fn start(count: usize) -> Result<Self, Refusal> {
        Self::of(SHELL, count)
    }

    fn of(shell: &str, count: usize) -> Result<Self, Refusal> {
        let mut hogs = Self(Vec::with_capacity(count));
        for number in 1..=count {
            let hog = start(shell).map_err(|error| {
                Refusal::new(format!(
                    "hogs-per-cpu: process {number} of {count}, an endless loop of {shell}, cannot be started: {error}; \
                     ask for fewer, or for 0"
                ))
            })?;
            hogs.0.push(hog);
        }
        Ok(hogs)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn running(&mut self) -> usize {
        self.0
            .iter_mut()
            .filter_map(|hog| hog.try_wait().ok())
            .filter(Option::is_none)
            .count()
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            // The hog may have ended already.
            let _ = hog.kill();
            let _ = hog.wait();
        }
    }
}

/// Starts a CPU hog in the process group of this process, so that a signal that ends the group ends
/// the hog, too.
fn start(shell: &str) -> io::Result<Child> {
    let mut command = Command::new(shell);
    command.args(["-c", LOOP]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let parent = getpid();
    let die_with_parent = move || {
        set_pdeathsig(Signal::SIGKILL)?;
        // The parent may have died before the call above.
        if getppid() == parent {
            Ok(())
        } else {
            Err(Errno::ESRCH.into())
        }
    };
    // SAFETY: between fork and exec only async-signal-safe calls are allowed. The closure makes two
    // system calls, allocates nothing, and takes no lock.
    unsafe {
        command.pre_exec(die_with_parent);
    }
    command.spawn()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::thread;
    use std::time::Duration;

    use super::*;

    impl Hogs {
        pub(crate) fn kill_one(&mut self) {
            self.0[0].kill().unwrap();
            while self.running() == self.count() {
                thread::sleep(Duration::from_millis(1));
            }
        }
    }

    fn processes(hogs: &Hogs) -> Vec<String> {
        hogs.0
            .iter()
            .map(|hog| format!("/proc/{}", hog.id()))
            .collect()
    }

    #[test]
    fn every_hog_uses_a_cpu_until_all_are_dropped() {
        let mut hogs = Hogs::start(2).unwrap();
        let processes = processes(&hogs);
        let used = |process: &String| -> u64 {
            let text = fs::read_to_string(Path::new(process).join("schedstat")).unwrap();
            text.split(' ').next().unwrap().parse().unwrap()
        };
        while processes.iter().any(|process| used(process) < 20_000_000) {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!((hogs.running(), hogs.count()), (2, 2));
        drop(hogs);
        assert!(
            !processes.iter().any(|process| Path::new(process).exists()),
            "{processes:?}"
        );
    }

    #[test]
    fn hogs_that_cannot_be_started_are_refused_with_the_remedy() {
        let refusal = Hogs::of("/no/such/shell", 3)
            .err()
            .expect("refused")
            .to_string();
        assert!(
            refusal.starts_with("hogs-per-cpu: process 1 of 3, "),
            "{refusal}"
        );
        assert!(
            refusal.ends_with("No such file or directory (os error 2); ask for fewer, or for 0"),
            "{refusal}"
        );
    }
}
