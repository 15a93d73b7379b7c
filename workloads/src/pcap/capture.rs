//! Reads the packets of a capture file, by the library `pcap-parser`.

use std::ops::Range;
use std::path::Path;

use pcap_parser::{PcapError, nom, parse_pcap_frame, parse_pcap_frame_be, parse_pcap_header};
use protocol::Refusal;

use super::{CheckResult, Tally, verify};
use crate::input;

/// Longest file that is read, in bytes. There is a limit, because the process holds the whole file
/// in memory.
const MAX_BYTES: u64 = 4 << 30;

/// The first header of every packet of a file.
#[derive(Clone, Copy)]
pub(crate) enum Link {
    /// An Ethernet header, as also on Linux's loopback.
    Ethernet,
    Ip,
    /// Four bytes of address family in the capturing host's byte order, and an IP header (BSD
    /// loopback).
    Loopback,
}

/// The bits of a file's link number that say which header the packets begin with.
const LINK_NUMBER: u32 = 0x03ff_ffff;

impl Link {
    /// Returns the header for a link number of <https://www.tcpdump.org/linktypes.html>.
    fn from_number(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::Ethernet),
            12 | 14 | 101 | 228 | 229 => Some(Self::Ip),
            0 | 108 => Some(Self::Loopback),
            _ => None,
        }
    }
}

pub(crate) struct Packet {
    bytes: Range<usize>,
    is_cut: bool,
}

pub(crate) struct Capture {
    bytes: Vec<u8>,
    link: Link,
    pub(crate) packets: Vec<Packet>,
}

impl Capture {
    pub(crate) fn read(path: &Path) -> Result<Self, Refusal> {
        let bytes = input::read(path, MAX_BYTES, "a pcap file")?;
        Self::parse(bytes).map_err(|fault| input::refusal(path, &fault))
    }

    /// Parses the bytes of a file. An error names the position of the first faulty record.
    pub(crate) fn parse(bytes: Vec<u8>) -> Result<Self, String> {
        if bytes.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) {
            return Err(
                "is pcapng, which is not read; convert it, for example with `editcap -F pcap`"
                    .to_owned(),
            );
        }
        let (mut rest, header) = sound(parse_pcap_header(&bytes), 0, "the file's header")?;
        let version = (header.version_major, header.version_minor);
        if header.is_modified_format() || version != (2, 4) {
            return Err(format!(
                "byte 0: this variant of pcap (version {}.{}) is not read; expected 2.4; convert \
                 it, for example with `editcap -F pcap`",
                version.0, version.1
            ));
        }
        let number = header.network.0.cast_unsigned() & LINK_NUMBER;
        let link = Link::from_number(number).ok_or_else(|| {
            format!(
                "byte 20: link type {number} is not read; expected Ethernet (1), raw IP (101) or \
                 BSD loopback (0)"
            )
        })?;
        let parse = if header.is_bigendian() {
            parse_pcap_frame_be
        } else {
            parse_pcap_frame
        };
        let mut packets = Vec::new();
        while !rest.is_empty() {
            let what = format!("packet {}", packets.len() + 1);
            let (after, record) = sound(parse(rest), bytes.len() - rest.len(), &what)?;
            let start = record.data.as_ptr().addr() - bytes.as_ptr().addr();
            packets.push(Packet {
                bytes: start..start + record.data.len(),
                is_cut: record.data.len() < record.origlen as usize,
            });
            rest = after;
        }
        Ok(Self {
            bytes,
            link,
            packets,
        })
    }

    pub(crate) fn check(&self, packet: &Packet) -> CheckResult {
        verify(self.link, &self.bytes[packet.bytes.clone()], packet.is_cut)
    }

    pub(crate) fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for packet in &self.packets {
            tally.count(self.check(packet));
        }
        tally
    }
}

type Parsed<'a, T> = Result<(&'a [u8], T), nom::Err<PcapError<&'a [u8]>>>;

/// Returns the result of the library, or a message about the record that begins at `offset`.
fn sound<'a, T>(parsed: Parsed<'a, T>, offset: usize, what: &str) -> Result<(&'a [u8], T), String> {
    parsed.map_err(|error| match error {
        nom::Err::Incomplete(_) => format!(
            "byte {offset}: {what} is cut off: the file ends too early; the capture was not \
             finished, or copied in part"
        ),
        nom::Err::Error(_) | nom::Err::Failure(_) => {
            format!("byte {offset}: {what} is malformed; expected a pcap file")
        }
    })
}
