//! Joins the parts of a variant's name at compile time.

/// The capacity for the names of all features. A longer name does not compile.
const CAPACITY: usize = 256;

pub(crate) struct Name {
    bytes: [u8; CAPACITY],
    len: usize,
}

impl Name {
    pub(crate) const fn join(first: &str, others: &[&str]) -> Self {
        let mut name = Self {
            bytes: [0; CAPACITY],
            len: 0,
        }
        .with(first);
        let mut part = 0;
        while part < others.len() {
            name = name.with(others[part]);
            part += 1;
        }
        name
    }

    const fn with(mut self, text: &str) -> Self {
        let text = text.as_bytes();
        let mut at = 0;
        while at < text.len() {
            self.bytes[self.len] = text[at];
            self.len += 1;
            at += 1;
        }
        self
    }

    pub(crate) const fn as_str(&self) -> &str {
        match std::str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(name) => name,
            Err(_) => panic!("whole strings in a row are UTF-8"),
        }
    }
}
