//! Pseudorandom numbers that are the same from run to run.

use std::ops::RangeInclusive;

/// Pseudorandom numbers: splitmix64.
#[derive(Debug, Clone, Copy, Default)]
pub struct Random(u64);

impl Random {
    /// Returns the generator of a sequence that depends on the seed alone.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number, of 64 bits.
    pub fn number(&mut self) -> u64 {
        splitmix(&mut self.0)
    }

    /// Returns the next number below a bound of 1 or more.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.number()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns the next number within a range of ports.
    pub fn within(&mut self, range: &RangeInclusive<u16>) -> u16 {
        let width = u64::from(range.end() - range.start()) + 1;
        range.start() + self.below(width) as u16
    }
}

/// Returns the number after a state.
pub(crate) fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_splitmix64() {
        // The first output of the generator's published reference with seed 1234567.
        assert_eq!(Random::new(1_234_567).number(), 6_457_827_717_110_365_317);
    }
}
