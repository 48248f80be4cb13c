//! Fragmented datagrams: the ports of the first fragment, for those that follow it (RFC 6146
//! section 3.4). Fragments that come before the first are held elsewhere.

use crate::address::V6;
use crate::host::Host;
use crate::table::{Refused, Slot, hash};
use crate::time::Instant;
use crate::wire::tuple::Ports;
use crate::wire::{ipv4, ipv6};

use super::config::NatConfig;
use super::endpoint::address_words;
use super::outcome::{Cause, Outcome};

/// Words of a key.
const KEY: usize = 5;
/// Word of a slot that holds the ports.
const PORTS: usize = 5;
const EXPIRY: u64 = (1 << 40) - 1;

/// The key that the fragments of one datagram have in common (RFC 791, RFC 8200 section 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentKey([u64; KEY]);

impl FragmentKey {
    /// The key of an IPv4 datagram.
    #[inline(always)]
    #[must_use]
    pub const fn v4(header: &ipv4::Header) -> Self {
        let (source, destination) = (header.source(), header.destination());
        let addresses = (source.0.0 as u64) << 32 | destination.0.0 as u64;
        let protocol = (header.protocol() as u64) << 8 | 4;
        let datagram = (header.identification() as u64) << 32 | protocol;
        Self([addresses, 0, 0, 0, datagram])
    }

    /// The key of an IPv4 datagram in a softwire, whose addresses are valid there only: its IPv6 source is
    /// part of the key.
    #[inline(always)]
    #[must_use]
    pub const fn within(self, softwire: V6) -> Self {
        let [high, low] = address_words(softwire);
        let Self([addresses, .., datagram]) = self;
        Self([high, low, addresses, 0, datagram])
    }

    /// The key of an IPv6 datagram with this header; identification and protocol are those of its fragment
    /// header.
    #[inline(always)]
    #[must_use]
    pub const fn v6(header: &ipv6::Header, identification: u32, protocol: u8) -> Self {
        let [a, b] = address_words(header.source());
        let [c, d] = address_words(header.destination());
        let datagram = (identification as u64) << 32 | (protocol as u64) << 8 | 6;
        Self([a, b, c, d, datagram])
    }
}

/// Remembers the ports of a first fragment for the lifetime of fragments.
///
/// # Errors
/// [`Refused`]: the fragments that follow will not find it.
#[inline(always)]
pub fn remember<H: Host>(
    host: &H,
    cfg: &NatConfig,
    key: &FragmentKey,
    ports: Ports,
) -> Result<(), Refused> {
    match store(host, cfg, key, ports.word()).get() {
        Ok(_) => Ok(()),
        Err(Cause::Full) => Err(Refused::Full),
        Err(_) => Err(Refused::Contention),
    }
}

/// The ports of the datagram that a fragment other than the first belongs to; `None` if the first
/// did not come yet, or too long ago.
#[inline(always)]
pub fn recall<H: Host>(host: &H, cfg: &NatConfig, key: &FragmentKey) -> Option<Ports> {
    let hash = hash(&cfg.seed, &key.0);
    let (_, slot) = cfg.layout.fragments.find(host.state(), hash, &key.0)?;
    let word = slot.word(PORTS);
    (slot.unchanged() && !expired(&slot, host.now())).then_some(Ports {
        source: (word >> 16) as u16,
        destination: word as u16,
    })
}

#[inline(always)]
pub(super) fn expired(slot: &Slot<'_>, now: Instant) -> bool {
    slot.life.payload() & EXPIRY <= now.0
}

#[inline(never)]
fn store<H: Host>(host: &H, cfg: &NatConfig, key: &FragmentKey, ports: u64) -> Outcome {
    let fragments = &cfg.layout.fragments;
    let hash = hash(&cfg.seed, &key.0);
    let memory = host.state();
    let expiry = (host.now() + cfg.timers.fragment).0 & EXPIRY;
    if let Some((_, slot)) = fragments.find(memory, hash, &key.0) {
        // The same identification again: a repeated first fragment, or a later datagram.
        return if slot.replace(PORTS, slot.word(PORTS), ports) && slot.update(expiry) {
            Outcome::word(0)
        } else {
            Outcome::no(Cause::Contention)
        };
    }
    let position = match fragments.reserve(memory, hash) {
        Ok(position) => position,
        Err(refused) => return Outcome::no(refused.into()),
    };
    let Some(draft) = fragments.draft(memory, position) else {
        return Outcome::no(Cause::Full);
    };
    draft.write(0, &key.0);
    draft.write(PORTS, &[ports]);
    fragments.publish(memory, draft, position, hash, expiry);
    Outcome::word(0)
}
