//! DNS cookies towards a resolver (RFC 7873): a reply without ours is not from it.

use std::io;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of the option (RFC 7873 section 4).
pub(crate) const OPTION: u16 = 10;
/// Bytes of the client's part (RFC 7873 section 4).
const CLIENT: usize = 8;
/// The most and the fewest bytes of the server's part (RFC 7873 section 4).
const SERVER: std::ops::RangeInclusive<usize> = 8..=32;

/// The cookie of one question: ours, and the server's if it gave one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cookie {
    client: [u8; CLIENT],
    server: Vec<u8>,
}

impl Cookie {
    /// Its bytes in the option.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        [&self.client[..], &self.server].concat()
    }
}

/// The judgement of a reply by its cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is the reply of the server, as far as can be known.
    Credible,
    /// The server has cookies, and this has none: it may be forged.
    Missing,
    /// It is not ours, or against the format: the reply counts as not received (RFC 7873 section 5.3).
    Foreign,
}

/// The cookies of one server.
#[derive(Debug, Default)]
pub(crate) struct Jar(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// The address that it was made for.
    local: Option<IpAddr>,
    client: [u8; CLIENT],
    /// Empty: the server has never shown one.
    server: Vec<u8>,
}

impl Jar {
    /// The cookie for a question that leaves from `local`. A new address gets a new one, so that nobody
    /// knows us by it (RFC 9018 section 3).
    pub(crate) fn cookie(&self, local: IpAddr) -> io::Result<Cookie> {
        let mut kept = self.kept();
        if kept.local != Some(local) {
            getrandom::fill(&mut kept.client).map_err(io::Error::other)?;
            kept.server.clear();
            kept.local = Some(local);
        }
        Ok(Cookie {
            client: kept.client,
            server: kept.server.clone(),
        })
    }

    /// Whether the server has shown that it has cookies.
    pub(crate) fn is_known(&self) -> bool {
        !self.kept().server.is_empty()
    }

    /// Judges the option of a reply to a question with the cookie `sent`, and keeps the server's part.
    pub(crate) fn judge(&self, sent: &Cookie, option: Option<&[u8]>) -> Verdict {
        let Some(option) = option else {
            return match sent.server.is_empty() {
                true => Verdict::Credible,
                false => Verdict::Missing,
            };
        };
        let Some((client, server)) = option.split_at_checked(CLIENT) else {
            return Verdict::Foreign;
        };
        if client != sent.client || !(server.is_empty() || SERVER.contains(&server.len())) {
            return Verdict::Foreign;
        }
        if server.is_empty() {
            return Verdict::Credible;
        }
        let mut kept = self.kept();
        if kept.client == sent.client {
            kept.server = server.to_vec();
        }
        Verdict::Credible
    }

    /// Forgets the server's part: it said over TCP that it has none any more.
    pub(crate) fn forget(&self) {
        self.kept().server.clear();
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[test]
    fn rfc7873_5_3_what_a_client_believes() {
        let jar = Jar::default();
        let sent = jar.cookie(HERE).unwrap();
        assert_eq!(sent.bytes().len(), 8);
        assert_eq!(
            jar.judge(&sent, None),
            Verdict::Credible,
            "it may have none"
        );
        let reply = |server: &[u8]| [&sent.client, server].concat();
        assert_eq!(jar.judge(&sent, Some(&reply(&[1; 7]))), Verdict::Foreign);
        assert_eq!(jar.judge(&sent, Some(&reply(&[1; 33]))), Verdict::Foreign);
        assert_eq!(jar.judge(&sent, Some(&sent.client[..7])), Verdict::Foreign);
        assert_eq!(
            jar.judge(&sent, Some(&[!sent.client[0]; 16])),
            Verdict::Foreign
        );
        assert!(!jar.is_known());
        assert_eq!(jar.judge(&sent, Some(&reply(&[1; 16]))), Verdict::Credible);

        let sent = jar.cookie(HERE).unwrap();
        assert_eq!(sent.bytes(), reply(&[1; 16]));
        assert_eq!(jar.judge(&sent, None), Verdict::Missing);
        jar.forget();
        assert_eq!(jar.cookie(HERE).unwrap().bytes().len(), 8);
    }

    proptest! {
        /// Nothing but our eight bytes and the server's 8 to 32 behind them is believed or kept.
        #[test]
        fn arbitrary_options_are_judged(option in proptest::collection::vec(any::<u8>(), 0..64), ours: bool) {
            let jar = Jar::default();
            let sent = jar.cookie(HERE).unwrap();
            let mut option = option;
            if ours {
                option.splice(..option.len().min(CLIENT), sent.client);
            }
            let verdict = jar.judge(&sent, Some(&option));
            let kept = jar.cookie(HERE).unwrap().server;
            let right = option.starts_with(&sent.client)
                && (option.len() == CLIENT || SERVER.contains(&(option.len() - CLIENT)));
            prop_assert_eq!(verdict == Verdict::Credible, right);
            prop_assert_eq!(&kept[..], if right { &option[CLIENT..] } else { &[][..] });
        }
    }

    #[test]
    fn rfc9018_3_another_address_has_another_cookie() {
        let jar = Jar::default();
        let sent = jar.cookie(HERE).unwrap();
        jar.judge(&sent, Some(&[&sent.client[..], &[1; 8]].concat()));
        let other = jar.cookie("192.0.2.1".parse().unwrap()).unwrap();
        assert_ne!(other.client, sent.client);
        assert!(other.server.is_empty());
    }
}
