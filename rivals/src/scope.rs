//! The parts that scopes of all rivals share.

use std::fmt;

use crate::BroadcastContext;
use crate::missing::missing;
use crate::rival::{NAME, Scope};

impl<'scope> Scope<'scope> {
    /// [`spawn`](Self::spawn), whatever the order in which the rival runs jobs.
    pub fn spawn_fifo<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        self.spawn(body);
    }

    /// Not there; panics.
    pub fn spawn_broadcast<BODY>(&self, _body: BODY)
    where
        BODY: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        missing("spawn_broadcast")
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("rival", &NAME)
            .finish_non_exhaustive()
    }
}
