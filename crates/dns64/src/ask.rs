//! One question to an upstream resolver, and what counts as its reply (RFC 5452 section 4.2).

use hickory_proto::rr::Name;

use crate::cookie::{self, Cookie};
use crate::query::{Query, UDP_MAX};
use crate::wire::{self, Layout, flag, kind, rcode, u16_at, u32_at};

/// Whether a question carries an OPT record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// With OPT (RFC 6891) and a DNS cookie (RFC 7873).
    Cookie(Cookie),
    /// With OPT.
    Edns,
    /// Without, for resolvers that refuse it (RFC 6891 section 7).
    Plain,
}

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Name, type and class, as in a message. The name is in lower case until it is [`Ask::spelled`].
    question: Vec<u8>,
    dnssec_ok: bool,
    checking_disabled: bool,
}

/// A reply to an [`Ask`], with the ID and the question that it must have.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(crate) wire: Vec<u8>,
    /// All twelve bits of the response code.
    pub(crate) rcode: u16,
    pub(crate) truncated: bool,
    /// Whether the question is spelled as it was asked.
    pub(crate) spelling: Spelling,
    /// The data of the option for a DNS cookie.
    pub(crate) cookie: Option<Vec<u8>>,
}

/// How a reply spells the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// As it was asked, each letter in upper or lower case.
    Kept,
    /// With other cases.
    Changed,
}

/// Why bytes are not the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotOurs {
    /// Another ID or question, or not a response: perhaps a forgery. The true one may follow.
    Mismatch,
    /// An error without question: the other side did not read ours.
    Unread,
    /// It has our ID and question, and cannot be read.
    Malformed,
}

impl Ask {
    /// The client's own question.
    pub(crate) fn same(query: &Query) -> Self {
        Self {
            question: [query.name(), &query.question()[query.name().len()..]].concat(),
            dnssec_ok: query.dnssec_ok(),
            checking_disabled: query.checking_disabled(),
        }
    }

    /// Another name and type for the same client, in class IN.
    pub(crate) fn other(query: &Query, name: &Name, kind: u16) -> Self {
        let mut question = Vec::with_capacity(wire::NAME_MAX + 4);
        for label in name.iter() {
            question.push(label.len() as u8);
            question.extend(label.iter().map(u8::to_ascii_lowercase));
        }
        question.push(0);
        question.extend_from_slice(&kind.to_be_bytes());
        question.extend_from_slice(&kind::CLASS_IN.to_be_bytes());
        Self {
            question,
            dnssec_ok: query.dnssec_ok(),
            checking_disabled: query.checking_disabled(),
        }
    }

    /// A question of our own, in class IN: a name in lower case, as in a message, and a type.
    pub(crate) fn plain(name: &[u8], kind: u16) -> Self {
        let [kind, class] = [kind, kind::CLASS_IN].map(u16::to_be_bytes);
        Self {
            question: [name, &kind, &class].concat(),
            dnssec_ok: false,
            checking_disabled: false,
        }
    }

    /// The same question with a letter in upper case wherever `dice` has a bit: whoever forges a reply has to
    /// guess these as well (draft-vixie-dnsext-dns0x20, RFC 5452 section 9.3 asks for more entropy).
    #[must_use]
    pub(crate) fn spelled(&self, dice: &[u8; wire::NAME_MAX.div_ceil(8)]) -> Self {
        let mut spelled = self.clone();
        let name = spelled.question.len() - 4;
        for (at, letter) in spelled.question[..name].iter_mut().enumerate() {
            // A length is below the letters.
            if dice[at / 8] >> (at % 8) & 1 == 1 {
                letter.make_ascii_uppercase();
            }
        }
        spelled
    }

    /// The type asked for.
    #[must_use]
    pub fn kind(&self) -> u16 {
        u16_at(&self.question, self.question.len() - 4).unwrap_or_default()
    }

    /// The message that asks.
    #[must_use]
    pub fn encode(&self, id: u16, dialect: &Dialect) -> Vec<u8> {
        let mut flags = flag::RECURSION_DESIRED;
        if self.checking_disabled {
            flags |= flag::CHECKING_DISABLED;
        }
        let mut out = Vec::with_capacity(wire::HEADER + self.question.len() + 11);
        out.extend_from_slice(&id.to_be_bytes());
        out.extend_from_slice(&flags.to_be_bytes());
        out.extend_from_slice(&[0, 1, 0, 0, 0, 0, 0, u8::from(*dialect != Dialect::Plain)]);
        out.extend_from_slice(&self.question);
        let options = match dialect {
            Dialect::Plain => return out,
            Dialect::Edns => Vec::new(),
            Dialect::Cookie(cookie) => {
                let data = cookie.bytes();
                let [number, length] = [cookie::OPTION, data.len() as u16].map(u16::to_be_bytes);
                [&number[..], &length, &data].concat()
            }
        };
        let [high, low] = UDP_MAX.to_be_bytes();
        let dnssec_ok = u8::from(self.dnssec_ok) << 7;
        out.extend_from_slice(&[0, 0, kind::OPT as u8, high, low, 0, 0, dnssec_ok, 0]);
        out.extend_from_slice(&(options.len() as u16).to_be_bytes());
        out.extend_from_slice(&options);
        out
    }

    /// Takes bytes for the reply to the question with this ID.
    ///
    /// # Errors
    /// See [`NotOurs`].
    pub fn accept(&self, id: u16, bytes: &[u8]) -> Result<Reply, NotOurs> {
        let (Some(their_id), Some(flags), Some(questions)) =
            (u16_at(bytes, 0), u16_at(bytes, 2), u16_at(bytes, 4))
        else {
            return Err(NotOurs::Mismatch);
        };
        if their_id != id || flags & (flag::RESPONSE | flag::OPCODE) != flag::RESPONSE {
            return Err(NotOurs::Mismatch);
        }
        let low = flags & flag::RCODE;
        if questions == 0 && low != rcode::NOERROR && bytes.len() == wire::HEADER {
            return Err(NotOurs::Unread);
        }
        let end = wire::QUESTION + self.question.len();
        let asked = bytes.get(wire::QUESTION..end).ok_or(NotOurs::Mismatch)?;
        // Length bytes are below the letters, so a name may be compared as a whole.
        let split = self.question.len() - 4;
        if questions != 1
            || !asked[..split].eq_ignore_ascii_case(&self.question[..split])
            || asked[split..] != self.question[split..]
        {
            return Err(NotOurs::Mismatch);
        }
        let spelling = match *asked == self.question[..] {
            true => Spelling::Kept,
            false => Spelling::Changed,
        };
        let truncated = flags & flag::TRUNCATED != 0;
        let layout = match Layout::of(bytes) {
            Some(layout) => layout,
            // A resolver may cut in the middle of a record when it says so.
            None if truncated => {
                return Ok(Reply {
                    wire: Vec::new(),
                    rcode: low,
                    truncated,
                    spelling,
                    cookie: None,
                });
            }
            None => return Err(NotOurs::Malformed),
        };
        let high = layout
            .opt()
            .and_then(|opt| u32_at(bytes, opt.ttl_at))
            .unwrap_or_default()
            >> 24;
        let cookie = layout
            .opt()
            .and_then(|opt| wire::edns_option(bytes.get(opt.rdata.clone())?, cookie::OPTION))
            .map(<[u8]>::to_vec);
        let mut wire = bytes[..layout.end].to_vec();
        // Names that point to the question have no part in the game.
        wire[wire::QUESTION..end - 4].make_ascii_lowercase();
        Ok(Reply {
            wire,
            rcode: (high as u16) << 4 | low,
            truncated,
            spelling,
            cookie,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask() -> Ask {
        let query = b"\x12\x34\x01\x10\0\x01\0\0\0\0\0\0\x03wWw\x07Example\0\0\x1c\0\x01";
        Ask::same(&Query::parse(query).ok().unwrap())
    }

    fn reply(change: impl FnOnce(&mut Vec<u8>)) -> Result<u16, NotOurs> {
        let mut bytes = ask().encode(7, &Dialect::Plain);
        bytes[2] |= 0x80;
        change(&mut bytes);
        ask().accept(7, &bytes).map(|reply| reply.rcode)
    }

    #[test]
    fn a_question_is_encoded() {
        assert_eq!(
            ask().encode(0x0102, &Dialect::Edns),
            b"\x01\x02\x01\x10\0\x01\0\0\0\0\0\x01\x03www\x07example\0\0\x1c\0\x01\0\0\x29\x04\xd0\0\0\0\0\0\0"
        );
    }

    /// RFC 7873 section 4: number 10, the length, the client's part.
    #[test]
    fn rfc7873_4_a_question_with_a_cookie() {
        let jar = cookie::Jar::default();
        let cookie = jar.cookie(std::net::Ipv4Addr::LOCALHOST.into()).unwrap();
        let bytes = cookie.bytes();
        let asked = ask().encode(7, &Dialect::Cookie(cookie));
        let plain = ask().encode(7, &Dialect::Edns);
        assert_eq!(asked[..plain.len() - 2], plain[..plain.len() - 2]);
        assert_eq!(asked[plain.len() - 2..][..6], [0, 12, 0, 10, 0, 8]);
        assert_eq!(asked[plain.len() + 4..], bytes);

        let mut reply = asked;
        reply[2] |= 0x80;
        assert_eq!(ask().accept(7, &reply).unwrap().cookie, Some(bytes));
    }

    #[test]
    fn a_spelled_question_is_the_same_question() {
        let mut dice = [0; 32];
        dice[0] = 0b1010;
        let spelled = ask().spelled(&dice);
        let mut reply = spelled.encode(7, &Dialect::Plain);
        assert_eq!(reply[12..25], *b"\x03WwW\x07example\0");
        reply[2] |= 0x80;
        let heard = spelled.accept(7, &reply).unwrap();
        assert_eq!(heard.spelling, Spelling::Kept);
        assert_eq!(heard.wire[12..25], *b"\x03www\x07example\0");
        reply[13] ^= 0x20;
        assert_eq!(
            spelled.accept(7, &reply).unwrap().spelling,
            Spelling::Changed
        );
    }

    #[test]
    fn rfc5452_4_2_only_the_reply_to_our_question_counts() {
        assert_eq!(reply(|_| ()), Ok(0));
        assert_eq!(reply(|b| b[13] = b'W'), Ok(0), "case does not matter");
        assert_eq!(reply(|b| b[1] = 8), Err(NotOurs::Mismatch), "another ID");
        assert_eq!(reply(|b| b[2] &= 0x7f), Err(NotOurs::Mismatch), "a query");
        assert_eq!(
            reply(|b| b[13] = b'v'),
            Err(NotOurs::Mismatch),
            "another name"
        );
        assert_eq!(reply(|b| b[26] = 1), Err(NotOurs::Mismatch), "another type");
        assert_eq!(
            reply(|b| b[28] = 3),
            Err(NotOurs::Mismatch),
            "another class"
        );
        assert_eq!(reply(|b| b[5] = 0), Err(NotOurs::Mismatch), "no question");
        assert_eq!(reply(|b| b.truncate(20)), Err(NotOurs::Mismatch), "cut off");
        assert_eq!(
            reply(|b| b[7] = 1),
            Err(NotOurs::Malformed),
            "a record is missing"
        );
    }

    #[test]
    fn rfc6891_7_an_error_without_question() {
        let formerr = |b: &mut Vec<u8>| {
            b.truncate(12);
            b[5] = 0;
            b[3] |= 1;
        };
        assert_eq!(reply(formerr), Err(NotOurs::Unread));
    }

    #[test]
    fn rfc6891_6_1_3_extended_response_codes() {
        let badvers = |b: &mut Vec<u8>| {
            b.extend_from_slice(b"\0\0\x29\x04\xd0\x01\0\0\0\0\0");
            b[11] = 1;
        };
        assert_eq!(reply(badvers), Ok(16));
    }
}
