//! `proof STEPS SEED`: proves that a synthetic computation took `STEPS` steps (a power of two),
//! verifies the proof, and prints the proof's size and a digest.

use p3_air::{Air, AirBuilder, BaseAir, WindowAccess as _};
use p3_baby_bear::{BabyBear, Poseidon2BabyBear, default_babybear_poseidon2_16};
use p3_challenger::DuplexChallenger;
use p3_commit::ExtensionMmcs;
use p3_dft::Radix2DitParallel;
use p3_field::extension::BinomialExtensionField;
use p3_field::{Field, PrimeCharacteristicRing};
use p3_fri::{FriParameters, TwoAdicFriPcs};
use p3_matrix::dense::RowMajorMatrix;
use p3_merkle_tree::MerkleTreeMmcs;
use p3_symmetric::{PaddingFreeSponge, TruncatedPermutation};
use p3_uni_stark::{StarkConfig, prove, verify};

type Permutation = Poseidon2BabyBear<16>;
type Hash = PaddingFreeSponge<Permutation, 16, 8, 8>;
type Pair = TruncatedPermutation<Permutation, 2, 8, 16>;
type Packed = <BabyBear as Field>::Packing;
type Tree = MerkleTreeMmcs<Packed, Packed, Hash, Pair, 2, 8>;
type Challenge = BinomialExtensionField<BabyBear, 4>;
type ChallengeTree = ExtensionMmcs<BabyBear, Challenge, Tree>;
type Commitments = TwoAdicFriPcs<BabyBear, Radix2DitParallel<BabyBear>, Tree, ChallengeTree>;
type Config = StarkConfig<Commitments, Challenge, DuplexChallenger<BabyBear, Permutation, 16, 8>>;

/// How many numbers the state of the computation has. Each step replaces each number by itself plus
/// the square of its neighbour.
const WIDTH: usize = 64;

struct Squares;

impl<F> BaseAir<F> for Squares {
    fn width(&self) -> usize {
        WIDTH
    }
}

impl<B: AirBuilder> Air<B> for Squares {
    fn eval(&self, builder: &mut B) {
        let window = builder.main();
        let (now, next) = (window.current_slice(), window.next_slice());
        let mut transition = builder.when_transition();
        for at in 0..WIDTH {
            let beside: B::Expr = now[(at + 1) % WIDTH].into();
            transition.assert_eq(beside.square() + now[at], next[at]);
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers: Vec<usize> = std::env::args()
        .filter_map(|word| word.parse().ok())
        .collect();
    let [steps, seed] = numbers[..] else {
        return Err("usage: proof STEPS SEED".into());
    };
    let mut row: [BabyBear; WIDTH] =
        std::array::from_fn(|at| BabyBear::from_usize(seed.wrapping_mul(at + 1) % 1_000_003 + at));
    let mut rows = Vec::with_capacity(steps * WIDTH);
    for _ in 0..steps {
        rows.extend(row);
        row = std::array::from_fn(|at| row[(at + 1) % WIDTH].square() + row[at]);
    }
    let config = config();
    let proof = prove(&config, &Squares, RowMajorMatrix::new(rows, WIDTH), &[]);
    verify(&config, &Squares, &proof, &[]).map_err(|error| format!("{error:?}"))?;
    let bytes = postcard::to_allocvec(&proof)?;
    let digest = bytes.iter().fold(0_u64, |digest, byte| {
        (digest ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    println!("{} {digest:016x}", bytes.len());
    Ok(())
}

/// Returns a configuration without a proof of work, because the search for a proof of work takes a
/// random time.
fn config() -> Config {
    let permutation = default_babybear_poseidon2_16();
    let tree = Tree::new(
        Hash::new(permutation.clone()),
        Pair::new(permutation.clone()),
        0,
    );
    let parameters = FriParameters {
        log_blowup: 1,
        log_final_poly_len: 0,
        max_log_arity: 1,
        num_queries: 100,
        commit_proof_of_work_bits: 0,
        query_proof_of_work_bits: 0,
        mmcs: ChallengeTree::new(tree.clone()),
    };
    let commitments = Commitments::new(Radix2DitParallel::default(), tree, parameters);
    Config::new(commitments, DuplexChallenger::new(permutation))
}
