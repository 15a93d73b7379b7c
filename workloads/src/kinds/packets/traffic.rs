//! Generates packets, and does the work on them. Seed, source and index alone determine a packet,
//! so the known answer can be computed for exactly the packets of a run.

use crate::machine::add_cost;
use crate::random::{Random, mix};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    seed: u64,
    words: u64,
}

impl Packet {
    /// The work on a packet: the Internet checksum of its words. A linear congruential generator
    /// (constants of Knuth's MMIX) makes each word from the previous word. So the cost depends
    /// neither on memory nor on vector registers.
    pub(super) fn checksum(self) -> u16 {
        add_cost(self.words);
        let mut state = self.seed;
        let words = (0..self.words).map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 48) as u16
        });
        internet_checksum(words)
    }
}

/// RFC 1071: the complement of the ones'-complement sum. There must be at most 2^48 words.
fn internet_checksum(words: impl Iterator<Item = u16>) -> u16 {
    let mut sum: u64 = words.map(u64::from).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).expect("folded to 16 bits")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Generator {
    /// Every source draws lengths uniformly from 1 to twice the mean less one.
    Uniform,
    /// Every source draws lengths from an exponential distribution with its own mean, so that some
    /// queues are overloaded. The average of these means is the requested mean.
    Exponential,
}

#[derive(Clone, Debug)]
pub(super) struct Traffic {
    seed: u64,
    generator: Generator,
    /// Mean words per packet, by source.
    means: Vec<f64>,
}

impl Traffic {
    pub(super) fn new(seed: u64, sources: usize, generator: Generator, mean_words: u64) -> Self {
        let overall = mean_words as f64;
        let means = match generator {
            Generator::Uniform => vec![overall; sources],
            Generator::Exponential => {
                // The means are quantiles of an exponential distribution, so that every seed has
                // the same skew.
                let curve = (0..sources).map(|s| -(1.0 - (s as f64 + 0.5) / sources as f64).ln());
                let curve: Vec<f64> = curve.collect();
                let scale = overall * sources as f64 / curve.iter().sum::<f64>();
                let mut means: Vec<f64> = curve.into_iter().map(|value| value * scale).collect();
                Random::new(seed).shuffle(&mut means);
                means
            }
        };
        Self {
            seed,
            generator,
            means,
        }
    }

    pub(super) fn sources(&self) -> usize {
        self.means.len()
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the value is a few times the mean at most, and not negative"
    )]
    pub(super) fn packet(&self, source: usize, index: u64) -> Packet {
        let stream = mix(self.seed ^ mix(source as u64 + 1)).wrapping_add(index);
        let mut random = Random::new(mix(stream));
        let mean = self.means[source];
        let words = match self.generator {
            Generator::Uniform => 1 + random.below(2 * mean as u64 - 1),
            Generator::Exponential => (-mean * random.unit().ln()).round().max(1.0) as u64,
        };
        Packet {
            seed: random.word(),
            words,
        }
    }

    pub(super) fn in_turn(&self, number: u64) -> (usize, Packet) {
        let sources = self.sources() as u64;
        let source = usize::try_from(number % sources).expect("below the number of sources");
        (source, self.packet(source, number / sources))
    }
}

/// The work done, which must be the same with every strategy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) packets: u64,
    pub(super) checksums: u64,
}

impl Tally {
    pub(super) fn process(&mut self, packet: Packet) {
        self.packets += 1;
        self.checksums += u64::from(packet.checksum());
    }

    pub(super) fn add(&mut self, other: Self) {
        self.packets += other.packets;
        self.checksums += other.checksums;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_example_in_the_rfc() {
        // RFC 1071, section 3: these words add up to ddf2.
        assert_eq!(
            internet_checksum([0x0001, 0xf203, 0xf4f5, 0xf6f7].into_iter()),
            !0xddf2
        );
    }

    fn mean_of(traffic: &Traffic, source: usize) -> f64 {
        let words = (0..4_000).map(|index| traffic.packet(source, index).words as f64);
        words.sum::<f64>() / 4_000.0
    }

    #[test]
    fn uniform_sources_all_have_the_mean_asked_for() {
        let traffic = Traffic::new(1, 3, Generator::Uniform, 100);
        for source in 0..3 {
            let mean = mean_of(&traffic, source);
            assert!((mean - 100.0).abs() < 4.0, "source {source}: {mean}");
        }
        assert!((0..4_000).all(|index| (1..200).contains(&traffic.packet(0, index).words)));
    }

    #[test]
    fn exponential_sources_differ_and_average_to_the_mean_asked_for() {
        let traffic = Traffic::new(1, 12, Generator::Exponential, 1_000);
        let mut means: Vec<f64> = (0..12).map(|source| mean_of(&traffic, source)).collect();
        let overall = means.iter().sum::<f64>() / 12.0;
        assert!((overall - 1_000.0).abs() < 40.0, "{overall}");
        means.sort_by(f64::total_cmp);
        assert!(means[11] > 20.0 * means[0], "{means:?}");
    }

    #[test]
    fn a_mean_of_one_word_is_possible() {
        for generator in [Generator::Uniform, Generator::Exponential] {
            let traffic = Traffic::new(1, 2, generator, 1);
            assert!((0..100).all(|index| traffic.packet(0, index).words >= 1));
        }
    }
}
