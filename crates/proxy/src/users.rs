//! Users with passwords, from a file with a line for each: `name:$5$salt$hash`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hmac_sha256::HMAC;
use tokio::sync::Semaphore;

use crate::crypt::Hashed;

/// Hashes that are computed at the same time: each takes a processor for milliseconds.
const AT_ONCE: usize = 1;
/// Who is wrong waits.
const PENANCE: Duration = Duration::from_secs(1);

/// The mistake in a line of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UserError {
    /// It is not a name and a hash.
    #[error("expected `name:hash`")]
    Line,
    /// The hash is of another kind.
    #[error(
        "the hash of \"{0}\" is not one of SHA-crypt, `$5$salt$hash`, as `openssl passwd -5` writes it"
    )]
    Hash(String),
}

/// A user, and the hash of the password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: String,
    hashed: Hashed,
}

impl User {
    /// Reads `name:$5$salt$hash`.
    ///
    /// # Errors
    /// The mistake.
    pub fn parse(line: &str) -> Result<Self, UserError> {
        let parts = line.split_once(':').filter(|(name, _)| !name.is_empty());
        let (name, hash) = parts.ok_or(UserError::Line)?;
        let name = name.to_owned();
        match Hashed::parse(hash) {
            Some(hashed) => Ok(Self { name, hashed }),
            None => Err(UserError::Hash(name)),
        }
    }
}

/// Users and the hashes of their passwords.
pub struct Users {
    hashed: HashMap<String, Hashed>,
    /// Keyed hashes of names with passwords that were right, so that they are not computed for each request.
    known: Mutex<HashMap<String, [u8; 32]>>,
    key: [u8; 32],
    at_once: Arc<Semaphore>,
}

impl PartialEq for Users {
    fn eq(&self, other: &Self) -> bool {
        self.hashed == other.hashed
    }
}

impl std::fmt::Debug for Users {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} users", self.hashed.len())
    }
}

impl Users {
    /// All of them; their names differ.
    #[must_use]
    pub fn new(users: impl IntoIterator<Item = User>) -> Self {
        let mut key = [0; 32];
        // Without chance the key is known, which helps nobody who cannot read our memory.
        let _ = getrandom::fill(&mut key);
        let hashed = users.into_iter().map(|user| (user.name, user.hashed));
        Self {
            hashed: hashed.collect(),
            known: Mutex::default(),
            key,
            at_once: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// Whether this is the user's password. Who is wrong waits for the answer.
    pub(crate) async fn admits(&self, name: &str, password: &[u8]) -> bool {
        let seal = HMAC::mac(password, self.key);
        if self.known().get(name) == Some(&seal) {
            return true;
        }
        // Names that are not there take as long as others.
        let (hashed, is_there) = match self.hashed.get(name) {
            Some(hashed) => (hashed.clone(), true),
            None => (Hashed::of_nobody(), false),
        };
        let Ok(permit) = self.at_once.clone().acquire_owned().await else {
            return false;
        };
        let password = password.to_vec();
        let admitted = tokio::task::spawn_blocking(move || hashed.admits(&password));
        let admitted = admitted.await.unwrap_or(false) && is_there;
        drop(permit);
        match admitted {
            true => drop(self.known().insert(name.to_owned(), seal)),
            false => tokio::time::sleep(PENANCE).await,
        }
        admitted
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<String, [u8; 32]>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Name and password of the Basic scheme (RFC 7617 section 2).
pub(crate) fn basic(value: &[u8]) -> Option<(String, Vec<u8>)> {
    let value = std::str::from_utf8(value).ok()?;
    let (scheme, credentials) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = base64(credentials.trim())?;
    let colon = decoded.iter().position(|octet| *octet == b':')?;
    let name = String::from_utf8(decoded[..colon].to_vec()).ok()?;
    Some((name, decoded[colon + 1..].to_vec()))
}

/// RFC 4648 section 4.
fn base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    let mut octets = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut count) = (0_u32, 0);
    for character in text.bytes() {
        let value = match character {
            b'A'..=b'Z' => character - b'A',
            b'a'..=b'z' => character - b'a' + 26,
            b'0'..=b'9' => character - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            octets.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALICE: &str = "alice:$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5";

    #[tokio::test]
    async fn right_and_wrong_passwords() {
        let users = Users::new([User::parse(ALICE).unwrap()]);
        for _ in 0..2 {
            assert!(users.admits("alice", b"Hello world!").await);
        }
        assert!(!users.admits("alice", b"hello world!").await);
        assert!(!users.admits("bob", b"Hello world!").await);
        assert_eq!(users.known().len(), 1);
    }

    #[test]
    fn what_is_no_user() {
        for (text, error) in [
            ("alice", UserError::Line),
            (":x", UserError::Line),
            ("alice:x", UserError::Hash("alice".to_owned())),
        ] {
            assert_eq!(User::parse(text).err(), Some(error));
        }
    }

    /// RFC 7617 section 2 and 2.1.
    #[test]
    fn rfc7617_2_examples() {
        let read = |value: &str| basic(value.as_bytes());
        let aladdin = ("Aladdin".to_owned(), b"open sesame".to_vec());
        assert_eq!(read("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), Some(aladdin));
        let test = ("test".to_owned(), "123£".as_bytes().to_vec());
        assert_eq!(read("basic dGVzdDoxMjPCow=="), Some(test));
        for wrong in ["Bearer QQ==", "Basic", "Basic ***", "Basic QQ=="] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
