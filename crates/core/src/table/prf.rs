//! A pseudorandom function with a key: SipHash-1-3 (Aumasson and Bernstein, 2012), for
//! choices that nobody who sees some of them may predict.
//!
//! The hash of the [tables](super::hash()) is none: whoever sees enough of its values can solve it. The
//! kernel's `bpf_get_prandom_u32` is none either: it is linear.

/// The key: random words that nobody but the gateway knows.
pub type Secret = [u64; 2];

/// "somepseudorandomlygeneratedbytes", the initial state.
const INITIAL: [u64; 4] = [
    0x736f_6d65_7073_6575,
    0x646f_7261_6e64_6f6d,
    0x6c79_6765_6e65_7261,
    0x7465_6462_7974_6573,
];

/// SipHash-1-3 of the words, each of which is eight bytes of the message, the least significant first.
#[inline(always)]
#[must_use]
pub fn prf<const N: usize>(secret: &Secret, words: &[u64; N]) -> u64 {
    of_message(secret, words, (N as u64 * 8) << 56)
}

/// [`prf`] of a message that has the lower seven bytes of `rest` behind the words. They cost nothing: there is room for them
/// beside the length.
#[inline(always)]
#[must_use]
pub fn prf_with_rest<const N: usize>(secret: &Secret, words: &[u64; N], rest: u64) -> u64 {
    of_message(secret, words, (N as u64 * 8 + 7) << 56 | rest << 8 >> 8)
}

/// The function of a message, whose last word has in its top byte how many bytes there are, modulo 256, and below it those
/// that are no whole word.
#[inline(always)]
fn of_message<const N: usize>(secret: &Secret, words: &[u64; N], last: u64) -> u64 {
    let mut state = State([
        secret[0] ^ INITIAL[0],
        secret[1] ^ INITIAL[1],
        secret[0] ^ INITIAL[2],
        secret[1] ^ INITIAL[3],
    ]);
    for word in words {
        state.absorb(*word);
    }
    state.absorb(last);
    state.finish()
}

struct State([u64; 4]);

impl State {
    #[inline(always)]
    fn absorb(&mut self, word: u64) {
        self.0[3] ^= word;
        self.round();
        self.0[0] ^= word;
    }

    #[inline(always)]
    fn finish(mut self) -> u64 {
        self.0[2] ^= 0xff;
        self.round();
        self.round();
        self.round();
        let [a, b, c, d] = self.0;
        a ^ b ^ c ^ d
    }

    #[inline(always)]
    fn round(&mut self) {
        let [mut a, mut b, mut c, mut d] = self.0;
        a = a.wrapping_add(b);
        c = c.wrapping_add(d);
        b = b.rotate_left(13) ^ a;
        d = d.rotate_left(16) ^ c;
        a = a.rotate_left(32);
        c = c.wrapping_add(b);
        a = a.wrapping_add(d);
        b = b.rotate_left(17) ^ c;
        d = d.rotate_left(21) ^ a;
        c = c.rotate_left(32);
        self.0 = [a, b, c, d];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::hash::Hasher as _;
    use std::hash::DefaultHasher;

    /// The standard library's hasher is SipHash-1-3 with a key of zeros.
    #[test]
    fn it_is_what_the_standard_library_has() {
        for words in [
            [0; 4],
            [u64::MAX; 4],
            [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908, 3, 1 << 63],
        ] {
            let mut referee = DefaultHasher::new();
            for word in words {
                referee.write(&word.to_le_bytes());
            }
            assert_eq!(prf(&[0, 0], &words), referee.finish(), "{words:x?}");
            let rest = words[0].rotate_left(8);
            referee.write(&rest.to_le_bytes()[..7]);
            assert_eq!(prf_with_rest(&[0, 0], &words, rest), referee.finish());
        }
    }

    #[test]
    fn both_words_of_the_key_matter() {
        let one = prf(&[1, 2], &[7; 4]);
        assert_ne!(one, prf(&[3, 2], &[7; 4]));
        assert_ne!(one, prf(&[1, 3], &[7; 4]));
    }
}
