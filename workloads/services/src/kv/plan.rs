//! The requests of each session, and the known answers.
//!
//! Each session has its own keys, so its answers do not depend on other sessions. Sessions contend
//! only for the locks.

use std::collections::HashMap;
use std::ops::Range;

use protocol::Values;

use super::http::{CREATED, Method, NO_CONTENT, NOTHING_FOUND, Response};
use super::service::Counts;
use super::store::{Store, md5};
use crate::http::Status;
use workloads::random::Random;

/// The number of keys of a session. There are few keys, so that clients read, replace and delete
/// each document many times.
const KEYS: u64 = 8;

const LETTERS: usize = 1 << 16;

/// A document as a slice of the letters, and its MD5.
type Piece = (Range<usize>, [u8; 16]);

#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) method: Method,
    key: u64,
    status: Status,
    /// The document that the request sends, or that the server finds.
    document: Option<Piece>,
}

pub(crate) struct Plan {
    letters: Vec<u8>,
    pub(crate) sessions: Vec<Vec<Step>>,
    /// The counts that a server must have at the end.
    pub(crate) counts: Counts,
    /// The documents that a server must have at the end.
    pub(crate) documents: HashMap<Vec<u8>, Piece>,
}

pub(crate) fn key_of(session: usize, key: u64) -> String {
    format!("s{session}/k{key}")
}

impl Plan {
    pub(crate) fn new(seed: u64, values: &Values) -> Self {
        let value_bytes = values.count("value-bytes");
        let mut random = Random::new(seed);
        let letters =
            (0..LETTERS + value_bytes).map(|_| b"abcdefghijklmnop"[random.index_below(16)]);
        let mut plan = Self {
            letters: letters.collect(),
            sessions: Vec::new(),
            counts: Counts::new(),
            documents: HashMap::new(),
        };
        for session in 0..values.count("sessions") {
            let steps = plan.session(&mut random, values, session);
            plan.sessions.push(steps);
        }
        plan
    }

    /// Chooses the requests of a session, and computes the answers with a map.
    fn session(&mut self, random: &mut Random, values: &Values, session: usize) -> Vec<Step> {
        let writes_percent = values.whole("writes-percent");
        let value_bytes = values.count("value-bytes");
        let mut stored: HashMap<u64, Piece> = HashMap::new();
        let steps = (0..values.count("requests"))
            .map(|_| {
                let key = random.below(KEYS);
                let method = match (random.below(100) < writes_percent, random.below(4)) {
                    (false, _) => Method::Get,
                    (true, 0) => Method::Delete,
                    (true, _) => Method::Post,
                };
                let (status, document) = match method {
                    Method::Post => {
                        let length = random.index_below(value_bytes + 1);
                        let begin = random.index_below(LETTERS);
                        let piece = begin..begin + length;
                        let md5 = md5(&self.letters[piece.clone()]);
                        let old = stored.insert(key, (piece.clone(), md5));
                        let status = if old.is_some() { Status::OK } else { CREATED };
                        (status, Some((piece, md5)))
                    }
                    Method::Delete if stored.remove(&key).is_some() => (NO_CONTENT, None),
                    Method::Get if stored.contains_key(&key) => {
                        (Status::OK, stored.get(&key).cloned())
                    }
                    _ => (Status::NOT_FOUND, None),
                };
                *self.counts.entry((method, status)).or_insert(0) += 1;
                Step {
                    method,
                    key,
                    status,
                    document,
                }
            })
            .collect();
        let stored = stored.into_iter();
        self.documents
            .extend(stored.map(|(key, piece)| (key_of(session, key).into(), piece)));
        steps
    }

    fn body(&self, document: Option<&Piece>) -> &[u8] {
        document.map_or(&[], |(piece, _)| &self.letters[piece.clone()])
    }

    pub(crate) fn request(&self, session: usize, step: &Step) -> (String, &[u8]) {
        let sent = step
            .document
            .as_ref()
            .filter(|_| step.method == Method::Post);
        (key_of(session, step.key), self.body(sent))
    }

    pub(crate) fn answer(&self, step: &Step, output: &mut Vec<u8>) {
        let document = step.document.as_ref();
        Response {
            status: step.status,
            tag: document.map(|(_, md5)| *md5),
            body: match step.method {
                _ if step.status == Status::NOT_FOUND => NOTHING_FOUND,
                Method::Get => self.body(document),
                Method::Post | Method::Delete => b"",
            },
            keeps_alive: true,
        }
        .write(output);
    }

    pub(crate) fn is_stored_in(&self, store: &Store) -> bool {
        let stored = store.all();
        stored.len() == self.documents.len()
            && stored.iter().all(|(key, document)| {
                let known = self.documents.get(key);
                known.is_some_and(|(_, md5)| *md5 == document.md5)
                    && *document.body == *self.body(known)
            })
    }
}
