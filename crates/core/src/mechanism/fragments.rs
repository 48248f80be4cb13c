//! The ports of fragments, by the datagrams that a mechanism remembers.

use crate::datagrams::{self, BorderDatagrams, Datagrams, FragmentKey};
use crate::host::Host;
use crate::incoming::v6;
use crate::nat::NatConfig;
use crate::packet::Packet;
use crate::reason::Counter;
use crate::verdict::{Refusal, Slow};
use crate::wire::content::Content;
use crate::wire::transport::Transport;
use crate::wire::tuple::Ports;

/// The datagrams of which something is remembered, and by whom.
#[derive(Clone, Copy, Debug)]
pub enum Remembered<'a> {
    /// By a NAT.
    ByNat(&'a NatConfig),
    /// By a border without a NAT.
    ByBorder(&'a BorderDatagrams),
}

/// The ports of the datagram that a fragment belongs to (RFC 6146 section 3.4, RFC 7597 section 8.3.2): a first fragment is
/// remembered, the others are found by it.
///
/// # Errors
/// The first fragment has not come yet, or there is no room to remember it, or this engine leaves it to another.
#[inline(always)]
pub(crate) fn ports_of<P: Packet, H: Host>(
    host: &H,
    remembered: Option<Remembered<'_>>,
    key: impl FnOnce() -> FragmentKey,
    transport: &Transport,
) -> Result<Ports, Refusal> {
    let first = transport.content != Content::Continuation;
    if !P::ABILITIES.fragments {
        return Err(Refusal::Slow(if first {
            Slow::FirstFragment
        } else {
            Slow::HoldFragment
        }));
    }
    match remembered {
        Some(Remembered::ByNat(nat)) => ports_in::<P, _, _>(host, nat, &key(), transport),
        Some(Remembered::ByBorder(border)) => ports_in::<P, _, _>(host, border, &key(), transport),
        None => Err(Refusal::Slow(Slow::Reassemble)),
    }
}

/// [`ports_of`] by a table.
#[inline(always)]
fn ports_in<P: Packet, H: Host, D: Datagrams>(
    host: &H,
    datagrams: &D,
    key: &FragmentKey,
    transport: &Transport,
) -> Result<Ports, Refusal> {
    if transport.content != Content::Continuation {
        let ports = transport.ports();
        if P::ABILITIES.holds {
            datagrams::remember(host, datagrams, key, ports, true)
                .map_err(|_| Refusal::Drop(Counter::TableFull))?;
        }
        return Ok(ports);
    }
    let mut ports = datagrams::recall(host, datagrams, key);
    if P::ABILITIES.holds && P::ABILITIES.beside_others && ports.is_none() {
        ports = datagrams::wait_for_first(host, datagrams, key);
    }
    ports.ok_or(Refusal::Slow(Slow::HoldFragment))
}

/// The destination port of a datagram, if its first fragment is remembered.
#[inline(always)]
pub fn port_of<H: Host>(
    host: &H,
    remembered: Option<Remembered<'_>>,
    key: &FragmentKey,
) -> Option<u16> {
    let ports = match remembered? {
        Remembered::ByNat(nat) => datagrams::recall(host, nat, key),
        Remembered::ByBorder(border) => datagrams::recall(host, border, key),
    };
    Some(ports?.destination)
}

/// Remembers a first fragment for an engine that leaves that to a program of its own. `None` if it is not the first, if
/// others wait for it in user space, or if there is no room.
#[inline(always)]
pub(crate) fn remember<H: Host>(
    host: &H,
    remembered: Option<Remembered<'_>>,
    key: &FragmentKey,
    transport: &Transport,
) -> Option<()> {
    if transport.content == Content::Continuation {
        return None;
    }
    let ports = transport.ports();
    match remembered? {
        Remembered::ByNat(nat) => datagrams::remember(host, nat, key, ports, false),
        Remembered::ByBorder(border) => datagrams::remember(host, border, key, ports, false),
    }
    .ok()
}

/// The key of the datagram that an IPv6 fragment belongs to.
#[inline(always)]
pub(crate) fn key_v6(incoming: &v6::Incoming) -> FragmentKey {
    let fragment = incoming.fragment.get().unwrap_or_default();
    FragmentKey::v6(&incoming.header, fragment.identification)
}
