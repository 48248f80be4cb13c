//! The mechanisms. Each has a file of its own: its data, the packets that it owns, how it maps
//! addresses and ports, and what it checks. How headers, sizes and ICMP errors are treated is the same
//! for all of them, by their [`crossing`].
//!
//! [`for_each_mechanism`](crate::for_each_mechanism) is the list of them all. A BPF engine makes a program
//! of each ([`Member`]); user space keeps one of any kind ([`AnyMechanism`]).

pub mod aftr;
pub mod crossing;
pub mod four_in_six;
pub(crate) mod fragments;
mod in_bpf;
pub mod instances;
pub mod isatap;
pub mod lwaftr;
mod map;
pub mod map_e_br;
pub mod map_e_ce;
pub mod map_t_br;
pub mod map_t_ce;
pub mod nat44;
pub mod nat64;
pub mod nat_pt;
pub mod passage;
pub mod siit;
pub mod six_in_four;
mod six_to_four;
pub mod stateful;

use core::hint::black_box;

use crate::address::networks::{V4Networks, V6Networks};
use crate::address::rfc6052::Prefix;
use crate::address::{V4, V6};
use crate::customer::{Destination, Receiver};
use crate::datagrams::BorderDatagrams;
use crate::host::Host;
use crate::nat::{Inside, NatConfig, Pool};
use crate::packet::Family;
use crate::policy::Policy;
use crate::wire::transport::Transport;
use crate::wire::tuple::Tuple;

pub use fragments::{Remembered, port_of};
pub use in_bpf::{InBpf, Opens, Stage};
pub use instances::Instances;

/// Calls a macro with the list of all mechanisms, each as `module::Type` with its documentation, behind the
/// arguments that are given in brackets. Their order is that of their numbers in the maps of BPF.
#[macro_export]
macro_rules! for_each_mechanism {
    ($callback:ident $([$($argument:tt)*])?) => {
        $callback! {
            $($($argument)*;)?
            /// Stateless translation (RFC 7915) with mappings of RFC 6052, RFC 6219 and RFC 7757.
            siit::Siit,
            /// Stateful translation (RFC 6146).
            nat64::Nat64,
            /// Stateful translation within IPv4 (RFC 3022).
            nat44::Nat44,
            /// IPv6 over IPv4: 6in4, 6to4, 6rd and ISATAP.
            six_in_four::SixInFour,
            /// IPv4 over IPv6 (RFC 2473), and the B4 of DS-Lite.
            four_in_six::FourInSix,
            /// The AFTR of DS-Lite (RFC 6333).
            aftr::Aftr,
            /// The BR of MAP-E (RFC 7597).
            map_e_br::MapEBr,
            /// The lwAFTR of lw4o6 (RFC 7596).
            lwaftr::LwAftr,
            /// The CE of MAP-E (RFC 7597), or a lwB4 (RFC 7596).
            map_e_ce::MapECe,
            /// The BR of MAP-T (RFC 7599).
            map_t_br::MapTBr,
            /// The CE of MAP-T (RFC 7599), or a CLAT (RFC 6877).
            map_t_ce::MapTCe,
            /// Translation of addresses alone: Basic NAT-PT (RFC 2766).
            nat_pt::NatPt,
        }
    };
}

/// One mechanism with its data, which is plain and has no pointers, so that it can lie in a BPF map.
/// The gateway makes it from the configuration file and checks it there; the core trusts it.
pub trait Mechanism {
    /// How its packets cross: one of the types in [`crossing`].
    type Crossing;

    /// The BPF program that takes its packets, if the first one does not.
    const STAGE: Stage = Stage::Base;

    /// The packets for which BPF programs make sessions; `None` if they make none.
    const OPENS_IN_BPF: Option<Opens> = None;

    /// Whether a BPF program translates ICMP errors about its packets.
    const ERRORS_IN_BPF: bool = false;

    /// Whether a BPF program translates fragments of its datagrams that come in order.
    const FRAGMENTS_IN_BPF: bool = false;

    /// The family of the packets that a BPF program takes from one of its hosts to another; `None` if none does.
    const HAIRPINS_IN_BPF: Option<Family> = None;

    /// Whether its NAT can count what sessions carry: one that many subscribers share.
    const COUNTS_TRAFFIC: bool = false;

    /// Whether the addresses of a packet in a softwire have a meaning in that softwire only. An error about
    /// such a packet goes back through the softwire, so that the packet stays in its outer packet.
    const PRIVATE_SOFTWIRES: bool = false;

    /// Whether fragments from a softwire are told from those of other softwires: hosts behind two may have the same address.
    const FRAGMENTS_BY_SOFTWIRE: bool = Self::PRIVATE_SOFTWIRES;

    /// The family of the packets that its customers send; those of the other one are for them.
    const CUSTOMERS: Family = Family::V6;

    /// Whether an IPv4 packet belongs to it.
    fn owns_v4<H: Host>(&self, host: &H, packet: &PacketV4<impl Fn() -> u8>) -> bool;

    /// Whether a packet between two IPv6 addresses belongs to it.
    #[inline(always)]
    fn owns_v6<H: Host>(&self, _host: &H, _source: V6, _destination: V6) -> bool {
        false
    }

    /// The pool by which IPv4 hosts reach IPv6 hosts, if there is one.
    #[inline(always)]
    fn pool_of_v6(&self) -> Option<&Pool> {
        None
    }

    /// The NAT, if it is stateful.
    #[inline(always)]
    fn nat(&self) -> Option<&NatConfig> {
        None
    }

    /// The NAT, if BPF programs make the sessions of its IPv4 hosts. It lies in the same place in all such mechanisms, so
    /// that the verifier follows one.
    #[inline(always)]
    fn opening_nat_v4(&self) -> Option<&NatConfig> {
        match Self::OPENS_IN_BPF {
            Some(Opens::V4) => self.nat(),
            _ => None,
        }
    }

    /// Whether an IPv4 packet from this address goes out through its NAT: all do but those of a NAT within IPv4, which
    /// come back by IPv4 as well.
    #[inline(always)]
    fn goes_out(&self, _source: V4) -> bool {
        true
    }

    /// Whether a packet of this family, from this address if it is IPv4, comes from a customer. Others are for one.
    #[inline(always)]
    fn is_from_customer(&self, family: Family, source: V4) -> bool {
        match (Self::CUSTOMERS, family) {
            (Family::V4, Family::V4) => self.goes_out(source),
            (Family::V6, Family::V6) => true,
            _ => false,
        }
    }

    /// The customer that an IPv4 packet from outside is for, as its rules and tables tell. `None` if they do not: then
    /// whoever has the port is one.
    #[inline(always)]
    fn receiver<H: Host>(&self, _host: &H, _to: &Destination) -> Option<Receiver> {
        None
    }

    /// The NAT, if it can count what its sessions carry.
    #[inline(always)]
    fn counting_nat(&self) -> Option<&NatConfig> {
        if Self::COUNTS_TRAFFIC {
            self.nat()
        } else {
            None
        }
    }

    /// The datagrams whose ports it knows by their first fragments; `None` where no ports matter.
    #[inline(always)]
    fn datagrams(&self) -> Option<Remembered<'_>> {
        self.nat().map(Remembered::ByNat)
    }

    /// The datagrams of a border, to be changed.
    fn datagrams_mut(&mut self) -> Option<&mut BorderDatagrams> {
        None
    }

    /// The NAT, to be changed.
    fn nat_mut(&mut self) -> Option<&mut NatConfig> {
        None
    }

    /// The first line of its tables in the rules memory, to be changed: they lie where the engine puts
    /// them. `None` if it has no tables.
    fn rules_base_mut(&mut self) -> Option<&mut u32> {
        None
    }

    /// The one prefix of RFC 6052 under which IPv6 hosts see the IPv4 hosts, if there is one.
    fn prefix(&self) -> Option<&Prefix> {
        None
    }

    /// The hosts on the inside of its NAT.
    fn hosts(&self) -> Hosts {
        Hosts::V6(V6Networks::default())
    }
}

/// The hosts on the inside of a NAT.
#[derive(Clone, Copy, Debug)]
pub enum Hosts {
    /// Those in these networks, or all that have IPv6 addresses if there are none.
    V6(V6Networks),
    /// Those in these networks.
    V4(V4Networks),
    /// Hosts behind softwires between this address and the B4s in these networks.
    Softwires {
        /// This end.
        local: V6,
        /// The other ends.
        customers: V6Networks,
    },
}

impl Hosts {
    /// Whether an inside endpoint is one of theirs.
    #[must_use]
    pub fn admit(&self, inside: &Inside) -> bool {
        match self {
            Self::V6(networks) => networks.admit(inside.address),
            Self::V4(networks) => networks.contains(inside.v4),
            Self::Softwires { customers, .. } => customers.contains(inside.address),
        }
    }
}

/// The parts of an IPv4 packet by which its mechanism is found.
#[derive(Clone, Copy, Debug)]
pub struct PacketV4<F> {
    /// Source address.
    pub source: V4,
    /// Destination address.
    pub destination: V4,
    /// Returns the protocol, or the [quoted protocol](crate::wire::icmp::quoted_protocol) of an ICMP error.
    /// It is a function because few mechanisms need it.
    pub protocol: F,
}

/// A mechanism that is found in an [`AnyMechanism`].
pub trait Member: Mechanism + Sized {
    /// The mechanism, if it is of this kind.
    fn of(any: &AnyMechanism) -> Option<&Self>;
}

/// Defines [`AnyMechanism`] over the list.
macro_rules! any_mechanism {
    ($($(#[$about:meta])+ $module:ident::$name:ident,)+) => {
        /// A mechanism of any kind.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(C, u32)]
        #[allow(
            clippy::large_enum_variant,
            reason = "it lies in maps, whose values all have one size"
        )]
        pub enum AnyMechanism {
            $($(#[$about])+ $name($module::$name),)+
        }

        $(
            impl Member for $module::$name {
                #[inline(always)]
                fn of(any: &AnyMechanism) -> Option<&Self> {
                    match any {
                        // The compiler must not choose between this and null without a branch: the verifier
                        // of BPF would lose that a mechanism of this kind is not null.
                        AnyMechanism::$name(mechanism) => Some(black_box(mechanism)),
                        _ => None,
                    }
                }
            }
        )+

        impl Mechanism for AnyMechanism {
            type Crossing = crossing::Any;

            #[inline(always)]
            fn owns_v4<H: Host>(&self, host: &H, packet: &PacketV4<impl Fn() -> u8>) -> bool {
                match self {
                    $(Self::$name(it) => {
                        H::has::<{ $module::$name::NUMBER }>() && it.owns_v4(host, packet)
                    })+
                }
            }

            #[inline(always)]
            fn owns_v6<H: Host>(&self, host: &H, source: V6, destination: V6) -> bool {
                match self {
                    $(Self::$name(it) => {
                        H::has::<{ $module::$name::NUMBER }>() && it.owns_v6(host, source, destination)
                    })+
                }
            }

            #[inline(always)]
            fn pool_of_v6(&self) -> Option<&Pool> {
                match self {
                    $(Self::$name(it) => it.pool_of_v6(),)+
                }
            }

            #[inline(always)]
            fn nat(&self) -> Option<&NatConfig> {
                match self {
                    $(Self::$name(it) => Mechanism::nat(it),)+
                }
            }

            #[inline(always)]
            fn datagrams(&self) -> Option<Remembered<'_>> {
                match self {
                    $(Self::$name(it) => it.datagrams(),)+
                }
            }

            fn datagrams_mut(&mut self) -> Option<&mut BorderDatagrams> {
                match self {
                    $(Self::$name(it) => it.datagrams_mut(),)+
                }
            }

            #[inline(always)]
            fn opening_nat_v4(&self) -> Option<&NatConfig> {
                match self {
                    $(Self::$name(it) => it.opening_nat_v4(),)+
                }
            }

            #[inline(always)]
            fn goes_out(&self, source: V4) -> bool {
                match self {
                    $(Self::$name(it) => it.goes_out(source),)+
                }
            }

            #[inline(always)]
            fn is_from_customer(&self, family: Family, source: V4) -> bool {
                match self {
                    $(Self::$name(it) => it.is_from_customer(family, source),)+
                }
            }

            #[inline(always)]
            fn receiver<H: Host>(&self, host: &H, to: &Destination) -> Option<Receiver> {
                match self {
                    $(Self::$name(it) => {
                        if !H::has::<{ $module::$name::NUMBER }>() {
                            return None;
                        }
                        it.receiver(host, to)
                    })+
                }
            }

            fn nat_mut(&mut self) -> Option<&mut NatConfig> {
                match self {
                    $(Self::$name(it) => it.nat_mut(),)+
                }
            }

            fn rules_base_mut(&mut self) -> Option<&mut u32> {
                match self {
                    $(Self::$name(it) => it.rules_base_mut(),)+
                }
            }

            fn prefix(&self) -> Option<&Prefix> {
                match self {
                    $(Self::$name(it) => it.prefix(),)+
                }
            }

            fn hosts(&self) -> Hosts {
                match self {
                    $(Self::$name(it) => it.hosts(),)+
                }
            }
        }

        /// The mechanisms in the order of their numbers.
        #[allow(dead_code, reason = "only the numbers of its values count")]
        enum Listed {
            $($name,)+
            Count,
        }

        $(
            impl $module::$name {
                /// Its number in the list of all mechanisms.
                pub const NUMBER: usize = Listed::$name as usize;
            }
        )+

        impl AnyMechanism {
            /// How many kinds there are.
            pub const KINDS: usize = Listed::Count as usize;

            /// Its number in the list of all mechanisms.
            #[must_use]
            pub const fn number(&self) -> usize {
                match self {
                    $(Self::$name(_) => $module::$name::NUMBER,)+
                }
            }

            /// Whether the addresses of a packet in a softwire have a meaning in that softwire only.
            #[must_use]
            pub const fn private_softwires(&self) -> bool {
                match self {
                    $(Self::$name(_) => $module::$name::PRIVATE_SOFTWIRES,)+
                }
            }

            /// Whether fragments from a softwire are told from those of other softwires.
            #[inline(always)]
            #[must_use]
            pub const fn fragments_by_softwire(&self) -> bool {
                match self {
                    $(Self::$name(_) => $module::$name::FRAGMENTS_BY_SOFTWIRE,)+
                }
            }
        }
    };
}
for_each_mechanism!(any_mechanism);

impl Member for AnyMechanism {
    #[inline(always)]
    fn of(any: &AnyMechanism) -> Option<&Self> {
        Some(any)
    }
}

/// One configured instance of a mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Instance {
    /// The mechanism.
    pub mechanism: AnyMechanism,
    /// How it treats headers.
    pub policy: Policy,
}

/// A packet as a mechanism sees it.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a, A> {
    /// The policy of the instance.
    pub policy: &'a Policy,
    /// Addresses and ports; for a fragment, the ports of its datagram.
    pub tuple: &'a Tuple<A>,
    /// The transport header.
    pub transport: &'a Transport,
    /// The part that they belong to.
    pub part: Part,
}

impl<'a, A> Seen<'a, A> {
    /// The packet itself.
    #[inline(always)]
    pub const fn outer(policy: &'a Policy, tuple: &'a Tuple<A>, transport: &'a Transport) -> Self {
        Self {
            policy,
            tuple,
            transport,
            part: Part::Outer,
        }
    }

    /// The packet quoted in an ICMP error, with its tuple swapped so that it points the way of the error.
    #[inline(always)]
    pub const fn quoted(policy: &'a Policy, tuple: &'a Tuple<A>, transport: &'a Transport) -> Self {
        Self {
            part: Part::Quoted,
            ..Self::outer(policy, tuple, transport)
        }
    }
}

/// The part of a packet that a tuple belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The packet itself: may make and refresh state.
    Outer,
    /// The packet quoted in an ICMP error: only looks state up (RFC 6146 section 3.4).
    Quoted,
}
