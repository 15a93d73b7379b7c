//! A scope that took jobs for a shorter or a longer time than it waits would be unsound.
use rayon_core::{Scope, ScopeFifo};

fn shrink<'r, 'long: 'short, 'short>(scope: &'r Scope<'long>) -> &'r Scope<'short> {
    scope //~ lifetime may not live long enough
}

fn grow<'r, 'long: 'short, 'short>(scope: &'r Scope<'short>) -> &'r Scope<'long> {
    scope //~ lifetime may not live long enough
}

fn shrink_fifo<'r, 'long: 'short, 'short>(scope: &'r ScopeFifo<'long>) -> &'r ScopeFifo<'short> {
    scope //~ lifetime may not live long enough
}

fn grow_fifo<'r, 'long: 'short, 'short>(scope: &'r ScopeFifo<'short>) -> &'r ScopeFifo<'long> {
    scope //~ lifetime may not live long enough
}

fn main() {
    rayon_core::scope(|scope| drop((shrink(scope), grow(scope))));
    rayon_core::scope_fifo(|scope| drop((shrink_fifo(scope), grow_fifo(scope))));
}
