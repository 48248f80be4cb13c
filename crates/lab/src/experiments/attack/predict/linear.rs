//! Linear recurrences over bits, found by the algorithm of Berlekamp and Massey.

/// The number of bits by which a rule has to be confirmed.
const CONFIRMED: usize = 32;

/// A rule that gives each bit as a sum of earlier ones.
pub(super) struct Recurrence {
    /// The distances of the bits in the sum.
    distances: Vec<usize>,
}

/// Returns the shortest linear rule that gives these bits; none if it explains no more of them than it has terms.
pub(super) fn recurrence(bits: &[bool]) -> Option<Recurrence> {
    let mut rule = vec![true];
    let mut before = vec![true];
    let (mut length, mut since) = (0, 1);
    for at in 0..bits.len() {
        let terms = rule.iter().take(length + 1).enumerate();
        let differs = terms.fold(false, |sum, (distance, used)| {
            sum ^ (*used && bits[at - distance])
        });
        if !differs {
            since += 1;
            continue;
        }
        let old = rule.clone();
        rule.resize(rule.len().max(before.len() + since), false);
        for (place, used) in before.iter().enumerate() {
            rule[place + since] ^= used;
        }
        if 2 * length <= at {
            (length, before, since) = (at + 1 - length, old, 1);
        } else {
            since += 1;
        }
    }
    let distances = (1..=length).filter(|distance| rule.get(*distance) == Some(&true));
    (2 * length + CONFIRMED <= bits.len()).then(|| Recurrence {
        distances: distances.collect(),
    })
}

impl Recurrence {
    /// Returns the bits that follow.
    pub(super) fn following(&self, bits: &[bool], count: usize) -> Vec<bool> {
        let mut all = bits.to_vec();
        for _ in 0..count {
            let earlier = |distance: &usize| all[all.len() - distance];
            let bit = self.distances.iter().map(earlier).fold(false, |a, b| a ^ b);
            all.push(bit);
        }
        all.split_off(bits.len())
    }
}
