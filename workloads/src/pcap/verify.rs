//! Checks the checksums of a frame: IPv4 header, TCP, UDP, ICMP and `ICMPv6`. The library
//! `etherparse` takes headers apart, and sums up.

use std::fmt;

use etherparse::checksum::Sum16BitWords;
use etherparse::{Ipv6ExtensionSlice, LaxNetSlice, LaxSlicedPacket, TransportSlice};

use super::{Frame, Link};

/// The result of the check of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckResult {
    /// Every checksum that can be checked is right. In a fragment, only that of the IPv4 header
    /// can.
    Correct,
    /// At least one is wrong.
    Wrong(Vec<Fault>),
    /// The sending host left a checksum to its network card: the field holds zero, or the sum of
    /// addresses, protocol and length alone. So the packet cannot be checked.
    Offloaded,
    /// Cut by the capture's snap length before a checksum could be checked.
    Truncated,
    /// A packet without a supported checksum: ARP, other protocols, or lengths that contradict each
    /// other.
    Other,
    /// Not read: this link type is not supported.
    Unread,
}

/// A wrong checksum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The header or protocol that it belongs to.
    pub layer: Layer,
    /// The position of the field, in bytes from the beginning of the file.
    pub offset: usize,
    /// The value that it holds.
    pub found: u16,
    /// The value that it should hold.
    pub expected: u16,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} checksum at byte {}: found {:#06x}, expected {:#06x}",
            self.layer, self.offset, self.found, self.expected
        )
    }
}

/// A header or protocol that has a checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// The header of IP version 4.
    Ipv4Header,
    /// TCP, header and content.
    Tcp,
    /// UDP, header and content.
    Udp,
    /// ICMP of IP version 4.
    Icmp,
    /// ICMP of IP version 6.
    Icmpv6,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ipv4Header => "IPv4 header",
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Icmp => "ICMP",
            Self::Icmpv6 => "ICMPv6",
        })
    }
}

/// The number of frames with each result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All.
    pub seen: u64,
    /// [`CheckResult::Correct`].
    pub correct: u64,
    /// [`CheckResult::Wrong`].
    pub wrong: u64,
    /// [`CheckResult::Offloaded`].
    pub offloaded: u64,
    /// [`CheckResult::Truncated`].
    pub truncated: u64,
    /// [`CheckResult::Other`].
    pub other: u64,
    /// [`CheckResult::Unread`].
    pub unread: u64,
}

impl Tally {
    /// Counts a frame.
    pub fn count(&mut self, result: &CheckResult) {
        self.seen += 1;
        *match result {
            CheckResult::Correct => &mut self.correct,
            CheckResult::Wrong(_) => &mut self.wrong,
            CheckResult::Offloaded => &mut self.offloaded,
            CheckResult::Truncated => &mut self.truncated,
            CheckResult::Other => &mut self.other,
            CheckResult::Unread => &mut self.unread,
        } += 1;
    }

    /// Adds the counts of two tallies.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            seen: self.seen + other.seen,
            correct: self.correct + other.correct,
            wrong: self.wrong + other.wrong,
            offloaded: self.offloaded + other.offloaded,
            truncated: self.truncated + other.truncated,
            other: self.other + other.other,
            unread: self.unread + other.unread,
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            seen,
            correct,
            wrong,
            offloaded,
            truncated,
            other,
            unread,
        } = self;
        write!(
            f,
            "{seen} packets: {correct} correct, {wrong} wrong, {offloaded} left to the network card, \
             {truncated} truncated, {other} other, {unread} not read"
        )
    }
}

/// The address families of IP: one number for version 4, and for version 6 one of every kind of
/// system.
const IP_FAMILIES: [u32; 6] = [2, 10, 23, 24, 28, 30];

/// Checks the captured `bytes` of a frame.
#[must_use]
pub fn verify(frame: &Frame, bytes: &[u8]) -> CheckResult {
    // The reason why a packet cannot be checked completely.
    let unchecked = if bytes.len() < frame.original_length {
        CheckResult::Truncated
    } else {
        CheckResult::Other
    };
    let packet = match frame.link {
        Link::Ethernet => LaxSlicedPacket::from_ethernet(bytes).ok(),
        Link::Ip => LaxSlicedPacket::from_ip(bytes).ok(),
        Link::Loopback => bytes.split_first_chunk().and_then(|(family, packet)| {
            // In either byte order.
            let family = u32::from_le_bytes(*family);
            let is_ip = IP_FAMILIES.contains(&family.min(family.swap_bytes()));
            is_ip.then(|| LaxSlicedPacket::from_ip(packet).ok())?
        }),
        Link::Unknown(_) => return CheckResult::Unread,
    };
    let Some(packet) = packet else {
        return unchecked;
    };
    let mut sums = Sums {
        frame,
        bytes,
        faults: Vec::new(),
        is_offloaded: false,
    };
    let (payload, addresses) = match &packet.net {
        Some(LaxNetSlice::Ipv4(ip)) => {
            let header = ip.header().slice();
            sums.check(Layer::Ipv4Header, header, 10, &Sum16BitWords::new());
            (ip.payload(), &header[12..20])
        }
        Some(LaxNetSlice::Ipv6(ip)) => (ip.payload(), &ip.header().slice()[8..40]),
        _ if packet.stop_err.is_some() => return unchecked,
        _ => return CheckResult::Other,
    };
    let rest = match (&packet.net, &packet.transport) {
        // Zero means a packet that the network card will segment; any other length includes at
        // least the header. In both cases the library uses the whole frame as the packet.
        (Some(LaxNetSlice::Ipv4(ip)), _)
            if (1..ip.header().slice().len()).contains(&ip.header().total_len().into()) =>
        {
            Some(CheckResult::Other)
        }
        // The sum is over the last address of a route; that of IPv6 over all fragments.
        (Some(LaxNetSlice::Ipv4(ip)), Some(_)) if has_route(ip.header().options()) => {
            Some(CheckResult::Other)
        }
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
    if !sums.faults.is_empty() {
        return CheckResult::Wrong(sums.faults);
    }
    rest.unwrap_or(if sums.is_offloaded {
        CheckResult::Offloaded
    } else {
        CheckResult::Correct
    })
}

/// Returns whether an IPv4 packet is source-routed: its header then has another address than that
/// of the receiver.
fn has_route(mut options: &[u8]) -> bool {
    const LOOSE: u8 = 131;
    const STRICT: u8 = 137;
    loop {
        let length = match options {
            [LOOSE | STRICT, ..] => return true,
            // The option "no operation" has no length field.
            [1, ..] => 1,
            [0, ..] | [] | [_] => return false,
            [_, length, ..] => usize::from(*length).max(2),
        };
        options = options.get(length..).unwrap_or_default();
    }
}

/// The checksums of a frame so far.
struct Sums<'a> {
    frame: &'a Frame,
    bytes: &'a [u8],
    faults: Vec<Fault>,
    is_offloaded: bool,
}

impl Sums<'_> {
    /// Checks the checksum at `field` of `part`, to which `pseudo` adds what lies elsewhere.
    fn check(&mut self, layer: Layer, part: &[u8], field: usize, pseudo: &Sum16BitWords) {
        let found = u16::from_be_bytes([part[field], part[field + 1]]);
        let (before, after) = (&part[..field], &part[field + 2..]);
        let sum = pseudo.clone().add_slice(before).add_slice(after);
        // A UDP checksum of zero would mean that there is none.
        let expected = match sum.ones_complement().to_be() {
            0 if layer == Layer::Udp => 0xffff,
            expected => expected,
        };
        // In ones' complement, both are zero.
        if found == expected || (found, expected) == (0xffff, 0) {
            return;
        }
        // As Linux leaves it: the sum of addresses, protocol and length, not complemented.
        let left = !pseudo.ones_complement().to_be();
        if [0, left].contains(&found) {
            self.is_offloaded = true;
        } else {
            let place = part.as_ptr().addr() - self.bytes.as_ptr().addr() + field;
            self.faults.push(Fault {
                layer,
                offset: self.frame.bytes.start + place,
                found,
                expected,
            });
        }
    }

    /// Checks the transport layer between `addresses`. Fails if it cannot be checked.
    fn check_transport(&mut self, slice: &TransportSlice<'_>, addresses: &[u8]) -> Result<(), ()> {
        let is_version_4 = addresses.len() == 8;
        let (layer, part, field, number) = match slice {
            TransportSlice::Tcp(tcp) => (Layer::Tcp, tcp.slice(), 16, 6),
            TransportSlice::Udp(udp) => {
                let length = usize::from(udp.length());
                // Zero means a datagram too long for the field.
                if (1..8).contains(&length) || length > udp.slice().len() {
                    return Err(());
                }
                if is_version_4 && udp.checksum() == 0 {
                    // The sender computed no checksum.
                    return Ok(());
                }
                (Layer::Udp, udp.slice(), 6, 17)
            }
            TransportSlice::Icmpv4(icmp) if is_version_4 => {
                self.check(Layer::Icmp, icmp.slice(), 2, &Sum16BitWords::new());
                return Ok(());
            }
            TransportSlice::Icmpv6(icmp) if !is_version_4 => (Layer::Icmpv6, icmp.slice(), 2, 58),
            _ if is_version_4 => return Ok(()),
            _ => return Err(()),
        };
        let length = u32::try_from(part.len()).map_err(drop)?;
        let pseudo = Sum16BitWords::new()
            .add_slice(addresses)
            .add_2bytes([0, number])
            .add_4bytes(length.to_be_bytes());
        self.check(layer, part, field, &pseudo);
        Ok(())
    }
}
