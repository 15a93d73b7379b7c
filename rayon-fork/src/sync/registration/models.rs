//! Loom models of registering while other threads work. In each mutant, both sides of a pair miss
//! what the other side did.

use std::sync::Arc;

use loom::thread;

use super::{BY_KERNEL, FREE, NONE, REFUSED, Registration};
use crate::sleep::models::{Bounds, holds, is_caught};
use crate::sync::modelled::{self, AtomicUsize, Ordering, fence, heavy_fence, light_fence};

const TRIO: Bounds = Bounds {
    fast: Some(3),
    deep: None,
};

const QUARTET: Bounds = Bounds {
    fast: Some(2),
    deep: Some(3),
};

const REFUSED_TRIO: Bounds = Bounds {
    fast: Some(2),
    deep: Some(3),
};

pub(crate) const SEEN: &str = "neither side saw the other";

trait Steps: 'static {
    fn complete(registration: &Registration) {
        registration.complete();
    }

    fn light(registration: &Registration) {
        registration.light();
    }

    fn heavy(registration: &Registration) {
        registration.heavy();
    }
}

enum Right {}

impl Steps for Right {}

/// Planted mistake: light sides become free without an earlier fence.
enum RegistersWithoutAFence {}

impl Steps for RegistersWithoutAFence {
    fn complete(registration: &Registration) {
        registration.state.store(BY_KERNEL, Ordering::Release);
        registration.state.store(FREE, Ordering::Release);
    }
}

/// Planted mistake: `complete` skips the state `BY_KERNEL`. So one store makes heavy sides call the
/// kernel, and stops light sides from fencing.
enum FreesAtOnce {}

impl Steps for FreesAtOnce {
    fn complete(registration: &Registration) {
        fence(Ordering::SeqCst);
        registration.state.store(FREE, Ordering::Release);
    }
}

/// Planted mistake: a heavy side reads the state before it fences for itself.
enum ReadsTheStateBeforeTheFence {}

impl Steps for ReadsTheStateBeforeTheFence {
    fn heavy(registration: &Registration) {
        let state = registration.state.load(Ordering::Acquire);
        fence(Ordering::SeqCst);
        if state != NONE {
            heavy_fence();
        }
    }
}

/// Planted mistake: a light side is free as soon as the kernel knows the process.
enum IsFreeTooEarly {}

impl Steps for IsFreeTooEarly {
    fn light(registration: &Registration) {
        if registration.state.load(Ordering::Acquire) == NONE {
            fence(Ordering::SeqCst);
        } else {
            light_fence();
        }
    }
}

/// Planted mistake: a thread that finds another thread registering frees the light sides without a
/// fence.
enum LeavesTheFenceToTheFirst {}

impl Steps for LeavesTheFenceToTheFirst {
    fn complete(registration: &Registration) {
        let exchange = |from, to| {
            let state = &registration.state;
            state.compare_exchange(from, to, Ordering::Release, Ordering::Relaxed)
        };
        if exchange(NONE, BY_KERNEL).is_ok() {
            fence(Ordering::SeqCst);
        }
        let _ = exchange(BY_KERNEL, FREE);
    }
}

/// The kernel refuses, although it has just registered the process for another thread.
enum IsDeclined {}

impl Steps for IsDeclined {
    fn complete(registration: &Registration) {
        registration.complete();
        registration.decline();
    }
}

/// Planted mistake: the refusal counts although light sides are free.
enum DeclinesWhatIsFree {}

impl Steps for DeclinesWhatIsFree {
    fn complete(registration: &Registration) {
        registration.complete();
        registration.state.store(REFUSED, Ordering::Relaxed);
    }
}

fn pair_while_registering<S: Steps>() {
    pair_while_so_many_register::<S>(1);
}

fn pair_while_two_register<S: Steps>() {
    pair_while_so_many_register::<S>(2);
}

/// While `registrars` threads register, at least one side of a pair must see what the other side
/// did before.
fn pair_while_so_many_register<S: Steps>(registrars: usize) {
    modelled::prepare_heavy_fences().expect("a model has fences");
    let registration = Arc::new(Registration::new());
    let [job, demand] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
    let register = |_| {
        let registration = Arc::clone(&registration);
        thread::spawn(move || S::complete(&registration))
    };
    let registrars: Vec<_> = (0..registrars).map(register).collect();
    let pusher = thread::spawn({
        let (registration, job, demand) = (
            Arc::clone(&registration),
            Arc::clone(&job),
            Arc::clone(&demand),
        );
        move || {
            job.store(1, Ordering::Relaxed);
            S::light(&registration);
            demand.load(Ordering::Relaxed) == 1
        }
    });
    demand.store(1, Ordering::Relaxed);
    S::heavy(&registration);
    let saw_job = job.load(Ordering::Relaxed) == 1;
    let saw_demand = pusher.join().unwrap();
    for registrar in registrars {
        registrar.join().unwrap();
    }
    assert!(saw_job || saw_demand, "{SEEN}");
}

trait Refused: 'static {
    fn refuse(registration: &Registration) {
        registration.heavy_by(|| false);
    }
}

impl Refused for Right {}

/// Planted mistake: a refused thread continues without the pause for older light sides.
enum GivesNoGrace {}

impl Refused for GivesNoGrace {
    fn refuse(registration: &Registration) {
        fence(Ordering::SeqCst);
        registration.state.swap(REFUSED, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }
}

/// Planted mistake: only the first refused thread pauses.
enum SaysSoEarly {}

impl Refused for SaysSoEarly {
    fn refuse(registration: &Registration) {
        fence(Ordering::SeqCst);
        if registration.state.swap(REFUSED, Ordering::Relaxed) != REFUSED {
            fence(Ordering::SeqCst);
            modelled::wait_for_grace_period();
        }
    }
}

/// Runs a light side and two heavy sides. In each pair at least one side must see what the other
/// side did before. A heavy side calls its argument to make the change that the light side must
/// see.
pub(crate) fn of_each_pair_one_sees(
    light: impl FnOnce() + 'static,
    first: impl FnOnce(&dyn Fn()) + 'static,
    second: impl FnOnce(&dyn Fn()),
) {
    let [job, demand_of_first, demand] = [(); 3].map(|()| Arc::new(AtomicUsize::new(0)));
    let pusher = thread::spawn({
        let [job, first, second] = [&job, &demand_of_first, &demand].map(Arc::clone);
        move || {
            job.store(1, Ordering::Relaxed);
            light();
            [first, second].map(|demand| demand.load(Ordering::Relaxed) == 1)
        }
    });
    let other = thread::spawn({
        let (job, demand) = (Arc::clone(&job), demand_of_first);
        move || {
            first(&|| demand.store(1, Ordering::Relaxed));
            job.load(Ordering::Relaxed) == 1
        }
    });
    second(&|| demand.store(1, Ordering::Relaxed));
    let second_saw_job = job.load(Ordering::Relaxed) == 1;
    let first_saw_job = other.join().unwrap();
    let [saw_first, saw_second] = pusher.join().unwrap();
    assert!(first_saw_job || saw_first, "{SEEN}");
    assert!(second_saw_job || saw_second, "{SEEN}");
}

fn pairs_while_the_kernel_refuses<S: Refused>() {
    modelled::prepare_heavy_fences().expect("a model has fences");
    let registration = Arc::new(Registration::new());
    registration.complete();
    let [of_light, of_first] = [(); 2].map(|()| Arc::clone(&registration));
    let light = move || {
        // This fence models that a grace period orders this thread's stores even before the thread
        // reads the state.
        light_fence();
        of_light.light();
    };
    let heavy = |registration: &Registration, demand: &dyn Fn()| {
        demand();
        S::refuse(registration);
    };
    let first = move |demand: &dyn Fn()| heavy(&of_first, demand);
    of_each_pair_one_sees(light, first, |demand| heavy(&registration, demand));
}

holds! {
    models_of_pairs_while_the_kernel_refuses: REFUSED_TRIO, pairs_while_the_kernel_refuses::<Right>;
}

is_caught! {
    models_catch_a_refusal_without_grace: REFUSED_TRIO, SEEN, pairs_while_the_kernel_refuses::<GivesNoGrace>;
    models_catch_a_refusal_that_is_told_early: REFUSED_TRIO, SEEN, pairs_while_the_kernel_refuses::<SaysSoEarly>;
}

holds! {
    models_of_a_pair_while_the_process_registers: TRIO, pair_while_registering::<Right>;
    models_of_a_pair_while_two_threads_register_the_process: QUARTET, pair_while_two_register::<Right>;
}

is_caught! {
    models_catch_who_leaves_the_fence_to_the_first_that_registers: QUARTET, SEEN, pair_while_two_register::<LeavesTheFenceToTheFirst>;
}

holds! {
    models_of_a_pair_while_the_kernel_declines_after_it_registered: TRIO, pair_while_registering::<IsDeclined>;
}

is_caught! {
    models_catch_a_decline_of_what_is_free: TRIO, SEEN, pair_while_registering::<DeclinesWhatIsFree>;
    models_catch_registering_without_a_fence: TRIO, SEEN, pair_while_registering::<RegistersWithoutAFence>;
    models_catch_light_sides_that_are_freed_at_once: TRIO, SEEN, pair_while_registering::<FreesAtOnce>;
    models_catch_a_state_that_is_read_before_the_fence: TRIO, SEEN, pair_while_registering::<ReadsTheStateBeforeTheFence>;
    models_catch_a_light_side_that_is_free_too_early: TRIO, SEEN, pair_while_registering::<IsFreeTooEarly>;
}
