//! All workers use the one closure at the same time, and send their results.
use std::cell::Cell;
use std::rc::Rc;

fn shared(cell: Cell<u32>) {
    rayon_core::broadcast(|_| cell.get()); //~ E0277
}

fn sent() {
    rayon_core::broadcast(|_| Rc::new(1)); //~ E0277
}

fn shared_detached(cell: Cell<u32>) {
    rayon_core::spawn_broadcast(move |_| cell.set(2)); //~ E0277
}

fn main() {
    shared(Cell::new(1));
    sent();
    shared_detached(Cell::new(1));
}
