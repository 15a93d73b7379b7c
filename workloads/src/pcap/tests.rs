//! Captures with known contents: complete ones, damaged ones, and random ones.

use proptest::prelude::*;

use super::synthetic::{HEADER_BYTES, KINDS, RECORD_BYTES, append, file_header, frame};
use super::*;
use etherparse::checksum::Sum16BitWords;

fn results(bytes: Vec<u8>) -> Vec<CheckResult> {
    let capture = Capture::parse(bytes).unwrap();
    let result = |frame: &Frame| verify(frame, capture.bytes_of(frame));
    capture.frames().iter().map(result).collect()
}

fn tally(bytes: Vec<u8>) -> Tally {
    let mut tally = Tally::default();
    for result in results(bytes) {
        tally.count(&result);
    }
    tally
}

/// The sum that a packet has before it is complemented.
fn sum(bytes: &[u8]) -> u16 {
    !Sum16BitWords::new()
        .add_slice(bytes)
        .ones_complement()
        .to_be()
}

/// A capture of one frame, cut to `captured` bytes.
fn single(bytes: &[u8], captured: usize) -> Vec<u8> {
    let mut file = file_header();
    append(&mut file, bytes, captured);
    file
}

#[test]
fn sound_packets_of_every_kind_are_correct_at_even_and_odd_lengths() {
    for kind in 0..KINDS {
        for length in [0, 1, 2, 3, 100, 1401] {
            let (bytes, _) = frame(kind, &vec![0xa5; length]);
            assert_eq!(
                results(single(&bytes, bytes.len())),
                [CheckResult::Correct],
                "{kind} {length}"
            );
        }
    }
}

#[test]
fn a_flipped_byte_is_reported_in_exactly_that_packet_with_the_checksum_that_it_should_have() {
    for kind in 0..KINDS {
        let mut file = file_header();
        let mut starts = Vec::new();
        for _ in 0..5 {
            let (bytes, _) = frame(kind, b"what was sent");
            starts.push(file.len() + RECORD_BYTES);
            append(&mut file, &bytes, bytes.len());
        }
        let (bytes, field) = frame(kind, b"what was sent");
        // The last byte of the fourth packet.
        file[starts[3] + bytes.len() - 1] ^= 0x10;
        let found = results(file.clone());
        for (number, result) in found.iter().enumerate() {
            match result {
                CheckResult::Wrong(faults) if number == 3 => {
                    assert_eq!(faults.len(), 1);
                    assert_eq!(faults[0].offset, starts[3] + field, "kind {kind}");
                    // Written into the packet, what was expected makes it right.
                    let mut mended = file.clone();
                    let place = faults[0].offset;
                    mended[place..place + 2].copy_from_slice(&faults[0].expected.to_be_bytes());
                    assert_eq!(results(mended)[3], CheckResult::Correct, "kind {kind}");
                }
                result => assert!(
                    number != 3 && *result == CheckResult::Correct,
                    "{kind} {number}"
                ),
            }
        }
    }
}

#[test]
fn a_wrong_header_of_ip_version_4_is_told_apart_from_its_content() {
    let (mut bytes, _) = frame(1, b"content");
    bytes[14 + 8] -= 1; // a router that forgot to mend the sum
    let CheckResult::Wrong(faults) = results(single(&bytes, bytes.len())).remove(0) else {
        panic!("the fault was not found")
    };
    assert_eq!(faults.len(), 1);
    assert_eq!(faults[0].layer, Layer::Ipv4Header);
    assert_eq!(faults[0].offset, HEADER_BYTES + RECORD_BYTES + 14 + 10);
}

#[test]
fn a_checksum_left_to_the_network_card_is_no_error() {
    for (kind, zero_is) in [
        (0, CheckResult::Offloaded),
        (1, CheckResult::Correct),
        (3, CheckResult::Offloaded),
        (4, CheckResult::Offloaded),
    ] {
        let (mut bytes, field) = frame(kind, b"content");
        bytes[field..field + 2].fill(0);
        assert_eq!(
            results(single(&bytes, bytes.len())),
            [zero_is],
            "zero, kind {kind}"
        );
        // As Linux leaves it: the sum of addresses, protocol and length, not complemented.
        let is_version_4 = kind < 3;
        let (header, addresses) = if is_version_4 {
            (34, 26..34)
        } else {
            (54, 22..54)
        };
        let protocol = if kind % 3 == 0 { 6 } else { 17 };
        let length = u16::try_from(bytes.len() - header).unwrap();
        let mut pseudo = bytes[addresses].to_vec();
        pseudo.extend([0, protocol]);
        pseudo.extend(length.to_be_bytes());
        bytes[field..field + 2].copy_from_slice(&sum(&pseudo).to_be_bytes());
        assert_eq!(
            results(single(&bytes, bytes.len())),
            [CheckResult::Offloaded],
            "kind {kind}"
        );
    }
}

#[test]
fn a_packet_cut_by_the_snap_length_is_truncated_at_every_length() {
    for kind in 0..KINDS {
        let (bytes, _) = frame(kind, b"some content");
        for captured in 0..bytes.len() {
            let found = results(single(&bytes, captured));
            assert_eq!(
                found,
                [CheckResult::Truncated],
                "kind {kind}, {captured} bytes"
            );
        }
    }
}

#[test]
fn bytes_behind_the_packet_are_no_part_of_it() {
    let (mut bytes, _) = frame(1, b"short");
    bytes.extend([0xee; 13]); // an Ethernet frame has 60 bytes at least
    let mut file = single(&bytes, bytes.len());
    assert_eq!(results(file.clone()), [CheckResult::Correct]);
    // The link type says that there is a check sequence of two 16-bit words.
    file[20..24].copy_from_slice(&0x2400_0001_u32.to_le_bytes());
    assert_eq!(results(file), [CheckResult::Correct]);
}

#[test]
fn a_length_that_has_no_room_for_its_header_is_other_and_zero_is_a_packet_for_the_card_to_cut_up() {
    for (length, result) in [
        (0, CheckResult::Correct),
        (1, CheckResult::Other),
        (19, CheckResult::Other),
        (20, CheckResult::Other),
    ] {
        let (mut bytes, _) = frame(0, b"content");
        bytes[16..18].copy_from_slice(&u16::to_be_bytes(length));
        bytes[24..26].fill(0);
        let header = !sum(&bytes[14..34]);
        bytes[24..26].copy_from_slice(&header.to_be_bytes());
        assert_eq!(results(single(&bytes, bytes.len())), [result], "{length}");
    }
}

#[test]
fn packets_of_raw_ip_and_of_loopback_are_checked() {
    for kind in 0..KINDS - 1 {
        let (bytes, _) = frame(kind, b"content");
        for (link, head) in [(101_u32, 0), (228, 0), (0, 4), (108, 4)] {
            let mut packet = [&[2, 0, 0, 0][..head], &bytes[14..]].concat();
            for is_right in [true, false] {
                let mut file = single(&packet, packet.len());
                file[20..24].copy_from_slice(&link.to_le_bytes());
                let found = results(file).remove(0);
                assert_eq!(found == CheckResult::Correct, is_right, "{kind} {link}");
                assert_eq!(matches!(found, CheckResult::Wrong(_)), !is_right);
                *packet.last_mut().unwrap() ^= 1;
            }
        }
    }
}

#[test]
fn what_has_no_known_checksum_is_other() {
    let mut arp = vec![0; 60];
    arp[12..14].copy_from_slice(&[0x08, 0x06]);
    assert_eq!(results(single(&arp, 60)), [CheckResult::Other]);
    assert_eq!(results(single(&[], 0)), [CheckResult::Other]);
}

#[test]
fn a_synthetic_capture_holds_what_its_maker_says() {
    for seed in 0..5 {
        let (bytes, expected) = synthetic::capture(seed, 2_000);
        assert_eq!(tally(bytes), expected, "seed {seed}");
        assert!(expected.wrong > 0 && expected.offloaded > 0 && expected.truncated > 0);
    }
}

/// The same frames as a pcapng file, in either byte order, in packet blocks of both kinds.
fn next_generation(frames: &[Vec<u8>], is_big_endian: bool) -> Vec<u8> {
    let number = |number: usize| {
        let number = u32::try_from(number).unwrap();
        if is_big_endian {
            number.to_be_bytes()
        } else {
            number.to_le_bytes()
        }
    };
    let half = |one: u16, other: u16| -> Vec<u8> {
        let bytes = |half: u16| {
            if is_big_endian {
                half.to_be_bytes()
            } else {
                half.to_le_bytes()
            }
        };
        [bytes(one), bytes(other)].concat()
    };
    let block = |kind: usize, body: Vec<u8>| {
        let length = body.len() + 12;
        [&number(kind)[..], &number(length), &body, &number(length)].concat()
    };
    let section = [&number(0x1a2b_3c4d)[..], &half(1, 0), &[0xff; 8]].concat();
    let interface = [half(1, 0), number(0).to_vec()].concat();
    let mut file = [block(0x0a0d_0d0a, section), block(1, interface)].concat();
    for (index, frame) in frames.iter().enumerate() {
        let mut padded = frame.clone();
        padded.resize(frame.len().next_multiple_of(4), 0);
        let length = number(frame.len());
        file.extend(match index % 2 {
            0 => block(
                6,
                [&number(0)[..], &[0; 8], &length, &length, &padded].concat(),
            ),
            _ => block(3, [&length[..], &padded].concat()),
        });
    }
    file
}

#[test]
fn pcapng_of_both_byte_orders_and_both_packet_blocks_is_read() {
    let frames: Vec<Vec<u8>> = (0..KINDS).map(|kind| frame(kind, b"12345").0).collect();
    for is_big_endian in [false, true] {
        let file = next_generation(&frames, is_big_endian);
        assert_eq!(
            results(file),
            vec![CheckResult::Correct; KINDS],
            "{is_big_endian}"
        );
    }
}

#[test]
fn packets_of_an_unknown_link_type_and_blocks_of_an_unknown_type_are_not_read_and_counted() {
    let (bytes, _) = frame(0, b"content");
    let mut file = single(&bytes, bytes.len());
    file[20..24].copy_from_slice(&147_u32.to_le_bytes());
    assert_eq!(results(file), [CheckResult::Unread]);
    for is_big_endian in [false, true] {
        let mut file = next_generation(std::slice::from_ref(&bytes), is_big_endian);
        let word = |word: u32| {
            if is_big_endian {
                word.to_be_bytes()
            } else {
                word.to_le_bytes()
            }
        };
        file.extend([word(0x77), word(12), word(12)].concat());
        let capture = Capture::parse(file).unwrap();
        assert_eq!(capture.frames().len(), 1);
        assert_eq!(*capture.unknown_blocks(), [(0x77, 1)].into());
    }
}

/// A block of a little-endian pcapng file.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 12).unwrap().to_le_bytes();
    [&kind.to_le_bytes()[..], &length, body, &length].concat()
}

#[test]
fn blocks_without_packets_are_passed_over_whatever_is_in_them() {
    let sections = next_generation(&[frame(0, b"content").0], false);
    for kind in [4, 5, 9, 10, 0xbad, 0x4000_0bad, 0x8000_0001, 0x77] {
        for body in [&[][..], &[1], &[1, 0, 60, 0], &[0xff; 8]] {
            let file = [&sections[..], &block(kind, body), &sections].concat();
            let found = std::panic::catch_unwind(|| results(file)).unwrap();
            assert_eq!(found, vec![CheckResult::Correct; 2], "{kind:#x} {body:?}");
        }
    }
}

#[test]
fn a_block_with_a_length_that_cannot_be_is_malformed_and_not_cut_off() {
    let sections = next_generation(&[], false);
    let other_end = [&block(6, &[0; 24])[..32], &[99, 0, 0, 0]].concat();
    let mut too_long = block(6, &[0; 24]);
    too_long[20..24].copy_from_slice(&99_u32.to_le_bytes());
    for kind in [1, 3, 4, 6, 0x77, 0x8000_0001] {
        for length in 0..12_u32 {
            let mut odd = block(kind, &[0; 24]);
            odd[4..8].copy_from_slice(&length.to_le_bytes());
            let error = Capture::parse([&sections[..], &odd].concat()).unwrap_err();
            let said = format!("says that it has {length} bytes");
            assert!(error.to_string().contains(&said), "{kind} {error}");
        }
    }
    for odd in [other_end, too_long] {
        let error = Capture::parse([&sections[..], &odd].concat()).unwrap_err();
        assert_eq!(error.offset, Some(sections.len()));
        assert!(error.to_string().contains("is malformed"), "{error}");
    }
}

/// Returns an IPv6 packet of UDP after extension headers. Each header is given by its type and its
/// content.
fn behind_extensions(extensions: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let (plain, _) = frame(4, b"content");
    let mut bytes = plain[..54].to_vec();
    let mut place = 14 + 6;
    for (kind, content) in extensions {
        bytes[place] = *kind;
        place = bytes.len();
        bytes.extend([17, u8::try_from((content.len() + 2) / 8 - 1).unwrap()]);
        bytes.extend(content);
    }
    bytes.extend(&plain[54..]);
    let length = u16::try_from(bytes.len() - 54).unwrap();
    bytes[18..20].copy_from_slice(&length.to_be_bytes());
    bytes
}

#[test]
fn extension_headers_of_ip_version_6_are_passed_over_and_a_route_makes_the_sum_unknown() {
    let (hop_by_hop, options, routing) = ((0, vec![1; 6]), (60, vec![1; 14]), (43, vec![0; 6]));
    for (extensions, result) in [
        (vec![hop_by_hop.clone()], CheckResult::Correct),
        (
            vec![hop_by_hop.clone(), options.clone()],
            CheckResult::Correct,
        ),
        (vec![routing.clone()], CheckResult::Other),
        (vec![hop_by_hop, options, routing], CheckResult::Other),
    ] {
        let bytes = behind_extensions(&extensions);
        assert_eq!(
            results(single(&bytes, bytes.len())),
            [result],
            "{extensions:?}"
        );
        for captured in 54..bytes.len() {
            let found = results(single(&bytes, captured));
            assert!(
                found != [CheckResult::Correct],
                "{extensions:?}, {captured} bytes"
            );
        }
    }
}

#[test]
fn a_route_that_the_sender_chose_makes_the_sum_of_ip_version_4_unknown() {
    for (options, result) in [
        (&[148, 4, 0, 0][..], CheckResult::Correct),
        (&[1, 1, 1, 1], CheckResult::Correct),
        (&[131, 7, 4, 1, 2, 3, 4, 0], CheckResult::Other),
        (&[1, 137, 7, 4, 1, 2, 3, 4], CheckResult::Other),
        (
            &[148, 4, 0, 0, 131, 7, 4, 1, 2, 3, 4, 0],
            CheckResult::Other,
        ),
        // Nothing after the end of options is interpreted, and a wrong length ends the options.
        (&[0, 131, 7, 4], CheckResult::Correct),
        (&[7, 0, 0, 0], CheckResult::Correct),
        (&[7, 255, 131, 1], CheckResult::Correct),
        (&[1, 1, 1, 7], CheckResult::Correct),
    ] {
        let (plain, _) = frame(1, b"content");
        let mut bytes = [&plain[..34], options, &plain[34..]].concat();
        bytes[14] += u8::try_from(options.len() / 4).unwrap();
        let length = u16::try_from(bytes.len() - 14).unwrap();
        bytes[16..18].copy_from_slice(&length.to_be_bytes());
        bytes[24..26].fill(0);
        let header = !sum(&bytes[14..34 + options.len()]);
        bytes[24..26].copy_from_slice(&header.to_be_bytes());
        let found = results(single(&bytes, bytes.len()));
        assert_eq!(found, [result], "{options:?}");
    }
}

#[test]
fn what_is_no_ip_on_a_loopback_is_other_in_either_byte_order() {
    for (family, result) in [
        (2_u32, CheckResult::Correct),
        (30, CheckResult::Correct),
        (7, CheckResult::Other),
        (0x0202, CheckResult::Other),
    ] {
        for family in [family.to_le_bytes(), family.to_be_bytes()] {
            let bytes = [&family, &frame(1, b"content").0[14..]].concat();
            let mut file = single(&bytes, bytes.len());
            file[20..24].fill(0);
            assert_eq!(results(file).remove(0), result, "{family:?}");
        }
    }
}

#[test]
fn packets_behind_up_to_three_vlan_tags_are_checked() {
    for kind in 0..KINDS {
        let (bytes, _) = frame(kind, b"content");
        for tags in 0..=2 {
            let tag = [[0x81, 0x00, 0, 5], [0x88, 0xa8, 0, 6], [0x91, 0x00, 0, 7]];
            let tags = tag.iter().cycle().take(tags).copied().flatten();
            let mut tagged: Vec<u8> = bytes[..12]
                .iter()
                .copied()
                .chain(tags)
                .chain(bytes[12..].iter().copied())
                .collect();
            let length = tagged.len();
            assert_eq!(
                results(single(&tagged, length)),
                [CheckResult::Correct],
                "{kind}"
            );
            tagged[length - 1] ^= 1;
            assert!(matches!(
                results(single(&tagged, length))[..],
                [CheckResult::Wrong(_)]
            ));
        }
    }
}

#[test]
fn a_file_that_ends_too_early_is_an_error_with_the_place_of_the_record() {
    let mut file = file_header();
    let (bytes, _) = frame(0, b"content");
    append(&mut file, &bytes, bytes.len());
    let second = file.len();
    append(&mut file, &bytes, bytes.len());
    for length in second + 1..file.len() {
        let error = Capture::parse(file[..length].to_vec()).unwrap_err();
        assert_eq!(error.offset, Some(second), "{error}");
        assert!(error.to_string().contains("packet 2 is cut off"), "{error}");
    }
    for length in 0..HEADER_BYTES {
        assert!(Capture::parse(file[..length].to_vec()).is_err(), "{length}");
    }
}

#[test]
fn what_is_no_capture_that_is_read_is_refused_and_its_message_says_why() {
    let with = |mut file: Vec<u8>, place: usize, byte| {
        file[place] = byte;
        file
    };
    let sections = next_generation(&[frame(0, b"content").0], false);
    for (file, expected) in [
        (
            with(sections, 12, 2),
            "byte 0: a section has version 2.0 of pcapng; expected 1.0",
        ),
        (
            with(file_header(), 4, 3),
            "byte 0: version 3.4 of pcap is not read; expected 2.4",
        ),
        (
            b"GIF89a and so on, long enough".to_vec(),
            "byte 0: the file's header is malformed; expected a pcap or pcapng file, uncompressed",
        ),
        (
            b"\x1f\x8b\x08\0\0\0".to_vec(),
            "is compressed (gzip); unpack it and name the result",
        ),
    ] {
        assert_eq!(Capture::parse(file).unwrap_err().to_string(), expected);
    }
}

/// Damages a file at random.
fn damaged(mut file: Vec<u8>, flips: &[(usize, u8)], keep: usize) -> Vec<u8> {
    for &(place, mask) in flips {
        let length = file.len();
        file[place % length] ^= mask;
    }
    file.truncate(keep % (file.len() + 1));
    file
}

/// Lengths that no correct writer produces.
fn lie() -> impl Strategy<Value = u32> {
    prop_oneof![Just(u32::MAX), Just(1 << 31), 0..64_u32, any::<u32>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 5 } else { 400 }))]

    #[test]
    fn no_damage_makes_the_reader_or_the_check_panic(
        seed in 0_u64..20,
        flips in proptest::collection::vec((any::<usize>(), any::<u8>()), 0..12),
        lies in proptest::collection::vec((any::<usize>(), lie()), 0..3),
        keep in any::<usize>(),
        is_next_generation: bool,
        is_big_endian: bool,
    ) {
        let mut file = if is_next_generation {
            let frames: Vec<Vec<u8>> = (0..KINDS).map(|kind| frame(kind, b"12345").0).collect();
            next_generation(&frames, is_big_endian)
        } else {
            synthetic::capture(seed, 8).0
        };
        for (place, lie) in lies {
            // Where headers have their numbers: at multiples of four.
            let place = place % (file.len() / 4) * 4;
            let bytes = if is_big_endian { lie.to_be_bytes() } else { lie.to_le_bytes() };
            file[place..place + 4].copy_from_slice(&bytes);
        }
        for keep in [keep, file.len()] {
            let file = damaged(file.clone(), &flips, keep);
            let length = file.len();
            match Capture::parse(file) {
                Err(error) => assert!(error.offset.is_none_or(|offset| offset <= length)),
                Ok(capture) => for frame in capture.frames() {
                    let _ = verify(frame, capture.bytes_of(frame));
                },
            }
        }
    }
}
