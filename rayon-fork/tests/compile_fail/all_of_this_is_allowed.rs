//! The correct forms of all other cases. They show that the compiler refuses the mistake, and not
//! the code around it.
use std::cell::Cell;
use std::rc::Rc;

use rayon_core::{Scope, ThreadBuilder, ThreadPoolBuilder};

fn sort(slice: &mut [u32]) {
    if slice.len() > 1 {
        let middle = slice.len() / 2;
        let (left, right) = slice.split_at_mut(middle);
        rayon_core::join(|| sort(left), || sort(right));
    }
}

fn same<'r, 'scope>(scope: &'r Scope<'scope>) -> &'r Scope<'scope> {
    scope
}

fn main() {
    sort(&mut [2, 1]);
    let shared = Rc::new(1);
    rayon_core::in_place_scope(|scope| {
        drop(shared.clone());
        let local = [1, 2, 3];
        same(scope).spawn(move |_| println!("{local:?}"));
        Rc::new(1)
    });
    let local = [1, 2, 3];
    rayon_core::spawn(move || println!("{local:?}"));
    let cell = Cell::new(1);
    let (got, ()) = rayon_core::join(move || cell.get(), || ());
    rayon_core::broadcast(|_| got);
    rayon_core::join_context(|a| a.migrated(), |b| b.migrated());
    let name = move |_| shared.to_string();
    let builder = ThreadPoolBuilder::new().thread_name(name).start_handler(|_| ());
    builder.build_scoped(ThreadBuilder::run, |_| ()).unwrap();
}
