//! `async-io`: user-level threads, or jobs of the pool, read or write files and then compute. A
//! student project on user-level threads is the model.
//!
//! User-level threads share one OS thread. A synchronous transfer blocks all of these threads;
//! during an asynchronous transfer, other user-level threads run. A job on the pool blocks its
//! worker.

mod area;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rayon::ThreadPool;

use crate::metrics::metric;
use crate::user_threads::{Files, UserThreads, chain_with_safepoints};
use area::Area;
use protocol::{Metric, Refusal, Values};
use workloads::kinds::pacing::chain;
use workloads::workload::{Instance, Mismatch, Setup};

pub(crate) fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    Ok(Box::new(Transfers::new(setup.seed, setup.values)?))
}

struct Transfers {
    area: Arc<Area>,
    /// The quantum of user-level threads; `None` if tasks are jobs.
    quantum: Option<Duration>,
    /// The transfers of user-level threads, if they are asynchronous.
    files: Option<Files>,
    known_sum: u64,
    /// The sum of the run's computations, or the first error.
    outcome: Option<io::Result<u64>>,
}

impl Transfers {
    fn new(seed: u64, values: &Values) -> Result<Self, Refusal> {
        let area = Area::new(seed, values)?;
        let quantum = Duration::from_micros(values.whole("quantum-us"));
        Ok(Self {
            quantum: (values.word("io") != "pool").then_some(quantum),
            files: match values.word("io") {
                "asynchronous" => Some(Files::start(area.tasks())),
                _ => None,
            },
            known_sum: area.known_sum(),
            area: Arc::new(area),
            outcome: None,
        })
    }

    fn on_user_threads(&mut self, quantum: Duration) -> io::Result<u64> {
        let is_asynchronous = self.files.is_some();
        let mut threads = UserThreads::new(quantum, self.files.take());
        let results = Rc::new(RefCell::new(Vec::new()));
        for task in 0..self.area.tasks() {
            let (area, results) = (Arc::clone(&self.area), Rc::clone(&results));
            threads.spawn(move |me| {
                let transfer = |block| {
                    if !is_asynchronous {
                        return area.transfer(task, block);
                    }
                    let buffer = area.swap_buffer(task, block, Vec::new());
                    let (file, offset) = (area.file(task), area.offset(block));
                    let buffer = me.transfer(area.direction, file, buffer, offset)?;
                    area.swap_buffer(task, block, buffer);
                    Ok(())
                };
                let compute = |word, steps| chain_with_safepoints(me, word, steps);
                let result = area.run(task, transfer, compute);
                results.borrow_mut().push(result);
            })?;
        }
        threads.run();
        self.files = threads.take_files();
        total(results.take())
    }
}

fn on_pool(area: &Area) -> io::Result<u64> {
    let results = &Mutex::new(Vec::new());
    rayon::scope(|scope| {
        for task in 0..area.tasks() {
            scope.spawn(move |_| {
                let own = on_this_thread(area, task);
                results.lock().push(own);
            });
        }
    });
    total(results.lock().drain(..))
}

fn on_this_thread(area: &Area, task: usize) -> io::Result<u64> {
    area.run(task, |block| area.transfer(task, block), chain)
}

fn total(results: impl IntoIterator<Item = io::Result<u64>>) -> io::Result<u64> {
    results
        .into_iter()
        .try_fold(0_u64, |sum, own| Ok(sum.wrapping_add(own?)))
}

impl Instance for Transfers {
    fn reset(&mut self) {
        self.outcome = None;
        self.area.reset();
    }

    fn run_sequential(&mut self) -> u64 {
        let results = (0..self.area.tasks()).map(|task| on_this_thread(&self.area, task));
        self.outcome = Some(total(results));
        self.area.transfers()
    }

    fn run_on(&mut self, pool: &ThreadPool) -> u64 {
        let area = Arc::clone(&self.area);
        self.outcome = Some(match self.quantum {
            None => pool.install(|| on_pool(&area)),
            Some(quantum) => self.on_user_threads(quantum),
        });
        self.area.transfers()
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        let describe =
            |sum: u64| format!("{} correct blocks, sum {sum:016x}", self.area.transfers());
        let expected = describe(self.known_sum);
        let actual = match &self.outcome {
            None => "nothing ran".to_owned(),
            Some(Err(error)) => format!("a transfer failed: {error}"),
            Some(Ok(sum)) => match self.area.first_wrong_block() {
                Ok(None) => describe(*sum),
                Ok(Some((task, block))) => format!("block {block} of task {task} is wrong"),
                Err(error) => format!("reading back failed: {error}"),
            },
        };
        Mismatch::unless_equal(&expected, &actual)
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        let Some(files) = &self.files else {
            return BTreeMap::new();
        };
        let most = files.most_under_way() as f64;
        BTreeMap::from([metric("most_under_way", most, "transfers at a time")])
    }
}
