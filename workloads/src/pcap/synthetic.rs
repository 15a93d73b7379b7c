//! Captures with known contents. The library `etherparse` writes the packets, and computes their
//! checksums.

use etherparse::checksum::Sum16BitWords;
use etherparse::{EtherType, PacketBuilder, VlanId};

use super::{CheckResult, Tally};
use crate::random::Random;

/// The beginning of a little-endian pcap file of Ethernet packets.
pub(super) fn file_header() -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(0xa1b2_c3d4_u32.to_le_bytes());
    bytes.extend(2_u16.to_le_bytes());
    bytes.extend(4_u16.to_le_bytes());
    bytes.extend([0; 8]);
    bytes.extend(0x4_0000_u32.to_le_bytes());
    bytes.extend(1_u32.to_le_bytes());
    bytes
}

pub(super) fn append(file: &mut Vec<u8>, packet: &[u8], captured: usize) {
    let length = |length: usize| u32::try_from(length).expect("a packet has less than 4 GiB");
    file.extend([0; 8]);
    file.extend(length(captured).to_le_bytes());
    file.extend(length(packet.len()).to_le_bytes());
    file.extend(&packet[..captured]);
}

pub(super) const KINDS: usize = 7;

/// Returns a valid packet, and the offset of its transport checksum. The packet is TCP, UDP or ICMP
/// over IP version 4 or 6; packets of the last kind have a VLAN tag.
pub(super) fn packet(kind: usize, content: &[u8]) -> (Vec<u8>, usize) {
    let ethernet = || PacketBuilder::ethernet2([2; 6], [4; 6]);
    let four = || ethernet().ipv4([192, 0, 2, 1], [198, 51, 100, 7], 64);
    let six = || ethernet().ipv6([0x20; 16], [0xfd; 16], 64);
    let mut bytes = Vec::new();
    let (written, checksum) = match kind {
        0 => (
            four().tcp(443, 50_000, 7, 1024).write(&mut bytes, content),
            14 + 20 + 16,
        ),
        1 => (
            four().udp(53, 50_000).write(&mut bytes, content),
            14 + 20 + 6,
        ),
        2 => (
            four().icmpv4_echo_request(7, 9).write(&mut bytes, content),
            14 + 20 + 2,
        ),
        3 => (
            six().tcp(443, 50_000, 7, 1024).write(&mut bytes, content),
            14 + 40 + 16,
        ),
        4 => (
            six().udp(53, 50_000).write(&mut bytes, content),
            14 + 40 + 6,
        ),
        5 => (
            six().icmpv6_echo_request(7, 9).write(&mut bytes, content),
            14 + 40 + 2,
        ),
        _ => {
            let tagged = ethernet().single_vlan(VlanId::try_new(5).expect("a small number"));
            let udp = tagged
                .ipv4([192, 0, 2, 1], [198, 51, 100, 7], 64)
                .udp(53, 50_000);
            (udp.write(&mut bytes, content), 18 + 20 + 6)
        }
    };
    written.expect("writing a short content into memory cannot fail");
    (bytes, checksum)
}

/// The sum of the words of `bytes`, not complemented.
pub(super) fn sum(bytes: &[u8]) -> u16 {
    !Sum16BitWords::new()
        .add_slice(bytes)
        .ones_complement()
        .to_be()
}

/// Returns what Linux leaves in the checksum of a packet if the network card computes it: the sum
/// of addresses, protocol and length; 0 for ICMP over IP version 4.
pub(super) fn left_to_the_card(kind: usize, bytes: &[u8]) -> u16 {
    let (protocol, header, addresses) = match kind {
        0 => (6, 34, 26..34),
        1 => (17, 34, 26..34),
        2 => return 0,
        3 => (6, 54, 22..54),
        4 => (17, 54, 22..54),
        5 => (58, 54, 22..54),
        _ => (17, 38, 30..38),
    };
    let mut pseudo = bytes[addresses].to_vec();
    pseudo.extend([0, protocol]);
    let length = u16::try_from(bytes.len() - header).expect("a short packet");
    pseudo.extend(length.to_be_bytes());
    sum(&pseudo)
}

/// Returns a capture of random packets, and the results of their checks. Some packets have a
/// flipped bit, a checksum left to the network card, or a cut end, or are of an unknown protocol.
pub(crate) fn capture(seed: u64, packets: usize) -> (Vec<u8>, Tally) {
    let mut random = Random::new(seed);
    let mut file = file_header();
    let mut tally = Tally::default();
    for _ in 0..packets {
        let content: Vec<u8> = (0..=250)
            .cycle()
            .take(20 + random.index_below(1_400))
            .collect();
        let kind = random.index_below(KINDS);
        let (mut bytes, checksum) = packet(kind, &content);
        let length = bytes.len();
        let mut captured = length;
        tally.count(match random.below(64) {
            0 => {
                // The flipped bit is behind all headers, so that the packet's content changes and
                // not its kind.
                let content = length - 1 - random.index_below(20);
                bytes[content] ^= 1 << random.below(8);
                let found = u16::from_be_bytes([bytes[checksum], bytes[checksum + 1]]);
                // A reader cannot tell damage to such a packet from a missing checksum.
                if [0, left_to_the_card(kind, &bytes)].contains(&found) {
                    CheckResult::Offloaded
                } else {
                    CheckResult::Wrong
                }
            }
            1 => {
                let is_udp_over_4 = matches!(kind, 1 | 6);
                bytes[checksum..checksum + 2].fill(0);
                // In UDP over IP version 4, zero means that the sender computed no checksum.
                if is_udp_over_4 {
                    CheckResult::Correct
                } else {
                    CheckResult::Offloaded
                }
            }
            2 => {
                captured = length - 1 - random.index_below(20);
                CheckResult::Truncated
            }
            3 => {
                bytes[12..14].copy_from_slice(&EtherType::WAKE_ON_LAN.0.to_be_bytes());
                CheckResult::Other
            }
            _ => CheckResult::Correct,
        });
        append(&mut file, &bytes, captured);
    }
    (file, tally)
}
