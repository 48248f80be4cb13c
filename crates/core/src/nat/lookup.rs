//! Look-ups that change nothing, for the packet inside an ICMP error (RFC 6146 sections 3.4 and
//! 3.6): errors neither make nor refresh state (RFC 7857 section 7.1).

use crate::host::Host;
use crate::table::{Memory, Position, Slot, hash};

use super::binding;
use super::config::{Filtering, NatConfig};
use super::endpoint::{Endpoint4, Inside, Protocol};
use super::port::{INDEX_TAG, index_position, index_word};
use super::session::{self, OUTSIDE, REMOTE};
use super::sweep::{Session, session_of};

/// The session that a packet from `remote` to `outside` belongs to, and its slot line. Three cache lines.
#[inline(always)]
pub(super) fn find_return<'m, M: Memory + ?Sized>(
    memory: &'m M,
    cfg: &NatConfig,
    outside: u64,
    remote: u64,
    protocol: Protocol,
) -> Option<(u32, Slot<'m>)> {
    let hash = hash(&cfg.seed, &session::return_key(outside, remote, protocol));
    let want = index_word(hash, Position(0));
    let word = cfg.layout.returns.get(memory, hash, INDEX_TAG, want)?;
    let line = cfg.layout.sessions.line_of(index_position(word));
    let slot = Slot::at(memory, line)?;
    belongs(&slot, outside, remote, protocol).then_some((line, slot))
}

/// The position of the same session, found beside the common path.
#[inline(always)]
pub(super) fn position_of_return<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    outside: u64,
    remote: u64,
    protocol: Protocol,
) -> Option<Position> {
    let hash = hash(&cfg.seed, &session::return_key(outside, remote, protocol));
    let want = index_word(hash, Position(0));
    let word = memory.search(cfg.layout.returns, hash, INDEX_TAG, want);
    let position = index_position(word);
    let slot = Slot::at(memory, cfg.layout.sessions.line_of(position))?;
    (word != 0 && belongs(&slot, outside, remote, protocol)).then_some(position)
}

/// Whether a session is that of these endpoints: its word in the index has a part of their hash alone.
#[inline(always)]
fn belongs(slot: &Slot<'_>, outside: u64, remote: u64, protocol: Protocol) -> bool {
    slot.word(OUTSIDE) == outside
        && slot.word(REMOTE) == remote
        && slot.word(2) as u8 == protocol as u8
}

/// Whether there is a session between a remote endpoint and an outside endpoint.
pub fn is_open<H: Host>(
    host: &H,
    cfg: &NatConfig,
    outside: Endpoint4,
    remote: Endpoint4,
    protocol: Protocol,
) -> bool {
    let remote = session::remote_word(remote, protocol);
    find_return(host.state(), cfg, outside.word(), remote, protocol).is_some()
}

/// The session between a remote endpoint and an outside endpoint.
pub fn session_between<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    outside: Endpoint4,
    remote: Endpoint4,
    protocol: Protocol,
) -> Option<Session> {
    let remote = session::remote_word(remote, protocol);
    let (line, slot) = find_return(memory, cfg, outside.word(), remote, protocol)?;
    let position = cfg.layout.sessions.position_of(line);
    let session = session_of(memory, cfg, &slot, position);
    slot.unchanged().then_some(session)
}

/// The outside endpoint that an inside endpoint has towards `remote`; `None` if it has none.
///
/// For an ICMP error that an inside host sends, `inside` is the destination and `remote` the
/// source of the packet that the error is about.
#[inline(always)]
pub fn peek_outbound<H: Host>(
    host: &H,
    cfg: &NatConfig,
    inside: &Inside,
    remote: Endpoint4,
    protocol: Protocol,
) -> Option<Endpoint4> {
    let memory = host.state();
    let key = session::key(inside, remote, protocol);
    let session = cfg
        .layout
        .sessions
        .find(memory, hash(&cfg.seed, &key), &key)
        .map(|(_, slot)| slot);
    let slot = match session {
        Some(slot) => slot,
        None if matches!(cfg.filtering, Filtering::EndpointIndependent) => {
            binding::find_inside(memory, cfg, &inside.words(protocol))?.1
        }
        None => return None,
    };
    let outside = slot.word(OUTSIDE);
    slot.unchanged().then(|| Endpoint4::from_word(outside))
}

/// The inside endpoint of the binding with an outside endpoint, whoever asks, and whether the binding is static. `None`
/// if there is none.
pub fn bound_to<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    outside: Endpoint4,
    protocol: Protocol,
) -> Option<(Inside, bool)> {
    let (_, slot) = binding::find_outside(memory, cfg, outside.word(), protocol)?;
    let found = (binding::inside_of(&slot), binding::is_static(&slot));
    slot.unchanged().then_some(found)
}

/// The inside endpoint behind `outside` for packets from `remote`; `None` if there is none.
///
/// For an ICMP error from outside, `outside` is the source and `remote` the destination of the
/// packet that the error is about.
#[inline(always)]
pub fn peek_inbound<H: Host>(
    host: &H,
    cfg: &NatConfig,
    outside: Endpoint4,
    remote: Endpoint4,
    protocol: Protocol,
) -> Option<Inside> {
    let memory = host.state();
    let remote = session::remote_word(remote, protocol);
    let slot = match find_return(memory, cfg, outside.word(), remote, protocol) {
        Some((_, slot)) => slot,
        None if matches!(cfg.filtering, Filtering::EndpointIndependent) => {
            binding::find_outside(memory, cfg, outside.word(), protocol)?.1
        }
        None => return None,
    };
    let inside = binding::inside_of(&slot);
    slot.unchanged().then_some(inside)
}

/// The inside endpoint that has an outside one. It tells of nobody who may send there.
#[inline(always)]
pub fn owner_of<H: Host>(
    host: &H,
    cfg: &NatConfig,
    outside: Endpoint4,
    protocol: Protocol,
) -> Option<Inside> {
    let (_, slot) = binding::find_outside(host.state(), cfg, outside.word(), protocol)?;
    let inside = binding::inside_of(&slot);
    slot.unchanged().then_some(inside)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::vec::Vec;

    use super::*;
    use crate::nat::config::{
        Blocks, Limits, NatConfig, Pooling, Subscriber, Timers, UnsolicitedSyn,
    };
    use crate::nat::{Capacity, Layout, Pool};
    use crate::table::Line;

    /// Tables of one bucket each, so that entries with the same tag have the same hash for all that they see.
    fn config() -> NatConfig {
        let capacity = Capacity {
            sessions: 6,
            bindings: 6,
            permissions: 0,
            subscribers: 0,
            fragments: 6,
            traffic: false,
        };
        NatConfig {
            layout: Layout::new(0, &capacity),
            seed: [3, 1, 4, 1, 5, 9],
            secret: [2, 6],
            filtering: Filtering::EndpointIndependent,
            unsolicited_syn: UnsolicitedSyn::Drop,
            pooling: Pooling::Strict,
            subscriber: Subscriber::v6_prefix(64),
            limits: Limits::default(),
            own_limits: 0,
            blocks: Blocks::None,
            timers: Timers::default(),
            pool: Pool::new(&[]).unwrap(),
        }
    }

    /// The hash of a session with this outside endpoint.
    fn outer(cfg: &NatConfig, outside: u64, remote: u64) -> u64 {
        hash(
            &cfg.seed,
            &session::return_key(outside, remote, Protocol::Udp),
        )
    }

    /// Two outside endpoints whose sessions cannot be told apart in the index. There are some among as many as the
    /// square root of the number of tags.
    fn twins(cfg: &NatConfig, remote: u64) -> [u64; 2] {
        let mut seen = HashMap::new();
        for number in 1.. {
            let outside = number << 16;
            let tag = index_word(outer(cfg, outside, remote), Position(0));
            if let Some(other) = seen.insert(tag, outside) {
                return [other, outside];
            }
        }
        unreachable!("there are fewer tags than numbers")
    }

    #[test]
    fn a_session_is_not_taken_for_one_that_looks_the_same_in_the_index() {
        let cfg = config();
        let memory: Vec<Line> = (0..cfg.layout.end()).map(|_| Line::default()).collect();
        let memory = &memory[..];
        let remote = 0xc000_0201_0035_0000;
        let [there, absent] = twins(&cfg, remote);
        let inside = [1, 2, Protocol::Udp as u64];
        let (sessions, outer) = (&cfg.layout.sessions, outer(&cfg, there, remote));
        let position = sessions.reserve(memory, 7).unwrap();
        let draft = sessions.draft(memory, position).unwrap();
        draft.write(0, &[inside[0], inside[1], inside[2], remote]);
        draft.write(OUTSIDE, &[there]);
        sessions.publish(memory, draft, position, 0);
        let word = index_word(outer, position);
        assert!(cfg.layout.returns.insert(memory, outer, word).get().is_ok());
        let found = |outside| find_return(memory, &cfg, outside, remote, Protocol::Udp).is_some();
        assert!(found(there));
        assert!(!found(absent));
    }
}
