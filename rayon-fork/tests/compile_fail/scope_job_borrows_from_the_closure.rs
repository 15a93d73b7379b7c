//! A local of the scope's closure is gone before the job runs.
fn main() {
    rayon_core::scope(|scope| {
        let local = [1, 2, 3];
        scope.spawn(|_| println!("{local:?}")); //~ E0373
    });
    rayon_core::scope_fifo(|scope| {
        let local = [1, 2, 3];
        scope.spawn_fifo(|_| println!("{local:?}")); //~ E0373
    });
}
