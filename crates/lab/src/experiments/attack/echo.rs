//! A service that answers each datagram with the same, and the address and port that it came from.

use std::{
    io,
    net::{Ipv4Addr, SocketAddrV4, SocketAddrV6},
};

use crate::{LabError, network::plan};

/// The port of the service (RFC 862).
pub(super) const PORT: u16 = 7;
/// The octets that an answer is longer than its question: an IPv4 address and a port.
const ENDPOINT: usize = 6;

/// The server's echo service, as IPv6 hosts see it.
pub(super) fn from_inside() -> SocketAddrV6 {
    SocketAddrV6::new(plan::embed(plan::HOST4), PORT, 0, 0)
}

/// Returns the answer to a question from this endpoint.
pub(super) fn answer(question: &[u8], from: SocketAddrV4) -> Option<Vec<u8>> {
    let mut answer = question.to_vec();
    answer.extend(from.ip().octets());
    answer.extend(from.port().to_be_bytes());
    Some(answer)
}

/// Returns the outside endpoint in the answer to a question, if it is its answer.
pub(super) fn endpoint(question: &[u8], answer: &[u8]) -> Option<SocketAddrV4> {
    let (again, &[a, b, c, d, high, low]) = answer.split_last_chunk::<ENDPOINT>()?;
    let port = u16::from_be_bytes([high, low]);
    (again == question).then(|| SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), port))
}

/// Returns an error about something that could not be started.
pub(super) fn problem(what: &str, source: io::Error) -> LabError {
    LabError::Start {
        command: what.into(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_the_endpoint_behind_its_question() {
        let outside = SocketAddrV4::new(Ipv4Addr::new(203, 0, 113, 1), 1025);
        let answer = answer(&[1, 2, 3], outside).unwrap();
        assert_eq!(answer, [1, 2, 3, 203, 0, 113, 1, 4, 1]);
        assert_eq!(endpoint(&[1, 2, 3], &answer), Some(outside));
        assert_eq!(endpoint(&[1, 2, 4], &answer), None);
        assert_eq!(endpoint(&[], &[1, 2]), None);
    }
}
