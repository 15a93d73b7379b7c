//! A server that can be started and stopped, and the threads that answer its requests.

use std::io::{self, ErrorKind};
use std::mem;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;
use rayon::ThreadPool;

use super::conversation::{Stream, TICK, converse};
use super::queue::{Kind, Queue};
use super::{Counts, Limits, Service, Then, Times};

/// The pause after the kernel could not accept a connection, or could not start a thread for it. A
/// guess.
const AFTER_TROUBLE: Duration = Duration::from_millis(10);

/// The tick of a connection that gets a handler after the server was stopped. It is short, because
/// many connections may have waited for a handler.
const LAST_TICK: Duration = Duration::from_millis(1);

/// The handlers of a server's requests.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Handlers<'a> {
    /// The connection's own thread answers.
    Connection,
    /// Jobs of this pool.
    Pool(&'a ThreadPool, Unit),
    /// This many threads, which take requests from a queue.
    Threads(usize, Kind, Unit),
}

/// The unit that a handler takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// One request, whose connection's thread waits for the answer.
    Requests,
    /// A connection, until it ends.
    Connections,
}

/// Ends a server, from any thread.
#[derive(Clone)]
pub(crate) struct Stop {
    /// The time at which it was requested to end.
    requested_at: Arc<OnceLock<Instant>>,
    /// The listener, as a socket that can be shut down.
    listener: Arc<TcpStream>,
}

impl Stop {
    /// Creates the handle that ends the server of `listener`.
    ///
    /// # Errors
    /// If the kernel has no more descriptors.
    pub(crate) fn new(listener: &TcpListener) -> io::Result<Self> {
        let socket = OwnedFd::from(listener.try_clone()?);
        Ok(Self {
            requested_at: Arc::default(),
            listener: Arc::new(socket.into()),
        })
    }

    /// Stops accepting connections. The server answers requests that have arrived completely, and
    /// refuses incomplete ones.
    pub(crate) fn stop(&self) {
        // The first call counts.
        let _ = self.requested_at.set(Instant::now());
        // Ends the `accept` that waits for a client (Linux). It fails if that was done before.
        let _ = self.listener.shutdown(Shutdown::Both);
    }

    pub(crate) fn requested_at(&self) -> Option<Instant> {
        self.requested_at.get().copied()
    }
}

/// Accepts connections until the server is stopped. `pause` waits for a client if the listener does
/// not block, or for the given time after an error. `hand` may fail if no thread can start: the
/// client then sees a closed connection.
///
/// # Errors
/// Those of `pause`.
pub(crate) fn accept(
    listener: &TcpListener,
    stop: &Stop,
    mut pause: impl FnMut(Option<Duration>) -> io::Result<()>,
    mut hand: impl FnMut(TcpStream) -> io::Result<()>,
) -> io::Result<()> {
    while stop.requested_at().is_none() {
        let accepted = listener.accept();
        if let Err(error) = accepted.and_then(|(stream, _)| hand(stream)) {
            match error.kind() {
                ErrorKind::WouldBlock => pause(None)?,
                // The client went away before it was accepted.
                ErrorKind::ConnectionAborted | ErrorKind::Interrupted => {}
                // Most likely, the process has no descriptor, memory or thread left. Then another
                // client must leave first.
                _ if stop.requested_at().is_none() => pause(Some(AFTER_TROUBLE))?,
                _ => {}
            }
        }
    }
    Ok(())
}

/// A server that is bound to an address.
pub(crate) struct Server {
    listener: TcpListener,
    stop: Stop,
    limits: Limits,
}

impl Server {
    /// Binds to `address`; port 0 is any free port.
    ///
    /// # Errors
    /// If the address is not available, for example because another process uses it.
    pub(crate) fn bind(address: SocketAddr, limits: Limits) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        Ok(Self {
            stop: Stop::new(&listener)?,
            listener,
            limits,
        })
    }

    /// Returns the address for clients.
    ///
    /// # Errors
    /// If the kernel does not report it.
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Returns the handle that ends it, even before it runs.
    pub(crate) fn stopper(&self) -> Stop {
        self.stop.clone()
    }

    /// Serves until it is stopped and the last request is answered.
    ///
    /// # Errors
    /// If no threads for handlers can start.
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
            Handlers::Connection => {
                shared.with_threads(&|request, last| shared.answer(request, last))
            }
            Handlers::Pool(pool, Unit::Requests) => {
                shared.with_threads(&|request, last| pool.install(|| shared.answer(request, last)))
            }
            // The scope counts the jobs, and ends after the last one.
            Handlers::Pool(pool, Unit::Connections) => pool.in_place_scope(|scope| {
                shared.accept(|connection| {
                    scope.spawn(move |_| shared.attend_here(&connection));
                    Ok(())
                })
            }),
            Handlers::Threads(count, kind, unit) => {
                let queue = Queue::new(kind);
                behind(&queue, count, || match unit {
                    Unit::Connections => shared.accept(|connection| {
                        queue.push(Some(Box::new(move || shared.attend_here(&connection))));
                        Ok(())
                    }),
                    Unit::Requests => shared.with_threads(&|request, last| {
                        let (reply, answer) = bounded(1);
                        let work = move || drop(reply.send(shared.answer(request, last)));
                        queue.push(Some(Box::new(work)));
                        answer.recv().expect("a handler answers each request")
                    }),
                })
            }
        }?;
        let counts = *shared.counts.lock();
        Ok(counts)
    }
}

/// A task for a handler; `None` ends the handler.
type Task<'a> = Option<Box<dyn FnOnce() + Send + 'a>>;

/// Runs `count` handler threads on `queue` while `serve` runs.
fn behind(
    queue: &Queue<Task<'_>>,
    count: usize,
    serve: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    thread::scope(|scope| {
        let work = || {
            while let Some(task) = queue.pop() {
                task();
            }
        };
        let start = |number| {
            Builder::new()
                .name(format!("handler-{number}"))
                .spawn_scoped(scope, work)
        };
        let mut handlers = Vec::new();
        let started = (0..count).try_for_each(|number| {
            handlers.push(start(number)?);
            Ok(())
        });
        let result = started.and_then(|()| serve());
        // Also if some threads could not start: otherwise the started ones would wait for ever.
        for _ in &handlers {
            queue.push(None);
        }
        for handler in &handlers {
            handler.thread().unpark();
        }
        result
    })
}

/// The state that all threads of a server share.
struct Shared<'a, S> {
    server: &'a Server,
    service: &'a S,
    counts: Mutex<Counts>,
    /// A bounded channel with one entry for each open connection. It is full at the limit of
    /// connections.
    room: (Sender<()>, Receiver<()>),
}

struct Connection {
    number: usize,
    stream: TcpStream,
    accepted: Instant,
}

/// A request that was answered.
struct Answered<S: Service> {
    request: S::Request,
    answer: Vec<u8>,
    outcome: S::Outcome,
    then: Then,
    begun: Instant,
}

impl<S: Service> Shared<'_, S> {
    /// Passes each connection on as soon as the limit allows it.
    fn accept(&self, mut hand: impl FnMut(Connection) -> io::Result<()>) -> io::Result<()> {
        let Server { listener, stop, .. } = self.server;
        let (take, give_back) = &self.room;
        let mut number = 0;
        let pause = |trouble: Option<Duration>| {
            thread::sleep(trouble.unwrap_or(AFTER_TROUBLE));
            Ok(())
        };
        accept(listener, stop, pause, |stream| {
            // Waits until another connection ends, if the limit is reached.
            take.send(()).expect("the receiver is beside it");
            let connection = Connection {
                number,
                stream,
                accepted: Instant::now(),
            };
            number += 1;
            hand(connection).inspect_err(|_| {
                let _ = give_back.try_recv();
            })
        })
    }

    /// Starts a thread for each connection, which lets `answer` answer its requests.
    fn with_threads<A>(&self, answer: &A) -> io::Result<()>
    where
        A: Fn(S::Request, bool) -> Answered<S> + Sync,
    {
        thread::scope(|scope| {
            self.accept(|connection| {
                Builder::new()
                    .name(format!("client-{}", connection.number))
                    .spawn_scoped(scope, move || {
                        self.attend(&connection, Duration::ZERO, answer);
                    })
                    .map(drop)
            })
        })
    }

    /// Serves a connection on this thread. The connection has waited for the thread since it was
    /// accepted, and that wait counts for its first request.
    fn attend_here(&self, connection: &Connection) {
        let waited = connection.accepted.elapsed();
        self.attend(connection, waited, &|request, is_last| {
            self.answer(request, is_last)
        });
    }

    fn attend(
        &self,
        connection: &Connection,
        mut waited: Duration,
        answer: &impl Fn(S::Request, bool) -> Answered<S>,
    ) {
        let Server { limits, stop, .. } = self.server;
        let mut stream = &connection.stream;
        let is_stopping = stop.requested_at().is_some();
        let tick = Some(if is_stopping { LAST_TICK } else { TICK });
        // This fails only for a tick of zero. An answer is one write, so Nagle's algorithm would
        // only delay it.
        let _ = stream.set_nodelay(true);
        let _ = stream.set_read_timeout(tick);
        let _ = stream.set_write_timeout(tick);
        let end = converse(
            &mut stream,
            self.service,
            limits,
            stop,
            |request, is_last, output| {
                let now = Instant::now();
                let arrived = now.checked_sub(mem::take(&mut waited)).unwrap_or(now);
                let Answered {
                    request,
                    answer,
                    outcome,
                    then,
                    begun,
                } = answer(request, is_last);
                let sent = output.send(&answer);
                let ended = Instant::now();
                let times = Times {
                    arrived,
                    begun,
                    ended,
                };
                self.service
                    .answered(connection.number, &request, outcome, times);
                sent.map(|()| then)
            },
        );
        self.counts.lock().count(end);
        let _ = self.room.1.try_recv();
    }

    fn answer(&self, request: S::Request, is_last: bool) -> Answered<S> {
        let begun = Instant::now();
        let mut answer = Vec::new();
        let (outcome, then) = self.service.answer(&request, is_last, &mut answer);
        Answered {
            request,
            answer,
            outcome,
            then,
            begun,
        }
    }
}

impl Stream for &TcpStream {
    fn finish(&mut self) {
        // This fails if the client has gone already, which the next read reports, too.
        let _ = self.shutdown(Shutdown::Write);
    }
}
