//! The hash of all tables: keyed, so that no attacker can aim at one bucket.
//!
//! It is NH, the universal hash of UMAC (RFC 4418 section 5.2.2), with 32-bit halves and a final mix: for
//! keys chosen without knowledge of the seed, two collide with a probability of 2^-32 at most, and it
//! costs one multiplication per 64 bits, without the 128-bit products that BPF lacks.

/// Words that a key has at most.
pub const KEY_WORDS: usize = 6;

/// The secret of a hash: random words.
pub type Seed = [u64; KEY_WORDS];

/// The golden ratio in 64 bits: an odd number without a pattern.
pub(crate) const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// The hash of a key. All 64 bits of it are of use.
#[inline(always)]
#[must_use]
pub fn hash<const K: usize>(seed: &Seed, key: &[u64; K]) -> u64 {
    const { assert!(K <= KEY_WORDS) }
    let mut sum = MIX;
    for (word, secret) in key.iter().zip(seed) {
        let low = (*word as u32).wrapping_add(*secret as u32);
        let high = ((*word >> 32) as u32).wrapping_add((*secret >> 32) as u32);
        // The factor keeps the compiler from computing vectors, which BPF lacks. The bound on collisions
        // stands: for the words before the last difference it is a constant.
        sum = sum
            .wrapping_mul(MIX)
            .wrapping_add(u64::from(low).wrapping_mul(u64::from(high)));
    }
    sum ^= sum >> 32;
    sum = sum.wrapping_mul(MIX);
    sum ^= sum >> 29;
    sum = sum.wrapping_mul(MIX);
    sum ^ sum >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: Seed = [
        0x0123_4567_89ab_cdef,
        0xfedc_ba98_7654_3210,
        0x0f1e_2d3c_4b5a_6978,
        0x8796_a5b4_c3d2_e1f0,
        0x1357_9bdf_0246_8ace,
        0xeca8_6420_fdb9_7531,
    ];

    #[test]
    fn every_bit_of_the_key_moves_both_halves() {
        let key = [0x2001_0db8_0000_0001, 5, 0x0035_1100, 0x0a00_0001_0035_0000];
        let base = hash(&SEED, &key);
        for bit in 0..256 {
            let mut other = key;
            other[bit / 64] ^= 1 << (bit % 64);
            let change = base ^ hash(&SEED, &other);
            assert!(change as u32 != 0 && change >> 32 != 0, "bit {bit}");
        }
    }

    #[test]
    fn sequential_keys_spread_over_buckets() {
        const BUCKETS: usize = 256;
        let mut load = [0_u32; BUCKETS];
        for port in 0..65_536_u64 {
            let h = hash(&SEED, &[0x2001_0db8 << 32, 1, port << 16 | 17]);
            load[(((h >> 32) * BUCKETS as u64) >> 32) as usize] += 1;
        }
        // 256 each on average, standard deviation 16: seven deviations leave no room for luck.
        assert!(load.iter().all(|n| (144..=368).contains(n)), "{load:?}");
    }

    #[test]
    fn the_seed_matters() {
        let mut other = SEED;
        other[1] ^= 1;
        assert_ne!(hash(&SEED, &[1, 2, 3]), hash(&other, &[1, 2, 3]));
    }
}
