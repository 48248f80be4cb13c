//! SHA-crypt with SHA-256: the `$5$` hashes of passwords that `openssl passwd -5`, `mkpasswd -m sha-256` and
//! `htpasswd -2` write, and crypt(5) describes.

use hmac_sha256::Hash;

/// Rounds without the word `rounds=`.
const ROUNDS: u32 = 5_000;
const MOST_ROUNDS: u32 = 1_000_000;
const LONGEST_SALT: usize = 16;
/// Octets of a password that may be right. More would only keep the processor busy.
pub(crate) const LONGEST_PASSWORD: usize = 128;
/// Characters of 32 octets.
const ENCODED: usize = 43;
const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The hash of a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hashed {
    rounds: u32,
    salt: Vec<u8>,
    encoded: [u8; ENCODED],
}

impl Hashed {
    /// Reads `$5$SALT$HASH` or `$5$rounds=N$SALT$HASH`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("$5$")?;
        let (rounds, rest) = match rest.strip_prefix("rounds=") {
            None => (ROUNDS, rest),
            Some(rest) => {
                let (rounds, rest) = rest.split_once('$')?;
                (rounds.parse().ok()?, rest)
            }
        };
        let (salt, encoded) = rest.split_once('$')?;
        let encoded: [u8; ENCODED] = encoded.as_bytes().try_into().ok()?;
        let is_encoded = encoded.iter().all(|octet| ALPHABET.contains(octet));
        let is_right = (1_000..=MOST_ROUNDS).contains(&rounds)
            && (1..=LONGEST_SALT).contains(&salt.len())
            && is_encoded;
        is_right.then(|| Self {
            rounds,
            salt: salt.as_bytes().to_vec(),
            encoded,
        })
    }

    /// A hash that is nobody's, and takes as long as another.
    pub(crate) fn of_nobody() -> Self {
        Self {
            rounds: ROUNDS,
            salt: b"nobody".to_vec(),
            encoded: [0; ENCODED],
        }
    }

    /// Whether this is the password. Takes the same time whatever differs.
    pub(crate) fn admits(&self, password: &[u8]) -> bool {
        if password.len() > LONGEST_PASSWORD {
            return false;
        }
        let found = encode(&digest(password, &self.salt, self.rounds));
        let pairs = found.iter().zip(&self.encoded);
        pairs.fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
    }
}

fn hash(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Hash::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize()
}

/// The first octets of endless repetitions.
fn repeated(block: &[u8; 32], length: usize) -> Vec<u8> {
    block.iter().copied().cycle().take(length).collect()
}

fn digest(password: &[u8], salt: &[u8], rounds: u32) -> [u8; 32] {
    let b = hash(&[password, salt, password]);
    let mut a = Hash::new();
    a.update(password);
    a.update(salt);
    a.update(repeated(&b, password.len()));
    let mut length = password.len();
    while length > 0 {
        a.update(if length & 1 == 1 { &b[..] } else { password });
        length >>= 1;
    }
    let mut digest = a.finalize();
    let p = hash(&vec![password; password.len()]);
    let p = repeated(&p, password.len());
    let s = hash(&vec![salt; 16 + usize::from(digest[0])]);
    let s = repeated(&s, salt.len());
    for round in 0..rounds {
        let is_odd = round & 1 == 1;
        let (first, last) = if is_odd {
            (&p[..], &digest[..])
        } else {
            (&digest[..], &p[..])
        };
        let of_salt = if round % 3 != 0 { &s[..] } else { &[] };
        let of_password = if round % 7 != 0 { &p[..] } else { &[] };
        digest = hash(&[first, of_salt, of_password, last]);
    }
    digest
}

/// The digest in the order and the alphabet of crypt(5).
fn encode(digest: &[u8; 32]) -> [u8; ENCODED] {
    let mut encoded = [0; ENCODED];
    let mut places = encoded.iter_mut();
    let mut put = |group: u32, characters: u32| {
        for at in 0..characters {
            if let Some(place) = places.next() {
                *place = ALPHABET[(group >> (6 * at) & 63) as usize];
            }
        }
    };
    let (mut i, mut j, mut k) = (0, 10, 20);
    for _ in 0..10 {
        let [a, b, c] = [i, j, k].map(|at: usize| u32::from(digest[at]));
        put(a << 16 | b << 8 | c, 4);
        (i, j, k) = (k + 1, i + 1, j + 1);
    }
    put(u32::from(digest[31]) << 8 | u32::from(digest[30]), 3);
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// As OpenSSL writes it.
    #[test]
    fn the_hash_of_others() {
        let hashed = "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5";
        assert!(Hashed::parse(hashed).unwrap().admits(b"Hello world!"));
        assert!(!Hashed::parse(hashed).unwrap().admits(b"Hello world?"));
    }

    /// Passwords of every length that the algorithm treats in its own way, by OpenSSL.
    #[test]
    fn openssl_hashes() {
        for length in [1, 2, 7, 15, 31, 32, 33, 63, 64, 65, 128] {
            let password = "pä$word".chars().cycle().take(length).collect::<String>();
            if password.len() > LONGEST_PASSWORD {
                continue;
            }
            let salt = if length % 2 == 0 {
                "rounds=1234$abc"
            } else {
                "abcdefghijklmnop"
            };
            let arguments = ["passwd", "-5", "-salt", salt, &password];
            let Ok(output) = Command::new("openssl").args(arguments).output() else {
                eprintln!("skipped: openssl is not installed");
                return;
            };
            let line = String::from_utf8(output.stdout).unwrap();
            let hashed = Hashed::parse(line.trim()).unwrap();
            assert!(hashed.admits(password.as_bytes()), "{length}");
            assert!(!hashed.admits(&password.as_bytes()[1..]), "{length}");
        }
    }

    #[test]
    fn what_is_no_hash() {
        let digest = "a".repeat(ENCODED);
        for text in [
            String::new(),
            "plain".to_owned(),
            format!("$6$salt${digest}"),
            format!("$5$${digest}"),
            format!("$5$seventeen-letters${digest}"),
            format!("$5$rounds=999$salt${digest}"),
            format!("$5$rounds=99999999$salt${digest}"),
            format!("$5$salt${digest}a"),
            format!("$5$salt${}", digest.replace('a', "*")),
        ] {
            assert_eq!(Hashed::parse(&text), None, "{text}");
        }
        assert!(!Hashed::of_nobody().admits(b""));
    }
}
