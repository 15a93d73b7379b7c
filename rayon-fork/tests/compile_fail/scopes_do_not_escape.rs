//! A program that keeps a scope could put jobs into it when no thread waits any more.
use rayon_core::{Scope, ScopeFifo};

fn keep() {
    let mut kept: Option<&Scope<'static>> = None;
    rayon_core::in_place_scope(|scope| kept = Some(scope)); //~ E0521
    drop(kept);
}

fn keep_fifo() {
    let mut kept: Option<&ScopeFifo<'static>> = None;
    rayon_core::in_place_scope_fifo(|scope| kept = Some(scope)); //~ E0521
    drop(kept);
}

fn main() {
    keep();
    keep_fifo();
}
