//! Documents by key, under one lock.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use md5::{Digest, Md5};
use parking_lot::{Mutex, RwLock};

/// The most bytes of keys and documents in a store, and the further bytes that each document
/// counts. Guesses.
const MAX_BYTES: usize = 1 << 30;
const OVERHEAD: usize = 128;

/// The MD5 of `body`.
pub(crate) fn md5(body: &[u8]) -> [u8; 16] {
    Md5::digest(body).into()
}

/// The document under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    pub(crate) body: Arc<[u8]>,
    pub(crate) md5: [u8; 16],
}

type Map = HashMap<Vec<u8>, Document>;

/// The lock that guards the documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    /// One mutex for all.
    Global,
    /// One lock for all that many readers hold together.
    ReaderWriter,
}

/// The effect of a put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Put {
    Created,
    Replaced,
    /// The store is full; nothing changed.
    Full,
}

/// The documents; see the file's header.
pub(crate) struct Store {
    documents: Documents,
    /// The bytes in use. Relaxed: a budget that orders no other data. Each change is one
    /// read-modify-write, so no change is lost.
    bytes: AtomicUsize,
    max_bytes: usize,
}

enum Documents {
    Global(Mutex<Map>),
    ReaderWriter(RwLock<Map>),
}

impl Store {
    pub(crate) fn new(guard: Guard) -> Self {
        Self::with_room(guard, MAX_BYTES)
    }

    /// Creates a store of at most `max_bytes` bytes.
    fn with_room(guard: Guard, max_bytes: usize) -> Self {
        Self {
            documents: match guard {
                Guard::Global => Documents::Global(Mutex::default()),
                Guard::ReaderWriter => Documents::ReaderWriter(RwLock::default()),
            },
            bytes: AtomicUsize::new(0),
            max_bytes,
        }
    }

    fn read<T>(&self, read: impl FnOnce(&Map) -> T) -> T {
        match &self.documents {
            Documents::Global(map) => read(&map.lock()),
            Documents::ReaderWriter(map) => read(&map.read()),
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Map) -> T) -> T {
        match &self.documents {
            Documents::Global(map) => change(&mut map.lock()),
            Documents::ReaderWriter(map) => change(&mut map.write()),
        }
    }

    /// Returns the document under `key`.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Document> {
        self.read(|map| map.get(key).cloned())
    }

    /// Stores `body` under `key`. Computes its MD5 before it takes the lock.
    pub(crate) fn put(&self, key: &[u8], body: &[u8]) -> (Put, [u8; 16]) {
        let document = Document {
            body: body.into(),
            md5: md5(body),
        };
        let md5 = document.md5;
        let cost = |body: usize| key.len() + body + OVERHEAD;
        let new = cost(body.len());
        if self.bytes.fetch_add(new, Relaxed) + new > self.max_bytes {
            self.bytes.fetch_sub(new, Relaxed);
            return (Put::Full, md5);
        }
        let old = self.change(|map| map.insert(key.to_vec(), document));
        match old {
            None => (Put::Created, md5),
            Some(old) => {
                self.bytes.fetch_sub(cost(old.body.len()), Relaxed);
                (Put::Replaced, md5)
            }
        }
    }

    /// Removes the document under `key`; returns `false` if there was none.
    pub(crate) fn delete(&self, key: &[u8]) -> bool {
        let old = self.change(|map| map.remove(key));
        if let Some(old) = &old {
            self.bytes
                .fetch_sub(key.len() + old.body.len() + OVERHEAD, Relaxed);
        }
        old.is_some()
    }

    /// Returns every document with its key, in any order.
    pub(crate) fn all(&self) -> Vec<(Vec<u8>, Document)> {
        self.read(|map| map.iter().map(|(k, d)| (k.clone(), d.clone())).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const GUARDS: [Guard; 2] = [Guard::Global, Guard::ReaderWriter];

    #[test]
    fn md5_is_that_of_rfc_1321() {
        let hex = |text: &str| format!("{:032x}", u128::from_be_bytes(md5(text.as_bytes())));
        assert_eq!(hex("message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
    }

    #[test]
    fn a_document_is_created_replaced_read_and_removed() {
        for guard in GUARDS {
            let store = Store::new(guard);
            assert_eq!(store.get(b"k"), None, "{guard:?}");
            assert_eq!(store.put(b"k", b"one").0, Put::Created);
            assert_eq!(store.put(b"k", b"two"), (Put::Replaced, md5(b"two")));
            assert_eq!(&store.get(b"k").unwrap().body[..], b"two");
            assert!(store.delete(b"k"));
            assert!(!store.delete(b"k"));
            assert!(store.all().is_empty());
        }
    }

    #[test]
    fn a_full_store_refuses_and_has_room_again_after_a_removal() {
        let store = Store::with_room(Guard::Global, 2 * (OVERHEAD + 1 + 10));
        let body = [b'x'; 10];
        assert_eq!(store.put(b"a", &body).0, Put::Created);
        assert_eq!(store.put(b"b", &body).0, Put::Created);
        assert_eq!(store.put(b"c", &body).0, Put::Full);
        assert_eq!(store.get(b"c"), None);
        assert!(store.delete(b"a"));
        assert_eq!(store.put(b"c", &body).0, Put::Created);
    }

    #[test]
    fn no_write_of_many_threads_is_lost() {
        for guard in GUARDS {
            let store = &Store::new(guard);
            thread::scope(|scope| {
                for thread in 0..4_u8 {
                    scope.spawn(move || {
                        for key in 0..200_u8 {
                            store.put(&[thread, key], &[key]);
                        }
                    });
                }
            });
            assert_eq!(store.all().len(), 800, "{guard:?}");
        }
    }
}
