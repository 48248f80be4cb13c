//! When a session had its last packet, as far as its lifetime tells.

use crate::time::{Instant, Span};

use super::config::Timers;
use super::endpoint::Protocol;
use super::sweep::Session;
use super::tcp::TcpState;

impl Session {
    /// When the last packet came that made the session live longer: each does but a FIN, a RST after the first, and
    /// what does not fit the state of a connection. It is exact to a second, about which the packet path saves a write.
    /// `None` after a RST, and after an idle time, which look alike; and if a reload changed the timer meanwhile.
    #[must_use]
    pub fn last_packet(&self, timers: &Timers, now: Instant) -> Option<Instant> {
        let lifetime = self.lifetime(timers)?;
        let last = Instant(self.expires.0.checked_sub(lifetime.0)?);
        (self.binding.created <= last && last <= now).then_some(last)
    }

    fn lifetime(&self, timers: &Timers) -> Option<Span> {
        match (self.binding.protocol, self.state) {
            (Protocol::Udp, _) => Some(timers.udp),
            (Protocol::Icmp, _) => Some(timers.icmp),
            (Protocol::Tcp, TcpState::V4Init | TcpState::V6Init) => Some(timers.tcp_opening),
            (Protocol::Tcp, TcpState::Established | TcpState::V4FinRcv | TcpState::V6FinRcv) => {
                Some(timers.tcp_established)
            }
            (Protocol::Tcp, TcpState::BothFinRcv) => Some(timers.tcp_closing),
            (Protocol::Tcp, TcpState::Closed | TcpState::Trans) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::endpoint::{Endpoint4, Inside};
    use super::super::sweep::Binding;
    use super::*;
    use crate::address::V4;

    fn session(protocol: Protocol, state: TcpState, created: u64, expires: Instant) -> Session {
        let end = Endpoint4 {
            address: V4::from_number(0xc000_0201),
            port: 1024,
        };
        Session {
            binding: Binding {
                protocol,
                inside: Inside::default(),
                outside: end,
                created: Instant(created),
            },
            remote: end,
            state,
            expires,
            traffic: None,
        }
    }

    #[test]
    fn the_lifetime_tells_the_last_packet() {
        let timers = Timers::default();
        let now = Instant(10_000_000);
        let last = Instant(9_000_000);
        let of = |protocol, state, lifetime: Span| {
            session(protocol, state, 8_000_000, last + lifetime).last_packet(&timers, now)
        };
        assert_eq!(of(Protocol::Udp, TcpState::Closed, timers.udp), Some(last));
        assert_eq!(
            of(Protocol::Icmp, TcpState::Closed, timers.icmp),
            Some(last)
        );
        for (state, lifetime) in [
            (TcpState::V6Init, timers.tcp_opening),
            (TcpState::Established, timers.tcp_established),
            (TcpState::V4FinRcv, timers.tcp_established),
            (TcpState::BothFinRcv, timers.tcp_closing),
        ] {
            assert_eq!(of(Protocol::Tcp, state, lifetime), Some(last), "{state:?}");
        }
        assert_eq!(of(Protocol::Tcp, TcpState::Trans, timers.tcp_closing), None);
        // Another timer was in force.
        assert_eq!(
            of(Protocol::Udp, TcpState::Closed, Span(timers.udp.0 * 9)),
            None
        );
        let before = session(
            Protocol::Udp,
            TcpState::Closed,
            9_000_001,
            last + timers.udp,
        );
        assert_eq!(before.last_packet(&timers, now), None);
    }
}
