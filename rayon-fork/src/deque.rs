//! The only door to the deque library: another deque can be put behind these names.

// Compiled into every build that can, but used where jobs are shared lazily.
#[cfg(target_has_atomic = "64")]
#[allow(dead_code)]
pub(crate) mod on_demand;

pub(crate) use crossbeam_deque::{Injector, Steal, Stealer, Worker as Deque};

use crate::sync::modelled::Fences;

/// Repeats `attempt` for as long as it is contended.
#[inline]
pub(crate) fn settle<T>(mut attempt: impl FnMut() -> Steal<T>) -> Option<T> {
    loop {
        match attempt() {
            Steal::Success(job) => return Some(job),
            Steal::Empty => return None,
            Steal::Retry => crate::sync::hint::spin_loop(),
        }
    }
}

/// Whether jobs are shared lazily. Their deque needs atomics of 64 bits; on a target without, they
/// are public.
pub(crate) const SHARES_LAZILY: bool = cfg!(all(feature = "demand", target_has_atomic = "64"));

/// What this file adds to the variant's name.
pub(crate) const MODIFIER: &str = match (cfg!(feature = "demand"), SHARES_LAZILY) {
    (true, true) => "+demand",
    (true, false) => "+demand-is-missing-here",
    (false, _) => "",
};

/// What fits into two words, which threads may read while others write them: only together and
/// untouched are they a value.
// Only the deque of lazily shared jobs stores jobs as words.
#[cfg_attr(not(target_has_atomic = "64"), allow(dead_code))]
pub(crate) trait TwoWords {
    /// The value as words.
    fn into_words(self) -> [*mut (); 2];

    /// The value of these words.
    ///
    /// # Safety
    ///
    /// The words are from one call of [`into_words`](Self::into_words), and are given back once.
    unsafe fn from_words(words: [*mut (); 2]) -> Self;
}

/// What an owner can do for those who ask for jobs.
#[cfg_attr(not(target_has_atomic = "64"), allow(dead_code))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// There was nothing public, and now there is.
    Exposed,
    /// There is something public, or a thief has just taken it or is about to make it so.
    HasPublic,
    /// There is something public, and it seems that nobody wants it.
    Unwanted,
}

/// A worker's jobs, the owner's end.
pub(crate) enum JobDeque<T> {
    /// They are its own until somebody is idle.
    #[cfg(all(feature = "demand", target_has_atomic = "64"))]
    Private(on_demand::Deque<T>),
    Public(Deque<T>),
}

/// The thieves' end.
pub(crate) enum JobStealer<T> {
    #[cfg(all(feature = "demand", target_has_atomic = "64"))]
    Private(on_demand::Stealer<T>),
    Public(Stealer<T>),
}

/// Where a pushed job lies: at an index of its deque, or in one that does not tell.
pub(crate) struct Place(Option<u64>);

/// What `$of`, of either kind, does in the same way; or what it `$private`ly does, and a public one
/// does else.
macro_rules! whichever {
    ($of:expr, $deque:ident => $same:expr) => {
        whichever! { $of, $deque => $same, else $deque => $same }
    };
    ($of:expr, $deque:ident => $private:expr, else $public:pat => $else:expr) => {
        match $of {
            #[cfg(all(feature = "demand", target_has_atomic = "64"))]
            Self::Private($deque) => $private,
            Self::Public($public) => $else,
        }
    };
}

impl<T: TwoWords> JobDeque<T> {
    /// A deque whose owner takes the newest job first. With fences its jobs are private.
    pub(crate) fn new_lifo(fences: Option<Fences>) -> Self {
        match fences {
            #[cfg(all(feature = "demand", target_has_atomic = "64"))]
            Some(fences) => Self::Private(on_demand::Deque::new(fences)),
            _ => Self::Public(Deque::new_lifo()),
        }
    }

    /// A deque whose owner takes the oldest job first.
    pub(crate) fn new_fifo() -> Self {
        Self::Public(Deque::new_fifo())
    }

    /// An end for thieves.
    pub(crate) fn stealer(&self) -> JobStealer<T> {
        match self {
            #[cfg(all(feature = "demand", target_has_atomic = "64"))]
            Self::Private(deque) => JobStealer::Private(deque.stealer()),
            Self::Public(deque) => JobStealer::Public(deque.stealer()),
        }
    }

    /// Whether others learn of its jobs by an [answer](Self::answer) only.
    #[inline]
    pub(crate) fn is_private(&self) -> bool {
        whichever! { self, _deque => true, else _ => false }
    }

    /// Adds a job at the owner's end.
    #[inline]
    pub(crate) fn push(&self, job: T) -> Place {
        whichever! { self, deque => Place(Some(deque.push(job))), else deque => { deque.push(job); Place(None) } }
    }

    /// Takes a job from the owner's end.
    #[inline]
    pub(crate) fn pop(&self) -> Option<T> {
        whichever! { self, deque => deque.pop() }
    }

    /// Takes the job back that lies at `place`, if that needs no look at it: `true` if it is the
    /// newest, and nobody else may take it. The caller knows that it has not come out.
    #[inline]
    pub(crate) fn try_take_back(&self, place: &Place) -> bool {
        let Place(Some(index)) = *place else {
            return false;
        };
        whichever! { self, deque => deque.try_take_back(index), else _ => index == 0 }
    }

    /// Its owner has nothing to do, and is about to block: gives memory back that only many jobs
    /// need. A public deque does so by itself when jobs are taken.
    /// `false` if the owner should come again before it blocks.
    pub(crate) fn give_back(&self) -> bool {
        whichever! { self, deque => deque.give_back(), else _ => true }
    }

    /// Somebody asks for jobs.
    pub(crate) fn answer(&self) -> Answer {
        whichever! { self, deque => deque.answer(), else _ => Answer::HasPublic }
    }

    /// Whether no job is in it.
    pub(crate) fn is_empty(&self) -> bool {
        whichever! { self, deque => deque.is_empty() }
    }
}

impl<T: TwoWords> JobStealer<T> {
    /// Takes the oldest job that was made public.
    #[inline]
    pub(crate) fn steal(&self) -> Steal<T> {
        whichever! { self, stealer => stealer.steal() }
    }

    /// Asks the owner to show jobs.
    pub(crate) fn ask(&self) {
        whichever! { self, stealer => stealer.ask(), else _ => () }
    }

    /// Whether the owner may answer, having done anything since others last showed jobs in its
    /// stead.
    pub(crate) fn has_stirred(&self) -> bool {
        whichever! { self, stealer => stealer.has_stirred(), else _ => true }
    }

    /// Makes private jobs public if nothing is. `true` if there is something to steal.
    pub(crate) fn expose_for_owner(&self) -> bool {
        whichever! { self, stealer => stealer.expose_for_owner(), else stealer => !stealer.is_empty() }
    }

    /// How many jobs are in it, public and private.
    pub(crate) fn len(&self) -> usize {
        whichever! { self, stealer => stealer.len() }
    }
}
