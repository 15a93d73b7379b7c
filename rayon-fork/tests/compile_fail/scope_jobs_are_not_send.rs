//! The closure in place may stay on its thread, its jobs may not.
use std::cell::Cell;
use std::rc::Rc;

fn jobs(shared: &Rc<u32>, cell: &Cell<u32>) {
    rayon_core::in_place_scope(|scope| {
        scope.spawn(|_| drop(shared.clone())); //~ E0277
        scope.spawn(|_| cell.set(2)); //~ E0277
    });
}

fn share(shared: &Rc<u32>) {
    rayon_core::in_place_scope(|scope| {
        scope.spawn_broadcast(|_, _| drop(shared.clone())); //~ E0277
    });
}

fn fifo_jobs(shared: &Rc<u32>) {
    rayon_core::in_place_scope_fifo(|scope| {
        scope.spawn_fifo(|_| drop(shared.clone())); //~ E0277
    });
}

fn closure(shared: &Rc<u32>) {
    rayon_core::scope(|_| drop(shared.clone())); //~ E0277
}

fn result() {
    rayon_core::scope(|_| Rc::new(1)); //~ E0277
}

fn main() {
    jobs(&Rc::new(1), &Cell::new(1));
    share(&Rc::new(1));
    fifo_jobs(&Rc::new(1));
    closure(&Rc::new(1));
    result();
}
