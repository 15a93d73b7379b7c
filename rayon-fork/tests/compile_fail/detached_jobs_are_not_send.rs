//! A detached job runs on another thread.
use std::rc::Rc;

fn job(shared: Rc<u32>) {
    rayon_core::spawn(move || drop(shared)); //~ E0277
}

fn fifo_job(shared: Rc<u32>) {
    rayon_core::spawn_fifo(move || drop(shared)); //~ E0277
}

fn shares(shared: Rc<u32>) {
    rayon_core::spawn_broadcast(move |_| drop(shared.clone())); //~ E0277
}

fn job_of_a_pool(pool: &rayon_core::ThreadPool, shared: Rc<u32>) {
    pool.spawn(move || drop(shared)); //~ E0277
}

fn main() {
    let pool = rayon_core::ThreadPoolBuilder::new().build().unwrap();
    job(Rc::new(1));
    fifo_job(Rc::new(1));
    shares(Rc::new(1));
    job_of_a_pool(&pool, Rc::new(1));
}
