//! From the bytes of a capture file to its frames, by the library `pcap-parser`.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;

use pcap_parser::{
    Block, PcapError, nom, parse_block_be, parse_block_le, parse_pcap_frame, parse_pcap_frame_be,
    parse_pcap_header,
};
use protocol::packed;

use crate::input::{self, Unusable};

/// Longest file that is read, in bytes: it is held in memory as a whole.
const MAX_BYTES: u64 = 4 << 30;

/// The header at the beginning of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// An Ethernet header, as also on Linux's loopback.
    Ethernet,
    /// An IP header.
    Ip,
    /// Four bytes of address family in the capturing host's order, and an IP header (BSD loopback).
    Loopback,
    /// Any other header, by its number; the program does not read such frames.
    Unknown(u32),
}

/// The part of a pcap file's link number that gives the header of frames. The rest gives the length
/// of a check sequence at their end, which is not read.
const LINK_NUMBER: u32 = 0x03ff_ffff;

impl Link {
    /// Returns the header for a file's link number (see <https://www.tcpdump.org/linktypes.html>).
    fn from_number(number: u32) -> Self {
        match number {
            1 => Self::Ethernet,
            12 | 14 | 101 | 228 | 229 => Self::Ip,
            0 | 108 => Self::Loopback,
            _ => Self::Unknown(number),
        }
    }
}

/// A captured frame: its position in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The range of its captured bytes.
    pub bytes: Range<usize>,
    /// Its length on the wire, in bytes; more than was captured if it was cut.
    pub original_length: usize,
    /// The header at its beginning.
    pub link: Link,
}

/// A whole file, and the positions of its frames.
#[derive(Clone, Debug)]
pub struct Capture {
    bytes: Vec<u8>,
    contents: Contents,
}

/// The contents of a file.
#[derive(Clone, Debug, Default)]
struct Contents {
    frames: Vec<Frame>,
    /// How many blocks of unknown type were skipped, by their type. They may hold packets.
    unknown_blocks: BTreeMap<u32, u64>,
}

impl Capture {
    /// Reads and parses a file.
    ///
    /// # Errors
    /// If it cannot be read, is too large, or is no valid capture.
    pub fn read(path: &Path) -> Result<Self, CaptureError> {
        let bytes = input::read(path, MAX_BYTES).map_err(|why| CaptureError {
            offset: None,
            message: match why {
                Unusable::Unreadable(error) => format!("cannot be read: {error}"),
                Unusable::NotRegular => "is no regular file; give the file of a capture".to_owned(),
                Unusable::TooLong(bytes) => format!(
                    "has {bytes} bytes, more than the {MAX_BYTES} that are read; split it, for \
                     example with `editcap -c`"
                ),
            },
        })?;
        Self::parse(bytes)
    }

    /// Parses the bytes of a file.
    ///
    /// # Errors
    /// At the first invalid record, with its position.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, CaptureError> {
        if let Some(packer) = packed::by(&bytes) {
            return Err(CaptureError {
                offset: None,
                message: format!("is compressed ({packer}); unpack it and name the result"),
            });
        }
        let contents = match bytes.first_chunk::<4>() {
            // A section header block, the same in both byte orders.
            Some([0x0a, 0x0d, 0x0d, 0x0a]) => next_generation(&bytes)?,
            Some(_) => classic(&bytes)?,
            None => {
                return Err(CaptureError {
                    offset: Some(bytes.len()),
                    message: "the file ends within its first four bytes; expected pcap or pcapng"
                        .to_owned(),
                });
            }
        };
        Ok(Self { bytes, contents })
    }

    /// All frames, in the order of the file.
    #[must_use]
    pub fn frames(&self) -> &[Frame] {
        &self.contents.frames
    }

    /// Returns how many blocks of unknown type were skipped, by their type. They may hold packets.
    #[must_use]
    pub fn unknown_blocks(&self) -> &BTreeMap<u32, u64> {
        &self.contents.unknown_blocks
    }

    /// The captured bytes of a frame.
    ///
    /// # Panics
    /// If the frame belongs to another, longer capture.
    #[must_use]
    pub fn bytes_of(&self, frame: &Frame) -> &[u8] {
        &self.bytes[frame.bytes.clone()]
    }
}

/// A fault of a capture file, and its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct CaptureError {
    /// Bytes before the record that is at fault; `None` if the file could not be read at all.
    pub offset: Option<usize>,
    /// The fault, and the expected content.
    pub message: String,
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offset {
            Some(offset) => write!(f, "byte {offset}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

type Parsed<'a, T> = Result<(&'a [u8], T), nom::Err<PcapError<&'a [u8]>>>;

/// The result of the library, or a message about the record that begins at `offset`.
fn sound<'a, T>(
    parsed: Parsed<'a, T>,
    offset: usize,
    what: &str,
) -> Result<(&'a [u8], T), CaptureError> {
    parsed.map_err(|error| {
        let message = match error {
            nom::Err::Incomplete(nom::Needed::Size(missing)) => format!(
                "{what} is cut off: the file ends {missing} bytes too early; the capture was not \
                 finished, or copied in part"
            ),
            nom::Err::Incomplete(nom::Needed::Unknown) => format!("{what} is cut off"),
            nom::Err::Error(_) | nom::Err::Failure(_) => {
                format!("{what} is malformed; expected a pcap or pcapng file, uncompressed")
            }
        };
        CaptureError {
            offset: Some(offset),
            message,
        }
    })
}

/// Returns the range of `part` in `whole`.
fn place(whole: &[u8], part: &[u8]) -> Range<usize> {
    let start = part.as_ptr().addr() - whole.as_ptr().addr();
    start..start + part.len()
}

fn classic(bytes: &[u8]) -> Result<Contents, CaptureError> {
    let (mut rest, header) = sound(parse_pcap_header(bytes), 0, "the file's header")?;
    if header.is_modified_format() {
        return Err(CaptureError {
            offset: Some(0),
            message: "Kuznetzov's modified pcap is not read; convert it, for example with \
                      `editcap -F pcap`"
                .to_owned(),
        });
    }
    let version = (header.version_major, header.version_minor);
    if version != (2, 4) {
        return Err(CaptureError {
            offset: Some(0),
            message: format!(
                "version {}.{} of pcap is not read; expected 2.4",
                version.0, version.1
            ),
        });
    }
    let parse = if header.is_bigendian() {
        parse_pcap_frame_be
    } else {
        parse_pcap_frame
    };
    let link = Link::from_number(header.network.0.cast_unsigned() & LINK_NUMBER);
    let mut frames = Vec::new();
    while !rest.is_empty() {
        let offset = bytes.len() - rest.len();
        let what = format!("packet {}", frames.len() + 1);
        let (after, record) = sound(parse(rest), offset, &what)?;
        frames.push(Frame {
            bytes: place(bytes, record.data),
            original_length: record.origlen as usize,
            link,
        });
        rest = after;
    }
    Ok(Contents {
        frames,
        ..Contents::default()
    })
}

/// An interface of a pcapng section.
struct Interface {
    link: Link,
    /// Bytes kept of each packet; 0 for all.
    snap_length: usize,
}

/// Blocks that hold no packet: names, statistics, a journal, secrets, the state of a process, and
/// custom blocks.
const WITHOUT_PACKETS: [u32; 7] = [4, 5, 9, 10, 0x0bad, 0x4000_0bad, 0x8000_0001];

/// The types of the blocks that are read. That of a section header is the same in both byte orders.
const READ: [u32; 4] = [SECTION, 1, 3, 6];
const SECTION: u32 = 0x0a0d_0d0a;

/// Returns the type of the block at the beginning of `rest`, and as many bytes as the block's
/// length says. The library does not check that length in every block. A fault is a clause that
/// follows the block's name.
fn block_of(rest: &[u8], is_big_endian: bool) -> Result<(u32, &[u8]), String> {
    let word = |at: usize, is_big_endian: bool| {
        let bytes = rest.get(at..)?.first_chunk()?;
        Some(if is_big_endian {
            u32::from_be_bytes(*bytes)
        } else {
            u32::from_le_bytes(*bytes)
        })
    };
    let cut_off = |missing: usize| {
        format!(
            "is cut off: the file ends {missing} bytes too early; the capture was not finished, or \
             copied in part"
        )
    };
    let kind = word(0, is_big_endian);
    // A section header states the byte order of its section.
    let is_big_endian = match kind {
        Some(SECTION) => rest.get(8..12) == Some(&[0x1a, 0x2b, 0x3c, 0x4d]),
        _ => is_big_endian,
    };
    let (Some(kind), Some(length), true) = (kind, word(4, is_big_endian), rest.len() >= 12) else {
        return Err(cut_off(12 - rest.len()));
    };
    let length = length as usize;
    if length < 12 {
        return Err(format!(
            "says that it has {length} bytes, which no block has; expected a pcap or pcapng file, \
             uncompressed"
        ));
    }
    match rest.get(..length) {
        Some(block) if word(length - 4, is_big_endian) == word(4, is_big_endian) => {
            Ok((kind, block))
        }
        Some(_) => Err(
            "is malformed: its length at its end is another; expected a pcap or pcapng file, \
             uncompressed"
                .to_owned(),
        ),
        None => Err(cut_off(length - rest.len())),
    }
}

fn next_generation(bytes: &[u8]) -> Result<Contents, CaptureError> {
    let mut rest = bytes;
    let mut is_big_endian = false;
    let mut interfaces: Vec<Interface> = Vec::new();
    let mut contents = Contents::default();
    while !rest.is_empty() {
        let offset = bytes.len() - rest.len();
        let what = format!("the block after packet {}", contents.frames.len());
        let wrong = |message: String| CaptureError {
            offset: Some(offset),
            message,
        };
        let (kind, block) =
            block_of(rest, is_big_endian).map_err(|why| wrong(format!("{what} {why}")))?;
        rest = &rest[block.len()..];
        if !READ.contains(&kind) {
            if !WITHOUT_PACKETS.contains(&kind) {
                *contents.unknown_blocks.entry(kind).or_insert(0) += 1;
            }
            continue;
        }
        let parse = if is_big_endian {
            parse_block_be
        } else {
            parse_block_le
        };
        // The block is whole, so a length beyond its end is an error in the file, and no truncation.
        let (_, block) = parse(block).map_err(|_| {
            wrong(format!(
                "{what} is malformed; expected a pcap or pcapng file, uncompressed"
            ))
        })?;
        let of_interface = |number: u32| {
            interfaces.get(number as usize).ok_or_else(|| {
                wrong(format!(
                    "{what} names interface {number}, but the section describes {}",
                    interfaces.len()
                ))
            })
        };
        let mut add = |captured: &[u8], original_length: usize, link: Link| {
            contents.frames.push(Frame {
                bytes: place(bytes, captured),
                original_length,
                link,
            });
        };
        match block {
            Block::SectionHeader(header) => {
                if header.major_version != 1 {
                    return Err(wrong(format!(
                        "a section has version {}.{} of pcapng; expected 1.0",
                        header.major_version, header.minor_version
                    )));
                }
                is_big_endian = header.big_endian();
                interfaces.clear();
            }
            Block::InterfaceDescription(description) => interfaces.push(Interface {
                link: Link::from_number(description.linktype.0.cast_unsigned()),
                snap_length: description.snaplen as usize,
            }),
            Block::EnhancedPacket(packet) => {
                let link = of_interface(packet.if_id)?.link;
                let captured = packet.data.get(..packet.caplen as usize).ok_or_else(|| {
                    wrong(format!(
                        "{what} says that it holds {} bytes, and has {}",
                        packet.caplen,
                        packet.data.len()
                    ))
                })?;
                add(captured, packet.origlen as usize, link);
            }
            Block::SimplePacket(packet) => {
                let interface = of_interface(0)?;
                let original_length = packet.origlen as usize;
                let kept = match interface.snap_length {
                    0 => original_length,
                    snap_length => original_length.min(snap_length),
                };
                add(
                    &packet.data[..kept.min(packet.data.len())],
                    original_length,
                    interface.link,
                );
            }
            _ => {}
        }
    }
    Ok(contents)
}
