//! The board: topics with their messages, for many readers.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io::Write as _;
use std::sync::Arc;

use crossbeam_utils::CachePadded;
use parking_lot::RwLock;

use super::protocol::{self, Request};
use crate::net::{Parsed, Service, Times};

/// There are more shards than most servers have threads, so two threads seldom need the same lock.
const SHARDS: usize = 64;

type Topics = HashMap<Vec<u8>, Vec<Arc<[u8]>>>;

/// Topics by name, in shards, each behind a lock that readers share. A message never changes, so a
/// thread sends it to a client without holding the lock.
pub(crate) struct Board {
    shards: Box<[CachePadded<RwLock<Topics>>]>,
    hasher: RandomState,
}

impl Board {
    pub(crate) fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| CachePadded::default()).collect(),
            hasher: RandomState::new(),
        }
    }

    fn shard(&self, topic: &[u8]) -> &RwLock<Topics> {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "any bits of the hash are good enough"
        )]
        let hash = self.hasher.hash_one(topic) as usize;
        &self.shards[hash % SHARDS]
    }

    pub(crate) fn post(&self, topic: &[u8], message: &[u8]) -> usize {
        let message = message.into();
        let mut topics = self.shard(topic).write();
        // `entry` alone would allocate the topic's name for each message.
        let messages = match topics.get_mut(topic) {
            Some(messages) => messages,
            None => topics.entry(topic.to_vec()).or_default(),
        };
        messages.push(message);
        messages.len() - 1
    }

    pub(crate) fn read(&self, topic: &[u8], index: usize) -> Option<Arc<[u8]>> {
        let topics = self.shard(topic).read();
        topics.get(topic)?.get(index).cloned()
    }

    pub(crate) fn length(&self, topic: &[u8]) -> usize {
        let topics = self.shard(topic).read();
        topics.get(topic).map_or(0, Vec::len)
    }
}

impl Service for Board {
    type Request = Request;
    type Outcome = ();

    fn parse(&self, input: &[u8]) -> Parsed<Request> {
        protocol::parse(input)
    }

    fn late(&self) -> Vec<u8> {
        protocol::error("the line did not arrive in time")
    }

    fn answer(&self, request: &Request, output: &mut Vec<u8>) -> ((), bool) {
        match request {
            Request::Post { topic, message } => {
                let index = self.post(topic, message);
                writeln!(output, "OK {index}").expect("writing to memory cannot fail");
            }
            Request::Read { topic, index } => match self.read(topic, *index) {
                Some(message) => {
                    output.extend_from_slice(b"OK ");
                    output.extend_from_slice(&message);
                    output.push(b'\n');
                }
                None => output.extend_from_slice(b"NONE\n"),
            },
            Request::Invalid(why) => output.extend_from_slice(&protocol::error(why)),
        }
        ((), true)
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
        assert_eq!(board.post(b"a", b"one"), 0);
        assert_eq!(board.post(b"b", b"other"), 0);
        assert_eq!(board.post(b"a", b"two"), 1);
        assert_eq!(board.read(b"a", 1).as_deref(), Some(&b"two"[..]));
        assert_eq!(board.read(b"a", 2), None);
        assert_eq!(board.read(b"c", 0), None);
    }

    #[test]
    fn every_place_is_given_to_one_of_many_posters() {
        let board = Board::new();
        let post = || -> Vec<usize> { (0..500).map(|_| board.post(b"a", b"x")).collect() };
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
