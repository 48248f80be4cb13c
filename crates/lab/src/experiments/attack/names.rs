//! Questions to the DNS64 service, and the answers of the server that it asks: to all names but some.

use std::net::SocketAddrV4;

use crate::{
    network::plan,
    traffic::tools::{A, has_answer, query},
};

/// The port of the protocol.
pub(super) const PORT: u16 = 53;
/// The first letter of names that are answered, and of names that never are.
pub(super) const ANSWERED: u8 = b'a';
pub(super) const UNANSWERED: u8 = b'u';
/// Octets of a header.
const HEADER: usize = 12;
/// Flags of an answer: it is one, recursion was desired and is available.
const FLAGS: [u8; 2] = [0x81, 0x80];

/// Returns a question for the A record of a name of its own.
pub(super) fn question(number: u32, first: u8) -> Vec<u8> {
    let name = format!("{}{number:08x}.lab.test", char::from(first));
    query(number as u16, &name, A)
}

/// Returns whether a message is an answer to a question, with a record.
pub(super) fn is_answer(question: &[u8], message: &[u8]) -> bool {
    question.get(..2) == message.get(..2) && has_answer(message)
}

/// Returns the answer of the server that the service asks; none to a name that is never answered.
pub(super) fn answer(question: &[u8], _: SocketAddrV4) -> Option<Vec<u8>> {
    let first = question.get(HEADER + 1)?.to_ascii_lowercase();
    if first == UNANSWERED {
        return None;
    }
    let name = question[HEADER..].iter().position(|octet| *octet == 0)?;
    let end = HEADER + name + 5;
    let kind = question.get(end - 4..end - 2)?;
    let is_a = kind == [0, 1];
    let mut octets = question[..2].to_vec();
    octets.extend(FLAGS);
    octets.extend([0, 1, 0, u8::from(is_a), 0, 0, 0, 0]);
    octets.extend(question.get(HEADER..end)?);
    if is_a {
        // A pointer to the name, type A, class IN, a minute, four octets.
        octets.extend([0xc0, HEADER as u8, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
        octets.extend(plan::HOST4.octets());
    }
    Some(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_answered_or_never() {
        let asked = question(5, ANSWERED);
        let from = SocketAddrV4::new(plan::GATEWAY4, 53);
        let answered = answer(&asked, from).unwrap();
        assert!(is_answer(&asked, &answered));
        assert!(answered.ends_with(&plan::HOST4.octets()));
        assert!(!is_answer(&question(6, ANSWERED), &answered));
        assert!(!is_answer(&asked, &asked));
        assert_eq!(answer(&question(5, UNANSWERED), from), None);
        assert_eq!(answer(&question(5, b'U'), from), None);
        assert_eq!(answer(&[], from), None);
    }
}
