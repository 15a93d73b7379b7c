//! The rival [fork_union](https://docs.rs/fork_union): its threads spin until the number of the
//! current fork-join region changes.

pub(crate) const NAME: &str = "fork_union";

pub(crate) struct Threads(fork_union::ThreadPool);

impl Threads {
    /// The thread that opens a region is one of `threads`.
    pub(crate) fn start(threads: usize) -> Self {
        Self(fork_union::ThreadPool::try_spawn(threads).expect("fork_union starts its threads"))
    }

    pub(crate) fn run_on_each(&mut self, share: &(dyn Fn(usize) + Sync)) {
        self.0
            .for_threads(|thread, _colocation| share(thread))
            .join();
    }
}
