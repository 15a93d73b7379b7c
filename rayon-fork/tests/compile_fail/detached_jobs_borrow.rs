//! No thread waits for a detached job, so it may borrow nothing.
fn main() {
    let local = [1, 2, 3];
    rayon_core::spawn(|| println!("{local:?}")); //~ E0373
    rayon_core::spawn_fifo(|| println!("{local:?}")); //~ E0373
    rayon_core::spawn_broadcast(|_| println!("{local:?}")); //~ E0373
}
