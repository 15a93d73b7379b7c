//! `pictures shrink COUNT SEED` scales a synthetic picture down `COUNT` times. `pictures sort LINES
//! SEED` sorts the pixels of a picture of `LINES` lines. Both print a digest of the result.

use std::error::Error;

use fast_image_resize::images::Image;
use fast_image_resize::{PixelType, Resizer};
use rayon::slice::ParallelSliceMut as _;

const WIDTH: usize = 2048;
const LINES: usize = 1536;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().collect();
    let numbers: Vec<usize> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let digest = match (words.get(1).map(String::as_str), &numbers[..]) {
        (Some("shrink"), &[count, seed]) => shrink(count, seed as u64)?,
        (Some("sort"), &[lines, seed]) => sort(lines, seed as u64),
        _ => return Err("usage: pictures shrink COUNT SEED, or pictures sort LINES SEED".into()),
    };
    println!("{digest:016x}");
    Ok(())
}

/// Scales a picture down to many widths, as a gallery does for different screens.
fn shrink(count: usize, seed: u64) -> Result<u64, Box<dyn Error>> {
    let bytes = pixels(LINES, seed).flat_map(u32::to_le_bytes).collect();
    let picture = Image::from_vec_u8(WIDTH as u32, LINES as u32, bytes, PixelType::U8x4)?;
    let mut resizer = Resizer::new();
    let mut digest = 0;
    for at in 0..count as u32 {
        let width = 400 + at * 97 % 1200;
        let mut small = Image::new(width, width * 3 / 4, PixelType::U8x4);
        resizer.resize(&picture, &mut small, None)?;
        let some = small
            .buffer()
            .iter()
            .step_by(97)
            .map(|byte| u64::from(*byte));
        digest = some.fold(digest, mix);
    }
    Ok(digest)
}

fn sort(lines: usize, seed: u64) -> u64 {
    let mut pixels: Vec<(u32, u32)> = pixels(lines, seed).zip(0..).collect();
    pixels.par_sort_by_key(|(pixel, _)| pixel.to_le_bytes().map(u32::from).iter().sum::<u32>());
    pixels
        .iter()
        .step_by(97)
        .fold(0, |digest, (_, place)| mix(digest, u64::from(*place)))
}

fn pixels(lines: usize, seed: u64) -> impl Iterator<Item = u32> {
    let mut state = seed;
    (0..WIDTH * lines).map(move |_| {
        state = state
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 32) as u32
    })
}

fn mix(digest: u64, number: u64) -> u64 {
    (digest ^ number).wrapping_mul(0x0000_0100_0000_01b3)
}
