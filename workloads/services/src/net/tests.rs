use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use super::*;

/// A service that answers each line with the same line. `bye` ends the connection, a line with `!`
/// is invalid, and the answer to `large` is longer than the kernel's buffer for a client.
#[derive(Default)]
struct Echo(AtomicUsize);

const LARGE: usize = 16 << 20;

impl Service for Echo {
    type Request = Vec<u8>;
    type Outcome = ();

    fn parse(&self, input: &[u8]) -> Parsed<Vec<u8>> {
        match input.iter().position(|byte| *byte == b'\n') {
            None => Parsed::Incomplete,
            Some(end) if input[..end].contains(&b'!') => Parsed::Wrong(b"no".to_vec()),
            Some(end) => Parsed::Whole(input[..=end].to_vec(), end + 1),
        }
    }

    fn late(&self) -> Vec<u8> {
        b"late".to_vec()
    }

    fn answer(&self, request: &Vec<u8>, output: &mut Vec<u8>) -> ((), bool) {
        output.extend_from_slice(request);
        if request == b"large\n" {
            output.resize(LARGE, b'.');
        }
        ((), request != b"bye\n")
    }

    fn answered(&self, _: usize, _: &Vec<u8>, (): (), times: Times) {
        assert!(times.arrived <= times.begun && times.begun <= times.ended);
        self.0.fetch_add(1, Relaxed);
    }
}

/// `expected` has the numbers of good and failed connections, and of answers.
fn with_each_server(
    limits: Limits,
    expected: (u64, u64, usize),
    clients: impl Fn(SocketAddr, &Stop),
) {
    let pool = &crate::fixtures::pool(8);
    for handlers in [
        Handlers::Connection,
        Handlers::Pool(pool, Unit::Requests),
        Handlers::Pool(pool, Unit::Connections),
        Handlers::Threads(2, Queue::Regular, Unit::Requests),
        Handlers::Threads(2, Queue::LockFree, Unit::Requests),
        Handlers::Threads(8, Queue::Regular, Unit::Connections),
    ] {
        let (server, service) = (Server::bind(LOOPBACK, limits).unwrap(), Echo::default());
        let (address, stop) = (server.address().unwrap(), server.stopper());
        let counts = thread::scope(|scope| {
            let serving = scope.spawn(|| server.run(&service, handlers).unwrap());
            clients(address, &stop);
            stop.stop();
            serving.join().unwrap()
        });
        let found = (counts.good, counts.failed, service.0.into_inner());
        assert_eq!(found, expected, "{handlers:?}");
    }
}

fn client(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_mins(1)))
        .unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    stream
}

fn rest(mut client: TcpStream) -> String {
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_connection_ends_in_the_way_that_its_client_chose() {
    with_each_server(Limits::DEFAULT, (5, 2, 7), |address, _| {
        for (input, expected) in [
            ("", ""),
            ("a\nb\n", "a\nb\n"),
            ("a\nb", "a\n"),
            ("bye\n", "bye\n"),
            ("bye\nignored\n", "bye\n"),
            ("a\n!\nb\n", "a\nno"),
        ] {
            let client = client(address, input);
            client.shutdown(Shutdown::Write).unwrap();
            assert_eq!(rest(client), expected, "{input:?}");
        }
        let mut pieces = client(address, "x");
        thread::sleep(Duration::from_millis(1));
        pieces.write_all(b"y\n").unwrap();
        pieces.shutdown(Shutdown::Write).unwrap();
        assert_eq!(rest(pieces), "xy\n");
    });
}

#[test]
fn slow_deaf_and_vanishing_clients_are_dropped_and_delay_no_other_client() {
    let limits = Limits {
        request: Duration::from_millis(150),
        idle: Duration::from_millis(300),
        ..Limits::DEFAULT
    };
    with_each_server(limits, (2, 4, 1), |address, _| {
        let (slow, idle) = (client(address, "a"), client(address, ""));
        let deaf = client(address, "large\n");
        let _vanishing = [client(address, "a"), client(address, "b")].map(drop);
        let good = client(address, "good\n");
        good.shutdown(Shutdown::Write).unwrap();
        assert_eq!(rest(good), "good\n");
        assert_eq!(rest(slow), "late");
        assert_eq!(rest(idle), "", "closed without an answer");
        thread::sleep(2 * limits.request);
        drop(deaf);
    });
}

#[test]
fn connections_beyond_the_limit_wait_until_there_is_room() {
    let limits = Limits {
        connections: 2,
        ..Limits::DEFAULT
    };
    with_each_server(limits, (22, 0, 20), |address, _| {
        let idle = [client(address, ""), client(address, "")];
        let mut crowd: Vec<_> = (0..20).map(|_| client(address, "bye\n")).collect();
        let short = Some(Duration::from_millis(5));
        crowd[0].set_read_timeout(short).unwrap();
        assert!(crowd[0].read(&mut [0]).is_err(), "there is no room");
        crowd[0].set_read_timeout(None).unwrap();
        drop(idle);
        for client in crowd {
            assert_eq!(rest(client), "bye\n");
        }
    });
}

#[test]
fn a_stopped_server_answers_whole_requests_and_refuses_the_others() {
    with_each_server(Limits::DEFAULT, (2, 1, 1), |address, stop| {
        let (half, idle) = (client(address, "a"), client(address, ""));
        let mut busy = client(address, "large\n");
        busy.read_exact(&mut [0]).unwrap();
        stop.stop();
        assert_eq!(rest(half), "late");
        assert_eq!(rest(idle), "");
        assert_eq!(rest(busy).len(), LARGE - 1);
    });
}
