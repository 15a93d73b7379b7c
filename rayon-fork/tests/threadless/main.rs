//! On a platform without threads, the global pool is the thread that first needs it, and explicitly
//! built pools fail. In this program `pthread_create` always fails. For each case this program
//! starts itself again. This program has no test harness, because a harness would need threads.

#[cfg(any(miri, not(target_os = "linux")))]
fn main() {
    println!("nothing tested: needs Linux, and processes");
}

#[cfg(all(not(miri), target_os = "linux"))]
#[path = "../common/mod.rs"]
mod common;

#[cfg(all(not(miri), target_os = "linux"))]
fn main() {
    linux::main();
}

#[cfg(all(not(miri), target_os = "linux"))]
mod linux {
    use std::env;
    use std::error::Error;
    use std::ffi::{c_int, c_void};
    use std::io;
    use std::process::Command;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use rayon_core::{
        ThreadPoolBuildError, ThreadPoolBuilder, Yield, current_num_threads, current_thread_index,
        yield_now,
    };

    use crate::common;

    /// The errno for a system call that the kernel does not have.
    const ENOSYS: c_int = 38;

    // SAFETY: the signature is that of POSIX, and every caller must expect that a thread cannot be
    // created.
    #[unsafe(no_mangle)]
    extern "C" fn pthread_create(
        _thread: *mut c_void,
        _attributes: *const c_void,
        _start: *mut c_void,
        _argument: *mut c_void,
    ) -> c_int {
        ENOSYS
    }

    /// The calls that may be the first use of the global pool. Each call must do its work on this
    /// thread.
    const FIRST_USES: [(&str, fn()); 8] = [
        ("join", || assert_eq!(rayon_core::join(|| 1, || 2), (1, 2))),
        ("join_context", || {
            let migrated = rayon_core::join_context(|a| a.migrated(), |b| b.migrated());
            assert_eq!(migrated, (false, false), "the call moved nowhere");
        }),
        ("scope", || {
            let mut ran = false;
            rayon_core::scope(|scope| scope.spawn(|_| ran = true));
            assert!(ran);
        }),
        ("in_place_scope", || {
            let mut ran = false;
            rayon_core::in_place_scope(|scope| scope.spawn(|_| ran = true));
            assert!(ran);
        }),
        ("spawn", || {
            runs_at_a_yield(|| rayon_core::spawn(|| RAN.store(true, Ordering::Relaxed)));
        }),
        ("spawn_broadcast", || {
            runs_at_a_yield(|| {
                rayon_core::spawn_broadcast(|_| RAN.store(true, Ordering::Relaxed));
            });
        }),
        ("broadcast", || {
            assert_eq!(rayon_core::broadcast(|context| context.index()), [0]);
        }),
        ("current_num_threads", || {
            assert_eq!(current_num_threads(), 1);
        }),
    ];

    static RAN: AtomicBool = AtomicBool::new(false);

    fn runs_at_a_yield(submit: fn()) {
        submit();
        assert!(!RAN.load(Ordering::Relaxed), "a thread ran the job");
        assert_eq!(yield_now(), Some(Yield::Executed));
        assert!(RAN.load(Ordering::Relaxed));
    }

    fn this_thread_is_the_global_pool() {
        assert_eq!(
            (current_thread_index(), current_num_threads()),
            (Some(0), 1)
        );
        assert!(
            ThreadPoolBuilder::new().build_global().is_err(),
            "a second attempt to build the global pool was made"
        );
    }

    fn is_unsupported(outcome: Result<(), ThreadPoolBuildError>) {
        let error = outcome.unwrap_err();
        let source = error
            .source()
            .and_then(|source| source.downcast_ref::<io::Error>());
        assert_eq!(
            source.map(io::Error::kind),
            Some(io::ErrorKind::Unsupported),
            "{error:?}"
        );
    }

    fn explicit_builders_fail() {
        is_unsupported(ThreadPoolBuilder::new().build().map(drop));
        is_unsupported(ThreadPoolBuilder::new().num_threads(1).build_global());
        assert_eq!(current_thread_index(), None);
        std::panic::set_hook(Box::new(|_| ())); // the next panic is expected
        let implicit_use = std::panic::catch_unwind(current_num_threads);
        assert!(implicit_use.is_err(), "a second attempt was made");
    }

    const EXPLICIT: &str = "explicit builders";
    const CASE: &str = "RAYON_FORK_TEST_CASE";

    pub(super) fn main() {
        if let Ok(case) = env::var(CASE) {
            return run_case(&case);
        }
        for case in FIRST_USES.iter().map(|(name, _)| *name).chain([EXPLICIT]) {
            let program = env::current_exe().unwrap();
            let mut child = Command::new(program).env(CASE, case).spawn().unwrap();
            let status = common::ended(&mut child);
            let status = status.unwrap_or_else(|| panic!("hung: first use by {case}"));
            assert!(status.success(), "first use by {case}: {status}");
        }
        println!(
            "without threads: {} first uses, and explicit builders, ok",
            FIRST_USES.len()
        );
    }

    fn run_case(case: &str) {
        let cannot = thread::Builder::new().spawn(|| ()).unwrap_err();
        assert_eq!(
            cannot.kind(),
            io::ErrorKind::Unsupported,
            "this program can start threads"
        );
        if case == EXPLICIT {
            return explicit_builders_fail();
        }
        let (_, first_use) = FIRST_USES.iter().find(|(name, _)| *name == case).unwrap();
        first_use();
        this_thread_is_the_global_pool();
    }
}
