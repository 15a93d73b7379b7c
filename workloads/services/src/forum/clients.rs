//! The clients: posters and readers, which send short random requests from a fixed set, one after
//! the other, until a given time. This module also checks the server's answers.

use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use ::protocol::Values;

use super::board::Board;
use super::protocol::MAX_TOPIC;
use crate::net::connect;
use workloads::kinds::latency::Latencies;
use workloads::random::{Random, mix};

/// The number of topics, messages and indices from which requests are chosen, as in the study's
/// harness.
pub(crate) const VALUES: [u8; 7] = *b"1234567";

#[derive(Clone, Debug)]
pub(crate) struct Words {
    topics: [Vec<u8>; 7],
    messages: [Vec<u8>; 7],
}

impl Words {
    /// Creates texts of one byte, as in the study's first harness, which chose short texts for
    /// speed. If `are_long`, creates topics of the longest length, and messages as long as people
    /// write them. The texts of the study's second harness are unknown.
    pub(crate) fn new(are_long: bool) -> Self {
        let (topic, message) = if are_long { (MAX_TOPIC, 200) } else { (1, 1) };
        let words = |bytes: usize| VALUES.map(|value| vec![value; bytes]);
        Self {
            topics: words(topic),
            messages: words(message),
        }
    }

    fn number_of(&self, message: &[u8]) -> Option<usize> {
        self.messages.iter().position(|it| it == message)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Poster,
    Reader,
}

pub(crate) const ROLES: [Role; 2] = [Role::Poster, Role::Reader];

struct Seen {
    topic: usize,
    index: usize,
    message: usize,
}

pub(crate) struct ClientReport {
    pub(crate) role: Role,
    pub(crate) requests: u64,
    pub(crate) latency: Latencies,
    seen: Vec<Seen>,
    pub(crate) complaint: Option<String>,
}

impl ClientReport {
    pub(super) fn nothing(role: Role) -> Self {
        let name = if role == Role::Poster { "post" } else { "read" };
        Self {
            role,
            requests: 0,
            latency: Latencies::new(name),
            seen: Vec::new(),
            complaint: None,
        }
    }
}

pub(crate) struct Clients {
    pub(crate) seed: u64,
    pub(crate) words: Words,
    pub(crate) values: Values,
}

impl Clients {
    pub(crate) fn run(
        &self,
        role: Role,
        number: usize,
        address: SocketAddr,
        begun: Instant,
    ) -> ClientReport {
        let mut seen = ClientReport::nothing(role);
        let until = begun + Duration::from_millis(self.values.whole("duration-ms"));
        let mut random = Random::new(mix(self.seed) ^ mix((number as u64) << 1 | role as u64));
        if let Err(error) = self.talk(&mut random, address, until, &mut seen) {
            seen.complaint = Some(format!("{role:?} {number}: {error}"));
        }
        seen
    }

    /// Sends requests until the time `until`, but at least one request, so that there is something
    /// to check.
    fn talk(
        &self,
        random: &mut Random,
        address: SocketAddr,
        until: Instant,
        seen: &mut ClientReport,
    ) -> io::Result<()> {
        let stream = connect(address)?;
        let mut input = BufReader::new(&stream);
        let mut line = Vec::new();
        loop {
            let (topic, value) = (random.index_below(7), random.index_below(7));
            let (verb, last) = match seen.role {
                Role::Poster => (b"POST ", &self.words.messages[value][..]),
                Role::Reader => (b"READ ", &VALUES[value..=value]),
            };
            let begun = Instant::now();
            line.clear();
            for piece in [verb, &self.words.topics[topic][..], b" ", last, b"\n"] {
                line.extend_from_slice(piece);
            }
            (&stream).write_all(&line)?;
            line.clear();
            if input.read_until(b'\n', &mut line)? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            let ended = Instant::now();
            seen.latency.count(ended - begun);
            seen.requests += 1;
            if !seen.accept(&self.words, topic, value, &line) {
                let [topic, value] = [topic, value].map(|it| char::from(VALUES[it]));
                let answer = String::from_utf8_lossy(&line);
                let wrong = format!("topic {topic}, value {value}: {answer:?}");
                return Err(io::Error::new(ErrorKind::InvalidData, wrong));
            }
            if ended >= until {
                return Ok(());
            }
        }
    }
}

impl ClientReport {
    /// Records an answer. Returns `false` if the answer cannot be right.
    fn accept(&mut self, words: &Words, topic: usize, value: usize, line: &[u8]) -> bool {
        let Some(answer) = line.strip_suffix(b"\n") else {
            return false;
        };
        let found = answer
            .strip_prefix(b"OK ")
            .and_then(|answer| match self.role {
                Role::Poster => Some((str::from_utf8(answer).ok()?.parse().ok()?, value)),
                Role::Reader => Some((usize::from(VALUES[value] - b'0'), words.number_of(answer)?)),
            });
        match found {
            Some((index, message)) => self.seen.push(Seen {
                topic,
                index,
                message,
            }),
            None => return self.role == Role::Reader && answer == b"NONE",
        }
        true
    }
}

/// Returns a fault of the board. The board must have exactly the accepted messages, and each
/// message that a client posted or read must be at its index.
pub(crate) fn fault(board: &Board, words: &Words, clients: &[ClientReport]) -> Option<String> {
    let mut posted: [Vec<usize>; 7] = Default::default();
    for client in clients {
        for seen in &client.seen {
            let Seen {
                topic,
                index,
                message,
            } = *seen;
            let stands = board.read(&words.topics[topic], index);
            if stands.as_deref() != Some(&words.messages[message]) {
                let topic = char::from(VALUES[topic]);
                return Some(format!(
                    "topic {topic}, index {index}: a client saw message {message}, not {stands:?}"
                ));
            }
            if client.role == Role::Poster {
                posted[topic].push(index);
            }
        }
    }
    for (topic, mut indices) in posted.into_iter().enumerate() {
        indices.sort_unstable();
        let length = board.length(&words.topics[topic]);
        if !indices.iter().copied().eq(0..length) {
            return Some(format!(
                "topic {}: {length} messages, and clients posted {}",
                char::from(VALUES[topic]),
                indices.len()
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn discussion() -> (Board, Vec<ClientReport>) {
        let (board, words) = (Board::new(), Words::new(false));
        let (mut poster, mut reader) = (
            ClientReport::nothing(Role::Poster),
            ClientReport::nothing(Role::Reader),
        );
        for value in [2, 3] {
            let place = board.post(&VALUES[..1], &[VALUES[value]]);
            assert!(poster.accept(&words, 0, value, format!("OK {place}\n").as_bytes()));
        }
        assert!(
            reader.accept(&words, 0, 0, b"OK 4\n"),
            "value 0 names index 1"
        );
        assert!(
            reader.accept(&words, 0, 1, b"NONE\n"),
            "value 1 names index 2"
        );
        (board, vec![poster, reader])
    }

    type Damage = fn(&Board, &mut [ClientReport]);

    #[test]
    fn a_board_that_holds_what_was_accepted_and_read_has_no_fault_and_every_other_has_one() {
        let damages: [(&str, Damage); 4] = [
            (
                "topic 6, index 0: a client saw message 0, not None",
                |_, seen| {
                    assert!(seen[0].accept(&Words::new(false), 5, 0, b"OK 0\n"));
                },
            ),
            (
                "topic 1: 3 messages, and clients posted 3",
                |board, seen| {
                    board.post(&VALUES[..1], &VALUES[3..4]);
                    // Planted mistake: the client got the index of another message.
                    assert!(seen[0].accept(&Words::new(false), 0, 3, b"OK 1\n"));
                },
            ),
            ("topic 4: 1 messages, and clients posted 0", |board, _| {
                board.post(&VALUES[3..4], b"8");
            }),
            ("topic 1, index 1: a client saw message 6", |_, seen| {
                seen[1].seen[0].message = 6;
            }),
        ];
        let (board, seen) = discussion();
        assert_eq!(fault(&board, &Words::new(false), &seen), None);
        for (expected, damage) in damages {
            let (board, mut seen) = discussion();
            damage(&board, &mut seen);
            let found = fault(&board, &Words::new(false), &seen).unwrap();
            assert!(found.contains(expected), "{found}");
        }
    }

    #[test]
    fn answers_that_cannot_be_right_are_not_accepted() {
        let (mut poster, mut reader) = (
            ClientReport::nothing(Role::Poster),
            ClientReport::nothing(Role::Reader),
        );
        for answer in ["OK\n", "OK x\n", "NONE\n", "ERROR full\n", "OK 1"] {
            assert!(
                !poster.accept(&Words::new(false), 0, 0, answer.as_bytes()),
                "{answer:?}"
            );
        }
        for answer in ["OK 11\n", "OK 8\n", "ERROR x\n", "OK 1"] {
            assert!(
                !reader.accept(&Words::new(false), 0, 0, answer.as_bytes()),
                "{answer:?}"
            );
        }
    }
}
