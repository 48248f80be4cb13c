//! The work of BPF programs for a mechanism.

use super::{AnyMechanism, Mechanism};
use crate::for_each_mechanism;
use crate::packet::Family;

/// The packets for which a BPF program makes sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opens {
    /// IPv4 packets of inside hosts.
    V4,
    /// IPv6 packets of inside hosts.
    V6,
    /// IPv4 packets of inside hosts, in softwires.
    Softwires,
}

/// The BPF program that takes a mechanism's packets. Each is as much as the verifier accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The program that takes packets first: [plain](crate::packet::Plain) ones of all mechanisms, and all of
    /// tunnels.
    Base,
    /// The program of SIIT, NAT64 and NAT44.
    Translation,
    /// The program of mechanisms that share IPv4 addresses by softwires.
    Softwires,
    /// The program of MAP-T.
    MapT,
    /// The program that takes [ICMP errors](crate::packet::Errors) which come as IPv4, after one of the others has refused
    /// them: of the mechanisms that say so by [`ERRORS_IN_BPF`](Mechanism::ERRORS_IN_BPF). It is no mechanism's own.
    ErrorsV4,
    /// The same for those which come as IPv6.
    ErrorsV6,
    /// The program that takes [fragments](crate::packet::Fragments) after one of the others has refused them: of the
    /// mechanisms that say so by [`FRAGMENTS_IN_BPF`](Mechanism::FRAGMENTS_IN_BPF). It is no mechanism's own.
    Fragments,
    /// The program that takes [hairpins](crate::packet::Hairpins) after one of the others has refused them: of the mechanisms
    /// that say so by [`HAIRPINS_IN_BPF`](Mechanism::HAIRPINS_IN_BPF). It is no mechanism's own.
    Hairpins,
}

impl Stage {
    /// The program of ICMP errors that come as packets of a family.
    #[inline(always)]
    #[must_use]
    pub const fn errors(family: Family) -> Self {
        match family {
            Family::V4 => Self::ErrorsV4,
            Family::V6 => Self::ErrorsV6,
        }
    }

    /// Whether two are the same.
    #[inline(always)]
    #[must_use]
    pub const fn is(self, other: Self) -> bool {
        self as u8 == other as u8
    }
}

/// The work of BPF programs for a mechanism.
#[derive(Clone, Copy, Debug)]
pub struct InBpf {
    /// The program that takes its packets, if the first one does not.
    pub stage: Stage,
    /// The packets for which they make sessions.
    pub opens: Option<Opens>,
    /// Whether they translate ICMP errors about its packets.
    pub errors: bool,
    /// Whether they translate fragments of its datagrams that come in order.
    pub fragments: bool,
    /// Whether they translate its hairpins.
    pub hairpins: bool,
}

impl InBpf {
    const fn of<M: Mechanism>() -> Self {
        Self {
            stage: M::STAGE,
            opens: M::OPENS_IN_BPF,
            errors: M::ERRORS_IN_BPF,
            fragments: M::FRAGMENTS_IN_BPF,
            hairpins: M::HAIRPINS_IN_BPF.is_some(),
        }
    }
}

/// Defines the table over the list.
macro_rules! in_bpf {
    ($($(#[$about:meta])+ $module:ident::$name:ident,)+) => {
        impl AnyMechanism {
            /// The work of BPF programs for each kind of mechanism, by its [number](Self::number).
            pub const IN_BPF: [InBpf; Self::KINDS] = [$(InBpf::of::<super::$module::$name>(),)+];
        }
    };
}
for_each_mechanism!(in_bpf);
