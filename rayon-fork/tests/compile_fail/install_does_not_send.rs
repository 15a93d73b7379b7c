//! `install` moves its closure to another thread and its result back.
use std::rc::Rc;

fn closure(pool: &rayon_core::ThreadPool, shared: Rc<u32>) {
    pool.install(|| drop(shared.clone())); //~ E0277
}

fn result(pool: &rayon_core::ThreadPool) {
    pool.install(|| Rc::new(1)); //~ E0277
}

fn main() {
    let pool = rayon_core::ThreadPoolBuilder::new().build().unwrap();
    closure(&pool, Rc::new(1));
    result(&pool);
}
