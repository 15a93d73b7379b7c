//! The board: topics with their messages, for many readers.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crossbeam_utils::CachePadded;
use parking_lot::RwLock;

use super::protocol::{self, Request};
use crate::net::{Parsed, Protocol, Refused, Service, Then, Times};

/// The number of shards, each with its own lock. There are more shards than threads, so two threads
/// seldom need the same lock.
const SHARDS: usize = 64;

/// The most bytes of messages and topics on a board. Each message or topic also counts these bytes,
/// for its allocation and its share of a growing list.
const MAX_BYTES: usize = 1 << 30;
const OF_MESSAGE: usize = 96;
const OF_TOPIC: usize = 320;

type Topics = HashMap<Vec<u8>, Vec<Arc<[u8]>>>;

/// Topics by name, in shards, each behind a lock that readers share. A message never changes, so it
/// is sent outside the lock.
pub(crate) struct Board {
    shards: Box<[CachePadded<RwLock<Topics>>]>,
    hasher: RandomState,
    /// The bytes in use. Relaxed: a budget that orders no other data. Each change is one
    /// read-modify-write, so no change is lost.
    bytes: AtomicUsize,
    max_bytes: usize,
}

impl Board {
    pub(crate) fn new() -> Self {
        Self::with_room(MAX_BYTES)
    }

    /// Creates a board of at most `max_bytes` bytes.
    pub(crate) fn with_room(max_bytes: usize) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| CachePadded::default()).collect(),
            hasher: RandomState::new(),
            bytes: AtomicUsize::new(0),
            max_bytes,
        }
    }

    fn shard(&self, topic: &[u8]) -> &RwLock<Topics> {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "any bits of a hash will do"
        )]
        let hash = self.hasher.hash_one(topic) as usize;
        &self.shards[hash % SHARDS]
    }

    /// Takes `bytes` bytes; returns `false` if that would exceed the limit.
    fn try_take_room(&self, bytes: usize) -> bool {
        let has_room = self.bytes.fetch_add(bytes, Relaxed) + bytes <= self.max_bytes;
        if !has_room {
            self.bytes.fetch_sub(bytes, Relaxed);
        }
        has_room
    }

    /// Appends `message` to `topic`. Returns its index, or `None` if the board is full.
    pub(crate) fn post(&self, topic: &[u8], message: &[u8]) -> Option<usize> {
        let room = message.len() + OF_MESSAGE;
        if !self.try_take_room(room) {
            return None;
        }
        let message = message.into();
        let mut topics = self.shard(topic).write();
        // Allocates the topic's name only once, and not for each message.
        let messages = match topics.get_mut(topic) {
            Some(messages) => messages,
            None if self.try_take_room(topic.len() + OF_TOPIC) => {
                topics.entry(topic.to_vec()).or_default()
            }
            None => {
                self.bytes.fetch_sub(room, Relaxed);
                return None;
            }
        };
        messages.push(message);
        Some(messages.len() - 1)
    }

    /// Returns the message at this index.
    pub(crate) fn read(&self, topic: &[u8], index: usize) -> Option<Arc<[u8]>> {
        let topics = self.shard(topic).read();
        topics.get(topic)?.get(index).cloned()
    }

    /// Returns the number of messages.
    #[cfg(any(test, feature = "cli"))]
    pub(crate) fn messages(&self) -> usize {
        let count = |topics: &Topics| topics.values().map(Vec::len).sum::<usize>();
        let shards = self.shards.iter();
        shards.map(|it| count(&it.read())).sum()
    }

    /// Returns the number of messages of a topic.
    pub(crate) fn length(&self, topic: &[u8]) -> usize {
        let topics = self.shard(topic).read();
        topics.get(topic).map_or(0, Vec::len)
    }
}

impl Protocol for Board {
    type Request = Request;

    fn parse(&self, input: &[u8]) -> Parsed<Request> {
        protocol::parse(input)
    }

    fn refuse(&self, why: Refused) -> Vec<u8> {
        let mut answer = Vec::new();
        let why = match why {
            Refused::TooSlow => "the line took too long",
            Refused::Stopping => "the server ends",
        };
        protocol::error(why, &mut answer);
        answer
    }
}

impl Service for Board {
    type Outcome = ();

    fn answer(&self, request: &Request, _: bool, output: &mut Vec<u8>) -> ((), Then) {
        match request {
            Request::Post { topic, message } => match self.post(topic, message) {
                Some(index) => protocol::posted(index, output),
                None => protocol::error("the board is full", output),
            },
            Request::Read { topic, index } => {
                protocol::found(self.read(topic, *index).as_deref(), output);
            }
            Request::Invalid(why) => protocol::error(why, output),
        }
        ((), Then::Listen)
    }

    fn answered(&self, _: usize, _: &Request, (): (), _: Times) {}
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn messages_of_a_topic_have_the_order_in_which_they_were_posted() {
        let board = Board::new();
        assert_eq!(board.post(b"a", b"one"), Some(0));
        assert_eq!(board.post(b"b", b"other"), Some(0));
        assert_eq!(board.post(b"a", b"two"), Some(1));
        assert_eq!(board.read(b"a", 1).as_deref(), Some(&b"two"[..]));
        assert_eq!(board.read(b"a", 2), None);
        assert_eq!(board.read(b"c", 0), None);
    }

    #[test]
    fn a_message_for_which_there_is_room_and_none_for_its_topic_takes_nothing() {
        let board = Board::with_room(1 + OF_TOPIC + 2 * (1 + OF_MESSAGE));
        assert_eq!(board.post(b"a", b"x"), Some(0));
        assert_eq!(
            board.post(b"b", b"x"),
            None,
            "a topic costs more than a message"
        );
        assert_eq!(
            board.post(b"a", b"x"),
            Some(1),
            "its bytes were returned to the budget"
        );
        assert_eq!(board.post(b"a", b"x"), None, "the board is full");
        assert_eq!((board.length(b"a"), board.messages()), (2, 2));
    }

    #[test]
    fn every_place_is_given_to_one_of_many_posters() {
        let board = Board::new();
        let post = || -> Vec<usize> { (0..500).map(|_| board.post(b"a", b"x").unwrap()).collect() };
        let mut places: Vec<usize> = thread::scope(|scope| {
            let posters: Vec<_> = (0..4).map(|_| scope.spawn(post)).collect();
            posters
                .into_iter()
                .flat_map(|poster| poster.join().unwrap())
                .collect()
        });
        places.sort_unstable();
        assert_eq!(places, (0..2_000).collect::<Vec<_>>());
    }
}
