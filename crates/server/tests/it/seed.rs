//! Reproducible randomness.

use rand::SeedableRng;
use rand::rngs::StdRng;

/// A generator seeded with `GODWIT_SEED` if it is set, and otherwise with `otherwise`. The seed is printed, and a failing
/// test shows it: the same seed makes the same choices, as far as the scheduler allows.
pub(crate) fn seeded(otherwise: u64) -> StdRng {
    let seed =
        std::env::var("GODWIT_SEED").map_or(otherwise, |seed| seed.parse().expect("GODWIT_SEED is a number"));
    println!("GODWIT_SEED={seed}");
    StdRng::seed_from_u64(seed)
}
