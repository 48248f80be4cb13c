//! The server's name in the first message of TLS (RFC 8446 section 4.1.2, RFC 6066 section 3).

use crate::target::Host;

/// Octets of the records that a ClientHello may lie in. Those of today take less than an eighth.
pub const LONGEST: usize = 16 * 1024;

const RECORD_HEADER: usize = 5;
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;

/// What the first octets of a client say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hello {
    /// They end before the ClientHello does.
    Unfinished,
    /// They are for this server.
    Name(String),
    /// They name no server.
    Nameless,
    /// They are no ClientHello, or a broken one.
    Broken,
}

/// Reads the first octets of a connection.
#[must_use]
pub fn read(octets: &[u8]) -> Hello {
    let (handshake, is_all) = match records(octets) {
        Some(found) => found,
        None => return Hello::Broken,
    };
    let unfinished = || match is_all {
        true => Hello::Broken,
        false => Hello::Unfinished,
    };
    let Some((header, rest)) = handshake.split_first_chunk::<4>() else {
        return match handshake.first() {
            Some(kind) if *kind != CLIENT_HELLO => Hello::Broken,
            _ => unfinished(),
        };
    };
    let [kind, length @ ..] = header;
    let length = length
        .iter()
        .fold(0, |sum, octet| sum << 8 | usize::from(*octet));
    if *kind != CLIENT_HELLO || length > LONGEST {
        return Hello::Broken;
    }
    match rest.get(..length) {
        Some(body) => named(body).unwrap_or(Hello::Broken),
        None => unfinished(),
    }
}

/// The content of the handshake's records, and whether no more may follow; `None` for what is no such record.
fn records(mut octets: &[u8]) -> Option<(Vec<u8>, bool)> {
    let mut is_all = octets.len() >= LONGEST;
    let mut content = Vec::new();
    loop {
        match octets {
            [] => break,
            [HANDSHAKE] | [HANDSHAKE, 3] | [HANDSHAKE, 3, _] | [HANDSHAKE, 3, _, _] => break,
            [HANDSHAKE, 3, _, high, low, rest @ ..] => {
                let length = usize::from(u16::from_be_bytes([*high, *low]));
                // RFC 8446 section 5.1: never empty, and at most 2^14 octets.
                if length == 0 || length > 1 << 14 {
                    return None;
                }
                content.extend_from_slice(&rest[..length.min(rest.len())]);
                octets = octets.get(RECORD_HEADER + length..).unwrap_or_default();
            }
            _ if content.is_empty() => return None,
            // Whatever it is, it follows the message.
            _ => {
                is_all = true;
                break;
            }
        }
    }
    Some((content, is_all))
}

/// Reads the body of a ClientHello.
fn named(body: &[u8]) -> Option<Hello> {
    // Version and random.
    let rest = body.get(2 + 32..)?;
    let (_session, rest) = vector8(rest)?;
    let (_ciphers, rest) = vector16(rest)?;
    let (_compression, rest) = vector8(rest)?;
    if rest.is_empty() {
        return Some(Hello::Nameless);
    }
    let (mut extensions, after) = vector16(rest)?;
    if !after.is_empty() {
        return None;
    }
    let mut found = None;
    while !extensions.is_empty() {
        let (kind, rest) = extensions.split_first_chunk::<2>()?;
        let (data, rest) = vector16(rest)?;
        extensions = rest;
        if u16::from_be_bytes(*kind) == SERVER_NAME {
            // RFC 8446 section 4.2: an extension is there once.
            if found.is_some() {
                return None;
            }
            found = Some(host_name(data)?);
        }
    }
    Some(found.map_or(Hello::Nameless, Hello::Name))
}

/// The name in the extension; RFC 6066 section 3 wants one, and no address.
fn host_name(data: &[u8]) -> Option<String> {
    let (list, after) = vector16(data)?;
    let (kind, rest) = list.split_first()?;
    let (name, more) = vector16(rest)?;
    if *kind != HOST_NAME || !more.is_empty() || !after.is_empty() {
        return None;
    }
    match Host::parse(std::str::from_utf8(name).ok()?) {
        Ok(Host::Name(name)) => Some(name),
        _ => None,
    }
}

/// A vector with a length of one octet, and what follows it.
fn vector8(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = octets.split_first()?;
    rest.split_at_checked(usize::from(*length))
}

/// The same with a length of two octets.
fn vector16(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = octets.split_first_chunk::<2>()?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(octets: &[u8]) -> Vec<u8> {
        [&(octets.len() as u16).to_be_bytes(), octets].concat()
    }

    fn name_extension(name: &[u8]) -> Vec<u8> {
        let entry = [&[HOST_NAME][..], &vector(name)].concat();
        [&[0, 0][..], &vector(&vector(&entry))].concat()
    }

    /// A ClientHello with these extensions, by the structures of RFC 8446 section 4.1.2.
    fn hello(extensions: &[u8]) -> Vec<u8> {
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([2, 1, 2]);
        body.extend([0, 2, 0x13, 0x01]);
        body.extend([1, 0]);
        body.extend(vector(extensions));
        let length = (body.len() as u32).to_be_bytes();
        [&[CLIENT_HELLO][..], &length[1..], &body].concat()
    }

    fn record(content: &[u8]) -> Vec<u8> {
        [&[HANDSHAKE, 3, 1][..], &vector(content)].concat()
    }

    fn other(kind: u8) -> Vec<u8> {
        [&[0, kind][..], &vector(&[1, 2, 3])].concat()
    }

    #[test]
    fn rfc6066_3_the_name_wherever_it_stands() {
        let all = [other(10), name_extension(b"WWW.example.org"), other(43)].concat();
        let octets = record(&hello(&all));
        let name = Hello::Name("www.example.org".to_owned());
        assert_eq!(read(&octets), name);
        // What follows belongs to the tunnel.
        assert_eq!(read(&[&octets[..], b"\x14\x03"].concat()), name);
        for end in 0..octets.len() {
            assert_eq!(read(&octets[..end]), Hello::Unfinished, "{end}");
        }
    }

    #[test]
    fn rfc8446_5_1_a_message_may_lie_in_many_records() {
        let message = hello(&name_extension(b"a.example"));
        let octets: Vec<u8> = message.chunks(3).flat_map(record).collect();
        assert_eq!(read(&octets), Hello::Name("a.example".to_owned()));
        assert_eq!(read(&octets[..octets.len() - 1]), Hello::Unfinished);
    }

    #[test]
    fn without_a_name() {
        assert_eq!(read(&record(&hello(&other(10)))), Hello::Nameless);
        assert_eq!(read(&record(&hello(&[]))), Hello::Nameless);
    }

    #[test]
    fn what_is_broken() {
        let two = [name_extension(b"a.example"), name_extension(b"b.example")].concat();
        let mut of_server = hello(&[]);
        of_server[0] = 2;
        for octets in [
            b"GET / HTTP/1.1\r\n".to_vec(),
            record(&[]),
            record(&hello(&two)),
            record(&of_server),
            record(&hello(&name_extension(b""))),
            record(&hello(&name_extension(b"192.0.2.1"))),
            record(&hello(&name_extension(b"2001:db8::1"))),
            record(&hello(&name_extension(b"a\0.example"))),
            record(&hello(&[0, 0, 0, 9, 0])),
            record(&[1, 0xff, 0xff, 0xff, 0]),
            [22, 3, 1, 0xff, 0xff].to_vec(),
            [21, 3, 1, 0, 2].to_vec(),
        ] {
            assert_eq!(read(&octets), Hello::Broken, "{octets:?}");
        }
    }

    #[test]
    fn one_that_never_ends_is_broken() {
        let mut octets: Vec<u8> = record(&[1, 0, 0x3f, 0xff]);
        while octets.len() < LONGEST {
            octets.extend(record(&[0]));
        }
        assert_eq!(read(&octets), Hello::Broken);
    }
}
