//! Times joins whose second closure holds more and more bytes. No thread steals that closure.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use rayon_core::ThreadPoolBuilder;

/// Calls per measurement. A row reports the shortest measurement, because other work on the host
/// can only make a measurement longer.
const CALLS: u32 = 1000;

fn ns(seconds: f64, mut call: impl FnMut()) -> f64 {
    let mut least = f64::INFINITY;
    let begun = Instant::now();
    while begun.elapsed().as_secs_f64() < seconds || least.is_infinite() {
        let begun = Instant::now();
        (0..CALLS).for_each(|_| call());
        least = least.min(begun.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS));
    }
    least
}

/// Prints a row, and returns how much longer a join takes if its second closure owns the bytes.
fn row<const BYTES: usize>(seconds: f64) -> f64 {
    let bytes = [1_u8; BYTES];
    // Each join has a frame of its own, like the joins of a recursion.
    let time = |join: fn(&[u8; BYTES])| ns(seconds / 2.0, || black_box(join)(black_box(&bytes)));
    let borrows = time(|bytes| {
        rayon_core::join(|| (), || black_box(bytes)[0]);
    });
    let owns = time(|bytes| {
        let bytes = *bytes;
        rayon_core::join(|| (), move || black_box(&bytes)[0]);
    });
    let more = owns / borrows - 1.0;
    println!(
        "{BYTES:>14} {borrows:>12.1} {owns:>12.1} {:>12.0}",
        100.0 * more
    );
    more
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let seconds = words.first().map_or(Ok(1.0), |word| word.parse());
    let (Some(seconds), 0 | 1) = (
        seconds.ok().filter(|it| (0.1..1e6).contains(it)),
        words.len(),
    ) else {
        eprintln!("usage: join-moves-closure [SECONDS], for each row, 0.1 or more");
        return ExitCode::from(2);
    };
    println!(
        "{:>14} {:>12} {:>12} {:>12}",
        "closure, bytes", "borrows, ns", "owns, ns", "more, %"
    );
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .expect("a thread");
    let more = pool.install(|| {
        row::<64>(seconds);
        let more = row::<128>(seconds);
        row::<256>(seconds);
        row::<512>(seconds);
        row::<1024>(seconds);
        row::<2048>(seconds);
        100.0 * more
    });
    if more < 25.0 {
        println!("\nNot seen: to own 128 bytes costs a join {more:.0} % more.");
        return ExitCode::SUCCESS;
    }
    println!("\nMoved: a join takes {more:.0} % longer if its second closure owns 128 bytes,");
    println!("although nobody steals it.");
    ExitCode::from(10)
}
