//! A builder with a spawn handler cannot start scoped threads; and these share the wrapper.
use std::cell::Cell;

use rayon_core::{ThreadBuilder, ThreadPoolBuilder};

fn handled() {
    let builder = ThreadPoolBuilder::new().spawn_handler(|_| Ok(()));
    builder.build_scoped(ThreadBuilder::run, |_| ()); //~ E0599
}

fn shared(cell: Cell<u32>) {
    let wrapper = |thread: ThreadBuilder| {
        cell.set(2);
        thread.run();
    };
    ThreadPoolBuilder::new().build_scoped(wrapper, |_| ()).unwrap(); //~ E0277
}

fn main() {
    handled();
    shared(Cell::new(1));
}
