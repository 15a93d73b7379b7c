//! A result that must stay on its thread.
use std::rc::Rc;

fn main() {
    rayon_core::join(|| Rc::new(1), || ()); //~ E0277
    rayon_core::join(|| (), || Rc::new(1)); //~ E0277
    rayon_core::join_context(|_| Rc::new(1), |_| ()); //~ E0277
    rayon_core::join_context(|_| (), |_| Rc::new(1)); //~ E0277
}
