//! A packet through one mechanism, whatever the hook. A program takes the packets of a few mechanisms and
//! hands those of others on, by a tail call, to another; so does one that makes sessions, because that takes
//! the stack for itself. A packet that is handed on is unchanged.

use isthmus_abi::counts;
use isthmus_abi::programs::Slot;
use isthmus_core::customer::Customer;
use isthmus_core::gateway::{self, Cross, Crosses};
use isthmus_core::host::{Bounded, BoundedInSet, Effort, Established, Host, Resumed};
use isthmus_core::mechanism::aftr::Aftr;
use isthmus_core::mechanism::nat64::Nat64;
use isthmus_core::mechanism::{Mechanism as _, Opens, Stage};
use isthmus_core::packet::{Errors, Family, Fragments, Hairpins, Packet, Plain, Truncated};
use isthmus_core::reason::Counter;
use isthmus_core::translate::hop;
use isthmus_core::verdict::{Refusal, Slow, Verdict};
use isthmus_core::wire::protocol;

use crate::configured::Configured;
use crate::maps;
use crate::owner::{self, Chosen};
use crate::route::{Egress, NoRoute};
use crate::services::{Last, LastSearch, Services};

/// The packet of a hook, with the hook's return codes.
pub(crate) trait Device: Packet {
    /// The lookup of the next hop.
    type Route: Egress;
    /// The kernel takes the packet as it is.
    const PASS: i32;
    /// The packet ends here.
    const DROP: i32;

    /// Sends a translated packet.
    fn send(&mut self, route: &Self::Route, family: Family) -> i32;
}

/// A return code from here on is not an action of the kernel: the rest is the place of the program that
/// takes over.
const GO_ON: i32 = 1 << 16;

/// The return code that calls the program of a stage.
#[inline(always)]
const fn go_on(stage: Stage) -> i32 {
    match stage {
        Stage::Softwires => GO_ON + Slot::Softwires as i32,
        Stage::MapT => GO_ON + Slot::MapT as i32,
        Stage::Translation => GO_ON + Slot::Translation as i32,
        Stage::ErrorsV4 => GO_ON + Slot::ErrorsV4 as i32,
        Stage::ErrorsV6 => GO_ON + Slot::ErrorsV6 as i32,
        Stage::Fragments => GO_ON + Slot::Fragments as i32,
        Stage::Hairpins => GO_ON + Slot::Hairpins as i32,
        Stage::Base => GO_ON + Slot::Base as i32,
    }
}

/// The return code that calls the program which makes the sessions of a mechanism's packets of a family, if one does.
#[inline(always)]
fn go_open<M: Crosses>(family: Family) -> Option<i32> {
    let slot = match (M::OPENS_IN_BPF?, family) {
        (Opens::V4, Family::V4) => Slot::OpenV4,
        (Opens::V6, Family::V6) => Slot::Open,
        (Opens::Softwires, Family::V6) => Slot::OpenSoftwires,
        _ => return None,
    };
    Some(GO_ON + slot as i32)
}

/// The program that takes over, if a return code is none for the kernel.
#[inline(always)]
pub(crate) fn next_program(answer: i32) -> Option<u32> {
    if answer >= GO_ON {
        Some((answer - GO_ON) as u32)
    } else {
        None
    }
}

/// The return code for a packet whose mechanism is of another stage than the program's. Only the program
/// that takes packets first hands them on; another one finds such a mechanism when the configuration was
/// changed meanwhile.
#[inline(always)]
pub(crate) fn elsewhere<D: Device>(program: Stage, stage: Stage) -> i32 {
    if program.is(Stage::Base) {
        go_on(stage)
    } else {
        D::PASS
    }
}

/// The return code for a packet that belongs to no instance.
#[inline(always)]
pub(crate) fn not_ours<D: Device>(program: Stage) -> i32 {
    if program.is(Stage::Base) {
        maps::count(Counter::NotOurs);
    }
    D::PASS
}

/// Takes a packet across its mechanism, if it has a session or needs none.
#[inline(always)]
pub(crate) fn cross<M: Crosses, D: Device>(
    device: &mut D,
    route: D::Route,
    family: Family,
    chosen: &Chosen<'_>,
) -> i32 {
    // The verifier does not accept the search for a binding beside all that is not plain in a softwire.
    if M::STAGE.is(Stage::Translation) {
        cross_with::<M, D, Established>(device, route, family, chosen)
    } else {
        cross_with::<M, D, Resumed>(device, route, family, chosen)
    }
}

/// [`cross`] for a [plain](Plain) packet. Any other is unchanged, and [`UNCOMMON`].
#[inline(always)]
pub(crate) fn cross_plain<M: Crosses, D: Device>(
    device: &mut D,
    route: D::Route,
    family: Family,
    chosen: &Chosen<'_>,
) -> i32 {
    if !takes_plain::<M>() {
        return UNCOMMON;
    }
    let mut services = Services::<Established, _, Last>::new(route);
    let verdict = process::<M, _, _>(&mut Plain(device), &mut services, family, chosen);
    match verdict {
        Ok(Verdict::Forward { family, .. }) => device.send(&services.egress, family),
        Ok(Verdict::Pass | Verdict::Deliver) => D::PASS,
        Err(Refusal::Slow(Slow::Session)) => go_open::<M>(family).unwrap_or(UNCOMMON),
        Err(Refusal::Slow(Slow::Hairpin)) if turns::<M>(family) => go_on(Stage::Hairpins),
        // A flood of what nobody asked for costs one look.
        Err(Refusal::Drop(counter)) => {
            services.count(counter);
            D::DROP
        }
        Err(_) => UNCOMMON,
    }
}

/// Whether plain packets of a mechanism have a program of their own.
#[inline(always)]
pub(crate) const fn takes_plain<M: Crosses>() -> bool {
    <M::Crossing as Cross<M>>::LOOKS_AT_TRANSPORT
}

/// Whether a program takes packets of a family from one host of a mechanism to another.
#[inline(always)]
pub(crate) const fn turns<M: Crosses>(family: Family) -> bool {
    matches!(
        (M::HAIRPINS_IN_BPF, family),
        (Some(Family::V4), Family::V4) | (Some(Family::V6), Family::V6)
    )
}

/// Whether packets of a family may be those of a mechanism.
#[inline(always)]
pub(crate) const fn has<M: Crosses>(family: Family) -> bool {
    match family {
        Family::V4 => true,
        Family::V6 => <M::Crossing as Cross<M>>::HAS_IPV6,
    }
}

/// The answer for a packet that is not plain. Like those below, it is no action of the kernel, which begin at -1.
pub(crate) const UNCOMMON: i32 = i32::MIN;

/// The answer for a packet that is too large for its link.
const TOO_BIG: i32 = i32::MIN + 1;

/// The answer for a packet that user space takes.
const SLOW: i32 = i32::MIN + 2;

/// The answer for a SYN that nobody has asked for, which user space takes.
const UNASKED: i32 = i32::MIN + 3;

/// The answer for a fragment that waits in user space for the first of its datagram.
const HELD: i32 = i32::MIN + 4;

/// Whether an answer is about a packet that [`hand_up`] takes.
#[inline(always)]
pub(crate) const fn is_for_user_space(answer: i32) -> bool {
    matches!(answer, TOO_BIG | SLOW | UNASKED | HELD)
}

/// The return code for a packet that user space takes, by the answer for it. Whoever sends more of them than user space
/// can take loses what is too much here, and nobody else's packets wait for it. A packet that only inside hosts send takes nothing
/// from the host that it names if it came from where none is: `forged` tells by its queue, not 0.
#[inline(always)]
pub(crate) fn hand_up<D: Device>(
    device: &D,
    answer: i32,
    searched: u64,
    forged: impl FnOnce(u32) -> u32,
) -> i32 {
    let configured = Configured::now();
    let found = owner::instance(&configured, searched);
    let (Some(found), Some(instance)) = (found, owner::index(searched)) else {
        maps::count(Counter::SlowPath);
        return D::PASS;
    };
    let row = counts::of_instance(instance);
    let sends = |family, source| found.mechanism.is_from_customer(family, source);
    let customer = match answer {
        UNASKED => Ok(Customer::NOBODY),
        _ => Customer::of(
            device,
            found.policy.customer_prefix,
            sends,
            |later| owner::port_of(later, instance),
            |to| owner::words_of(to, instance),
        ),
    };
    let Ok(mut customer) = customer else {
        maps::count_in(row, Counter::Truncated);
        return D::DROP;
    };
    if forged(customer.queue as u32) != 0 && found.mechanism.nat().is_some() {
        maps::count_in(row, Counter::NotInside);
        return D::DROP;
    }
    match answer {
        TOO_BIG => return ask_for_error::<D>(customer, instance, found.policy.icmp_errors),
        HELD => customer = customer.with_fragment(),
        _ => {}
    }
    if may_wait(customer) {
        maps::count_in(row, Counter::SlowPath);
        return D::PASS;
    }
    maps::count_in(row, Counter::SlowPathShare);
    D::DROP
}

/// Whether a packet of a customer may wait for user space.
#[inline(always)]
fn may_wait(customer: Customer) -> bool {
    let (queue, [high, low]) = (customer.queue, customer.words);
    maps::offline() || maps::take_share(queue as u32, high, low) != 0
}

/// The return code for a packet that is too large for its link. Its sender is told by user space, as often as the instance
/// may send ICMP errors, `rate` a second, of which nobody takes all: a flood of such packets ends here.
#[inline(always)]
fn ask_for_error<D: Device>(customer: Customer, instance: u32, rate: u32) -> i32 {
    let (row, [high, low]) = (counts::of_instance(instance), customer.words);
    if maps::offline() || maps::may_ask_for_error(high, low, instance, rate) != 0 {
        maps::count_in(row, Counter::SlowPath);
        return D::PASS;
    }
    maps::count_in(row, Counter::TooBig);
    maps::count_in(row, Counter::IcmpErrorSuppressed);
    D::DROP
}

/// [`cross`], with an effort for sessions.
#[inline(always)]
fn cross_with<M: Crosses, D: Device, S: Effort>(
    device: &mut D,
    route: D::Route,
    family: Family,
    chosen: &Chosen<'_>,
) -> i32 {
    let mut services = Services::<S, _, ()>::new(route);
    match process::<M, _, _>(device, &mut services, family, chosen) {
        Err(Refusal::Slow(Slow::IcmpError)) if M::ERRORS_IN_BPF => go_on(Stage::errors(family)),
        Err(Refusal::Slow(Slow::HoldFragment)) if M::FRAGMENTS_IN_BPF => go_on(Stage::Fragments),
        Err(Refusal::Slow(Slow::FirstFragment)) if M::FRAGMENTS_IN_BPF => {
            GO_ON + Slot::Remember as i32
        }
        verdict => finish::<M, _, _>(device, &mut services, family, verdict),
    }
}

/// Takes a packet of a family across its mechanism.
#[inline(always)]
fn process<M: Crosses, P: Packet, H: Host>(
    packet: &mut P,
    services: &mut H,
    family: Family,
    chosen: &Chosen<'_>,
) -> Result<Verdict, Refusal> {
    match family {
        Family::V4 => gateway::process_v4::<M, _, _, _>(packet, services, chosen),
        Family::V6 => gateway::process_v6::<M, _, _, _>(packet, services, chosen),
    }
}

/// The return code for a packet of a family that no other part of the programs takes, but one that makes its session.
#[inline(always)]
fn finish<M: Crosses, D: Device, S: Effort>(
    device: &mut D,
    services: &mut Services<S, D::Route, ()>,
    family: Family,
    verdict: Result<Verdict, Refusal>,
) -> i32 {
    match verdict {
        Ok(Verdict::Forward { family, .. }) => device.send(&services.egress, family),
        Ok(Verdict::Pass | Verdict::Deliver) => D::PASS,
        Err(Refusal::Slow(Slow::TooBig)) => TOO_BIG,
        Err(refusal) => match (refusal, go_open::<M>(family)) {
            (Refusal::Slow(Slow::Session), Some(program)) => program,
            _ => refuse::<D, _, _, _>(services, refusal),
        },
    }
}

/// [`cross`] for an [ICMP error](Errors), which the program of the mechanism's stage has refused.
#[inline(always)]
pub(crate) fn cross_error<M: Crosses, D: Device>(
    device: &mut D,
    route: D::Route,
    family: Family,
    chosen: &Chosen<'_>,
) -> i32 {
    if !M::ERRORS_IN_BPF {
        return D::PASS;
    }
    let mut services = Services::<Established, _, ()>::new(route);
    let verdict = process::<M, _, _>(&mut Errors(device), &mut services, family, chosen);
    match verdict {
        Ok(Verdict::Forward { family, .. }) => device.send(&services.egress, family),
        Ok(Verdict::Pass | Verdict::Deliver) => D::PASS,
        Err(refusal) => refuse::<D, _, _, _>(&mut services, refusal),
    }
}

/// [`cross`] for a [hairpin](Hairpins), which the first program has refused.
#[inline(always)]
pub(crate) fn cross_hairpin<M: Crosses, D: Device>(
    device: &mut D,
    route: D::Route,
    family: Family,
    chosen: &Chosen<'_>,
) -> i32 {
    if !turns::<M>(family) {
        return D::PASS;
    }
    // The first packet makes its session on the other side in user space, which tells its sender what is wrong.
    let mut services = Services::<Resumed, _, Last>::new(route);
    let verdict = process::<M, _, _>(&mut Hairpins(device), &mut services, family, chosen);
    match verdict {
        Ok(Verdict::Forward { family, .. }) => device.send(&services.egress, family),
        Ok(Verdict::Pass | Verdict::Deliver) => D::PASS,
        Err(Refusal::Slow(Slow::TooBig)) => TOO_BIG,
        Err(refusal) => refuse::<D, _, _, _>(&mut services, refusal),
    }
}

/// [`cross`] for a [fragment](Fragments), which the program of the mechanism's stage has refused.
#[inline(always)]
pub(crate) fn cross_fragment<M: Crosses, D: Device>(
    device: &mut D,
    route: D::Route,
    family: Family,
    chosen: &Chosen<'_>,
) -> i32 {
    if !M::FRAGMENTS_IN_BPF {
        return D::PASS;
    }
    if M::STAGE.is(Stage::Translation) {
        cross_fragment_with::<M, D, Established>(device, route, family, chosen)
    } else {
        cross_fragment_with::<M, D, Resumed>(device, route, family, chosen)
    }
}

/// [`cross_fragment`], with an effort for sessions.
#[inline(always)]
fn cross_fragment_with<M: Crosses, D: Device, S: Effort>(
    device: &mut D,
    route: D::Route,
    family: Family,
    chosen: &Chosen<'_>,
) -> i32 {
    let mut services = Services::<S, _, ()>::new(route);
    let verdict = process::<M, _, _>(&mut Fragments(device), &mut services, family, chosen);
    finish::<M, _, _>(device, &mut services, family, verdict)
}

/// Makes the session that a packet needs, and has the first program look again: for the mechanisms that say so by
/// [`OPENS_IN_BPF`](isthmus_core::mechanism::Mechanism::OPENS_IN_BPF), of which NAT64 is the one with IPv6 hosts, and the AFTR
/// the one with softwires. Returns the answer, and the instance as [`hand_up`] takes it.
#[inline(always)]
pub(crate) fn open<D: Device>(device: &mut D, packets: Opens) -> (i32, u64) {
    let configured = Configured::now();
    match packets {
        Opens::V4 => {
            let mut services = Services::<BoundedInSet, _, ()>::prepared(NoRoute);
            let opened = gateway::open_v4(device, &mut services, &configured);
            opened_or_not::<D, _>(&mut services, opened)
        }
        Opens::V6 => {
            let mut services = Services::<Bounded, _, ()>::prepared(NoRoute);
            let opened = gateway::open_v6::<Nat64, _, _, _>(device, &mut services, &configured);
            opened_or_not::<D, _>(&mut services, opened)
        }
        Opens::Softwires => {
            let mut services = Services::<Bounded, _, ()>::prepared(NoRoute);
            let opened =
                gateway::open_softwire::<Aftr, _, _, _>(device, &mut services, &configured);
            opened_or_not::<D, _>(&mut services, opened)
        }
    }
}

/// Remembers a first fragment for those that follow it, and has the program of fragments go on with it. An IPv6 packet that is
/// no fragment has one in a softwire. Returns the answer, and the instance as [`hand_up`] takes it.
#[inline(always)]
pub(crate) fn remember<D: Device>(device: &mut D) -> (i32, u64) {
    let configured = Configured::now();
    let mut services = Services::<Established, _, ()>::new(NoRoute);
    let mut packet = Fragments(device);
    let remembered = match packet.words::<2>(0) {
        Ok([first, _]) if first.bytes()[0] >> 4 == 4 => {
            gateway::remember_v4(&mut packet, &mut services, &configured)
        }
        Ok([_, second]) if second.bytes()[2] == protocol::FRAGMENT => {
            gateway::remember_v6(&mut packet, &mut services, &configured)
        }
        _ => gateway::remember_softwire(&mut packet, &mut services, &configured),
    };
    let answer = match remembered {
        Some(()) => go_on(Stage::Fragments),
        None => SLOW,
    };
    (answer, services.searched())
}

/// The return code for a packet whose session was made or not, and its instance.
#[inline(always)]
fn opened_or_not<D: Device, S: Effort>(
    services: &mut Services<S, NoRoute, ()>,
    opened: Result<(), Refusal>,
) -> (i32, u64) {
    let answer = match opened {
        Ok(()) => go_on(Stage::Base),
        Err(refusal) => refuse::<D, _, _, _>(services, refusal),
    };
    (answer, services.searched())
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
fn refuse<D: Device, S: Effort, E: Egress, L: LastSearch>(
    services: &mut Services<S, E, L>,
    refusal: Refusal,
) -> i32 {
    match refusal {
        Refusal::Drop(counter) => {
            services.count(counter);
            D::DROP
        }
        Refusal::Slow(Slow::HoldFragment) => HELD,
        Refusal::Slow(Slow::UnboundSyn | Slow::FilteredSyn) => UNASKED,
        Refusal::Reply(..) | Refusal::Slow(_) => SLOW,
    }
}
