//! `candle TOKENS SEED`: the matrix products of `TOKENS` tokens, one after another, in a language
//! model of 0.6 billion parameters (28 layers of seven products, Q8_0). Prints a digest of the
//! result.
//!
//! Four layers have weights of their own, which are more than a second-level cache holds; the other
//! layers use the same weights again.

use candle_core::quantized::{GgmlDType, QMatMul, QTensor, ggml_file::qtensor_from_ggml};
use candle_core::{D, Device, Error, Module as _, Result, Tensor};

const LAYERS: usize = 28;
const DISTINCT: usize = 4;
const HIDDEN: usize = 1024;
const QUERIES: usize = 2048;
const KEYS: usize = 1024;
const INNER: usize = 3072;

/// How many numbers a block has. In front of these numbers is the block's scale as a 16-bit float.
const BLOCK: usize = 32;

struct Layer {
    queries: QMatMul,
    keys: QMatMul,
    values: QMatMul,
    out: QMatMul,
    gate: QMatMul,
    up: QMatMul,
    down: QMatMul,
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<u64> = arguments.iter().filter_map(|it| it.parse().ok()).collect();
    let [tokens, seed] = numbers[..] else {
        return Err(Error::Msg("usage: candle TOKENS SEED".to_owned()));
    };
    let mut state = seed;
    let layers = (0..DISTINCT)
        .map(|_| Layer::new(&mut state))
        .collect::<Result<Vec<_>>>()?;
    let start: Vec<f32> = (0..HIDDEN).map(|at| (at as f32).sin()).collect();
    let mut x = Tensor::from_vec(start, (1, HIDDEN), &Device::Cpu)?;
    for _ in 0..tokens {
        for layer in (0..LAYERS).map(|at| &layers[at % DISTINCT]) {
            x = layer.forward(&x)?;
        }
    }
    let digest = x
        .flatten_all()?
        .to_vec1::<f32>()?
        .iter()
        .fold(0_u64, |digest, number| {
            (digest ^ u64::from(number.to_bits())).wrapping_mul(0x0000_0100_0000_01b3)
        });
    println!("{digest:016x}");
    Ok(())
}

impl Layer {
    fn new(state: &mut u64) -> Result<Self> {
        let mut weights = |rows, columns| weights(rows, columns, state);
        Ok(Self {
            queries: weights(QUERIES, HIDDEN)?,
            keys: weights(KEYS, HIDDEN)?,
            values: weights(KEYS, HIDDEN)?,
            out: weights(HIDDEN, QUERIES)?,
            gate: weights(INNER, HIDDEN)?,
            up: weights(INNER, HIDDEN)?,
            down: weights(HIDDEN, INNER)?,
        })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let normal = normalized(x)?;
        let (queries, keys, values) = (
            self.queries.forward(&normal)?,
            self.keys.forward(&normal)?,
            self.values.forward(&normal)?,
        );
        // This cheap step stands in for attention: it needs all three results.
        let mixed = Tensor::cat(&[(keys + &values)?, values], D::Minus1)?;
        let x = (x + self.out.forward(&(queries + mixed)?)?)?;
        let normal = normalized(&x)?;
        let gated = (self.gate.forward(&normal)?.silu()? * self.up.forward(&normal)?)?;
        x + self.down.forward(&gated)?
    }
}

fn normalized(x: &Tensor) -> Result<Tensor> {
    x.broadcast_div(&(x.sqr()?.mean_keepdim(D::Minus1)? + 1e-6)?.sqrt()?)
}

fn weights(rows: usize, columns: usize, state: &mut u64) -> Result<QMatMul> {
    /// 2^-12 as a 16-bit float: with this scale, sums of products stay near one.
    const SCALE: [u8; 2] = 0x0c00_u16.to_le_bytes();
    let mut bytes = Vec::with_capacity(rows * columns / BLOCK * (BLOCK + SCALE.len()));
    for _ in 0..rows * columns / BLOCK {
        bytes.extend(SCALE);
        for _ in 0..BLOCK / 8 {
            *state ^= state.wrapping_shl(13) ^ 0x9e37_79b9_7f4a_7c15;
            *state ^= *state >> 7;
            *state ^= *state << 17;
            bytes.extend(state.to_le_bytes());
        }
    }
    let tensor: QTensor =
        qtensor_from_ggml(GgmlDType::Q8_0, &bytes, vec![rows, columns], &Device::Cpu)?;
    QMatMul::from_qtensor(tensor)
}
