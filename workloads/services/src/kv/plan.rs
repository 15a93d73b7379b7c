//! The requests of each session, and the known answers.
//!
//! Each session has its own keys, so its answers do not depend on other sessions. Sessions contend
//! only for the locks.

use std::collections::HashMap;
use std::ops::Range;

use super::http::Method;
use super::service::Counts;
use super::store::{Document, md5};
use workloads::random::{Random, mix};

/// The number of keys of a session. There are few, so that documents are read, replaced and deleted
/// many times.
const KEYS: u64 = 8;

/// The bytes of which documents are slices.
const LETTERS: usize = 1 << 16;

/// The number of requests, and their kinds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mix {
    pub(crate) sessions: usize,
    pub(crate) requests: usize,
    /// The percentage of requests other than GET; 25 % of these are DELETE.
    pub(crate) writes_percent: u64,
    /// Longest document.
    pub(crate) value_bytes: usize,
}

/// One request with its known answer.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) method: Method,
    pub(crate) key: u64,
    /// The content that a POST sends, as a slice of the letters.
    pub(crate) sent: Range<usize>,
    pub(crate) status: u16,
    /// The document whose tag is in the answer, as a slice of the letters, and its MD5.
    pub(crate) document: Option<(Range<usize>, [u8; 16])>,
}

/// All sessions.
pub(crate) struct Plan {
    letters: Vec<u8>,
    pub(crate) sessions: Vec<Vec<Step>>,
    /// The counts and documents that a server must have at the end.
    pub(crate) known: Summary,
}

/// The summary of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) counts: Counts,
    pub(crate) documents: usize,
    /// A hash of keys, contents and MD5s that does not depend on their order.
    pub(crate) fingerprint: u64,
}

/// The key as a client sends it.
pub(crate) fn key_of(session: usize, key: u64) -> String {
    format!("s{session}/k{key}")
}

impl Summary {
    /// Adds a stored document.
    pub(crate) fn add(&mut self, key: &[u8], body: &[u8], md5: &[u8; 16]) {
        let word = |bytes: &[u8]| {
            bytes.iter().fold(mix(bytes.len() as u64), |word, byte| {
                mix(word ^ u64::from(*byte))
            })
        };
        let document = mix(word(key) ^ mix(word(body)) ^ mix(mix(word(md5))));
        self.documents += 1;
        self.fingerprint = self.fingerprint.wrapping_add(document);
    }

    /// Returns the summary of a server with these counts and documents. A document with a wrong MD5
    /// changes the summary.
    pub(crate) fn of(counts: Counts, documents: &[(Vec<u8>, Document)]) -> Self {
        let mut summary = Self {
            counts,
            ..Self::default()
        };
        for (key, document) in documents {
            let computed = md5(&document.body);
            let tag = if computed == document.md5 {
                computed
            } else {
                [0; 16]
            };
            summary.add(key, &document.body, &tag);
        }
        summary
    }
}

impl Plan {
    /// Creates the plan for `seed`.
    pub(crate) fn new(seed: u64, mix: Mix) -> Self {
        let mut random = Random::new(seed);
        let letters =
            (0..LETTERS + mix.value_bytes).map(|_| b"abcdefghijklmnop"[random.index_below(16)]);
        let mut plan = Self {
            letters: letters.collect(),
            sessions: Vec::new(),
            known: Summary::default(),
        };
        for session in 0..mix.sessions {
            let steps = plan.session(&mut random, mix, session);
            plan.sessions.push(steps);
        }
        plan
    }

    pub(crate) fn letters(&self, piece: &Range<usize>) -> &[u8] {
        &self.letters[piece.clone()]
    }

    /// Computes the answers of a session with a map.
    fn session(&mut self, random: &mut Random, mix: Mix, session: usize) -> Vec<Step> {
        let mut stored: HashMap<u64, (Range<usize>, [u8; 16])> = HashMap::new();
        let steps: Vec<Step> = (0..mix.requests)
            .map(|_| {
                let key = random.below(KEYS);
                let method = match (random.below(100) < mix.writes_percent, random.below(4)) {
                    (false, _) => Method::Get,
                    (true, 0) => Method::Delete,
                    (true, _) => Method::Post,
                };
                let (sent, status, document) = match method {
                    Method::Post => {
                        let length = random.index_below(mix.value_bytes + 1);
                        let begin = random.index_below(LETTERS);
                        let piece = begin..begin + length;
                        let document = (piece.clone(), md5(self.letters(&piece)));
                        let old = stored.insert(key, document.clone());
                        (piece, if old.is_some() { 200 } else { 201 }, Some(document))
                    }
                    Method::Delete if stored.remove(&key).is_some() => (0..0, 204, None),
                    Method::Get if stored.contains_key(&key) => {
                        (0..0, 200, stored.get(&key).cloned())
                    }
                    _ => (0..0, 404, None),
                };
                *self.known.counts.entry((method, status)).or_insert(0) += 1;
                Step {
                    method,
                    key,
                    sent,
                    status,
                    document,
                }
            })
            .collect();
        for (key, (piece, md5)) in stored {
            let body = self.letters[piece].to_vec();
            self.known.add(key_of(session, key).as_bytes(), &body, &md5);
        }
        steps
    }
}
