//! The generator of `bpf_get_prandom_u32`, and its state from what is known of its numbers.
//!
//! It is linear over bits: each bit of a number is a sum of bits of the state. So what is known of a few numbers is a
//! system of linear equations. (P. L'Ecuyer, Tables of maximally equidistributed combined LFSR generators, 1999.)

/// The parameters of its four registers: two shifts, the mask, and a third shift.
const REGISTERS: [(usize, usize, u32, usize); 4] = [
    (6, 13, !1, 18),
    (2, 27, !7, 2),
    (13, 21, !15, 7),
    (3, 12, !127, 13),
];

/// The generator.
pub(super) struct Generator([u32; 4]);

impl Generator {
    /// Returns the generator in a state.
    #[cfg(test)]
    pub(super) fn new(state: [u32; 4]) -> Self {
        Self(state)
    }

    /// Returns the next number.
    pub(super) fn draw(&mut self) -> u32 {
        for (register, (left, right, mask, shift)) in self.0.iter_mut().zip(REGISTERS) {
            let feedback = ((*register << left) ^ *register) >> right;
            *register = ((*register & mask) << shift) ^ feedback;
        }
        self.0.iter().fold(0, |sum, register| sum ^ register)
    }

    /// Returns a generator whose numbers lie within these bounds, if every first of so many numbers is looked at. There
    /// is none if no state explains them.
    pub(super) fn solve(bounds: impl Iterator<Item = (u32, u32)>, drawn: u32) -> Option<Self> {
        let mut sums = Sums::new();
        let mut system = System::default();
        for (least, greatest) in bounds {
            let number = sums.draw();
            // The bits that are the same in all numbers within the bounds.
            let known = (least ^ greatest).leading_zeros();
            for bit in (0..32).rev().take(known as usize) {
                system.add(number[bit], least >> bit & 1 == 1)?;
            }
            for _ in 1..drawn {
                sums.draw();
            }
        }
        Some(Self(system.solution()))
    }
}

/// A register whose bits are sums of the bits of the first state, each a bit of a mask.
type Register = [u128; 32];

/// The generator's state as sums of the bits of its first state.
struct Sums([Register; 4]);

impl Sums {
    fn new() -> Self {
        let register = |number: usize| std::array::from_fn(|bit| 1 << (32 * number + bit));
        Self(std::array::from_fn(register))
    }

    fn draw(&mut self) -> Register {
        for (register, (left, right, mask, shift)) in self.0.iter_mut().zip(REGISTERS) {
            let old = *register;
            let at = |bit: Option<usize>| bit.and_then(|bit| old.get(bit)).copied().unwrap_or(0);
            for (bit, sum) in register.iter_mut().enumerate() {
                let high = bit + right;
                let fed = if high < 32 {
                    at(high.checked_sub(left)) ^ old[high]
                } else {
                    0
                };
                let masked = bit.checked_sub(shift).filter(|bit| mask >> bit & 1 == 1);
                *sum = at(masked) ^ fed;
            }
        }
        std::array::from_fn(|bit| self.0.iter().fold(0, |sum, register| sum ^ register[bit]))
    }
}

/// Linear equations, each with its own leading bit.
#[derive(Default)]
struct System(Vec<(u128, bool)>);

impl System {
    /// Adds an equation: a sum of bits and its value. There is no solution if the result is `None`.
    fn add(&mut self, sum: u128, value: bool) -> Option<()> {
        let (sum, value) = self
            .0
            .iter()
            .fold((sum, value), |(sum, value), (other, its)| {
                if sum >> other.ilog2() & 1 == 1 {
                    (sum ^ other, value ^ its)
                } else {
                    (sum, value)
                }
            });
        match (sum, value) {
            (0, true) => return None,
            (0, false) => {}
            equation => {
                self.0.push(equation);
                // The greatest leading bit first, so that one pass removes all of them.
                self.0
                    .sort_unstable_by_key(|(sum, _)| std::cmp::Reverse(*sum));
            }
        }
        Some(())
    }

    /// Returns a solution, in which bits that no equation has are zero.
    fn solution(&self) -> [u32; 4] {
        // From the least leading bit up: the other bits of an equation are known.
        let bits = self.0.iter().rev().fold(0u128, |bits, (sum, value)| {
            let leading = sum.ilog2();
            let others = (sum & bits & !(1 << leading)).count_ones() % 2 == 1;
            bits | u128::from(others != *value) << leading
        });
        std::array::from_fn(|register| (bits >> (32 * register)) as u32)
    }
}
