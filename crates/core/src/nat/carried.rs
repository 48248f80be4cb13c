//! Counts what a session carries, where that is counted ([`traffic`]).

use crate::host::Host;
use crate::table::Memory;

use super::config::NatConfig;
use super::endpoint::{Endpoint4, Protocol};
use super::lookup::position_of_return;
use super::session;
use super::tcp::Side;
use super::traffic;

/// A packet that passed, by the endpoints of its session outside.
#[derive(Clone, Copy, Debug)]
pub struct Passed {
    /// The endpoint of the pool.
    pub outside: Endpoint4,
    /// The endpoint of the outside host.
    pub remote: Endpoint4,
    /// The protocol, as the header has it.
    pub protocol: u8,
    /// The side that the packet came from.
    pub from: Side,
    /// Bytes from its transport header on.
    pub bytes: usize,
}

/// Counts a packet for its session, if packets are counted and it has one: some pass by their binding alone.
///
/// It is called when nothing is in the packet's way any more, not where its session is found: an engine may leave it to
/// another one in between, which finds the session once more.
#[inline(always)]
pub fn count<H: Host>(host: &H, cfg: &NatConfig, passed: Passed) {
    if cfg.layout.traffic.count != 0 {
        let what = (passed.bytes as u64) << 16 | (passed.from as u64) << 8 | passed.protocol as u64;
        let (outside, remote) = (passed.outside.word(), passed.remote.word());
        add(host.state(), cfg, outside, remote, what);
    }
}

/// `what` is bytes, side and protocol: a BPF function has five arguments at most. It tells protocols apart itself: its caller
/// is a way of its own for each, to the kernel's verifier, through all that follows.
#[inline(never)]
fn add<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig, outside: u64, remote: u64, what: u64) {
    let protocol = Protocol::from_word(what & 0xff);
    let remote = session::remote_word(Endpoint4::from_word(remote), protocol);
    let Some(position) = position_of_return(memory, cfg, outside, remote, protocol) else {
        return;
    };
    let from = match what >> 8 & 1 {
        0 => Side::Inside,
        _ => Side::Outside,
    };
    traffic::add(memory, cfg, position, from, what >> 16);
}
