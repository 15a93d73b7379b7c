use proptest::prelude::*;

use super::synthetic::{KINDS, append, file_header, left_to_the_card, packet, sum};
use super::*;

fn results(bytes: Vec<u8>) -> Vec<CheckResult> {
    let capture = Capture::parse(bytes).unwrap();
    let packets = capture.packets.iter();
    packets.map(|packet| capture.check(packet)).collect()
}

fn single(bytes: &[u8], captured: usize) -> Vec<u8> {
    let mut file = file_header();
    append(&mut file, bytes, captured);
    file
}

fn result(bytes: &[u8]) -> CheckResult {
    results(single(bytes, bytes.len()))[0]
}

#[test]
fn every_kind_is_correct_at_even_and_odd_lengths_and_wrong_after_a_flipped_bit() {
    for kind in 0..KINDS {
        for length in [0, 1, 2, 3, 100, 1401] {
            let (mut bytes, _) = packet(kind, &vec![0xa5; length]);
            assert_eq!(result(&bytes), CheckResult::Correct, "{kind} {length}");
            *bytes.last_mut().unwrap() ^= 0x10;
            assert_eq!(result(&bytes), CheckResult::Wrong, "{kind} {length}");
        }
    }
    // A router has lowered the packet's time to live, and has not corrected the header's checksum.
    let (mut bytes, _) = packet(1, b"content");
    bytes[14 + 8] -= 1;
    assert_eq!(result(&bytes), CheckResult::Wrong);
}

#[test]
fn a_checksum_left_to_the_network_card_is_no_error() {
    for (kind, zero_is) in [
        (0, CheckResult::Offloaded),
        (1, CheckResult::Correct),
        (3, CheckResult::Offloaded),
        (4, CheckResult::Offloaded),
    ] {
        let (mut bytes, field) = packet(kind, b"content");
        bytes[field..field + 2].fill(0);
        assert_eq!(result(&bytes), zero_is, "zero, kind {kind}");
        let left = left_to_the_card(kind, &bytes);
        bytes[field..field + 2].copy_from_slice(&left.to_be_bytes());
        assert_eq!(result(&bytes), CheckResult::Offloaded, "kind {kind}");
    }
}

#[test]
fn a_packet_cut_by_the_snap_length_is_truncated_at_every_length() {
    for kind in 0..KINDS {
        let (bytes, _) = packet(kind, b"some content");
        for captured in 0..bytes.len() {
            let found = results(single(&bytes, captured));
            assert_eq!(found, [CheckResult::Truncated], "{kind}, {captured} bytes");
        }
    }
}

#[test]
fn bytes_behind_the_packet_are_no_part_of_it() {
    let (mut bytes, _) = packet(1, b"short");
    bytes.extend([0xee; 13]); // an Ethernet packet has 60 bytes at least
    let mut file = single(&bytes, bytes.len());
    // The link number says that there is a check sequence of two 16-bit words.
    file[20..24].copy_from_slice(&0x2400_0001_u32.to_le_bytes());
    assert_eq!(results(file), [CheckResult::Correct]);
}

#[test]
fn a_length_that_has_no_room_for_its_header_is_other_and_zero_is_a_packet_for_the_card_to_cut_up() {
    for (length, expected) in [
        (0, CheckResult::Correct),
        (1, CheckResult::Other),
        (19, CheckResult::Other),
        (20, CheckResult::Other),
    ] {
        let (mut bytes, _) = packet(0, b"content");
        bytes[16..18].copy_from_slice(&u16::to_be_bytes(length));
        bytes[24..26].fill(0);
        let header = !sum(&bytes[14..34]);
        bytes[24..26].copy_from_slice(&header.to_be_bytes());
        assert_eq!(result(&bytes), expected, "{length}");
    }
}

#[test]
fn packets_of_raw_ip_and_of_loopback_are_checked_in_either_byte_order() {
    for kind in 0..KINDS - 1 {
        let (bytes, _) = packet(kind, b"content");
        for (link, family, expected) in [
            (101_u32, &[][..], CheckResult::Correct),
            (0, &[2, 0, 0, 0], CheckResult::Correct),
            (108, &[0, 0, 0, 30], CheckResult::Correct),
            (0, &[7, 0, 0, 0], CheckResult::Other),
            (0, &[0, 0, 2, 2], CheckResult::Other),
        ] {
            let packet = [family, &bytes[14..]].concat();
            let mut file = single(&packet, packet.len());
            file[20..24].copy_from_slice(&link.to_le_bytes());
            assert_eq!(results(file), [expected], "{kind} {link} {family:?}");
        }
    }
}

#[test]
fn what_has_no_known_checksum_is_other() {
    let mut arp = vec![0; 60];
    arp[12..14].copy_from_slice(&[0x08, 0x06]);
    assert_eq!(result(&arp), CheckResult::Other);
    assert_eq!(result(&[]), CheckResult::Other);
}

#[test]
fn a_synthetic_capture_holds_what_its_maker_says() {
    // In the last capture, a damaged packet's checksum is what Linux leaves to the card.
    for seed in [0, 1, 2, 3, 4, 226] {
        let (bytes, expected) = synthetic::capture(seed, 2_000);
        assert_eq!(Capture::parse(bytes).unwrap().tally(), expected, "{seed}");
    }
}

/// An IPv6 packet of UDP after extension headers, each given by its type and its content.
fn behind_extensions(extensions: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let (plain, _) = packet(4, b"content");
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
    for (extensions, expected) in [
        (
            vec![hop_by_hop.clone(), options.clone()],
            CheckResult::Correct,
        ),
        (vec![hop_by_hop, options, routing], CheckResult::Other),
    ] {
        let bytes = behind_extensions(&extensions);
        assert_eq!(result(&bytes), expected, "{extensions:?}");
        for captured in 54..bytes.len() {
            let found = results(single(&bytes, captured));
            assert_ne!(found, [CheckResult::Correct], "{captured} bytes");
        }
    }
}

#[test]
fn packets_behind_up_to_three_vlan_tags_are_checked() {
    for kind in 0..KINDS {
        let (bytes, _) = packet(kind, b"content");
        let tags = [[0x81, 0x00, 0, 5], [0x88, 0xa8, 0, 6]].concat();
        let mut tagged = [&bytes[..12], &tags, &bytes[12..]].concat();
        assert_eq!(result(&tagged), CheckResult::Correct, "{kind}");
        *tagged.last_mut().unwrap() ^= 1;
        assert_eq!(result(&tagged), CheckResult::Wrong, "{kind}");
    }
}

#[test]
fn a_file_that_ends_too_early_is_an_error_with_the_place_of_the_record() {
    let mut file = file_header();
    let (bytes, _) = packet(0, b"content");
    append(&mut file, &bytes, bytes.len());
    let second = file.len();
    append(&mut file, &bytes, bytes.len());
    let fault = |length: usize| Capture::parse(file[..length].to_vec()).err().unwrap();
    for length in second + 1..file.len() {
        let expected = format!("byte {second}: packet 2 is cut off");
        assert!(fault(length).starts_with(&expected), "{length}");
    }
    for length in 0..file_header().len() {
        assert!(fault(length).starts_with("byte 0: "), "{length}");
    }
}

#[test]
fn what_is_no_capture_that_is_read_is_refused_and_its_message_says_why() {
    let with = |place: usize, byte| {
        let mut file = file_header();
        file[place] = byte;
        file
    };
    for (file, expected) in [
        (with(4, 3), "byte 0: this variant of pcap (version 3.4)"),
        (with(20, 147), "byte 20: link type 147 is not read"),
        (
            vec![0x0a, 0x0d, 0x0d, 0x0a, 0],
            "is pcapng, which is not read; convert it",
        ),
        (
            b"GIF89a and so on, long enough".to_vec(),
            "byte 0: the file's header is malformed; expected a pcap file",
        ),
    ] {
        let fault = Capture::parse(file).err().unwrap();
        assert!(fault.starts_with(expected), "{fault}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 5 } else { 400 }))]

    #[test]
    fn no_damage_makes_the_reader_or_the_check_panic(
        seed in 0_u64..20,
        flips in proptest::collection::vec((any::<usize>(), any::<u8>()), 0..12),
        // Lengths that no correct writer produces, written over the numbers of headers.
        lies in proptest::collection::vec(
            (any::<usize>(), prop_oneof![Just(u32::MAX), 0..64_u32, any::<u32>()]), 0..3
        ),
        keep in any::<usize>(),
    ) {
        let mut file = synthetic::capture(seed, 8).0;
        for (place, lie) in lies {
            let place = place % (file.len() / 4) * 4;
            file[place..place + 4].copy_from_slice(&lie.to_le_bytes());
        }
        let length = file.len();
        for (place, mask) in flips {
            file[place % length] ^= mask;
        }
        for keep in [keep % (length + 1), length] {
            if let Ok(capture) = Capture::parse(file[..keep].to_vec()) {
                capture.tally();
            }
        }
    }
}
