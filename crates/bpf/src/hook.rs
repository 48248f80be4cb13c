//! The programs of a hook: entry points, and a global function for each mechanism and family, because the
//! verifier checks a global function once, whatever came before.
//!
//! The module of a hook has, beside what it takes from here: `Context`, `Device`, `Arrival`, and the
//! functions `arrive`, `resume` and `finish`, which adapt what lies before the IP packet.

use isthmus_core::packet::{Family, Packet};
use isthmus_core::wire::{icmp, ipv4};

use crate::ethernet;

/// The family of a packet with this type in its Ethernet header.
#[inline(always)]
pub(crate) fn family_of(kind: u16) -> Option<Family> {
    match kind {
        ethernet::IPV4 => Some(Family::V4),
        ethernet::IPV6 => Some(Family::V6),
        _ => None,
    }
}

/// The [quoted protocol](icmp::quoted_protocol) of a packet.
#[inline(always)]
pub(crate) fn quoted_protocol<P: Packet>(packet: &P) -> u32 {
    ipv4::Header::read(packet, 0).map_or(0, |header| icmp::quoted_protocol(packet, &header).into())
}

/// Defines the programs of the hook with this name: their section, the kernel's type of context, and the type
/// of the answer to the kernel.
macro_rules! programs {
    ($hook:literal, $section:literal, $raw:ident, $action:ty) => {
        /// Takes packets first. Those that belong to no instance go on to the kernel.
        #[unsafe(export_name = concat!("isthmus_", $hook))]
        #[unsafe(link_section = $section)]
        pub extern "C" fn base(context: *mut $raw) -> $action {
            run(context, Stage::Base)
        }

        /// Goes on with a packet of SIIT, NAT64 or NAT44.
        #[unsafe(export_name = concat!("isthmus_", $hook, "_translation"))]
        #[unsafe(link_section = $section)]
        pub extern "C" fn translation(context: *mut $raw) -> $action {
            run(context, Stage::Translation)
        }

        /// Goes on with a packet of a mechanism that shares IPv4 addresses by softwires.
        #[unsafe(export_name = concat!("isthmus_", $hook, "_softwires"))]
        #[unsafe(link_section = $section)]
        pub extern "C" fn softwires(context: *mut $raw) -> $action {
            run(context, Stage::Softwires)
        }

        /// Goes on with a packet of MAP-T or a CLAT.
        #[unsafe(export_name = concat!("isthmus_", $hook, "_map_t"))]
        #[unsafe(link_section = $section)]
        pub extern "C" fn map_t(context: *mut $raw) -> $action {
            run(context, Stage::MapT)
        }

        /// Goes on with an ICMP error that comes as IPv4.
        #[unsafe(export_name = concat!("isthmus_", $hook, "_errors_v4"))]
        #[unsafe(link_section = $section)]
        pub extern "C" fn errors_v4(context: *mut $raw) -> $action {
            run(context, Stage::ErrorsV4)
        }

        /// Goes on with an ICMP error that comes as IPv6.
        #[unsafe(export_name = concat!("isthmus_", $hook, "_errors_v6"))]
        #[unsafe(link_section = $section)]
        pub extern "C" fn errors_v6(context: *mut $raw) -> $action {
            run(context, Stage::ErrorsV6)
        }

        /// Goes on with a fragment.
        #[unsafe(export_name = concat!("isthmus_", $hook, "_fragments"))]
        #[unsafe(link_section = $section)]
        pub extern "C" fn fragments(context: *mut $raw) -> $action {
            run(context, Stage::Fragments)
        }

        /// Goes on with a packet from one inside host to another.
        #[unsafe(export_name = concat!("isthmus_", $hook, "_hairpins"))]
        #[unsafe(link_section = $section)]
        pub extern "C" fn hairpins(context: *mut $raw) -> $action {
            run(context, Stage::Hairpins)
        }

        /// Makes the session that a packet of an IPv6 host needs, and has the first program look again.
        #[unsafe(export_name = concat!("isthmus_", $hook, "_open"))]
        #[unsafe(link_section = $section)]
        pub extern "C" fn open(context: *mut $raw) -> $action {
            open_for(context, Opens::V6)
        }

        /// Makes the session that a packet of an IPv4 host needs, and has the first program look again.
        #[unsafe(export_name = concat!("isthmus_", $hook, "_open_v4"))]
        #[unsafe(link_section = $section)]
        pub extern "C" fn open_v4(context: *mut $raw) -> $action {
            open_for(context, Opens::V4)
        }

        /// Makes the session that a packet in a softwire of an AFTR needs, and has the first program look again.
        #[unsafe(export_name = concat!("isthmus_", $hook, "_open_softwires"))]
        #[unsafe(link_section = $section)]
        pub extern "C" fn open_softwires(context: *mut $raw) -> $action {
            open_for(context, Opens::Softwires)
        }

        /// Remembers a first fragment, and has the program of fragments go on with it.
        #[unsafe(export_name = concat!("isthmus_", $hook, "_remember"))]
        #[unsafe(link_section = $section)]
        pub extern "C" fn remember(raw: *mut $raw) -> $action {
            let context = Context::new(raw);
            let vlan = resume(&context);
            let (answer, searched) = stage::remember(&mut Device::new(&context));
            finish(&context, settled(raw, answer, searched, number(vlan)), vlan)
        }

        /// Makes a session for a packet, unless that came from where no inside host is.
        #[inline(always)]
        fn open_for(raw: *mut $raw, packets: Opens) -> $action {
            let context = Context::new(raw);
            let vlan = resume(&context);
            if is_outside(&context, number(vlan)) {
                maps::count(Counter::NotInside);
                return finish(&context, Device::DROP, vlan);
            }
            let (answer, searched) = stage::open(&mut Device::new(&context), packets);
            finish(&context, settled(raw, answer, searched, number(vlan)), vlan)
        }

        /// Finds the instance of a packet, and takes the packet across its mechanism.
        #[inline(always)]
        fn run(raw: *mut $raw, program: Stage) -> $action {
            let configured = Configured::now();
            let context = Context::new(raw);
            let Some(arrival) = arrive(&context, program) else {
                return Device::PASS as $action;
            };
            let family = arrival.family;
            let searched = if configured.has_one() {
                owner::ONLY
            } else {
                search(raw, u32::from(matches!(family, Family::V6)), configured.number())
            };
            let answer = dispatch(raw, program, family, configured, searched, arrival.link);
            finish(&context, settled(raw, answer, searched, number(arrival.vlan)), arrival.vlan)
        }

        /// The return code of an answer for a packet with the VLAN of this [`number`]: user space may be given it, or not.
        #[inline(always)]
        fn settled(raw: *mut $raw, answer: i32, searched: u64, vlan: u64) -> i32 {
            if stage::is_for_user_space(answer) {
                hand_up(raw, answer, searched, vlan)
            } else {
                answer
            }
        }

        /// The instance that a packet belongs to, IPv6 if `v6` is not 0; see [`owner::search`].
        #[unsafe(export_name = concat!($hook, "_search"))]
        #[inline(never)]
        pub extern "C" fn search(raw: *mut $raw, v6: u32, configured: u64) -> u64 {
            let family = if v6 == 0 { Family::V4 } else { Family::V6 };
            let quoted = || quoted_protocol(raw) as u8;
            let configured = Configured::from_number(configured);
            owner::search(configured, family, &Device::new(&Context::new(raw)), quoted)
        }

        /// The return code for a packet with the VLAN of this [`number`] that user space takes, by the answer for it; see
        /// [`stage::hand_up`].
        #[unsafe(export_name = concat!($hook, "_hand_up"))]
        #[inline(never)]
        pub extern "C" fn hand_up(raw: *mut $raw, answer: i32, searched: u64, vlan: u64) -> i32 {
            let context = &Context::new(raw);
            stage::hand_up(&Device::new(context), answer, searched, |queue| forged(raw, vlan, queue))
        }

        /// Whether a packet with the VLAN of this [`number`] is in the queue of those that inside hosts send, and came from where
        /// none is; 0: no. A global function: the verifier would go on once for each queue.
        #[unsafe(export_name = concat!($hook, "_forged"))]
        #[inline(never)]
        pub extern "C" fn forged(raw: *mut $raw, vlan: u64, queue: u32) -> u32 {
            let from_inside = queue == Queue::Inside as u32;
            u32::from(from_inside && is_outside(&Context::new(raw), vlan))
        }

        /// The quoted protocol of an ICMPv4 message.
        #[unsafe(export_name = concat!($hook, "_quoted_protocol"))]
        #[inline(never)]
        pub extern "C" fn quoted_protocol(context: *mut $raw) -> u32 {
            hook::quoted_protocol(&Device::new(&Context::new(context)))
        }

        /// Looks the next hop in this slot of the cache up in the kernel's FIB; see [`route::look_up`].
        #[unsafe(export_name = concat!($hook, "_look_up"))]
        #[inline(never)]
        pub extern "C" fn look_up(context: *mut $raw, slot: u32) -> i32 {
            route::look_up::<Origin<'_>>(context.cast(), slot);
            0
        }

        /// Whether an IPv4 address is this machine's own; see [`route::is_local`].
        #[unsafe(export_name = concat!($hook, "_is_local"))]
        #[inline(never)]
        pub extern "C" fn is_local(context: *mut $raw, link: u32, address: u32) -> i32 {
            i32::from(route::is_local(context.cast(), link, address))
        }

        /// Takes these packets of a family across the mechanism of the instance that was found.
        #[inline(always)]
        fn cross<M: Crosses>(
            raw: *mut $raw,
            (family, packets): (Family, Packets),
            instance: *const InstanceWords,
            searched: u64,
            link: u32,
        ) -> i32 {
            // SAFETY: the dispatcher gives what it found.
            let Some(chosen) = (unsafe { Chosen::new(instance, searched) }) else {
                maps::count(Counter::EngineError);
                return Device::DROP;
            };
            let context = &Context::new(raw);
            let route = Fib::new(Origin { context, link });
            let device = &mut Device::new(context);
            match packets {
                Packets::Plain => stage::cross_plain::<M, _>(device, route, family, &chosen),
                Packets::Errors => stage::cross_error::<M, _>(device, route, family, &chosen),
                Packets::Fragments => stage::cross_fragment::<M, _>(device, route, family, &chosen),
                Packets::Hairpins => stage::cross_hairpin::<M, _>(device, route, family, &chosen),
                Packets::All => stage::cross::<M, _>(device, route, family, &chosen),
            }
        }

        for_each_mechanism!(crossings[$hook, $raw]);
    };
}
pub(crate) use programs;

/// The packets that a global function takes.
#[derive(Clone, Copy)]
pub(crate) enum Packets {
    /// [Plain](isthmus_core::packet::Plain) ones.
    Plain,
    /// [ICMP errors](isthmus_core::packet::Errors).
    Errors,
    /// [Fragments](isthmus_core::packet::Fragments).
    Fragments,
    /// [Hairpins](isthmus_core::packet::Hairpins).
    Hairpins,
    /// Whatever comes.
    All,
}

/// Defines a global function of a mechanism for these packets of a family.
macro_rules! crossing {
    ($raw:ident, $name:ident, $function:ident, $family:ident, $packets:ident, $($part:expr),+) => {
        #[unsafe(export_name = concat!($($part),+))]
        #[inline(never)]
        pub(super) extern "C" fn $function(
            context: *mut $raw,
            instance: *const InstanceWords,
            searched: u64,
            link: u32,
        ) -> i32 {
            if !crate::maps::takes::<{ $name::NUMBER }>() {
                // Nobody calls it, and the verifier need not look further.
                return crate::stage::UNCOMMON;
            }
            let these = (Family::$family, Packets::$packets);
            super::cross::<$name>(context, these, instance, searched, link)
        }
    };
}
pub(crate) use crossing;

/// Defines the global functions of all mechanisms for a hook, and their dispatcher.
macro_rules! crossings {
    ($hook:literal, $raw:ident; $($(#[$about:meta])+ $module:ident::$name:ident,)+) => {
        $(
            $(#[$about])+
            mod $module {
                use isthmus_core::mechanism::$module::$name;

                use super::{$raw, Family, InstanceWords, Packets, crossing};

                crossing!($raw, $name, plain4, V4, Plain, $hook, "_plain4_", stringify!($module));
                crossing!($raw, $name, plain6, V6, Plain, $hook, "_plain6_", stringify!($module));
                crossing!($raw, $name, errors4, V4, Errors, $hook, "_errors4_", stringify!($module));
                crossing!($raw, $name, errors6, V6, Errors, $hook, "_errors6_", stringify!($module));
                crossing!($raw, $name, fragments4, V4, Fragments, $hook, "_fragments4_", stringify!($module));
                crossing!($raw, $name, fragments6, V6, Fragments, $hook, "_fragments6_", stringify!($module));
                crossing!($raw, $name, hairpins4, V4, Hairpins, $hook, "_hairpins4_", stringify!($module));
                crossing!($raw, $name, hairpins6, V6, Hairpins, $hook, "_hairpins6_", stringify!($module));
                crossing!($raw, $name, v4, V4, All, $hook, "_v4_", stringify!($module));
                crossing!($raw, $name, v6, V6, All, $hook, "_v6_", stringify!($module));
            }
        )+

        /// Takes a packet across the mechanism of its instance, if this program does.
        #[inline(always)]
        fn dispatch(
            context: *mut $raw,
            program: Stage,
            family: Family,
            configured: Configured,
            searched: u64,
            link: u32,
        ) -> i32 {
            let Some(instance) = owner::instance(&configured, searched) else {
                return stage::not_ours::<Device<'_>>(program);
            };
            let words = core::ptr::from_ref(instance).cast();
            match &instance.mechanism {
                $(
                    AnyMechanism::$name(_) => {
                        const STAGE: Stage = mechanism::$module::$name::STAGE;
                        if !stage::has::<mechanism::$module::$name>(family) {
                            return stage::not_ours::<Device<'_>>(program);
                        }
                        if program.is(Stage::Base) && stage::takes_plain::<mechanism::$module::$name>() {
                            let plain = match family {
                                Family::V4 => $module::plain4(context, words, searched, link),
                                Family::V6 => $module::plain6(context, words, searched, link),
                            };
                            if plain != stage::UNCOMMON {
                                return plain;
                            }
                        }
                        if program.is(Stage::errors(family)) && mechanism::$module::$name::ERRORS_IN_BPF {
                            return match family {
                                Family::V4 => $module::errors4(context, words, searched, link),
                                Family::V6 => $module::errors6(context, words, searched, link),
                            };
                        }
                        if program.is(Stage::Fragments) && mechanism::$module::$name::FRAGMENTS_IN_BPF {
                            return match family {
                                Family::V4 => $module::fragments4(context, words, searched, link),
                                Family::V6 => $module::fragments6(context, words, searched, link),
                            };
                        }
                        if program.is(Stage::Hairpins) && stage::turns::<mechanism::$module::$name>(family) {
                            return match family {
                                Family::V4 => $module::hairpins4(context, words, searched, link),
                                Family::V6 => $module::hairpins6(context, words, searched, link),
                            };
                        }
                        if !program.is(STAGE) {
                            return stage::elsewhere::<Device<'_>>(program, STAGE);
                        }
                        match family {
                            Family::V4 => $module::v4(context, words, searched, link),
                            Family::V6 => $module::v6(context, words, searched, link),
                        }
                    }
                )+
            }
        }
    };
}
pub(crate) use crossings;
