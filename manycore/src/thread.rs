//! Simulated threads, with the interface of `std::thread`.
#![expect(
    missing_docs,
    clippy::must_use_candidate,
    clippy::return_self_not_must_use,
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    reason = "the standard library documents this interface"
)]

use std::cell::{Cell, OnceCell, RefCell};
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crate::atomic::{AtomicU32, Ordering};
use crate::engine;
use crate::lock::{Condvar, Mutex};
use crate::number::Number;

pub type Result<T> = std::thread::Result<T>;

struct Packet<T> {
    result: Mutex<Option<Result<T>>>,
    is_done: Condvar,
}

pub struct JoinHandle<T> {
    packet: Arc<Packet<T>>,
    thread: Thread,
}

impl<T> JoinHandle<T> {
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.packet
            .result
            .lock()
            .is_ok_and(|result| result.is_some())
    }

    #[track_caller]
    pub fn join(self) -> Result<T> {
        let Packet { result, is_done } = &*self.packet;
        let result = result.lock().expect("the lock is never poisoned");
        let result = is_done.wait_while(result, |result| result.is_none());
        let taken = result.expect("the lock is never poisoned").take();
        taken.expect("the thread has stored its result")
    }
}

#[derive(Debug, Default)]
pub struct Builder {
    name: Option<String>,
}

impl Builder {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn name(mut self, name: String) -> Self {
        self.name = Some(name);
        self
    }

    /// Ignores the size: the stacks of all threads have one size.
    pub fn stack_size(self, _: usize) -> Self {
        self
    }

    /// Starts the thread on the first free core, or behind other threads. Fails outside a
    /// simulation, and if 8192 threads exist.
    pub fn spawn<T: 'static>(
        self,
        body: impl FnOnce() -> T + 'static,
    ) -> io::Result<JoinHandle<T>> {
        // SAFETY: `body` and its result borrow only data that lives for ever.
        unsafe { self.spawn_unchecked(body, || ()) }
    }

    /// Does the same as [`Self::spawn`] with a `body` that borrows data. The thread calls `after`
    /// last.
    ///
    /// # Safety
    /// All data that `body` and its result borrow must live until `after` has been called,
    /// or until this function returns an error.
    unsafe fn spawn_unchecked<'a, T: 'a>(
        self,
        body: impl FnOnce() -> T + 'a,
        after: impl FnOnce() + 'a,
    ) -> io::Result<JoinHandle<T>> {
        let packet = Arc::new(Packet {
            result: Mutex::new(None),
            is_done: Condvar::new(),
        });
        let of_thread = Arc::clone(&packet);
        // The allocation is free: it stands for the standard library's record of a thread.
        let token = crate::on_host(|| Arc::new(AtomicU32::new(EMPTY)));
        let own = Arc::clone(&token);
        let body: Box<dyn FnOnce() + 'a> = Box::new(move || {
            crate::on_host(|| TOKEN.with(|token| drop(token.set(own))));
            let result = catch_unwind(AssertUnwindSafe(|| {
                let value = body();
                // A value's destructor may create other thread-local values.
                while let Some(value) = engine::take_local() {
                    drop(value);
                }
                value
            }));
            *of_thread.result.lock().expect("the lock is never poisoned") = Some(result);
            of_thread.is_done.notify_all();
            // The thread that drops the packet last drops the result, too.
            drop(of_thread);
            after();
        });
        // SAFETY: the caller promises that the borrowed data live until `after` has been called,
        // and the thread uses `body` only before that call.
        let body: Box<dyn FnOnce() + 'static> = unsafe { std::mem::transmute(body) };
        let name = crate::on_host(|| self.name.clone());
        let Some(number) = engine::spawn(name, body) else {
            return Err(io::Error::other(format!(
                "a simulated machine has at most {} threads at a time; start fewer",
                engine::MOST_THREADS
            )));
        };
        let thread = Thread {
            id: ThreadId(number),
            name: self.name,
            token,
        };
        Ok(JoinHandle { packet, thread })
    }
}

pub fn spawn<T: 'static>(body: impl FnOnce() -> T + 'static) -> JoinHandle<T> {
    Builder::new()
        .spawn(body)
        .expect("there is room for a thread")
}

pub fn yield_now() {
    engine::begin_search();
    engine::yield_now();
}

/// Sleeps for `time` on the machine's clock; outside a simulation, on the host's.
pub fn sleep(time: Duration) {
    if !engine::sleep(time) {
        std::thread::sleep(time);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ThreadId(u64);

#[derive(Clone, Debug)]
pub struct Thread {
    id: ThreadId,
    name: Option<String>,
    token: Arc<AtomicU32>,
}

const EMPTY: u32 = 0;
const PARKED: u32 = u32::MAX;
const NOTIFIED: u32 = 1;

crate::core_local!(static TOKEN: OnceCell<Arc<AtomicU32>> = OnceCell::new());

fn token() -> Arc<AtomicU32> {
    let make = || crate::on_host(|| Arc::new(AtomicU32::new(EMPTY)));
    TOKEN.with(|token| Arc::clone(token.get_or_init(make)))
}

pub fn current() -> Thread {
    let (number, name) = engine::thread_identity();
    Thread {
        id: ThreadId(number),
        name,
        token: token(),
    }
}

#[track_caller]
pub fn park() {
    park_for(None);
}

#[track_caller]
pub fn park_timeout(time: Duration) {
    park_for(Some(time));
}

#[track_caller]
fn park_for(time: Option<Duration>) {
    let (token, at) = (token(), Location::caller());
    if token.fetch_sub(1, Ordering::Acquire) == NOTIFIED {
        return;
    }
    let address = Arc::as_ptr(&token) as usize;
    engine::block(address, time, || token.load_at(at) == PARKED, at);
    token.swap(EMPTY, Ordering::Acquire);
}

impl Thread {
    #[track_caller]
    pub fn unpark(&self) {
        if self.token.swap(NOTIFIED, Ordering::Release) == PARKED {
            engine::wake(Arc::as_ptr(&self.token) as usize, 1, Location::caller());
        }
    }

    pub fn id(&self) -> ThreadId {
        self.id
    }

    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

impl<T> Local<Cell<T>> {
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }

    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }

    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
    }
}

#[derive(Default)]
struct Unfinished {
    threads: Mutex<usize>,
    changed: Condvar,
}

impl Unfinished {
    fn change(&self, change: impl FnOnce(&mut usize)) {
        change(&mut self.threads.lock().expect("the lock is never poisoned"));
        self.changed.notify_all();
    }
}

pub struct Scope<'scope> {
    unfinished: Arc<Unfinished>,
    borrows: PhantomData<Cell<&'scope ()>>,
}

/// Waits for all threads of the scope, also when `body` panics. Unlike the standard library's
/// scope, this scope ignores panics of its threads.
pub fn scope<'scope, R>(body: impl FnOnce(&Scope<'scope>) -> R) -> R {
    struct Waits(Arc<Unfinished>);
    impl Drop for Waits {
        fn drop(&mut self) {
            let mut threads = self.0.threads.lock().expect("the lock is never poisoned");
            while *threads > 0 {
                threads = self
                    .0
                    .changed
                    .wait(threads)
                    .expect("the lock is never poisoned");
            }
        }
    }
    let unfinished = Arc::new(Unfinished::default());
    let scope = Scope {
        unfinished: Arc::clone(&unfinished),
        borrows: PhantomData,
    };
    let _waits = Waits(unfinished);
    body(&scope)
}

impl<'scope> Scope<'scope> {
    pub fn spawn<T: 'scope>(&self, body: impl FnOnce() -> T + 'scope) -> JoinHandle<T> {
        Builder::new()
            .spawn_scoped(self, body)
            .expect("there is room for a thread")
    }
}

impl Builder {
    pub fn spawn_scoped<'scope, T: 'scope>(
        self,
        scope: &Scope<'scope>,
        body: impl FnOnce() -> T + 'scope,
    ) -> io::Result<JoinHandle<T>> {
        let of_thread = Arc::clone(&scope.unfinished);
        scope.unfinished.change(|threads| *threads += 1);
        // SAFETY: the data that `body` borrows live for `'scope`, and the function `scope` does not
        // return before the thread has decremented the count.
        let thread = unsafe {
            self.spawn_unchecked(body, move || of_thread.change(|threads| *threads -= 1))
        };
        thread.inspect_err(|_| scope.unfinished.change(|threads| *threads -= 1))
    }
}

/// A value of which every thread of a simulation has its own copy. Outside a simulation, each
/// thread of the host has its own copy, too.
pub struct Local<T: 'static> {
    make: fn() -> T,
    number: Number,
    outside: Outside<T>,
}

type Outside<T> = fn(&dyn Fn(&T));

impl<T: 'static> Local<T> {
    /// For [`crate::core_local!`] only.
    #[doc(hidden)]
    pub const fn new(make: fn() -> T, outside: Outside<T>) -> Self {
        Self {
            make,
            number: Number::new(),
            outside,
        }
    }

    pub fn with<R>(&'static self, visit: impl FnOnce(&T) -> R) -> R {
        self.try_with(visit)
            .expect("the thread has not dropped its values")
    }

    pub fn try_with<R>(
        &'static self,
        visit: impl FnOnce(&T) -> R,
    ) -> std::result::Result<R, AccessError> {
        if engine::running().is_null() {
            let visit = Cell::new(Some(visit));
            let result = Cell::new(None);
            (self.outside)(&|value| {
                let visit = visit.take().expect("the closure is called once");
                result.set(Some(visit(value)));
            });
            return Ok(result.into_inner().expect("the closure was called"));
        }
        let make = || -> engine::Value { (Box::new((self.make)()), std::mem::needs_drop::<T>()) };
        let value = engine::local(self.number.get(), make).ok_or(AccessError)?;
        // SAFETY: the value's box lives until its thread ends, and that thread runs this code.
        let value = unsafe { &*value };
        Ok(visit(
            value
                .downcast_ref()
                .expect("each thread-local value has its own number"),
        ))
    }
}

impl<T> Local<RefCell<T>> {
    pub fn with_borrow<R>(&'static self, visit: impl FnOnce(&T) -> R) -> R {
        self.with(|value| visit(&value.borrow()))
    }

    pub fn with_borrow_mut<R>(&'static self, visit: impl FnOnce(&mut T) -> R) -> R {
        self.with(|value| visit(&mut value.borrow_mut()))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessError;

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the thread has dropped its values")
    }
}

impl std::error::Error for AccessError {}

/// Declares a [`thread::Local`](crate::thread::Local): `core_local!(static NAME: Type = value);`.
#[macro_export]
macro_rules! core_local {
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty = $value:expr) => {
        $(#[$attribute])*
        $visibility static $name: $crate::thread::Local<$type> = {
            fn make() -> $type {
                $value
            }
            fn outside(visit: &dyn Fn(&$type)) {
                ::std::thread_local!(static VALUE: $type = make());
                VALUE.with(|value| visit(value));
            }
            $crate::thread::Local::new(make, outside)
        };
    };
}
