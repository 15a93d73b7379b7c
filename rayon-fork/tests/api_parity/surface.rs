//! Uses of every public item with no more bounds than a caller may count on. Compiled against both
//! crates.
#![allow(deprecated, reason = "deprecated items are a part of the interface")]
#![allow(dead_code, reason = "most of it is there to compile")]

use std::any::Any;
use std::error::Error;
use std::fmt::{Debug, Display, Write};
use std::hash::Hash;
use std::io;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};

use rayon_core as core;
use rayon_core::{
    BroadcastContext, Configuration, FnContext, Scope, ScopeFifo, ThreadBuilder, ThreadPool,
    ThreadPoolBuildError, ThreadPoolBuilder, Yield,
};

// Functions without type parameters: their exact type.
const _: fn() -> usize = core::current_num_threads;
const _: fn() -> usize = core::max_num_threads;
const _: fn() -> Option<usize> = core::current_thread_index;
const _: fn() -> Option<bool> = core::current_thread_has_pending_tasks;
const _: fn() -> Option<Yield> = core::yield_now;
const _: fn() -> Option<Yield> = core::yield_local;
const _: fn(Configuration) -> Result<(), Box<dyn Error>> = core::initialize;
const _: fn(&ThreadPool) -> usize = ThreadPool::current_num_threads;
const _: fn(&ThreadPool) -> Option<usize> = ThreadPool::current_thread_index;
const _: fn(&ThreadPool) -> Option<bool> = ThreadPool::current_thread_has_pending_tasks;
const _: fn(&ThreadPool) -> Option<Yield> = ThreadPool::yield_now;
const _: fn(&ThreadPool) -> Option<Yield> = ThreadPool::yield_local;
const _: fn(Configuration) -> Result<ThreadPool, Box<dyn Error>> = ThreadPool::new;
const _: fn(&FnContext) -> bool = FnContext::migrated;
const _: fn(&BroadcastContext<'static>) -> usize = BroadcastContext::index;
const _: fn(&BroadcastContext<'static>) -> usize = BroadcastContext::num_threads;
const _: fn(&ThreadBuilder) -> usize = ThreadBuilder::index;
const _: for<'a> fn(&'a ThreadBuilder) -> Option<&'a str> = ThreadBuilder::name;
const _: fn(&ThreadBuilder) -> Option<usize> = ThreadBuilder::stack_size;
const _: fn(ThreadBuilder) = ThreadBuilder::run;
const _: fn() -> ThreadPoolBuilder = ThreadPoolBuilder::new;
const _: fn() -> ThreadPoolBuilder = ThreadPoolBuilder::default;
const _: fn(ThreadPoolBuilder) -> Result<ThreadPool, ThreadPoolBuildError> =
    ThreadPoolBuilder::build;
const _: fn(ThreadPoolBuilder) -> Result<(), ThreadPoolBuildError> =
    ThreadPoolBuilder::build_global;
const _: fn(ThreadPoolBuilder, usize) -> ThreadPoolBuilder = ThreadPoolBuilder::num_threads;
const _: fn(ThreadPoolBuilder, usize) -> ThreadPoolBuilder = ThreadPoolBuilder::stack_size;
const _: fn(ThreadPoolBuilder) -> ThreadPoolBuilder = ThreadPoolBuilder::use_current_thread;
const _: fn(ThreadPoolBuilder) -> ThreadPoolBuilder = ThreadPoolBuilder::breadth_first;
const _: fn() -> Configuration = Configuration::new;
const _: fn() -> Configuration = Configuration::default;
const _: fn(Configuration) -> Result<ThreadPool, Box<dyn Error + 'static>> = Configuration::build;
const _: fn(Configuration, usize) -> Configuration = Configuration::num_threads;
const _: fn(Configuration, usize) -> Configuration = Configuration::stack_size;
const _: fn(Configuration) -> Configuration = Configuration::breadth_first;
const _: [Yield; 2] = [Yield::Executed, Yield::Idle];

fn joins<A, B, RA, RB>(pool: &ThreadPool, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send + Copy,
    B: FnOnce() -> RB + Send + Copy,
    RA: Send,
    RB: Send,
{
    pool.join::<A, B, RA, RB>(a, b);
    core::join::<A, B, RA, RB>(a, b)
}

fn join_with_context<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    core::join_context::<A, B, RA, RB>(a, b)
}

fn installs<OP, R>(pool: &ThreadPool, op: OP) -> R
where
    OP: FnOnce() -> R + Send,
    R: Send,
{
    pool.install::<OP, R>(op)
}

fn scopes<'scope, OP, R>(pool: &ThreadPool, op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send + Copy,
    R: Send,
{
    pool.scope::<OP, R>(op);
    core::scope::<OP, R>(op)
}

fn fifo_scopes<'scope, OP, R>(pool: &ThreadPool, op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send + Copy,
    R: Send,
{
    pool.scope_fifo::<OP, R>(op);
    core::scope_fifo::<OP, R>(op)
}

fn scopes_in_place<'scope, OP, R>(pool: &ThreadPool, op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Copy,
{
    pool.in_place_scope::<OP, R>(op);
    core::in_place_scope::<OP, R>(op)
}

fn fifo_scopes_in_place<'scope, OP, R>(pool: &ThreadPool, op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Copy,
{
    pool.in_place_scope_fifo::<OP, R>(op);
    core::in_place_scope_fifo::<OP, R>(op)
}

fn spawns<F: FnOnce() + Send + 'static + Copy>(pool: &ThreadPool, job: F) {
    let _: () = core::spawn::<F>(job);
    let _: () = core::spawn_fifo::<F>(job);
    let _: () = pool.spawn::<F>(job);
    let _: () = pool.spawn_fifo::<F>(job);
}

fn spawns_into_scopes<'scope, B, C>(scope: &Scope<'scope>, fifo: &ScopeFifo<'scope>, b: B, c: C)
where
    B: FnOnce(&Scope<'scope>) + Send + 'scope,
    C: FnOnce(&ScopeFifo<'scope>) + Send + 'scope,
{
    let _: () = scope.spawn::<B>(b);
    let _: () = fifo.spawn_fifo::<C>(c);
}

fn broadcasts_into_scopes<'scope, B, C>(scope: &Scope<'scope>, fifo: &ScopeFifo<'scope>, b: B, c: C)
where
    B: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    C: Fn(&ScopeFifo<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
{
    let _: () = scope.spawn_broadcast::<B>(b);
    let _: () = fifo.spawn_broadcast::<C>(c);
}

fn broadcasts<OP, R>(pool: &ThreadPool, op: &OP) -> [Vec<R>; 2]
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    [core::broadcast::<_, R>(op), pool.broadcast::<_, R>(op)]
}

fn detached_broadcasts<OP>(pool: &ThreadPool, op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static + Copy,
{
    let _: () = core::spawn_broadcast::<OP>(op);
    let _: () = pool.spawn_broadcast::<OP>(op);
}

fn options<N, P, S, E>(name: N, panic: P, start: S, exit: E) -> ThreadPoolBuilder
where
    N: FnMut(usize) -> String + 'static,
    P: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    S: Fn(usize) + Send + Sync + 'static,
    E: Fn(usize) + Send + Sync + 'static,
{
    ThreadPoolBuilder::new()
        .thread_name::<N>(name)
        .panic_handler::<P>(panic)
        .start_handler::<S>(start)
        .exit_handler::<E>(exit)
}

fn old_options<N, P, S, E>(name: N, panic: P, start: S, exit: E) -> Configuration
where
    N: FnMut(usize) -> String + 'static,
    P: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    S: Fn(usize) + Send + Sync + 'static,
    E: Fn(usize) + Send + Sync + 'static,
{
    Configuration::new()
        .thread_name::<N>(name)
        .panic_handler::<P>(panic)
        .start_handler::<S>(start)
        .exit_handler::<E>(exit)
}

fn spawn_handlers<F>(spawn: F) -> Result<ThreadPool, ThreadPoolBuildError>
where
    F: FnMut(ThreadBuilder) -> io::Result<()>,
{
    // A builder with a spawn handler takes the same options, in any order, and another handler.
    ThreadPoolBuilder::new()
        .spawn_handler(|_| Ok(()))
        .num_threads(1)
        .use_current_thread()
        .breadth_first()
        .stack_size(1)
        .thread_name(|_| String::new())
        .panic_handler(|_| ())
        .start_handler(|_| ())
        .exit_handler(|_| ())
        .spawn_handler::<F>(spawn)
        .build()
}

fn scoped_pools<W, F, R>(wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
where
    W: Fn(ThreadBuilder) + Sync,
    F: FnOnce(&ThreadPool) -> R,
{
    ThreadPoolBuilder::new().build_scoped::<W, F, R>(wrapper, with_pool)
}

/// Stands for a type. When a test asks for a trait, the inherent method answers if the type has the
/// trait.
struct Probe<T>(PhantomData<T>);

impl<T> Probe<T> {
    fn of_value(_: &T) -> Self {
        Self(PhantomData)
    }
}

macro_rules! probes {
    ($($ask:ident: $bound:path),*) => {
        $(impl<T: $bound> Probe<T> {
            fn $ask(&self) -> bool {
                true
            }
        })*
        /// The method that answers for a type without the trait.
        trait Lacks {
            $(fn $ask(&self) -> bool {
                false
            })*
        }
        impl<T> Lacks for Probe<T> {}
        /// Adds a line that says which of the traits the probed type has.
        macro_rules! ask_all {
            ($lines:ident, $name:expr, $probe:expr) => {{
                let probe = $probe;
                write!($lines, "{}:", $name).unwrap();
                $(if probe.$ask() {
                    write!($lines, " {}", stringify!($ask)).unwrap();
                })*
                $lines.push('\n');
            }};
        }
    };
}

probes! {
    send: Send, sync: Sync, unpin: Unpin, unwind_safe: UnwindSafe, ref_unwind_safe: RefUnwindSafe,
    clone: Clone, copy: Copy, debug: Debug, display: Display, default: Default, error: Error,
    partial_eq: PartialEq, eq: Eq, partial_ord: PartialOrd, ord: Ord, hash: Hash, is_static: Static
}

/// A type that may live for ever.
trait Static: 'static {}

impl<T: 'static> Static for T {}

/// Returns the traits of every public type, one line each.
pub(crate) fn traits() -> String {
    let mut lines = String::new();
    macro_rules! ask {
        ($($of:ty),*) => {
            $(ask_all!(lines, stringify!($of), Probe::<$of>(PhantomData));)*
        };
    }
    ask!(
        ThreadPool,
        ThreadPoolBuilder,
        ThreadPoolBuildError,
        ThreadBuilder,
        Configuration,
        FnContext,
        BroadcastContext<'static>,
        Scope<'static>,
        ScopeFifo<'static>,
        Yield
    );
    let with_handler = ThreadPoolBuilder::new().spawn_handler(|_| Ok(()));
    ask_all!(
        lines,
        "a builder with a spawn handler",
        Probe::of_value(&with_handler)
    );
    lines
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_probes_tell_traits_apart() {
        let traits = super::traits();
        let line = |of: &str| {
            traits
                .lines()
                .find(|line| line.starts_with(of))
                .unwrap()
                .to_owned()
        };
        assert!(line("ThreadPool:").contains(" send sync "));
        assert!(!line("FnContext:").contains(" send"));
        assert!(line("Yield:").contains(" clone copy "));
        assert!(line("ThreadPoolBuildError:").contains(" error"));
    }
}
