//! TCP session tracking (RFC 6146 section 3.5.2.2, adopted for NAT44 by RFC 7857 section 2, whose
//! client and server are V6 and V4 here).

use super::endpoint::TcpFlags;

/// The state of a TCP session (RFC 6146 section 3.5.2.1). *V6* is the inside, *V4* the outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TcpState {
    /// No state for this connection.
    Closed = 0,
    /// The outside sent a SYN, which the inside answered. RFC 6146 has this state before the answer; a SYN
    /// from outside alone leaves nothing here.
    V4Init = 1,
    /// The inside sent a SYN.
    V6Init = 2,
    /// Data flows in both directions.
    Established = 3,
    /// The outside sent a FIN.
    V4FinRcv = 4,
    /// The inside sent a FIN.
    V6FinRcv = 5,
    /// Both sent a FIN.
    BothFinRcv = 6,
    /// There was a RST, or nothing for a long time.
    Trans = 7,
}

impl TcpState {
    /// The state with this number, of which the low three bits count.
    #[inline(always)]
    pub(super) const fn from_bits(bits: u64) -> Self {
        match bits & 7 {
            1 => Self::V4Init,
            2 => Self::V6Init,
            3 => Self::Established,
            4 => Self::V4FinRcv,
            5 => Self::V6FinRcv,
            6 => Self::BothFinRcv,
            7 => Self::Trans,
            _ => Self::Closed,
        }
    }
}

/// Where a packet comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The inside.
    Inside,
    /// The outside.
    Outside,
}

/// The change of the lifetime of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lifetime {
    /// It stays.
    Keep,
    /// At least TCP_TRANS from now, for a session that is being opened.
    Opening,
    /// The maximum session lifetime from now.
    Established,
    /// TCP_TRANS from now.
    Closing,
}

/// The state and the lifetime after a segment. The same segment once more changes nothing: a packet that one engine
/// hands to another has been here twice, like one that the network has doubled. RFC 6146 forgets a FIN that comes in V4
/// INIT or in TRANS until it comes again; here it counts at once.
#[inline(always)]
pub(super) const fn next(state: TcpState, side: Side, flags: TcpFlags) -> (TcpState, Lifetime) {
    let syn = flags.has(TcpFlags::SYN);
    let fin = flags.has(TcpFlags::FIN);
    let rst = flags.has(TcpFlags::RST);
    let opens = syn && !fin && !rst;
    match (state, side) {
        // RFC 9293 section 3.6.1: a connection may be opened again in TIME-WAIT. RFC 6146 would let the old
        // session expire under the new connection.
        (TcpState::Closed | TcpState::BothFinRcv, Side::Inside) if opens => {
            if flags.has(TcpFlags::ACK) {
                (TcpState::V4Init, Lifetime::Opening)
            } else {
                (TcpState::V6Init, Lifetime::Opening)
            }
        }
        (TcpState::V4Init, Side::Inside) if syn => (TcpState::V4Init, Lifetime::Opening),
        (TcpState::V4Init, Side::Outside) if !syn && !rst => open(side, fin),
        (TcpState::V6Init, Side::Outside) if syn && !rst => open(side, fin),
        (TcpState::V6Init, Side::Inside) if syn => (TcpState::V6Init, Lifetime::Opening),
        (TcpState::Closed | TcpState::V4Init | TcpState::V6Init | TcpState::BothFinRcv, _) => {
            (state, Lifetime::Keep)
        }
        (TcpState::Established, _) if rst => (TcpState::Trans, Lifetime::Closing),
        (TcpState::V4FinRcv, Side::Inside) | (TcpState::V6FinRcv, Side::Outside) if fin => {
            (TcpState::BothFinRcv, Lifetime::Closing)
        }
        (TcpState::V4FinRcv | TcpState::V6FinRcv, _) => (state, Lifetime::Established),
        (TcpState::Trans, _) if rst => (state, Lifetime::Keep),
        (TcpState::Established | TcpState::Trans, _) => open(side, fin),
    }
}

/// An open connection, after a segment that may be the last one of its side.
#[inline(always)]
const fn open(side: Side, fin: bool) -> (TcpState, Lifetime) {
    let state = match side {
        _ if !fin => TcpState::Established,
        Side::Inside => TcpState::V6FinRcv,
        Side::Outside => TcpState::V4FinRcv,
    };
    (state, Lifetime::Established)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_that_comes_twice_counts_once() {
        for state in (0..8).map(TcpState::from_bits) {
            for side in [Side::Inside, Side::Outside] {
                for flags in (0..=u8::MAX).map(TcpFlags) {
                    let (then, lifetime) = next(state, side, flags);
                    let (again, more) = next(then, side, flags);
                    assert_eq!(again, then, "{state:?} {side:?} {flags:?}");
                    assert!(
                        more == Lifetime::Keep || more == lifetime,
                        "{state:?} {side:?} {flags:?}: {lifetime:?}, {more:?}"
                    );
                }
            }
        }
    }
}
