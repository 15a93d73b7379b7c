//! A closure that must stay on its thread.
use std::rc::Rc;

fn first(shared: &Rc<u32>) {
    rayon_core::join(|| drop(shared.clone()), || ()); //~ E0277
}

fn second(shared: &Rc<u32>) {
    rayon_core::join(|| (), || drop(shared.clone())); //~ E0277
}

fn first_with_context(shared: &Rc<u32>) {
    rayon_core::join_context(|_| drop(shared.clone()), |_| ()); //~ E0277
}

fn second_with_context(shared: &Rc<u32>) {
    rayon_core::join_context(|_| (), |_| drop(shared.clone())); //~ E0277
}

fn main() {
    let shared = Rc::new(1);
    first(&shared);
    second(&shared);
    first_with_context(&shared);
    second_with_context(&shared);
}
