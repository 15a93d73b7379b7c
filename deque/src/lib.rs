//! A work-stealing deque whose values are its owner's alone until somebody asks for them:
//! [`Worker`] and [`Stealer`].
//!
//! Names are those of crossbeam-deque where they mean the same. Beyond those an owner
//! [answers](Worker::answer) who asks for values, a thief [exposes them for
//! it](Stealer::expose_for_owner), and who makes a deque chooses its [fences](Fence).

use std::marker::PhantomData;
use std::ptr;

pub use crossbeam_deque::Steal;

pub use self::deque::terms::Answer;
use self::deque::{on_demand, terms};
use self::sync::modelled::Fences;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[allow(
    clippy::allow_attributes_without_reason,
    reason = "shared with a crate of older Rust"
)]
#[allow(dead_code, reason = "the scheduler needs more of it")]
#[path = "../../rayon-fork/src/deque"]
mod deque {
    pub(crate) mod on_demand;
    pub(crate) mod terms;

    use crossbeam_deque::Steal;
}

mod sync;

/// Where the scheduler counts what the deque does. Here nobody does.
mod hooks {
    pub(crate) enum Event {
        HeavyFence,
        Exposure,
        ExposureForOwner,
    }

    #[inline]
    pub(crate) fn count(_event: Event) {}

    #[inline]
    pub(crate) fn count_if(_happened: bool, _event: Event) {}
}

/// What fits into two words. Thieves copy values while the owner may write over them, and throw
/// away what they copied unless it was still there; two words are what the deque can copy so. Put
/// anything larger into a [`Box`].
pub trait TwoWords {
    /// The value as words.
    fn into_words(self) -> [*mut (); 2];

    /// The value of these words.
    ///
    /// # Safety
    ///
    /// The words are from one call of [`into_words`](Self::into_words) of this type, and are given
    /// back once.
    unsafe fn from_words(words: [*mut (); 2]) -> Self;
}

impl<T> TwoWords for Box<T> {
    #[inline]
    fn into_words(self) -> [*mut (); 2] {
        [Box::into_raw(self).cast(), ptr::null_mut()]
    }

    #[inline]
    unsafe fn from_words([value, _]: [*mut (); 2]) -> Self {
        // SAFETY: it came from a box of this type, and comes back once, as the caller promises.
        unsafe { Self::from_raw(value.cast()) }
    }
}

impl TwoWords for [usize; 2] {
    #[inline]
    fn into_words(self) -> [*mut (); 2] {
        self.map(ptr::without_provenance_mut)
    }

    #[inline]
    unsafe fn from_words(words: [*mut (); 2]) -> Self {
        words.map(<*mut ()>::addr)
    }
}

/// A value in a deque. No code of `T` runs while the deque changes.
struct Words<T> {
    words: [*mut (); 2],
    /// `T` may not vary: what goes in at one end of a deque comes out at another, whose type is
    /// written elsewhere.
    value: PhantomData<fn(T) -> T>,
}

// SAFETY: it is a `T`.
unsafe impl<T: Send> Send for Words<T> {}

impl<T: TwoWords> Words<T> {
    #[inline]
    fn of(value: T) -> Self {
        Self {
            words: value.into_words(),
            value: PhantomData,
        }
    }

    #[inline]
    fn value(self) -> T {
        // SAFETY: `of` is where all words are from, and the deque gives each value back once.
        unsafe { T::from_words(self.words) }
    }
}

impl<T> terms::TwoWords for Words<T> {
    #[inline]
    fn into_words(self) -> [*mut (); 2] {
        self.words
    }

    #[inline]
    unsafe fn from_words(words: [*mut (); 2]) -> Self {
        Self {
            words,
            value: PhantomData,
        }
    }
}

/// Who pays for order between the owner, who pops, and a thief that [exposes for
/// it](Stealer::expose_for_owner).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fence {
    /// The thief, by the system call `membarrier`, where there is one and the kernel permits it; a
    /// push and a pop then have no fence. Else both, as with [`Full`](Self::Full). Decided and, if
    /// need be, changed while the program runs.
    #[default]
    Cheapest,
    /// Both: every push and every pop is a full fence, and a thief makes no system call.
    Full,
}

/// The owner's end of a deque: it pushes and pops values at the same end, newest first.
///
/// What is left when it is dropped is dropped with it:
///
/// ```
/// use std::sync::Arc;
///
/// let value = Arc::new(());
/// let worker = on_demand_deque::Worker::new_lifo();
/// let thief = worker.stealer();
/// (0..3).for_each(|_| worker.push(Box::new(Arc::clone(&value))));
/// worker.answer();
/// drop(worker);
/// assert!(thief.is_empty() && Arc::strong_count(&value) == 1);
/// ```
///
/// It goes from thread to thread, but only one has it at a time:
///
/// ```compile_fail,E0277
/// let worker = on_demand_deque::Worker::<Box<u32>>::new_lifo();
/// std::thread::scope(|scope| {
///     scope.spawn(|| worker.pop());
/// });
/// ```
///
/// Values have the same type at both ends; here a thief would outlive what it stole:
///
/// ```compile_fail,E0597
/// use on_demand_deque::{Stealer, Worker};
///
/// let worker = Worker::<Box<&'static u32>>::new_lifo();
/// let thief: Stealer<Box<&'static u32>> = worker.stealer();
/// {
///     let short = 1;
///     let worker: Worker<Box<&u32>> = worker;
///     worker.push(Box::new(&short));
/// }
/// thief.steal();
/// ```
pub struct Worker<T: TwoWords> {
    deque: on_demand::Deque<Words<T>>,
}

impl<T: TwoWords> Worker<T> {
    /// An empty deque with the cheapest fences.
    #[must_use]
    pub fn new_lifo() -> Self {
        Self::new_lifo_with(Fence::default())
    }

    /// An empty deque with the fences of one's choice.
    ///
    /// ```
    /// use on_demand_deque::{Fence, Worker};
    ///
    /// let worker = Worker::new_lifo_with(Fence::Full);
    /// worker.push([1, 2]);
    /// assert_eq!(worker.pop(), Some([1, 2]));
    /// ```
    #[must_use]
    pub fn new_lifo_with(fence: Fence) -> Self {
        let fences = match fence {
            Fence::Cheapest => Fences::cheapest(),
            Fence::Full => Fences::full(),
        };
        Self {
            deque: on_demand::Deque::new(fences),
        }
    }

    /// An end for thieves.
    #[must_use]
    pub fn stealer(&self) -> Stealer<T> {
        Stealer {
            stealer: self.deque.stealer(),
        }
    }

    /// Adds a value, which is private.
    #[inline]
    pub fn push(&self, value: T) {
        self.deque.push(Words::of(value));
    }

    /// Takes the newest value, private or public.
    #[inline]
    pub fn pop(&self) -> Option<T> {
        self.deque.pop().map(Words::value)
    }

    /// Somebody asks for values: makes the older half of the private ones public, at least one, if
    /// none is; for a while after a thief had to do so, all of them. Call it after a push, while a
    /// flag of yours says that thieves look for values; of an empty deque it says
    /// [`Answer::HasPublic`].
    ///
    /// ```
    /// use on_demand_deque::{Answer, Steal, Worker};
    ///
    /// let worker = Worker::new_lifo();
    /// let thief = worker.stealer();
    /// (1..=3).for_each(|value| worker.push(Box::new(value)));
    /// assert_eq!(thief.steal(), Steal::Empty);
    /// assert_eq!(worker.answer(), Answer::Exposed); // Tell a thief.
    /// assert_eq!(thief.steal(), Steal::Success(Box::new(1)));
    /// ```
    pub fn answer(&self) -> Answer {
        self.deque.answer()
    }

    /// Gives back the memory of a queue that was long, if no value is left; also what thieves were
    /// reading from when the owner put it out of use. Else does nothing. By itself an owner does so
    /// when it has found no value in a thousand times that it popped.
    ///
    /// ```
    /// let worker = on_demand_deque::Worker::new_lifo();
    /// (0..100_000).for_each(|value| worker.push(Box::new(value)));
    /// while worker.pop().is_some() {}
    /// worker.shrink_if_empty();
    /// worker.push(Box::new(1));
    /// assert_eq!(worker.pop(), Some(Box::new(1)));
    /// ```
    pub fn shrink_if_empty(&self) {
        self.deque.give_back();
    }

    /// Whether no value is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.deque.is_empty()
    }

    /// How many values are in it, private and public. Exact if no thief steals meanwhile.
    #[must_use]
    pub fn len(&self) -> usize {
        self.deque.len()
    }
}

impl<T: TwoWords> Drop for Worker<T> {
    fn drop(&mut self) {
        while self.pop().is_some() {}
    }
}

/// The thieves' end of a deque: any number of threads steal values, oldest first.
pub struct Stealer<T: TwoWords> {
    stealer: on_demand::Stealer<Words<T>>,
}

impl<T: TwoWords> Clone for Stealer<T> {
    fn clone(&self) -> Self {
        Self {
            stealer: self.stealer.clone(),
        }
    }
}

impl<T: TwoWords> Stealer<T> {
    /// Takes the oldest public value.
    #[inline]
    pub fn steal(&self) -> Steal<T> {
        match self.stealer.steal() {
            Steal::Empty => Steal::Empty,
            Steal::Success(words) => Steal::Success(words.value()),
            Steal::Retry => Steal::Retry,
        }
    }

    /// Makes the older half of the private values public, at least one, if none is: for thieves of
    /// an owner that does not push, and so does not [answer](Worker::answer). `true` if there are
    /// public values now.
    ///
    /// With [`Fence::Cheapest`] this interrupts every CPU on which a thread of the process runs, so
    /// it is for thieves that would go to sleep otherwise.
    ///
    /// ```
    /// use on_demand_deque::{Steal, Worker};
    ///
    /// let worker = Worker::new_lifo();
    /// worker.push([1, 0]);
    /// let thief = worker.stealer();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         assert!(thief.expose_for_owner());
    ///         assert_eq!(thief.steal(), Steal::Success([1, 0]));
    ///     });
    /// });
    /// assert!(worker.is_empty());
    /// ```
    #[expect(clippy::must_use_candidate, reason = "who steals next finds out")]
    pub fn expose_for_owner(&self) -> bool {
        self.stealer.expose_for_owner()
    }

    /// Whether there is a value to be stolen.
    #[must_use]
    pub fn has_public(&self) -> bool {
        self.stealer.has_public()
    }

    /// Whether no value is in it, private or public. A thread that is about to sleep must know of
    /// private ones.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stealer.is_empty()
    }

    /// How many values are in it, private and public. Exact if nobody changes it meanwhile.
    #[must_use]
    pub fn len(&self) -> usize {
        self.stealer.len()
    }
}
