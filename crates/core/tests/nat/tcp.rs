//! TCP sessions: the state machine of RFC 6146 section 3.5.2.2, transition by transition, seen
//! through the packets that pass and the time that sessions last.

use crate::support::*;
use isthmus_core::nat::*;
use isthmus_core::reason::Counter;
use isthmus_core::verdict::Refusal;

const SYN: TcpFlags = TcpFlags::SYN;
const SYN_ACK: TcpFlags = TcpFlags(0x12);
const ACK: TcpFlags = TcpFlags::ACK;
const FIN: TcpFlags = TcpFlags(0x11);
const RST: TcpFlags = TcpFlags::RST;

/// RFC 6146 section 4: TCP_TRANS.
const TRANS: u64 = 240;
/// The default of the maximum session lifetime: 2 hours and 4 minutes (RFC 5382).
const EST: u64 = 7440;

/// One TCP connection through a NAT.
struct Connection {
    nat: Nat,
    outside: Endpoint4,
}

impl Connection {
    fn new() -> Self {
        Self {
            nat: Setup::default().nat(),
            outside: Endpoint4::default(),
        }
    }

    fn client() -> Inside {
        inside("2001:db8:1::1", 40_000)
    }

    fn server() -> Endpoint4 {
        v4("192.0.2.1", 443)
    }

    /// A segment from the inside.
    fn v6(&mut self, flags: TcpFlags) -> Result<(), Refusal> {
        let outside = self
            .nat
            .out(Self::client(), Self::server(), Transport::Tcp(flags))?;
        self.outside = outside;
        Ok(())
    }

    /// A segment from the outside.
    fn v4(&mut self, flags: TcpFlags) -> Result<(), Refusal> {
        let client = self
            .nat
            .back(self.outside, Self::server(), Transport::Tcp(flags))?;
        assert_eq!(client, Self::client());
        Ok(())
    }

    fn state(&self) -> TcpState {
        let mut state = TcpState::Closed;
        let _ = sessions(
            &self.nat.host.memory[..],
            &self.nat.cfg,
            0..self.nat.cfg.layout.buckets(),
            |session| {
                state = session.state;
                core::ops::ControlFlow::Continue(())
            },
        );
        state
    }

    /// Asserts that the session ends after this time without packets, and not before.
    fn lasts(&mut self, seconds: u64) {
        self.nat.pass(seconds - 2);
        self.nat.sweep();
        assert_ne!(self.state(), TcpState::Closed, "ended too early");
        self.nat.pass(3);
        self.nat.sweep();
        assert_eq!(self.state(), TcpState::Closed, "lasts too long");
    }

    fn established() -> Self {
        let mut tcp = Self::new();
        tcp.v6(SYN).unwrap();
        tcp.v4(SYN_ACK).unwrap();
        assert_eq!(tcp.state(), TcpState::Established);
        tcp
    }
}

#[test]
fn rfc6146_3_5_2_2_closed_v6_syn_opens() {
    let mut tcp = Connection::new();
    tcp.v6(SYN).unwrap();
    assert_eq!(tcp.state(), TcpState::V6Init);
    tcp.lasts(TRANS);
}

#[test]
fn rfc6146_3_5_2_2_closed_other_segments_do_not_open() {
    for flags in [ACK, FIN, RST, TcpFlags::default()] {
        let mut tcp = Connection::new();
        assert_eq!(tcp.v6(flags), Err(Refusal::Drop(Counter::TcpNotSyn)));
        assert_eq!(tcp.state(), TcpState::Closed);
    }
}

#[test]
fn rfc6146_3_5_2_2_closed_other_segments_pass_with_a_binding() {
    let mut tcp = Connection::established();
    let other = v4("198.51.100.1", 80);
    let before = tcp.nat.host.counted(Counter::SessionCreated);
    let outside = tcp
        .nat
        .out(Connection::client(), other, Transport::Tcp(ACK));
    assert_eq!(outside, Ok(tcp.outside));
    let client = tcp.nat.back(tcp.outside, other, Transport::Tcp(ACK));
    assert_eq!(client, Ok(Connection::client()));
    assert_eq!(tcp.nat.host.counted(Counter::SessionCreated), before);
}

#[test]
fn rfc6146_3_5_2_2_closed_v4_syn_without_binding_is_dropped() {
    let mut nat = Setup::default().nat();
    assert_eq!(
        nat.back(
            v4("203.0.113.1", 5000),
            v4("192.0.2.1", 1),
            Transport::Tcp(SYN)
        ),
        Err(Refusal::Drop(Counter::NoBinding))
    );
}

#[test]
fn rfc6146_3_5_2_2_closed_v4_syn_with_binding_opens() {
    let mut tcp = Connection::established();
    let peer = v4("198.51.100.1", 2000);
    let binding = tcp.outside;
    // The connection that made the binding ends, another keeps it.
    assert!(tcp.nat.back(binding, peer, Transport::Tcp(SYN)).is_ok());
    let mut states = Vec::new();
    let _ = sessions(
        &tcp.nat.host.memory[..],
        &tcp.nat.cfg,
        0..tcp.nat.cfg.layout.buckets(),
        |session| {
            states.push((session.remote, session.state));
            core::ops::ControlFlow::Continue(())
        },
    );
    // Half of a connection leaves nothing here until the inside has answered.
    assert!(
        states.iter().all(|(remote, _)| *remote != peer),
        "{states:?}"
    );
}

#[test]
fn rfc6146_3_5_2_2_v4_init_v6_syn_establishes() {
    let mut tcp = Connection::established();
    let peer = v4("198.51.100.1", 2000);
    tcp.nat
        .back(tcp.outside, peer, Transport::Tcp(SYN))
        .unwrap();
    tcp.nat
        .out(Connection::client(), peer, Transport::Tcp(SYN_ACK))
        .unwrap();
    tcp.nat
        .back(tcp.outside, peer, Transport::Tcp(ACK))
        .unwrap();
    // Both sessions are established now.
    tcp.nat.pass(TRANS + 10);
    let ended = tcp.nat.sweep();
    assert!(
        !ended
            .iter()
            .any(|event| matches!(event, Event::SessionRemoved(_)))
    );
}

#[test]
fn rfc6146_3_5_2_2_v4_init_expires_after_transitory_time() {
    let mut tcp = Connection::established();
    let peer = v4("198.51.100.1", 2000);
    tcp.nat
        .back(tcp.outside, peer, Transport::Tcp(SYN))
        .unwrap();
    tcp.nat
        .out(Connection::client(), peer, Transport::Tcp(SYN_ACK))
        .unwrap();
    // The peer never confirms, but for what opens or resets no connection.
    for flags in [SYN, RST] {
        tcp.nat
            .back(tcp.outside, peer, Transport::Tcp(flags))
            .unwrap();
    }
    tcp.nat.pass(TRANS + 1);
    let ended = tcp.nat.sweep();
    assert!(ended.iter().any(|event| matches!(
        event,
        Event::SessionRemoved(session)
            if session.remote == peer && session.state == TcpState::V4Init
    )));
}

#[test]
fn rfc6146_3_5_2_2_v6_init_v4_syn_establishes_with_or_without_ack() {
    for flags in [SYN, SYN_ACK] {
        let mut tcp = Connection::new();
        tcp.v6(SYN).unwrap();
        tcp.v4(flags).unwrap();
        assert_eq!(tcp.state(), TcpState::Established);
    }
}

#[test]
fn rfc6146_3_5_2_2_v6_init_v6_syn_refreshes() {
    let mut tcp = Connection::new();
    tcp.v6(SYN).unwrap();
    tcp.nat.pass(100);
    tcp.v6(SYN).unwrap();
    assert_eq!(tcp.state(), TcpState::V6Init);
    tcp.lasts(TRANS);
}

#[test]
fn rfc6146_3_5_2_2_v6_init_others_pass_and_change_nothing() {
    let mut tcp = Connection::new();
    tcp.v6(SYN).unwrap();
    tcp.nat.pass(100);
    for flags in [ACK, FIN, RST] {
        tcp.v6(flags).unwrap();
    }
    for flags in [ACK, FIN, RST] {
        tcp.v4(flags).unwrap();
    }
    assert_eq!(tcp.state(), TcpState::V6Init);
    tcp.lasts(TRANS - 100);
}

#[test]
fn rfc6146_3_5_2_2_established_data_refreshes() {
    let mut tcp = Connection::established();
    tcp.nat.pass(5000);
    tcp.v4(ACK).unwrap();
    tcp.nat.pass(5000);
    tcp.v6(ACK).unwrap();
    assert_eq!(tcp.state(), TcpState::Established);
    // TCP_EST and then TRANS.
    tcp.lasts(EST + TRANS);
}

#[test]
fn rfc6146_3_5_2_2_established_idle_moves_to_trans_and_asks_for_a_probe() {
    let mut tcp = Connection::established();
    tcp.nat.sweep();
    tcp.nat.pass(EST + 1);
    let events = tcp.nat.sweep();
    assert!(matches!(events[..], [Event::SessionIdle(_)]), "{events:?}");
    assert_eq!(tcp.state(), TcpState::Trans);
    // The answer to the probe.
    tcp.v6(ACK).unwrap();
    assert_eq!(tcp.state(), TcpState::Established);
}

#[test]
fn rfc6146_3_5_2_2_established_idle_is_trans_before_the_sweeper_comes() {
    let mut tcp = Connection::established();
    tcp.nat.pass(EST + 10);
    tcp.v4(RST).unwrap();
    assert_eq!(tcp.state(), TcpState::Trans);
    tcp.lasts(TRANS - 10);
}

#[test]
fn rfc6146_3_5_2_2_fin_from_each_side() {
    let mut tcp = Connection::established();
    tcp.v4(FIN).unwrap();
    assert_eq!(tcp.state(), TcpState::V4FinRcv);
    tcp.v6(ACK).unwrap();
    tcp.v4(FIN).unwrap();
    assert_eq!(tcp.state(), TcpState::V4FinRcv);
    tcp.v6(FIN).unwrap();
    assert_eq!(tcp.state(), TcpState::BothFinRcv);
    tcp.lasts(TRANS);

    let mut tcp = Connection::established();
    tcp.v6(FIN).unwrap();
    assert_eq!(tcp.state(), TcpState::V6FinRcv);
    tcp.v6(FIN).unwrap();
    assert_eq!(tcp.state(), TcpState::V6FinRcv);
    tcp.v4(FIN).unwrap();
    assert_eq!(tcp.state(), TcpState::BothFinRcv);
    tcp.lasts(TRANS);
}

#[test]
fn rfc6146_3_5_2_2_fin_rcv_others_refresh_and_expiry_closes() {
    for v4_first in [true, false] {
        let mut tcp = Connection::established();
        if v4_first { tcp.v4(FIN) } else { tcp.v6(FIN) }.unwrap();
        let state = tcp.state();
        tcp.nat.pass(3000);
        tcp.v4(ACK).unwrap();
        tcp.v6(RST).unwrap();
        assert_eq!(tcp.state(), state);
        // No TRANS after this state.
        tcp.lasts(EST);
    }
}

#[test]
fn rfc6146_3_5_2_2_both_fin_rcv_keeps_state_and_lifetime() {
    let mut tcp = Connection::established();
    tcp.v4(FIN).unwrap();
    tcp.v6(FIN).unwrap();
    tcp.nat.pass(100);
    for flags in [ACK, FIN, RST] {
        tcp.v4(flags).unwrap();
        tcp.v6(flags).unwrap();
    }
    assert_eq!(tcp.state(), TcpState::BothFinRcv);
    tcp.lasts(TRANS - 100);
}

/// RFC 9293 section 3.6.1: a SYN opens a connection in TIME-WAIT again.
#[test]
fn rfc7857_2_a_syn_opens_a_closing_session_again() {
    for from_v4 in [true, false] {
        let mut tcp = Connection::established();
        tcp.v4(FIN).unwrap();
        tcp.v6(FIN).unwrap();
        tcp.nat.pass(TRANS - 1);
        if from_v4 {
            // The answer opens it: a stranger alone does not.
            tcp.v4(SYN).unwrap();
            assert_eq!(tcp.state(), TcpState::BothFinRcv);
            tcp.v6(SYN_ACK).unwrap();
            assert_eq!(tcp.state(), TcpState::V4Init);
        } else {
            tcp.v6(SYN).unwrap();
            assert_eq!(tcp.state(), TcpState::V6Init);
        }
        tcp.nat.pass(TRANS - 1);
        if from_v4 {
            tcp.v4(ACK)
        } else {
            tcp.v4(SYN_ACK)
        }
        .unwrap();
        assert_eq!(tcp.state(), TcpState::Established);
    }
}

#[test]
fn rfc6146_3_5_2_2_rst_moves_to_trans() {
    for from_v4 in [true, false] {
        let mut tcp = Connection::established();
        if from_v4 { tcp.v4(RST) } else { tcp.v6(RST) }.unwrap();
        assert_eq!(tcp.state(), TcpState::Trans);
        tcp.nat.pass(100);
        // More RSTs do not make it last longer.
        tcp.v4(RST).unwrap();
        tcp.v6(RST).unwrap();
        assert_eq!(tcp.state(), TcpState::Trans);
        tcp.lasts(TRANS - 100);
    }
}

#[test]
fn rfc6146_3_5_2_2_trans_data_goes_back_to_established() {
    let mut tcp = Connection::established();
    tcp.v4(RST).unwrap();
    tcp.v6(ACK).unwrap();
    assert_eq!(tcp.state(), TcpState::Established);
    tcp.lasts(EST + TRANS);
}

#[test]
fn rfc6146_3_5_2_2_expired_session_is_closed_before_the_sweeper_comes() {
    let mut tcp = Connection::new();
    tcp.v6(SYN).unwrap();
    tcp.nat.pass(TRANS + 1);
    tcp.v6(SYN).unwrap();
    assert_eq!(tcp.state(), TcpState::V6Init);
    tcp.lasts(TRANS);
}
