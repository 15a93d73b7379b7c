//! The threads that answer requests, and how requests reach them.

use std::io;
use std::mem;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

use mio::Token;
use rayon::{Scope, ThreadPool};

use super::conversation::{Conversation, End, Step};
use super::counts::Counts;
use super::reader::Reader;
use super::signal::Signal;
use super::turns::Turns;
use super::{Limits, Service, Then, Times};
use crate::queue::{LockFree, Regular, TaskQueue};

/// How often a handler that waits for one client looks whether the server ends.
const TICK: Duration = Duration::from_millis(50);

/// How long it lets a client take of its answer once the server ends.
const LAST_TICK: Duration = Duration::from_millis(1);

/// The handlers of a server's requests.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Handlers<'a> {
    /// The reader itself, so that one thread does everything.
    Reader,
    /// Each task is a job of this pool, put in from outside.
    Pool(&'a ThreadPool),
    /// So many threads that take from a queue.
    Threads {
        /// How many.
        count: usize,
        /// The queue from which they take.
        queue: Queue,
    },
    /// A thread of its own for each connection, whatever the unit.
    ThreadPerConnection,
}

/// The queue before threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queue {
    /// [`Regular`].
    Regular,
    /// [`LockFree`]; a thread that finds it empty sleeps until something is in it.
    LockFree,
    /// [`LockFree`]; a thread that finds it empty looks again after this time.
    LockFreeLookingEvery(Duration),
}

/// The amount that a handler takes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// One request; handlers never wait for a client.
    Requests,
    /// A connection, until it ends.
    Connections,
}

/// A connection that the reader watches.
pub(super) struct Watched {
    pub(super) token: Token,
    pub(super) stream: mio::net::TcpStream,
    pub(super) conversation: Turns<Conversation>,
}

/// Something for a handler to do.
pub(super) enum Task<R> {
    /// Answer this, which had arrived then.
    Request(Arc<Watched>, R, Instant),
    /// Serve this, which was let in then, until it ends.
    Connection(TcpStream, Instant),
}

/// The state that reader and handlers share.
pub(super) struct Desk<'a, S> {
    pub(super) service: &'a S,
    pub(super) signal: &'a Signal,
    pub(super) limits: Limits,
    counts: Mutex<Counts>,
    /// Connections that handlers have seen the end of.
    over: Mutex<Vec<Token>>,
}

/// A thread that panicked left whole counts and lists.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S: Service> Desk<'_, S> {
    pub(super) fn count(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut lock(&self.counts));
    }

    /// Connections that are neither over nor turned away.
    pub(super) fn open_connections(&self) -> u64 {
        lock(&self.counts).open()
    }

    /// Connections that are over since the last call.
    pub(super) fn take_over(&self) -> Vec<Token> {
        mem::take(&mut lock(&self.over))
    }

    /// Goes on with a watched connection as far as it goes; its next request is a task.
    pub(super) fn advance(
        &self,
        connection: &Arc<Watched>,
        conversation: &mut Conversation,
    ) -> Step<Task<S::Request>> {
        // Refused if the client is gone already, which the next read tells as well.
        let shut = || drop(connection.stream.shutdown(Shutdown::Write));
        match conversation.advance(&mut &connection.stream, self.service, shut) {
            Step::Asked(request) => Step::Asked(Task::Request(
                Arc::clone(connection),
                request,
                Instant::now(),
            )),
            Step::Waits => Step::Waits,
            Step::Over(end) => {
                self.count(|counts| counts.count(end));
                Step::Over(end)
            }
        }
    }

    /// Does a task; returns the next one of the same connection if that has arrived already.
    fn handle(&self, task: Task<S::Request>, handler: usize) -> Option<Task<S::Request>> {
        match task {
            Task::Connection(stream, accepted) => {
                self.attend(&stream, accepted.elapsed(), handler);
                None
            }
            Task::Request(connection, request, arrived) => {
                self.reply(&connection, &request, arrived, handler)
            }
        }
    }

    fn reply(
        &self,
        connection: &Arc<Watched>,
        request: &S::Request,
        arrived: Instant,
        handler: usize,
    ) -> Option<Task<S::Request>> {
        let begun = Instant::now();
        // Without the conversation, which the reader needs when something arrives.
        let (answer, outcome, then) = self.work_out(request);
        let mut conversation = connection.conversation.hold();
        conversation.answer(answer, then);
        // A fault of the stream shows again below.
        let _ = conversation.flush(&mut &connection.stream);
        let times = Times {
            arrived,
            begun,
            ended: Instant::now(),
        };
        self.service.answered(handler, request, outcome, times);
        loop {
            let step = self.advance(connection, &mut conversation);
            drop(conversation);
            match step {
                Step::Asked(task) => return Some(task),
                Step::Waits if connection.conversation.take_word() => {
                    conversation = connection.conversation.hold();
                }
                Step::Waits => return None,
                Step::Over(_) => {
                    lock(&self.over).push(connection.token);
                    self.signal.wake_reader();
                    return None;
                }
            }
        }
    }

    fn work_out(&self, request: &S::Request) -> (Vec<u8>, S::Outcome, Then) {
        let mut answer = Vec::new();
        let is_last = self.signal.is_stopping();
        let (outcome, then) = self.service.answer(request, is_last, &mut answer);
        (answer, outcome, if is_last { Then::Close } else { then })
    }

    /// Serves a connection until it ends, waiting for the client. It has waited for a handler for
    /// so long, which its first request is charged with.
    fn attend(&self, stream: &TcpStream, waited: Duration, handler: usize) {
        let end = match self.prepare(stream) {
            Ok(()) => self.converse(stream, waited, handler),
            Err(_) => End::Vanished,
        };
        self.count(|counts| counts.count(end));
    }

    fn prepare(&self, stream: &TcpStream) -> io::Result<()> {
        // Many may have waited for a handler when the server is stopped, so then it does not wait
        // for them.
        stream.set_nonblocking(self.signal.is_stopping())?;
        stream.set_read_timeout(Some(TICK))?;
        stream.set_write_timeout(Some(TICK))
    }

    fn converse(&self, mut stream: &TcpStream, mut waited: Duration, handler: usize) -> End {
        let mut conversation = Conversation::new();
        loop {
            let shut = || drop(stream.shutdown(Shutdown::Write));
            match conversation.advance(&mut stream, self.service, shut) {
                Step::Asked(request) => {
                    let begun = Instant::now();
                    let arrived = begun.checked_sub(mem::take(&mut waited)).unwrap_or(begun);
                    let (answer, outcome, then) = self.work_out(&request);
                    conversation.answer(answer, then);
                    let _ = conversation.flush(&mut stream);
                    let times = Times {
                        arrived,
                        begun,
                        ended: Instant::now(),
                    };
                    self.service.answered(handler, &request, outcome, times);
                }
                Step::Over(end) => return end,
                Step::Waits => {
                    // Others wait for this handler, so when the server ends it does not linger.
                    if self.signal.is_stopping() {
                        let end = if conversation.is_listening() {
                            conversation.stop(self.service)
                        } else if conversation.is_leaving() {
                            conversation.expire(self.service)
                        } else {
                            thread::sleep(LAST_TICK);
                            None
                        };
                        if let Some(end) = end {
                            return end;
                        }
                    }
                    let is_late = |due| Instant::now() >= due;
                    if conversation.deadline(&self.limits).is_some_and(is_late)
                        && let Some(end) = conversation.expire(self.service)
                    {
                        return end;
                    }
                }
            }
        }
    }
}

/// Runs `reader` on this thread, and `handlers` beside it.
pub(super) fn run<S: Service>(
    mut reader: Reader,
    service: &S,
    signal: &Signal,
    limits: Limits,
    handlers: Handlers<'_>,
) -> io::Result<Counts> {
    let counts = Mutex::new(Counts::default());
    let desk = &Desk {
        service,
        signal,
        limits,
        counts,
        over: Mutex::new(Vec::new()),
    };
    match handlers {
        Handlers::Reader => reader.run(desk, &mut |task| {
            let mut next = Some(task);
            while let Some(task) = next {
                next = desk.handle(task, 0);
            }
            Ok(())
        })?,
        Handlers::Pool(pool) => {
            // Jobs are counted by the scope, which ends when the last one has.
            pool.in_place_scope(|scope| {
                reader.run(desk, &mut |task| {
                    spawn(scope, desk, task);
                    Ok(())
                })
            })?;
        }
        Handlers::Threads { count, queue } => match queue {
            Queue::Regular => behind(&Regular::new(), count, desk, reader)?,
            Queue::LockFree => behind(&LockFree::new(None), count, desk, reader)?,
            Queue::LockFreeLookingEvery(nap) => {
                behind(&LockFree::new(Some(nap)), count, desk, reader)?;
            }
        },
        Handlers::ThreadPerConnection => {
            let mut number = 0;
            thread::scope(|scope| {
                reader.run(desk, &mut |task| {
                    let handler = number;
                    number += 1;
                    let attend = move || drop(desk.handle(task, handler));
                    Builder::new()
                        .name(format!("client-{handler}"))
                        .spawn_scoped(scope, attend)?;
                    Ok(())
                })
            })?;
        }
    }
    let counts = *lock(&desk.counts);
    Ok(counts)
}

/// A task becomes a job. One that follows on the same connection becomes a job of its own, so that
/// a client which sends many at once does not keep a worker.
fn spawn<'scope, S: Service>(
    scope: &Scope<'scope>,
    desk: &'scope Desk<'_, S>,
    task: Task<S::Request>,
) where
    S::Request: 'scope,
{
    scope.spawn(move |scope| {
        let worker = rayon::current_thread_index().expect("jobs run on threads of the pool");
        if let Some(next) = desk.handle(task, worker) {
            spawn(scope, desk, next);
        }
    });
}

/// `count` threads behind `queue`.
fn behind<S: Service>(
    queue: &impl TaskQueue<Task<S::Request>>,
    count: usize,
    desk: &Desk<'_, S>,
    mut reader: Reader,
) -> io::Result<()> {
    thread::scope(|scope| {
        let mut start = || {
            for handler in 0..count {
                let work = move || {
                    while let Some(task) = queue.pop() {
                        if let Some(next) = desk.handle(task, handler) {
                            queue.push(next);
                        }
                    }
                };
                Builder::new()
                    .name(format!("handler-{handler}"))
                    .spawn_scoped(scope, work)?;
            }
            reader.run(desk, &mut |task| {
                queue.push(task);
                Ok(())
            })
        };
        let result = start();
        // Also if not all could be started, or those that were would wait for ever.
        queue.close();
        result
    })
}
