//! Documents by key, under one lock.

use std::collections::HashMap;
use std::sync::Arc;

use md5::{Digest, Md5};
use parking_lot::{Mutex, RwLock};

pub(crate) fn md5(body: &[u8]) -> [u8; 16] {
    Md5::digest(body).into()
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    pub(crate) body: Arc<[u8]>,
    pub(crate) md5: [u8; 16],
}

type Map = HashMap<Vec<u8>, Document>;

pub(crate) enum Store {
    Global(Mutex<Map>),
    ReaderWriter(RwLock<Map>),
}

impl Store {
    /// Creates an empty store with the lock `global` or `reader-writer`.
    pub(crate) fn new(lock: &str) -> Self {
        match lock {
            "global" => Self::Global(Mutex::default()),
            _ => Self::ReaderWriter(RwLock::default()),
        }
    }

    fn read<T>(&self, read: impl FnOnce(&Map) -> T) -> T {
        match self {
            Self::Global(map) => read(&map.lock()),
            Self::ReaderWriter(map) => read(&map.read()),
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Map) -> T) -> T {
        match self {
            Self::Global(map) => change(&mut map.lock()),
            Self::ReaderWriter(map) => change(&mut map.write()),
        }
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<Document> {
        self.read(|map| map.get(key).cloned())
    }

    /// Stores `body` under `key`; returns whether the key is new, and the MD5. Computes the MD5
    /// before taking the lock.
    pub(crate) fn put(&self, key: &[u8], body: &[u8]) -> (bool, [u8; 16]) {
        let md5 = md5(body);
        let body = body.into();
        let document = Document { body, md5 };
        let old = self.change(|map| map.insert(key.to_vec(), document));
        (old.is_none(), md5)
    }

    pub(crate) fn delete(&self, key: &[u8]) -> bool {
        self.change(|map| map.remove(key)).is_some()
    }

    pub(crate) fn all(&self) -> Map {
        self.read(Map::clone)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const LOCKS: [&str; 2] = ["global", "reader-writer"];

    #[test]
    fn md5_is_that_of_rfc_1321() {
        let digest = u128::from_be_bytes(md5(b"message digest"));
        assert_eq!(digest, 0xf96b_697d_7cb7_938d_525a_2f31_aaf1_61d0);
    }

    #[test]
    fn a_document_is_created_replaced_read_and_removed() {
        for lock in LOCKS {
            let store = Store::new(lock);
            assert_eq!(store.get(b"k"), None, "{lock}");
            assert_eq!(store.put(b"k", b"one"), (true, md5(b"one")));
            assert_eq!(store.put(b"k", b"two"), (false, md5(b"two")));
            assert_eq!(&store.get(b"k").unwrap().body[..], b"two");
            assert!(store.delete(b"k"));
            assert!(!store.delete(b"k"));
            assert!(store.all().is_empty());
        }
    }

    #[test]
    fn no_write_of_many_threads_is_lost() {
        for lock in LOCKS {
            let store = &Store::new(lock);
            thread::scope(|scope| {
                for thread in 0..4_u8 {
                    scope.spawn(move || {
                        for key in 0..200_u8 {
                            store.put(&[thread, key], &[key]);
                        }
                    });
                }
            });
            assert_eq!(store.all().len(), 800, "{lock}");
        }
    }
}
