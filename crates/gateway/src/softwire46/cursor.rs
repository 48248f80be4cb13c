//! Reading options byte by byte, without losing sight of where they are.

use std::net::Ipv6Addr;

use ipnet::Ipv6Net;

use super::error::{Error, Problem};
use super::option::Code;

/// The rest of a message or an option.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    /// Where they begin in the whole.
    offset: usize,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    /// The next bytes, which are a field of this name.
    pub(super) fn take(&mut self, count: usize, field: &'static str) -> Result<&'a [u8], Error> {
        let Some((taken, rest)) = self.bytes.split_at_checked(count) else {
            return Err(self.error(Problem::Short {
                field,
                needs: count,
                left: self.bytes.len(),
            }));
        };
        self.bytes = rest;
        self.offset += count;
        Ok(taken)
    }

    /// The next bytes as an array.
    pub(super) fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], Error> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, field)?);
        Ok(array)
    }

    /// The next byte, a number up to `most`.
    pub(super) fn number(&mut self, field: &'static str, most: u8) -> Result<u8, Error> {
        let error_at = self.clone();
        let [value] = self.array(field)?;
        if value > most {
            return Err(error_at.error(Problem::Range { field, value, most }));
        }
        Ok(value)
    }

    /// A length in bits and as many bytes of an IPv6 prefix as it needs (RFC 7598 section 4).
    pub(super) fn prefix(&mut self, field: &'static str) -> Result<Ipv6Net, Error> {
        let length = self.number(field, 128)?;
        let error_at = self.clone();
        let taken = self.take(usize::from(length).div_ceil(8), field)?;
        let mut octets = [0; 16];
        octets[..taken.len()].copy_from_slice(taken);
        let net = Ipv6Net::new_assert(Ipv6Addr::from(octets), length);
        if net.trunc() != net {
            let right = net.trunc();
            return Err(error_at.error(Problem::HostBits { field, right }));
        }
        Ok(net)
    }

    /// The next option: where it begins, its code, and its content.
    pub(super) fn option(&mut self) -> Result<Option<(usize, Code, Self)>, Error> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let error_at = self.clone();
        let code = Code(u16::from_be_bytes(self.array("the code of an option")?));
        let length = u16::from_be_bytes(self.array("the length of an option")?);
        let (offset, left) = (self.offset, self.bytes.len());
        let Some((content, rest)) = self.bytes.split_at_checked(length.into()) else {
            return Err(error_at.error(Problem::Length { code, length, left }));
        };
        self.bytes = rest;
        self.offset += content.len();
        let content = Self {
            bytes: content,
            offset,
        };
        Ok(Some((error_at.offset, code, content)))
    }

    /// That nothing is left.
    pub(super) fn end(&self, code: Code) -> Result<(), Error> {
        match self.bytes.len() {
            0 => Ok(()),
            extra => Err(self.error(Problem::Extra { code, extra })),
        }
    }

    /// An error about what comes next.
    pub(super) const fn error(&self, problem: Problem) -> Error {
        Error {
            offset: self.offset,
            problem,
        }
    }
}
