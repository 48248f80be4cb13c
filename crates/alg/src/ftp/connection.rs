//! A control connection: what its commands and replies become.

use std::net::{SocketAddr, SocketAddrV6};

use super::line::{self, Command};
use super::stream::{Stream, is_after};
use crate::Translator;

/// A control connection.
#[derive(Debug, Default)]
pub(super) struct Connection {
    pub(super) commands: Stream,
    pub(super) replies: Stream,
    /// Where a command has begun whose end has not come.
    unfinished: Option<Unfinished>,
    /// What the next reply is about.
    awaiting: Option<Awaiting>,
    /// Nothing is translated any more: the client began to encrypt (RFC 6384 section 5), or asked for that (section 11).
    transparent: bool,
    disabled: bool,
}

/// A command of which the end is missing.
#[derive(Clone, Copy, Debug)]
struct Unfinished {
    /// Its sequence number.
    at: u32,
    /// How often it was kept back.
    times: u8,
}

/// How often an unfinished command is kept back. Senders put what is missing together when they send it again.
const PATIENCE: u8 = 4;

/// A reply that is to be changed, or that changes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaiting {
    /// 227, where the client asked `EPSV`.
    Passive,
    /// 229, where an IPv4 client asked `PASV`.
    ExtendedPassive,
    /// The reply to `NOOP`, in whose place this stands (RFC 6384 section 12).
    Instead(&'static str),
    /// The reply to `AUTH`.
    Auth,
}

/// A command in place of one that the server is not to see.
const NOTHING: &str = "NOOP\r\n";

impl Connection {
    /// Whether nothing has to be remembered.
    pub(super) const fn is_plain(&self) -> bool {
        self.commands.is_untouched()
            && self.replies.is_untouched()
            && self.awaiting.is_none()
            && self.unfinished.is_none()
            && !self.transparent
            && !self.disabled
    }

    /// How much of what the client sends may pass (RFC 6384 section 5): not the beginning of a command that is to be
    /// translated, and nothing behind it, until the command comes whole. Its receiver has nothing to acknowledge, so that
    /// the client sends it again, with what follows. One that never comes whole passes as it is.
    pub(super) fn ready(&mut self, sequence: u32, payload: &[u8]) -> usize {
        let begun = payload.iter().rposition(|byte| *byte == b'\n');
        let (lines, part) = payload.split_at(begun.map_or(0, |end| end + 1));
        let before = self.unfinished.take();
        if self.transparent || payload.is_empty() {
            self.unfinished = before.filter(|_| !self.transparent);
            return payload.len();
        }
        let (ready, at) = match before {
            Some(before) if is_after(sequence, before.at) => (0, before.at),
            _ if !part.is_empty() && line::may_begin(part) => {
                (lines.len(), sequence.wrapping_add(lines.len() as u32))
            }
            _ => return payload.len(),
        };
        let times = before
            .filter(|before| before.at == at)
            .map_or(0, |before| before.times);
        if times >= PATIENCE {
            return payload.len();
        }
        self.unfinished = Some(Unfinished {
            at,
            times: times + 1,
        });
        ready
    }

    /// What becomes of the whole lines of a payload; the rest stays as it is.
    pub(super) fn rewrite(
        &mut self,
        payload: &[u8],
        mut change: impl FnMut(&mut Self, &str) -> Option<String>,
    ) -> Option<Vec<u8>> {
        let mut changed = false;
        let mut out = Vec::with_capacity(payload.len() + 32);
        for line in payload.split_inclusive(|byte| *byte == b'\n') {
            let text = std::str::from_utf8(line)
                .ok()
                .filter(|line| line.ends_with('\n'));
            let other = text
                .filter(|_| !self.transparent)
                .and_then(|line| change(self, line));
            changed |= other.is_some();
            match other {
                Some(other) => out.extend(other.into_bytes()),
                None => out.extend(line),
            }
        }
        changed.then_some(out)
    }

    /// The command of an IPv6 client, as the IPv4 server is to read it (RFC 6384 sections 6, 7 and 11).
    pub(super) fn command_of_v6(
        &mut self,
        text: &str,
        [client, server]: [SocketAddrV6; 2],
        translator: &mut dyn Translator,
    ) -> Option<String> {
        let command = Command::read(text)?;
        self.awaiting = None;
        match command {
            Command::Algs(argument) => {
                let status = self.algs(argument);
                self.instead(status)
            }
            Command::Auth => {
                self.awaiting = Some(Awaiting::Auth);
                None
            }
            _ if self.disabled => None,
            Command::ExtendedPassive(None | Some("2")) => {
                self.awaiting = Some(Awaiting::Passive);
                Some("PASV\r\n".to_owned())
            }
            Command::ExtendedPassive(Some(argument)) if argument.parse::<u32>().is_ok() => {
                self.instead("522 Network protocol not supported\r\n")
            }
            Command::ExtendedPassive(Some(_)) => {
                self.instead("504 Command not implemented for that parameter\r\n")
            }
            Command::ExtendedPort(SocketAddr::V6(socket)) if socket.ip() == client.ip() => {
                let outside = translator.bind(socket, server)?;
                Some(format!("PORT {}\r\n", line::in_six(outside)))
            }
            Command::ExtendedPort(_) | Command::Passive | Command::Port(_) => None,
        }
    }

    /// The reply to an IPv6 client.
    pub(super) fn reply_to_v6(&mut self, text: &str) -> Option<String> {
        let awaiting = self.awaiting_reply(text)?;
        match awaiting {
            Awaiting::Passive => line::passive_port(text)
                .map(|port| format!("229 Entering Extended Passive Mode (|||{port}|)\r\n")),
            Awaiting::Instead(reply) => Some(reply.to_owned()),
            Awaiting::ExtendedPassive | Awaiting::Auth => None,
        }
    }

    /// The command of an IPv4 client, as the IPv6 server is to read it (RFC 2766 section 6.1).
    pub(super) fn command_of_v4(
        &mut self,
        text: &str,
        translator: &mut dyn Translator,
    ) -> Option<String> {
        let command = Command::read(text)?;
        self.awaiting = None;
        match command {
            Command::Passive => {
                self.awaiting = Some(Awaiting::ExtendedPassive);
                Some("EPSV 2\r\n".to_owned())
            }
            Command::Port(socket) | Command::ExtendedPort(SocketAddr::V4(socket)) => {
                let address = translator.prefix().embed((*socket.ip()).into());
                let socket = SocketAddrV6::new(address.into(), socket.port(), 0, 0);
                Some(format!("EPRT {}\r\n", line::in_extended(socket)))
            }
            Command::Auth => {
                self.awaiting = Some(Awaiting::Auth);
                None
            }
            _ => None,
        }
    }

    /// The reply to an IPv4 client.
    pub(super) fn reply_to_v4(
        &mut self,
        text: &str,
        [client, server]: [SocketAddrV6; 2],
        translator: &mut dyn Translator,
    ) -> Option<String> {
        if self.awaiting_reply(text)? != Awaiting::ExtendedPassive {
            return None;
        }
        let port = line::extended_passive_port(text)?;
        let socket = SocketAddrV6::new(*server.ip(), port, 0, 0);
        let outside = translator.bind(socket, client)?;
        Some(format!(
            "227 Entering Passive Mode ({})\r\n",
            line::in_six(outside)
        ))
    }

    /// What a reply is about, if it is the last line of one.
    fn awaiting_reply(&mut self, text: &str) -> Option<Awaiting> {
        let (code, rest) = text.split_at_checked(3)?;
        // RFC 959 section 4.2: 1xx is followed by another reply, and a hyphen by more lines.
        if !rest.starts_with([' ', '\r']) || code.starts_with('1') {
            return None;
        }
        let awaiting = self.awaiting.take();
        if awaiting == Some(Awaiting::Auth) {
            self.transparent = code.starts_with(['2', '3']);
        }
        awaiting
    }

    /// Sends `NOOP`, and this for its reply.
    fn instead(&mut self, reply: &'static str) -> Option<String> {
        self.awaiting = Some(Awaiting::Instead(reply));
        Some(NOTHING.to_owned())
    }

    /// The reply to `ALGS` (RFC 6384 section 11).
    fn algs(&mut self, argument: Option<&str>) -> &'static str {
        match argument.map(str::to_ascii_uppercase).as_deref() {
            Some("STATUS64") => {}
            Some("ENABLE64") => self.disabled = false,
            Some("DISABLE64") => self.disabled = true,
            _ => return "504 Command not implemented for that parameter\r\n",
        }
        if self.disabled {
            "216 NONE\r\n"
        } else {
            "216 EPSVEPRT\r\n"
        }
    }
}
