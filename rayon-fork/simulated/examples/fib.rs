use manycore::{FrequencyMode, Machine, run, time::Instant};
#[global_allocator]
static HEAP: manycore::Heap = manycore::Heap;
fn fib(n: u32) -> u64 {
    if n < 2 {
        manycore::work(1_000);
        return n as u64;
    }
    let (a, b) = rayon_core::join(|| fib(n - 1), || fib(n - 2));
    a + b
}
fn main() {
    let machine = Machine::read(std::env::args().nth(1).unwrap().as_ref()).unwrap();
    let n: u32 = std::env::args().nth(2).unwrap().parse().unwrap();
    for threads in [1, 2, 4, 8, 16, 32, 64] {
        if threads > machine.topology.cores() {
            break;
        }
        let host = std::time::Instant::now();
        let f = run(&machine, FrequencyMode::Fixed, 1, move || {
            let pool = rayon_core::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| fib(5));
            let t = Instant::now();
            let r = pool.install(|| fib(n));
            let e = t.elapsed();
            (r, e, manycore::waits())
        })
        .unwrap();
        let host = host.elapsed();
        println!(
            "{threads:3} threads {:?} answer {} accesses {} host {:?} = {:.1} M/s",
            f.result.1,
            f.result.0,
            f.accesses,
            host,
            f.accesses as f64 / host.as_secs_f64() / 1e6
        );
        for w in f.result.2.iter().take(4) {
            println!(
                "      {:>9.1} µs {:>7} {} <- {}",
                w.waited as f64 / 1e6,
                w.transfers,
                w.at,
                w.written_at.map_or("-".into(), |x| x.to_string())
            );
        }
    }
}
