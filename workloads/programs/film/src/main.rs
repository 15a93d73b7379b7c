//! `film FRAMES SEED`: encodes `FRAMES` frames of a synthetic film as AV1 with rav1e, and prints
//! the size and a digest.

use std::error::Error;

use rav1e::prelude::*;

const WIDTH: usize = 512;
const LINES: usize = 384;

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Vec<usize> = std::env::args()
        .filter_map(|word| word.parse().ok())
        .collect();
    let [frames, seed] = numbers[..] else {
        return Err("usage: film FRAMES SEED".into());
    };
    let mut encoder = EncoderConfig::with_speed_preset(10);
    (encoder.width, encoder.height) = (WIDTH, LINES);
    // The number of tiles does not depend on the number of threads, so the output is the same for
    // every number of threads.
    encoder.tiles = 8;
    let mut context: Context<u8> = Config::new().with_encoder_config(encoder).new_context()?;
    for frame in 0..frames {
        let mut picture = context.new_frame();
        for (number, plane) in picture.planes.iter_mut().enumerate() {
            let width = if number == 0 { WIDTH } else { WIDTH / 2 };
            let bytes = plane_of(width, LINES * width / WIDTH, frame, seed + number);
            plane.copy_from_raw_u8(&bytes, width, 1);
        }
        context.send_frame(picture)?;
    }
    context.flush();
    let (mut size, mut digest) = (0, 0_u64);
    loop {
        match context.receive_packet() {
            Ok(packet) => {
                size += packet.data.len();
                digest = packet.data.iter().fold(digest, |digest, byte| {
                    (digest ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
                });
            }
            Err(EncoderStatus::Encoded) => {}
            Err(EncoderStatus::LimitReached) => break,
            Err(status) => return Err(status.into()),
        }
    }
    println!("{size} {digest:016x}");
    Ok(())
}

/// Returns waves that move from frame to frame, and noise that stays in place.
fn plane_of(width: usize, lines: usize, frame: usize, seed: usize) -> Vec<u8> {
    let pixel = |at: usize| {
        let (x, y) = (at % width, at / width);
        let noise = (at ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61;
        let wave = ((x + 3 * frame) / 3 % 64 + (y + frame) / 5 % 48) as u8;
        64 + wave + noise as u8
    };
    (0..width * lines).map(pixel).collect()
}
