//! A context describes one thread.
fn send<T: Send>(_: T) {}
fn share<T: Sync>(_: T) {}

fn main() {
    rayon_core::join_context(|a| send(a), |b| share(b)); //~ E0277
    rayon_core::broadcast(|context| send(context)); //~ E0277
    rayon_core::broadcast(|context| share(context)); //~ E0277
}
