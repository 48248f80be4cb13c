//! Ports foretold from earlier ones, by three guesses about how they are chosen.
//!
//! A port is taken to be a place among the 32,256 ports of one parity from 1024 on. That is what a NAT chooses which
//! keeps the parity (RFC 4787 section 4.2.2).

mod linear;
mod tausworthe;

use self::{linear::recurrence, tausworthe::Generator};

/// The first port and the number of places.
const FIRST: u16 = 1024;
const PLACES: u64 = 32_256;
/// Bits of a place.
const BITS: u32 = 15;
/// The ports that a guess has to explain.
const RECENT: usize = 30;
/// The most numbers that are drawn for a flow.
const DRAWN: u32 = 4;

/// Returns the next ports, once for each guess that explains these; of each port with the least parity.
pub(super) fn next(ports: &[u16], count: usize) -> Vec<Vec<u16>> {
    let places: Vec<u16> = ports.iter().map(|port| place(*port)).collect();
    let recent = &places[places.len().saturating_sub(RECENT)..];
    let drawn = (1..=DRAWN).filter_map(|drawn| by_generator(recent, drawn, count));
    let others = [by_congruence(recent, count), by_recurrence(&places, count)];
    let foretold = drawn.chain(others.into_iter().flatten());
    foretold
        .map(|places| places.into_iter().map(port).collect())
        .collect()
}

/// Returns whether a port is the one that was foretold.
pub(super) fn is_it(foretold: u16, port: u16) -> bool {
    place(foretold) == place(port)
}

fn place(port: u16) -> u16 {
    port.saturating_sub(FIRST) / 2
}

fn port(place: u16) -> u16 {
    FIRST.wrapping_add(place.wrapping_mul(2))
}

/// The guess that places are random numbers of the kernel's generator, in proportion.
fn by_generator(places: &[u16], drawn: u32, count: usize) -> Option<Vec<u16>> {
    let mut generator = Generator::solve(places.iter().map(|place| within(*place)), drawn)?;
    let all = (0..places.len() + count).map(|_| {
        let number = generator.draw();
        for _ in 1..drawn {
            generator.draw();
        }
        ((u64::from(number) * PLACES) >> 32) as u16
    });
    let all: Vec<u16> = all.collect();
    Some(all[places.len()..].to_vec())
}

/// Returns the least and the greatest number of 32 bits that give a place.
fn within(place: u16) -> (u32, u32) {
    let least = (u64::from(place) << 32).div_ceil(PLACES);
    let next = (u64::from(place + 1) << 32).div_ceil(PLACES);
    (least as u32, (next - 1) as u32)
}

/// The guess that each place is the one before it times a number plus another, with the least bits of both.
fn by_congruence(places: &[u16], count: usize) -> Option<Vec<u16>> {
    let differences: Vec<u16> = places
        .windows(2)
        .map(|pair| pair[1].wrapping_sub(pair[0]))
        .collect();
    let pairs = differences.windows(2).find(|pair| pair[0] % 2 == 1)?;
    let factor = pairs[1].wrapping_mul(inverse(pairs[0]));
    let term = places[1].wrapping_sub(places[0].wrapping_mul(factor));
    let step = |place: u16| place.wrapping_mul(factor).wrapping_add(term);
    let mask = (1 << BITS) - 1;
    let explained = places
        .windows(2)
        .all(|pair| (step(pair[0]) ^ pair[1]) & mask == 0);
    let last = *places.last().filter(|_| explained)?;
    let following = std::iter::successors(Some(step(last)), |place| Some(step(*place)));
    Some(following.map(|place| place & mask).take(count).collect())
}

/// Returns the inverse of an odd number.
fn inverse(odd: u16) -> u16 {
    // Each step doubles the bits that are right (Newton's method).
    (0..4).fold(odd, |guess, _| {
        guess.wrapping_mul(2u16.wrapping_sub(odd.wrapping_mul(guess)))
    })
}

/// The guess that each bit follows from earlier ones by a linear rule, whichever it is.
fn by_recurrence(places: &[u16], count: usize) -> Option<Vec<u16>> {
    let mut following = vec![0; count];
    for bit in 0..BITS {
        let bits: Vec<bool> = places.iter().map(|place| place >> bit & 1 == 1).collect();
        let foretold = recurrence(&bits)?.following(&bits, count);
        for (place, bit_is_set) in following.iter_mut().zip(foretold) {
            *place |= u16::from(bit_is_set) << bit;
        }
    }
    Some(following)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::random::Random;

    /// Returns whether one of the guesses foretells the last 20 of these places.
    fn is_foretold(places: &[u16]) -> bool {
        let ports: Vec<u16> = places.iter().map(|place| port(*place)).collect();
        let (own, others) = ports.split_at(ports.len() - 20);
        next(own, 20).iter().any(|foretold| foretold == others)
    }

    #[test]
    fn the_kernels_generator_is_foretold() {
        for drawn in 1..=DRAWN {
            let mut generator =
                Generator::new([0x1234_5678, 0x9abc_def0, 0x1357_9bdf, 0x2468_ace0]);
            let draw = |_| {
                let number = generator.draw();
                for _ in 1..drawn {
                    generator.draw();
                }
                ((u64::from(number) * PLACES) >> 32) as u16
            };
            let places: Vec<u16> = (0..60).map(draw).collect();
            assert!(is_foretold(&places), "{drawn}");
        }
    }

    #[test]
    fn sequences_and_congruences_are_foretold() {
        let sequence: Vec<u16> = (0..60).map(|n| 500 + 3 * n).collect();
        assert!(is_foretold(&sequence));
        let mut state = 7u16;
        let congruence = (0..60).map(|_| {
            state = state.wrapping_mul(25_173).wrapping_add(13_849) & 0x7fff;
            state
        });
        let congruence: Vec<u16> = congruence.collect();
        assert_eq!(
            by_congruence(&congruence[..40], 20).unwrap(),
            congruence[40..]
        );
    }

    #[test]
    fn an_unknown_linear_rule_is_foretold() {
        // A register of 32 bits with feedback.
        let mut register = 0xdead_beef_u32;
        let draw = |_| {
            let low = register & 1;
            register = register >> 1 ^ if low == 1 { 0xa300_0000 } else { 0 };
            (register & 0x7fff) as u16
        };
        let places: Vec<u16> = (0..220).map(draw).collect();
        assert_eq!(by_recurrence(&places[..200], 20).unwrap(), places[200..]);
    }

    #[test]
    fn random_ports_are_not_foretold() {
        let mut random = Random::new(5);
        let ports: Vec<u16> = (0..400)
            .map(|_| port(random.below(PLACES) as u16))
            .collect();
        assert!(next(&ports, 20).is_empty());
    }
}
