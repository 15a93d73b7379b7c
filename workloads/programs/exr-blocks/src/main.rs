//! `exr-blocks LINES SEED`: writes a synthetic picture of `LINES` lines into memory, as compressed
//! OpenEXR. Then reads that file again, and prints its size, and a digest of the file and the
//! picture.

use std::io::Cursor;

use exr::prelude::*;

const WIDTH: usize = 1024;

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<usize> = arguments.iter().filter_map(|it| it.parse().ok()).collect();
    let [lines, seed] = numbers[..] else {
        return Err("usage: exr-blocks LINES SEED".into());
    };
    // The picture has slow waves, and noise in the last bits, like a photograph.
    let pixel = |at: Vec2<usize>| {
        let noise = (at.x() * 0x9e37_79b1 ^ at.y() * 0x85eb_ca6b ^ seed).wrapping_mul(0x27d4_eb2f);
        let noise = (noise >> 15 & 0xff) as f32 * 1e-4;
        let wave = |x: f32, y: f32| (at.x() as f32 * x).sin() * (at.y() as f32 * y).cos() + noise;
        (wave(0.01, 0.02), wave(0.005, 0.003), wave(0.02, 0.001))
    };
    let layer = Layer::new(
        (WIDTH, lines),
        LayerAttributes::named("waves"),
        Encoding::SMALL_LOSSLESS,
        SpecificChannels::rgb(pixel),
    );
    let mut file = Cursor::new(Vec::new());
    Image::from_layer(layer).write().to_buffered(&mut file)?;
    let file = file.into_inner();
    let read = read()
        .no_deep_data()
        .largest_resolution_level()
        .rgb_channels(
            |size, _| vec![0_u32; size.area()],
            move |picture, at, (red, green, blue): (f32, f32, f32)| {
                picture[at.flat_index_for_size(Vec2(WIDTH, lines))] = red.to_bits()
                    ^ green.to_bits().rotate_left(11)
                    ^ blue.to_bits().rotate_left(22);
            },
        )
        .first_valid_layer()
        .all_attributes()
        .from_buffered(Cursor::new(&file))?;
    let pixels = read.layer_data.channel_data.pixels;
    let words = file.iter().map(|&byte| u32::from(byte)).chain(pixels);
    let digest = words.fold(0_u64, |digest, word| {
        (digest ^ u64::from(word)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    println!("{} {digest:016x}", file.len());
    Ok(())
}
