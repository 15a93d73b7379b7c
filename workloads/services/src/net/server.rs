//! A server that can be started and stopped, and the threads that answer the server's requests.

use std::fmt;
use std::io;
use std::mem;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;
use rayon::ThreadPool;

use super::conversation::Conversation;
use super::queue::{Kind, Queue};
use super::{Service, Times};

/// The pause after the kernel could not accept a connection, or could not start the connection's
/// thread. A guess.
const AFTER_TROUBLE: Duration = Duration::from_millis(10);

#[derive(Clone, Copy, Debug)]
pub(crate) enum Handlers<'a> {
    Connection,
    Pool(&'a ThreadPool, Unit),
    Threads(usize, Kind, Unit),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// One request, whose connection's thread waits for the answer.
    Requests,
    Connections,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) connections: usize,
    /// The limit for the time from a request's first byte to its last, and for a client to read an
    /// answer.
    pub(crate) request: Duration,
    /// The limit for the time between two requests of a connection.
    pub(crate) idle: Duration,
    /// The limit for a client to close a connection that the server has closed.
    pub(crate) linger: Duration,
}

impl Limits {
    /// Limits that are usual for servers; each is a guess.
    pub(crate) const DEFAULT: Self = Self {
        connections: 1024,
        request: Duration::from_secs(10),
        idle: Duration::from_mins(1),
        linger: Duration::from_millis(500),
    };
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) good: u64,
    /// Connections whose client sent an invalid request, took too long, left during a request, or
    /// had sent only a part of a request when the server ended.
    pub(crate) failed: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { good, failed } = self;
        write!(
            formatter,
            "{} connections: {good} good, {failed} failed",
            good + failed
        )
    }
}

#[derive(Clone)]
pub(crate) struct Stop {
    /// Relaxed: the flag orders no other data. Each connection's thread reads the flag again after
    /// a tick, and the thread that accepts reads it after `accept` has ended.
    is_requested: Arc<AtomicBool>,
    listener: Arc<TcpStream>,
}

impl Stop {
    /// Ends the server. It still answers requests that have arrived completely, and refuses
    /// incomplete requests.
    pub(crate) fn stop(&self) {
        self.is_requested.store(true, Relaxed);
        // Ends the `accept` that waits for a client (Linux). The call fails if the listener was
        // shut down before.
        let _ = self.listener.shutdown(Shutdown::Both);
    }

    pub(super) fn is_requested(&self) -> bool {
        self.is_requested.load(Relaxed)
    }
}

pub(crate) struct Server {
    listener: TcpListener,
    stop: Stop,
    limits: Limits,
}

impl Server {
    pub(crate) fn bind(address: SocketAddr, limits: Limits) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let socket = OwnedFd::from(listener.try_clone()?);
        let stop = Stop {
            is_requested: Arc::default(),
            listener: Arc::new(socket.into()),
        };
        Ok(Self {
            listener,
            stop,
            limits,
        })
    }

    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    pub(crate) fn stopper(&self) -> Stop {
        self.stop.clone()
    }

    pub(crate) fn run<S: Service>(
        &self,
        service: &S,
        handlers: Handlers<'_>,
    ) -> io::Result<Counts> {
        let shared = &Shared {
            server: self,
            service,
            counts: Mutex::default(),
            room: bounded(self.limits.connections),
        };
        match handlers {
            Handlers::Connection => shared.with_threads(&|request| shared.answer(request)),
            Handlers::Pool(pool, Unit::Requests) => {
                shared.with_threads(&|request| pool.install(|| shared.answer(request)));
            }
            // The scope ends after its last job, so all connections are served.
            Handlers::Pool(pool, Unit::Connections) => pool.in_place_scope(|scope| {
                shared.accept(|connection| {
                    scope.spawn(move |_| shared.attend_here(&connection));
                    Ok(())
                });
            }),
            Handlers::Threads(count, kind, unit) => {
                let queue = Queue::new(kind);
                behind(&queue, count, || match unit {
                    Unit::Connections => shared.accept(|connection| {
                        queue.push(Some(Box::new(move || shared.attend_here(&connection))));
                        Ok(())
                    }),
                    Unit::Requests => shared.with_threads(&|request| {
                        let (reply, answer) = bounded(1);
                        let work = move || drop(reply.send(shared.answer(request)));
                        queue.push(Some(Box::new(work)));
                        answer.recv().expect("a handler answers each request")
                    }),
                })?;
            }
        }
        let counts = *shared.counts.lock();
        Ok(counts)
    }
}

/// A task for a handler; `None` ends the handler.
type Task<'a> = Option<Box<dyn FnOnce() + Send + 'a>>;

fn behind(queue: &Queue<Task<'_>>, count: usize, serve: impl FnOnce()) -> io::Result<()> {
    thread::scope(|scope| {
        let work = || {
            while let Some(task) = queue.pop() {
                task();
            }
        };
        let mut handlers = Vec::new();
        let started = (0..count).try_for_each(|number| {
            let handler = Builder::new().name(format!("handler-{number}"));
            handlers.push(handler.spawn_scoped(scope, work)?);
            Ok(())
        });
        if started.is_ok() {
            serve();
        }
        // If some handlers could not start, the other handlers must end, too.
        for _ in &handlers {
            queue.push(None);
        }
        for handler in &handlers {
            handler.thread().unpark();
        }
        started
    })
}

struct Shared<'a, S> {
    server: &'a Server,
    service: &'a S,
    counts: Mutex<Counts>,
    /// A bounded channel with one entry for each open connection. At the limit of connections, the
    /// channel is full.
    room: (Sender<()>, Receiver<()>),
}

struct Connection {
    number: usize,
    stream: TcpStream,
    accepted: Instant,
}

struct Answered<S: Service> {
    request: S::Request,
    answer: Vec<u8>,
    outcome: S::Outcome,
    stays_open: bool,
    begun: Instant,
}

impl<S: Service> Shared<'_, S> {
    /// Accepts connections until the server is stopped, and passes each connection to `hand` as
    /// soon as the limit of connections allows that. `hand` fails if no thread can start: the
    /// client then sees a closed connection.
    fn accept(&self, mut hand: impl FnMut(Connection) -> io::Result<()>) {
        let Server { listener, stop, .. } = self.server;
        let (take, give_back) = &self.room;
        let mut number = 0;
        while !stop.is_requested() {
            let outcome = listener.accept().and_then(|(stream, _)| {
                // Waits until another connection ends, if the limit is reached.
                take.send(()).expect("the receiver is in the same struct");
                let connection = Connection {
                    number,
                    stream,
                    accepted: Instant::now(),
                };
                number += 1;
                hand(connection).inspect_err(|_| {
                    let _ = give_back.try_recv();
                })
            });
            // Most likely, the process has no descriptor, memory or thread left. Another client may
            // leave during the pause.
            if outcome.is_err() && !stop.is_requested() {
                thread::sleep(AFTER_TROUBLE);
            }
        }
    }

    fn with_threads<A>(&self, answer: &A)
    where
        A: Fn(S::Request) -> Answered<S> + Sync,
    {
        thread::scope(|scope| {
            self.accept(|connection| {
                Builder::new()
                    .name(format!("client-{}", connection.number))
                    .spawn_scoped(scope, move || {
                        self.attend(&connection, Duration::ZERO, answer);
                    })
                    .map(drop)
            });
        });
    }

    /// Serves a connection on the calling thread. The connection has waited for this thread since
    /// the server accepted it, and that wait counts for the first request.
    fn attend_here(&self, connection: &Connection) {
        let waited = connection.accepted.elapsed();
        self.attend(connection, waited, &|request| self.answer(request));
    }

    fn attend(
        &self,
        connection: &Connection,
        mut waited: Duration,
        answer: &impl Fn(S::Request) -> Answered<S>,
    ) {
        let conversation = Conversation {
            stream: &connection.stream,
            limits: &self.server.limits,
            stop: &self.server.stop,
        };
        let end = conversation.hold(self.service, |request| {
            let now = Instant::now();
            let arrived = now.checked_sub(mem::take(&mut waited)).unwrap_or(now);
            let Answered {
                request,
                answer,
                outcome,
                stays_open,
                begun,
            } = answer(request);
            conversation.send(&answer)?;
            let times = Times {
                arrived,
                begun,
                ended: Instant::now(),
            };
            self.service
                .answered(connection.number, &request, outcome, times);
            Ok(stays_open)
        });
        let mut counts = self.counts.lock();
        match end {
            Ok(()) => counts.good += 1,
            Err(_) => counts.failed += 1,
        }
        let _ = self.room.1.try_recv();
    }

    fn answer(&self, request: S::Request) -> Answered<S> {
        let begun = Instant::now();
        let mut answer = Vec::new();
        let (outcome, stays_open) = self.service.answer(&request, &mut answer);
        Answered {
            request,
            answer,
            outcome,
            stays_open,
            begun,
        }
    }
}
