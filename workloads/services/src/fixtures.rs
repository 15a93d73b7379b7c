//! Parameters and pools for tests.

use protocol::{Size, Values};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Returns the smallest size of a workload, with parameters like `a=b c=d`.
pub(crate) fn values(workload: &str, explicit: &str) -> Values {
    let words = explicit.split_whitespace();
    let explicit = words.map(|word| word.split_once('=').expect("name=value"));
    let explicit = explicit.map(|(name, value)| (name.to_owned(), value.to_owned()));
    protocol::workload(workload)
        .resolve(Size::Tiny, &explicit.collect(), false)
        .unwrap()
}

pub(crate) fn pool(threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    builder.build().unwrap()
}
