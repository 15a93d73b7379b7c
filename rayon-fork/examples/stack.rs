//! Measures how many bytes of stack one level of nesting takes, for each way to nest. `cargo xtask
//! stack` compares the published crate with the fork.

use std::cell::Cell;
use std::hint::black_box;

use rayon_core::{
    ThreadPool, ThreadPoolBuilder, broadcast, in_place_scope, join, scope, scope_fifo, spawn,
    yield_now,
};

const STACK: usize = 2 << 20;

/// Frames of debug builds are several times larger.
const LEVELS: usize = if cfg!(debug_assertions) { 500 } else { 4000 };

const LEVELS_LARGE: usize = 100;

/// A value that does not fit in registers: each needless copy costs its size.
type Large = [u64; 32];

thread_local! {
    static END: Cell<usize> = const { Cell::new(0) };
}

#[inline(never)]
fn note_end() {
    let here = 0_u8;
    END.set(std::ptr::from_ref(black_box(&here)) as usize);
}

macro_rules! nested {
    ($($name:ident($level:ident, $inner:ident) $body:block)*) => {$(
        #[inline(never)]
        fn $name($level: usize) {
            if $level == 0 {
                return note_end();
            }
            let $inner = move || $name($level - 1);
            $body
            black_box(());
        }
    )*};
}

nested! {
    join_first(level, inner) { join(inner, || ()); }
    join_second(level, inner) { join(|| (), inner); }
    scope_alone(level, inner) { scope(|_| inner()); }
    scope_fifo_alone(level, inner) { scope_fifo(|_| inner()); }
    in_place_scope_alone(level, inner) { in_place_scope(|_| inner()); }
    scope_spawn(level, inner) { scope(|scope| scope.spawn(|_| inner())); }
    scope_spawn_fifo(level, inner) { scope_fifo(|scope| scope.spawn_fifo(|_| inner())); }
    in_place_scope_spawn(level, inner) { in_place_scope(|scope| scope.spawn(|_| inner())); }
    scope_spawn_broadcast(level, inner) { scope(|scope| scope.spawn_broadcast(|_, _| inner())); }
    broadcast_alone(level, inner) { broadcast(|_| inner()); }
    spawn_yield(level, inner) { spawn(inner); yield_now(); }
}

macro_rules! nested_large {
    ($($name:ident($level:ident, $inner:ident) $body:block)*) => {$(
        #[inline(never)]
        fn $name($level: usize) -> Large {
            if $level == 0 {
                note_end();
                return [0; 32];
            }
            let large = black_box([1_u64; 32]);
            let $inner = move || {
                black_box(&large);
                $name($level - 1)
            };
            $body
        }
    )*};
}

nested_large! {
    join_first_large(level, inner) { join(inner, || ()).0 }
    join_second_large(level, inner) { join(|| (), inner).1 }
    scope_large(level, inner) { scope(|_| inner()) }
    scope_spawn_large(level, inner) {
        let mut result = [0; 32];
        scope(|scope| scope.spawn(|_| result = inner()));
        result
    }
    spawn_large(level, inner) {
        spawn(move || {
            black_box(inner());
        });
        yield_now();
        [0; 32]
    }
}

#[inline(never)]
fn install(pool: &ThreadPool, level: usize) {
    if level == 0 {
        return note_end();
    }
    pool.install(|| install(pool, level - 1));
    black_box(());
}

type Way<R> = (&'static str, fn(usize) -> R);

fn bytes_per_level(nest: impl Fn(usize), levels: usize) -> usize {
    nest(1);
    let end_of_one = END.get();
    nest(levels + 1);
    // The stack grows downwards.
    (end_of_one - END.get()) / levels
}

fn main() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .stack_size(STACK)
        .build()
        .unwrap();
    pool.install(|| {
        let ways: [Way<()>; 11] = [
            ("join, first closure", join_first),
            ("join, second closure", join_second),
            ("scope", scope_alone),
            ("scope_fifo", scope_fifo_alone),
            ("in_place_scope", in_place_scope_alone),
            ("scope, spawn", scope_spawn),
            ("scope_fifo, spawn_fifo", scope_spawn_fifo),
            ("in_place_scope, spawn", in_place_scope_spawn),
            ("scope, spawn_broadcast", scope_spawn_broadcast),
            ("broadcast", broadcast_alone),
            ("spawn, yield_now", spawn_yield),
        ];
        let ways_large: [Way<Large>; 5] = [
            ("join, first closure, 256 bytes", join_first_large),
            ("join, second closure, 256 bytes", join_second_large),
            ("scope, 256 bytes", scope_large),
            ("scope, spawn, 256 bytes", scope_spawn_large),
            ("spawn, yield_now, 256 bytes", spawn_large),
        ];
        println!(
            "install\t{}",
            bytes_per_level(|level| install(&pool, level), LEVELS)
        );
        for (name, nest) in ways {
            println!("{name}\t{}", bytes_per_level(nest, LEVELS));
        }
        for (name, nest) in ways_large {
            let nest = |level| {
                black_box(nest(level));
            };
            println!("{name}\t{}", bytes_per_level(nest, LEVELS_LARGE));
        }
    });
}
