//! The part that the scopes of all rivals share.

use std::fmt;

use crate::rival::{NAME, Scope};

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("rival", &NAME)
            .finish_non_exhaustive()
    }
}
