//! Throughput of the checksum kernel, beside what memory gives: `cargo bench -p benches --bench
//! checksum`.
//!
//! `kernel` is what `pcap-verify` uses; `memory` adds up the same bytes as 64-bit words, which is
//! about the least that can be done with each; `word-by-word` is the RFC's text, which no compiler
//! makes into vector code, because each addition needs the carry of the one before.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use workloads::checksum;

/// A packet, a first-level cache, and far more than any cache, in bytes.
const SIZES: [usize; 3] = [1_460, 16 << 10, 64 << 20];

fn add_words(bytes: &[u8]) -> u64 {
    let (words, _) = bytes.as_chunks::<8>();
    words
        .iter()
        .fold(0, |sum, word| sum.wrapping_add(u64::from_ne_bytes(*word)))
}

fn kernels(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("checksum");
    for size in SIZES {
        let bytes: Vec<u8> = (0..=250).cycle().take(size).collect();
        group.throughput(Throughput::Bytes(size as u64));
        group.bench_with_input(
            BenchmarkId::new("kernel", size),
            &bytes,
            |bencher, bytes| {
                bencher.iter(|| checksum::sum(black_box(bytes)));
            },
        );
        group.bench_with_input(
            BenchmarkId::new("memory", size),
            &bytes,
            |bencher, bytes| {
                bencher.iter(|| add_words(black_box(bytes)));
            },
        );
        group.bench_with_input(
            BenchmarkId::new("word-by-word", size),
            &bytes,
            |bencher, bytes| {
                bencher.iter(|| checksum::sum_word_by_word(black_box(bytes)));
            },
        );
    }
    group.finish();
}

fn short() -> Criterion {
    Criterion::default()
        .sample_size(20)
        .warm_up_time(std::time::Duration::from_millis(300))
        .measurement_time(std::time::Duration::from_secs(1))
}

criterion_group! {
    name = benches;
    config = short();
    targets = kernels
}
criterion_main!(benches);
