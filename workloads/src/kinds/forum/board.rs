//! The board: topics with their messages, for many readers.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

use crossbeam_utils::CachePadded;

use super::protocol::{self, Request};
use crate::net::{Parsed, Service, Then, Times, TurnedAway};

/// Parts with a lock of their own; more than there are threads, so that two topics rarely meet.
const SHARDS: usize = 64;

/// Messages that a board takes; a guess, some 100 bytes each.
const MAX_MESSAGES: usize = 10_000_000;

type Topics = HashMap<Vec<u8>, Vec<Arc<[u8]>>>;

/// Topics by name, in shards, each behind a lock that readers share. A message never changes, so
/// it is sent outside the lock.
pub(crate) struct Board {
    shards: Box<[CachePadded<RwLock<Topics>>]>,
    hasher: RandomState,
    /// Relaxed: a budget, not a guard; each change is one step and none is lost.
    messages: AtomicUsize,
    max_messages: usize,
}

impl Board {
    pub(crate) fn new() -> Self {
        Self::with_room(MAX_MESSAGES)
    }

    /// One that takes so many messages.
    pub(crate) fn with_room(max_messages: usize) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| CachePadded::default()).collect(),
            hasher: RandomState::new(),
            messages: AtomicUsize::new(0),
            max_messages,
        }
    }

    fn shard(&self, topic: &[u8]) -> &RwLock<Topics> {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a hash has no meaning beyond its bits"
        )]
        let hash = self.hasher.hash_one(topic) as usize;
        &self.shards[hash % SHARDS]
    }

    /// Puts `message` at the end of `topic`; its place, or `None` if the board is full.
    pub(crate) fn post(&self, topic: &[u8], message: &[u8]) -> Option<usize> {
        if self.messages.fetch_add(1, Relaxed) >= self.max_messages {
            self.messages.fetch_sub(1, Relaxed);
            return None;
        }
        let message = message.into();
        let mut topics = self.shard(topic).write().unwrap_or_else(PoisonError::into_inner);
        // Named once only, not at each message.
        let messages = match topics.get_mut(topic) {
            Some(messages) => messages,
            None => topics.entry(topic.to_vec()).or_default(),
        };
        messages.push(message);
        Some(messages.len() - 1)
    }

    /// The message at this place.
    pub(crate) fn read(&self, topic: &[u8], index: usize) -> Option<Arc<[u8]>> {
        let topics = self.shard(topic).read().unwrap_or_else(PoisonError::into_inner);
        topics.get(topic)?.get(index).cloned()
    }

    /// How many messages there are.
    pub(crate) fn messages(&self) -> usize {
        self.messages.load(Relaxed)
    }

    /// How many messages a topic has.
    pub(crate) fn length(&self, topic: &[u8]) -> usize {
        let topics = self.shard(topic).read().unwrap_or_else(PoisonError::into_inner);
        topics.get(topic).map_or(0, Vec::len)
    }
}

impl Service for Board {
    type Request = Request;
    type Outcome = ();

    fn parse(&self, input: &[u8]) -> Parsed<Request> {
        protocol::parse(input)
    }

    fn answer(&self, request: &Request, _: bool, output: &mut Vec<u8>) -> ((), Then) {
        match request {
            Request::Post { topic, message } => match self.post(topic, message) {
                Some(index) => protocol::posted(index, output),
                None => protocol::error("the board is full", output),
            },
            Request::Read { topic, index } => {
                protocol::found(self.read(topic, *index).as_deref(), output);
            }
            Request::Nonsense(why) => protocol::error(why, output),
        }
        ((), Then::Listen)
    }

    fn turn_away(&self, why: TurnedAway) -> Vec<u8> {
        let mut answer = Vec::new();
        let why = match why {
            TurnedAway::Full => "too many connections; try again later",
            TurnedAway::TooSlow => "the line took too long",
        };
        protocol::error(why, &mut answer);
        answer
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
    fn a_full_board_says_so_and_keeps_what_it_has() {
        let board = Board::with_room(2);
        let posts: Vec<_> = (0..4).map(|_| board.post(b"a", b"x")).collect();
        assert_eq!(posts, [Some(0), Some(1), None, None]);
        assert_eq!(board.length(b"a"), 2);
    }

    #[test]
    fn every_place_is_given_to_one_of_many_posters() {
        let board = Board::new();
        let post = || -> Vec<usize> { (0..500).map(|_| board.post(b"a", b"x").unwrap()).collect() };
        let mut places: Vec<usize> = thread::scope(|scope| {
            let posters: Vec<_> = (0..4).map(|_| scope.spawn(post)).collect();
            posters.into_iter().flat_map(|poster| poster.join().unwrap()).collect()
        });
        places.sort_unstable();
        assert_eq!(places, (0..2_000).collect::<Vec<_>>());
    }
}
