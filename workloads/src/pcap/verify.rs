//! Checks the checksums of a frame: IPv4 header, TCP, UDP, ICMP and `ICMPv6`. Headers are taken
//! apart by the library `etherparse`; the sums are ours.

use std::fmt;

use etherparse::{EtherType, IpNumber, LaxNetSlice, LaxSlicedPacket};

use super::{Frame, Link};
use crate::checksum::add;

/// The result of the check of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every checksum that can be checked is right. Of a fragment that is the IPv4 header's.
    Correct,
    /// At least one is wrong.
    Wrong(Vec<Fault>),
    /// The sending host left a checksum to its network card: the field holds zero, or the sum of
    /// addresses, protocol and length alone. So what is in the packet can be neither right nor
    /// wrong.
    Offloaded,
    /// Cut by the capture's snap length before a checksum could be checked.
    Truncated,
    /// Without a checksum that is known here: ARP, other protocols, lengths that contradict each
    /// other.
    Other,
    /// Not read: the header of this link type is not known here.
    Unread,
}

/// A wrong checksum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Whose.
    pub layer: Layer,
    /// Where the field is, in bytes from the beginning of the file.
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

/// How many frames there were of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All.
    pub seen: u64,
    /// [`Verdict::Correct`].
    pub correct: u64,
    /// [`Verdict::Wrong`].
    pub wrong: u64,
    /// [`Verdict::Offloaded`].
    pub offloaded: u64,
    /// [`Verdict::Truncated`].
    pub truncated: u64,
    /// [`Verdict::Other`].
    pub other: u64,
    /// [`Verdict::Unread`].
    pub unread: u64,
}

impl Tally {
    /// Counts a frame.
    pub fn count(&mut self, verdict: &Verdict) {
        self.seen += 1;
        *match verdict {
            Verdict::Correct => &mut self.correct,
            Verdict::Wrong(_) => &mut self.wrong,
            Verdict::Offloaded => &mut self.offloaded,
            Verdict::Truncated => &mut self.truncated,
            Verdict::Other => &mut self.other,
            Verdict::Unread => &mut self.unread,
        } += 1;
    }

    /// The counts of both.
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

/// Checks the captured `bytes` of a frame; `sum` is [`crate::checksum::sum`] or a twin of it.
#[must_use]
pub fn verify(frame: &Frame, bytes: &[u8], sum: impl Fn(&[u8]) -> u16) -> Verdict {
    if let Link::Unknown(_) = frame.link {
        return Verdict::Unread;
    }
    let is_cut = bytes.len() < frame.original_length;
    let Some(packet) = take_apart(frame.link, bytes) else {
        return if is_cut {
            Verdict::Truncated
        } else {
            Verdict::Other
        };
    };
    let place = |part: &[u8]| frame.bytes.start + (part.as_ptr().addr() - bytes.as_ptr().addr());
    let mut faults = Vec::new();
    let mut is_offloaded = false;
    let mut is_contradictory = false;
    let (payload, addresses) = match &packet.net {
        Some(LaxNetSlice::Ipv4(ip)) => {
            let header = ip.header().slice();
            let checked = Checked::of(header, 10, 0, &sum);
            if !checked.is_right {
                if checked.found == 0 {
                    is_offloaded = true;
                } else {
                    faults.push(checked.fault(Layer::Ipv4Header, place(header) + 10));
                }
            }
            // Zero stands for a packet that the network card is to cut up; any other length holds
            // the header at least. The library takes the whole frame for the packet in both cases.
            is_contradictory = (1..header.len()).contains(&ip.header().total_len().into());
            (ip.payload(), &header[12..20])
        }
        Some(LaxNetSlice::Ipv6(ip)) => {
            let extensions = ip.extensions();
            let is_routed = extensions
                .first_header()
                .is_some_and(|first| has_routing(first, extensions.slice()));
            if is_routed || ip.payload().fragmented {
                // The sum is over the last address of the route, or over all fragments.
                return Verdict::Other;
            }
            (ip.payload(), &ip.header().slice()[8..40])
        }
        _ => {
            return if is_cut && packet.stop_err.is_some() {
                Verdict::Truncated
            } else {
                Verdict::Other
            };
        }
    };
    let is_version_4 = addresses.len() == 8;
    let segment = match (payload.ip_number.0, is_version_4) {
        (6, _) => Some((Layer::Tcp, 16, 20)),
        (17, _) => Some((Layer::Udp, 6, 8)),
        (1, true) => Some((Layer::Icmp, 2, 4)),
        (58, false) => Some((Layer::Icmpv6, 2, 4)),
        _ => None,
    };
    let rest = match segment {
        _ if is_contradictory => Rest::Unknown,
        _ if payload.fragmented => Rest::Nothing,
        None if is_version_4 => Rest::Nothing,
        None => Rest::Unknown,
        Some(_) if payload.incomplete && is_cut => Rest::Cut,
        Some((_, _, shortest)) if payload.incomplete || payload.payload.len() < shortest => {
            if is_cut {
                Rest::Cut
            } else {
                Rest::Unknown
            }
        }
        Some((layer, field, _)) => {
            let Some(covered) = covered(layer, payload.payload) else {
                return conclude(
                    faults,
                    is_offloaded,
                    if is_cut { Rest::Cut } else { Rest::Unknown },
                );
            };
            let number = payload.ip_number.0;
            let pseudo = match layer {
                Layer::Icmp => 0,
                _ => pseudo_header(addresses, number, covered.len(), &sum),
            };
            let checked = Checked::of(covered, field, pseudo, &sum);
            let has_none = layer == Layer::Udp && is_version_4 && checked.found == 0;
            if checked.is_right || has_none {
                Rest::Nothing
            } else if checked.found == 0 || (layer != Layer::Icmp && checked.found == pseudo) {
                is_offloaded = true;
                Rest::Nothing
            } else {
                faults.push(checked.fault(layer, place(covered) + field));
                Rest::Nothing
            }
        }
    };
    conclude(faults, is_offloaded, rest)
}

/// Tags that may precede the type of a frame's content: tags of customers, of providers, and an
/// older number.
const VLAN_TAGS: [EtherType; 3] = [
    EtherType::VLAN_TAGGED_FRAME,
    EtherType::PROVIDER_BRIDGING,
    EtherType::VLAN_DOUBLE_TAGGED_FRAME,
];

/// The state of a frame, apart from wrong and offloaded checksums.
#[derive(Clone, Copy)]
enum Rest {
    Nothing,
    Cut,
    Unknown,
}

fn conclude(faults: Vec<Fault>, is_offloaded: bool, rest: Rest) -> Verdict {
    match rest {
        _ if !faults.is_empty() => Verdict::Wrong(faults),
        Rest::Cut => Verdict::Truncated,
        Rest::Unknown => Verdict::Other,
        Rest::Nothing if is_offloaded => Verdict::Offloaded,
        Rest::Nothing => Verdict::Correct,
    }
}

/// Whether a routing header is among the whole extension headers in `bytes`, the first of which is
/// of the kind `first`. The library's own iterator reads beyond them if the next one is cut short.
fn has_routing(first: IpNumber, mut bytes: &[u8]) -> bool {
    let mut kind = first;
    while let Some(&[next, length]) = bytes.first_chunk() {
        if kind == IpNumber::IPV6_ROUTE_HEADER {
            return true;
        }
        let length = usize::from(length);
        let length = match kind {
            IpNumber::IPV6_FRAGMENTATION_HEADER => 8,
            IpNumber::AUTHENTICATION_HEADER => (length + 2) * 4,
            _ => (length + 1) * 8,
        };
        kind = IpNumber(next);
        bytes = bytes.get(length..).unwrap_or_default();
    }
    false
}

/// The part of an IP payload that the checksum is over; `None` if the lengths contradict each
/// other.
fn covered(layer: Layer, payload: &[u8]) -> Option<&[u8]> {
    if layer != Layer::Udp {
        return Some(payload);
    }
    let length = usize::from(u16::from_be_bytes([payload[4], payload[5]]));
    // Zero stands for a datagram too long for the field.
    if length == 0 {
        Some(payload)
    } else {
        payload.get(..length).filter(|_| length >= 8)
    }
}

/// Addresses, protocol and length: what TCP, UDP and `ICMPv6` add to their own bytes.
fn pseudo_header(
    addresses: &[u8],
    protocol: u8,
    length: usize,
    sum: &impl Fn(&[u8]) -> u16,
) -> u16 {
    let length = u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
    let length_and_protocol = add(sum(&length), u16::from(protocol));
    add(sum(addresses), length_and_protocol)
}

/// A checksum field and its right value.
struct Checked {
    is_right: bool,
    found: u16,
    expected: u16,
}

impl Checked {
    /// Checks `bytes` whose checksum is at `field`, `beside` being the sum of everything else.
    fn of(bytes: &[u8], field: usize, beside: u16, sum: &impl Fn(&[u8]) -> u16) -> Self {
        let found = u16::from_be_bytes([bytes[field], bytes[field + 1]]);
        let total = add(sum(bytes), beside);
        // In ones' complement, taking away is adding the complement.
        let expected = !add(total, !found);
        Self {
            is_right: total == 0xffff,
            found,
            expected,
        }
    }

    fn fault(&self, layer: Layer, offset: usize) -> Fault {
        // A UDP checksum of zero would mean that there is none.
        let expected = if layer == Layer::Udp && self.expected == 0 {
            0xffff
        } else {
            self.expected
        };
        Fault {
            layer,
            offset,
            found: self.found,
            expected,
        }
    }
}

/// Finds the IP packet in a frame, behind however many VLAN tags.
fn take_apart(link: Link, bytes: &[u8]) -> Option<LaxSlicedPacket<'_>> {
    let tagged = |mut ether_type: usize, mut header: usize| loop {
        let number = EtherType(u16::from_be_bytes(*bytes.get(ether_type..)?.first_chunk()?));
        if !VLAN_TAGS.contains(&number) {
            return Some(LaxSlicedPacket::from_ether_type(
                number,
                bytes.get(header..)?,
            ));
        }
        // A tag is two bytes of its own and the type of what follows.
        (ether_type, header) = (header + 2, header + 4);
    };
    match link {
        Link::Ethernet => tagged(12, 14),
        Link::Ip => LaxSlicedPacket::from_ip(bytes).ok(),
        Link::Null => LaxSlicedPacket::from_ip(bytes.get(4..)?).ok(),
        Link::LinuxSll => tagged(14, 16),
        Link::LinuxSll2 => tagged(0, 20),
        Link::Unknown(_) => None,
    }
}
