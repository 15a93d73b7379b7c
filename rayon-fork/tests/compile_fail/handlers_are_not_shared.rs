//! Handlers run on all workers, the name closure only here.
use std::rc::Rc;

use rayon_core::ThreadPoolBuilder;

fn start(shared: Rc<u32>) -> ThreadPoolBuilder {
    ThreadPoolBuilder::new().start_handler(move |_| drop(shared.clone())) //~ E0277
}

fn exit(shared: Rc<u32>) -> ThreadPoolBuilder {
    ThreadPoolBuilder::new().exit_handler(move |_| drop(shared.clone())) //~ E0277
}

fn panic(shared: Rc<u32>) -> ThreadPoolBuilder {
    ThreadPoolBuilder::new().panic_handler(move |_| drop(shared.clone())) //~ E0277
}

fn name(shared: Rc<u32>) -> ThreadPoolBuilder {
    ThreadPoolBuilder::new().thread_name(move |_| shared.to_string())
}

fn main() {
    let shared = Rc::new(1);
    start(shared.clone());
    exit(shared.clone());
    panic(shared.clone());
    name(shared);
}
