//! A variant's name from its parts, put together by the compiler.

/// Room for the longest name, `split-idle+asymmetric-fence+sleepers-only+cache-padded`, and for the two
/// modifiers outside the counters, `+in-place-join+notify-unlocked`.
const CAPACITY: usize = 96;

/// Text of which the first `len` bytes are meant.
pub(crate) struct Name {
    bytes: [u8; CAPACITY],
    len: usize,
}

impl Name {
    /// The parts one after the other.
    pub(crate) const fn join(parts: &[&str]) -> Self {
        let mut name = Self { bytes: [0; CAPACITY], len: 0 };
        let mut part = 0;
        while part < parts.len() {
            let text = parts[part].as_bytes();
            let mut at = 0;
            while at < text.len() {
                name.bytes[name.len] = text[at];
                name.len += 1;
                at += 1;
            }
            part += 1;
        }
        name
    }

    pub(crate) const fn as_str(&self) -> &str {
        match std::str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(name) => name,
            Err(_) => panic!("whole strings in a row are UTF-8"),
        }
    }
}
