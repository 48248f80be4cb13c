//! The programs of an engine: the first does what is common; another makes sessions, because that
//! takes the stack for itself. Each hands the packet on to the other unchanged.

use core::cell::Cell;

use isthmus_core::address::V4;
use isthmus_core::gateway;
use isthmus_core::host::{Host as _, Mechanisms, Sessions};
use isthmus_core::packet::{Family, Packet, Truncated};
use isthmus_core::reason::Counter;
use isthmus_core::translate::hop;
use isthmus_core::verdict::{Refusal, Slow, Verdict};

use crate::maps::{self, Chosen, Configured, FIRST, MAP_T, OPEN_V4, OPEN_V6, SHARING, Services};
use crate::route::{Egress, NoWay};

/// What a program does of all that a gateway does: the verifier looks at that alone.
pub(crate) trait Stage: Default {
    /// See [`isthmus_core::host::Host::MECHANISMS`].
    const MECHANISMS: Mechanisms;
    /// See [`isthmus_core::host::Host::SESSIONS`].
    const SESSIONS: Sessions;

    /// What the last search for an explicit mapping answered, if it was the same: who looks whether
    /// a packet belongs to an instance asks for the same as who translates it then.
    #[inline(always)]
    fn recall(&self, _table: u64, _address: V4) -> Option<u64> {
        None
    }

    /// Keeps what a search answered.
    #[inline(always)]
    fn remember(&self, _table: u64, _address: V4, _answer: u64) {}
}

/// Looks which instance a packet belongs to.
#[derive(Default)]
pub(crate) struct Search;

impl Stage for Search {
    const MECHANISMS: Mechanisms = Mechanisms::ALL;
    const SESSIONS: Sessions = Sessions::Established;
}

/// Translates without sessions.
#[derive(Default)]
pub(crate) struct Stateless {
    /// The last search: the table (0: there was none; [`crate::search::at`] never is), the address,
    /// the answer.
    last: Cell<(u64, V4, u64)>,
}

impl Stage for Stateless {
    const MECHANISMS: Mechanisms = Mechanisms::SIIT;
    const SESSIONS: Sessions = Sessions::Established;

    #[inline(always)]
    fn recall(&self, table: u64, address: V4) -> Option<u64> {
        let (last_table, last_address, answer) = self.last.get();
        (last_table == table && last_address.0.0 == address.0.0).then_some(answer)
    }

    #[inline(always)]
    fn remember(&self, table: u64, address: V4, answer: u64) {
        self.last.set((table, address, answer));
    }
}

/// Stages that do one mechanism.
macro_rules! stages {
    ($($(#[$about:meta])+ $name:ident: $mechanism:ident, $sessions:ident;)+) => {$(
        $(#[$about])+
        #[derive(Default)]
        pub(crate) struct $name;

        impl Stage for $name {
            const MECHANISMS: Mechanisms = Mechanisms::$mechanism;
            const SESSIONS: Sessions = Sessions::$sessions;
        }
    )+};
}

stages! {
    /// NAT64, by sessions that are there.
    Stateful: NAT64, Established;
    /// Puts packets into tunnels and takes them out.
    Tunnel: TUNNELS, Established;
    /// The concentrator of DS-Lite, by sessions that are there.
    Concentrator: AFTR, Established;
    /// The border relay of MAP-E.
    Border: SOFTWIRE_BORDER, Established;
    /// The lwAFTR of lw4o6.
    LwAftr: LW_AFTR, Established;
    /// The customer's edge of MAP-E and lw4o6, by sessions that are there.
    Edge: SOFTWIRE_CUSTOMER, Established;
    /// The border relay of MAP-T.
    TranslatingBorder: MAP_T_BORDER, Established;
    /// The customer's edge of MAP-T, by sessions that are there.
    TranslatingEdge: MAP_T_CUSTOMER, Established;
    /// Makes sessions of NAT64. Those of others are made in user space: the verifier has no patience for
    /// more.
    Opening: NAT64, Bounded;
}

/// An engine's packet, with what the engine answers its kernel.
pub(crate) trait Device: Packet {
    /// How it finds the way out.
    type Way: Egress;
    /// The kernel takes the packet as it is.
    const PASS: i32;
    /// The packet ends here.
    const DROP: i32;

    /// Sends a translated packet.
    fn send(&mut self, way: &Self::Way, family: Family) -> i32;
}

/// What a function answers instead of an action: this program has to go on.
const GO_ON: i32 = 1 << 16;

/// The mechanisms are done by three programs, because each is as much as the verifier looks at.
pub(crate) const FIRST_PART: u32 = 0;
/// See [`FIRST_PART`]: what shares IPv4 addresses over IPv6.
pub(crate) const SECOND_PART: u32 = 1;
/// See [`FIRST_PART`]: what does so by translation.
pub(crate) const THIRD_PART: u32 = 2;

/// Has the program go on that shares IPv4 addresses over IPv6.
pub(crate) const SHARE: i32 = GO_ON + SHARING as i32;
/// Has the program go on that does so by translation.
pub(crate) const TRANSLATE: i32 = GO_ON + MAP_T as i32;

/// The program to go on with, if an answer is none for the kernel.
#[inline(always)]
pub(crate) fn next_program(answer: i32) -> Option<u32> {
    if answer >= GO_ON {
        Some((answer - GO_ON) as u32)
    } else {
        None
    }
}

/// Takes a packet through the gateway that has a session or needs none; `searched` tells the
/// instance.
#[inline(always)]
pub(crate) fn translate<S: Stage, D: Device>(
    device: &mut D,
    way: D::Way,
    family: Family,
    configured: Configured,
    searched: u64,
) -> i32 {
    let mut services = Services::<S, _>::new(way);
    let chosen = Chosen {
        configured,
        searched,
    };
    let verdict = match family {
        Family::V4 => gateway::process_v4(device, &mut services, &chosen),
        Family::V6 => gateway::process_v6(device, &mut services, &chosen),
    };
    match verdict {
        Ok(Verdict::Forward { family, .. }) => device.send(&services.egress, family),
        Ok(Verdict::Pass) => D::PASS,
        Err(refusal) => refuse::<D, _, _>(&mut services, refusal, family),
    }
}

/// Makes the session that a packet needs, and has the first program look again.
#[inline(always)]
pub(crate) fn open<D: Device>(device: &mut D, family: Family) -> i32 {
    let mut services = Services::<Opening, _>::new(NoWay);
    let configured = Configured::now();
    let opened = match family {
        Family::V4 => gateway::open_v4(device, &mut services, &configured),
        Family::V6 => gateway::open_v6(device, &mut services, &configured),
    };
    match opened {
        Ok(()) => GO_ON + FIRST as i32,
        Err(refusal) => refuse::<D, _, _>(&mut services, refusal, family),
    }
}

/// Leaves the forwarding of a translated packet to the kernel, which counts the hop.
#[inline(always)]
pub(crate) fn up<D: Device>(device: &mut D) -> i32 {
    if maps::offline() {
        // There is no kernel behind a test run.
        return D::PASS;
    }
    let left = device.words::<1>(0).and_then(|[first]| {
        let family = match first.bytes()[0] >> 4 {
            4 => Family::V4,
            _ => Family::V6,
        };
        hop::leave_to_router(device, family)
    });
    match left {
        Ok(()) => D::PASS,
        Err(Truncated) => D::DROP,
    }
}

/// The packet is not sent on from here.
#[inline(always)]
fn refuse<D: Device, S: Stage, E: Egress>(
    services: &mut Services<S, E>,
    refusal: Refusal,
    family: Family,
) -> i32 {
    match refusal {
        Refusal::Drop(counter) => {
            services.count(counter);
            D::DROP
        }
        Refusal::Slow(Slow::Session) if S::MECHANISMS.has(Opening::MECHANISMS) => match family {
            Family::V4 => GO_ON + OPEN_V4 as i32,
            Family::V6 => GO_ON + OPEN_V6 as i32,
        },
        Refusal::Reply(..) | Refusal::Slow(_) => {
            services.count(Counter::SlowPath);
            D::PASS
        }
    }
}
