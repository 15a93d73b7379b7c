//! Documents under every guard.

use std::thread;

use super::store::*;

const GUARDS: [Guard; 3] = [Guard::Global, Guard::ReaderWriter, Guard::Sharded];

#[test]
fn md5_is_that_of_rfc_1321() {
    let hex = |text: &str| format!("{:032x}", u128::from_be_bytes(md5(text.as_bytes())));
    assert_eq!(hex(""), "d41d8cd98f00b204e9800998ecf8427e");
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
    for guard in GUARDS {
        let store = Store::with_room(guard, 2 * (OVERHEAD + 1 + 10));
        let body = [b'x'; 10];
        assert_eq!(store.put(b"a", &body).0, Put::Created);
        assert_eq!(store.put(b"b", &body).0, Put::Created);
        assert_eq!(store.put(b"c", &body).0, Put::Full);
        assert_eq!(store.get(b"c"), None);
        assert!(store.delete(b"a"));
        assert_eq!(store.put(b"c", &body).0, Put::Created, "{guard:?}");
    }
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
        let mut keys: Vec<_> = store.all().into_iter().map(|(key, _)| key).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 800, "{guard:?}");
    }
}
