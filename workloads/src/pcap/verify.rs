//! Checks the checksums of a packet: IPv4 header, TCP, UDP, ICMP and `ICMPv6`. The library
//! `etherparse` parses headers and computes sums.

use std::fmt;

use etherparse::checksum::Sum16BitWords;
use etherparse::{Ipv6ExtensionSlice, LaxNetSlice, LaxSlicedPacket, TransportSlice};

use super::Link;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckResult {
    /// Every checksum that can be checked is right.
    Correct,
    Wrong,
    /// The sending host left a checksum to its network card, so the packet cannot be checked. The
    /// checksum's field holds zero, or the sum of addresses, protocol and length alone.
    Offloaded,
    /// The capture's snap length cut off bytes that are needed to check the checksum.
    Truncated,
    /// A packet without a supported checksum, or whose lengths contradict each other.
    Other,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally([u64; 5]);

impl Tally {
    pub(crate) fn count(&mut self, result: CheckResult) {
        self.0[result as usize] += 1;
    }

    pub(crate) fn packets(self) -> u64 {
        self.0.iter().sum()
    }

    pub(crate) fn plus(mut self, other: Self) -> Self {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
        self
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [correct, wrong, offloaded, truncated, other] = self.0;
        write!(
            f,
            "{} packets: {correct} correct, {wrong} wrong, {offloaded} left to the network card, \
             {truncated} truncated, {other} other",
            self.packets()
        )
    }
}

const IP_FAMILIES: [u32; 6] = [2, 10, 23, 24, 28, 30];

/// Checks the captured `bytes` of a packet. `is_cut` says whether the sender sent more bytes than
/// the capture has.
pub(crate) fn verify(link: Link, bytes: &[u8], is_cut: bool) -> CheckResult {
    let unchecked = if is_cut {
        CheckResult::Truncated
    } else {
        CheckResult::Other
    };
    let packet = match link {
        Link::Ethernet => LaxSlicedPacket::from_ethernet(bytes).ok(),
        Link::Ip => LaxSlicedPacket::from_ip(bytes).ok(),
        Link::Loopback => bytes.split_first_chunk().and_then(|(family, packet)| {
            // The family may be in either byte order.
            let family = u32::from_le_bytes(*family);
            let is_ip = IP_FAMILIES.contains(&family.min(family.swap_bytes()));
            is_ip.then(|| LaxSlicedPacket::from_ip(packet).ok())?
        }),
    };
    let Some(packet) = packet else {
        return unchecked;
    };
    let mut sums = Sums::default();
    let (payload, addresses) = match &packet.net {
        Some(LaxNetSlice::Ipv4(ip)) => {
            let header = ip.header().slice();
            sums.check(header, 10, &Sum16BitWords::new(), false);
            (ip.payload(), &header[12..20])
        }
        Some(LaxNetSlice::Ipv6(ip)) => (ip.payload(), &ip.header().slice()[8..40]),
        _ if packet.stop_err.is_some() => return unchecked,
        _ => return CheckResult::Other,
    };
    let rest = match (&packet.net, &packet.transport) {
        // A length of zero means a packet that the network card will segment; any other length must
        // include the header. If the length is zero or too small, the library uses the whole frame
        // as the packet.
        (Some(LaxNetSlice::Ipv4(ip)), _)
            if (1..ip.header().slice().len()).contains(&ip.header().total_len().into()) =>
        {
            Some(CheckResult::Other)
        }
        // The checksum covers the last address of a route, and all fragments, so this function
        // cannot check it.
        (Some(LaxNetSlice::Ipv6(_)), _) if payload.fragmented => Some(CheckResult::Other),
        (Some(LaxNetSlice::Ipv6(ip)), Some(_))
            if ip
                .extensions()
                .clone()
                .into_iter()
                .any(|extension| matches!(extension, Ipv6ExtensionSlice::Routing(_))) =>
        {
            Some(CheckResult::Other)
        }
        (_, None) if payload.fragmented => None,
        (_, None) if packet.stop_err.is_some() => Some(unchecked),
        (_, Some(_)) if payload.incomplete => Some(unchecked),
        (_, Some(transport)) => sums
            .check_transport(transport, addresses)
            .err()
            .map(|()| unchecked),
        // With another protocol, only the header of IPv4 can be checked.
        (Some(LaxNetSlice::Ipv4(_)), None) => None,
        _ => Some(CheckResult::Other),
    };
    if sums.is_wrong {
        return CheckResult::Wrong;
    }
    rest.unwrap_or(if sums.is_offloaded {
        CheckResult::Offloaded
    } else {
        CheckResult::Correct
    })
}

#[derive(Default)]
struct Sums {
    is_wrong: bool,
    is_offloaded: bool,
}

impl Sums {
    /// Checks the checksum at `field` of `part`; `pseudo` is the sum of covered words that are not
    /// in `part`.
    fn check(&mut self, part: &[u8], field: usize, pseudo: &Sum16BitWords, is_udp: bool) {
        let found = u16::from_be_bytes([part[field], part[field + 1]]);
        let (before, after) = (&part[..field], &part[field + 2..]);
        let sum = pseudo.clone().add_slice(before).add_slice(after);
        // In UDP, a field of zero means that there is no checksum, so a sender writes a checksum of
        // zero as 0xffff.
        let expected = match sum.ones_complement().to_be() {
            0 if is_udp => 0xffff,
            expected => expected,
        };
        // In ones' complement, both 0 and 0xffff are zero.
        if found == expected || (found, expected) == (0xffff, 0) {
            return;
        }
        // Linux leaves the uncomplemented sum of addresses, protocol and length in the field.
        let left = !pseudo.ones_complement().to_be();
        if [0, left].contains(&found) {
            self.is_offloaded = true;
        } else {
            self.is_wrong = true;
        }
    }

    /// Checks the checksum of a TCP, UDP or ICMP packet. Fails if the checksum cannot be checked.
    fn check_transport(&mut self, slice: &TransportSlice<'_>, addresses: &[u8]) -> Result<(), ()> {
        const UDP: u8 = 17;
        let is_version_4 = addresses.len() == 8;
        let (part, field, number) = match slice {
            TransportSlice::Tcp(tcp) => (tcp.slice(), 16, 6),
            TransportSlice::Udp(udp) => {
                let length = usize::from(udp.length());
                // A length of zero means that the datagram is too long for the field.
                if (1..8).contains(&length) || length > udp.slice().len() {
                    return Err(());
                }
                if is_version_4 && udp.checksum() == 0 {
                    return Ok(());
                }
                (udp.slice(), 6, UDP)
            }
            TransportSlice::Icmpv4(icmp) if is_version_4 => {
                self.check(icmp.slice(), 2, &Sum16BitWords::new(), false);
                return Ok(());
            }
            TransportSlice::Icmpv6(icmp) if !is_version_4 => (icmp.slice(), 2, 58),
            _ if is_version_4 => return Ok(()),
            _ => return Err(()),
        };
        let length = u32::try_from(part.len()).map_err(drop)?;
        let pseudo = Sum16BitWords::new()
            .add_slice(addresses)
            .add_2bytes([0, number])
            .add_4bytes(length.to_be_bytes());
        self.check(part, field, &pseudo, number == UDP);
        Ok(())
    }
}
