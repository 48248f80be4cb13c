//! The programs of each hook, and their places in the array by which they hand packets on.

use isthmus_core::mechanism::{AnyMechanism, InBpf, Opens, Stage};

/// The section, which is a map, of the octets that say which mechanisms programs take packets of, by being other than
/// 0: one for each number of a mechanism. The loader writes it before programs are loaded, so that the verifier leaves out
/// all others.
pub const MECHANISMS: &str = ".rodata.mechanisms";

/// The value of [`MECHANISMS`].
pub type Mechanisms = [u8; AnyMechanism::KINDS];

/// Where in the kernel programs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// In the driver.
    Xdp,
    /// In the traffic control layer.
    Tc,
}

impl Hook {
    /// The map of the hook's programs: a program array takes programs of one kind.
    #[must_use]
    pub const fn array(self) -> &'static str {
        match self {
            Self::Xdp => "XDP_PROGRAMS",
            Self::Tc => "TC_PROGRAMS",
        }
    }
}

/// A program by its place in the array of its hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Slot {
    /// Takes packets first.
    Base,
    /// Makes sessions that packets of IPv6 hosts need.
    Open,
    /// Shares IPv4 addresses by softwires.
    Softwires,
    /// Shares IPv4 addresses by translation.
    MapT,
    /// Translates with or without sessions: SIIT, NAT64 and NAT44.
    Translation,
    /// Makes sessions that packets of IPv4 hosts behind a CE need.
    OpenV4,
    /// Translates ICMP errors that come as IPv4.
    ErrorsV4,
    /// Makes sessions that packets in the softwires of an AFTR need.
    OpenSoftwires,
    /// Translates fragments.
    Fragments,
    /// Remembers first fragments for those that follow them.
    Remember,
    /// Translates ICMP errors that come as IPv6.
    ErrorsV6,
    /// Takes packets from one inside host to another.
    Hairpins,
}

impl Slot {
    /// All of them, in the order of their places.
    pub const ALL: [Self; 12] = [
        Self::Base,
        Self::Open,
        Self::Softwires,
        Self::MapT,
        Self::Translation,
        Self::OpenV4,
        Self::ErrorsV4,
        Self::OpenSoftwires,
        Self::Fragments,
        Self::Remember,
        Self::ErrorsV6,
        Self::Hairpins,
    ];

    /// Whether packets of a mechanism for which programs do this reach the program here.
    #[must_use]
    pub fn takes(self, packets: InBpf) -> bool {
        match self {
            Self::Base => true,
            Self::Open => packets.opens == Some(Opens::V6),
            Self::OpenV4 => packets.opens == Some(Opens::V4),
            Self::OpenSoftwires => packets.opens == Some(Opens::Softwires),
            Self::Softwires => packets.stage == Stage::Softwires,
            Self::MapT => packets.stage == Stage::MapT,
            Self::Translation => packets.stage == Stage::Translation,
            Self::ErrorsV4 | Self::ErrorsV6 => packets.errors,
            Self::Fragments | Self::Remember => packets.fragments,
            Self::Hairpins => packets.hairpins,
        }
    }

    /// Whether its packets are so rare that user space has them while a gateway starts: the verifier takes as long for
    /// these programs as for the others, and a packet for an empty place goes to user space.
    #[must_use]
    pub fn can_wait(self) -> bool {
        matches!(
            self,
            Self::ErrorsV4 | Self::ErrorsV6 | Self::Fragments | Self::Remember | Self::Hairpins
        )
    }

    /// The name of the program of a hook that belongs here.
    #[must_use]
    pub const fn name(self, hook: Hook) -> &'static str {
        match (hook, self) {
            (Hook::Xdp, Self::Base) => "isthmus_xdp",
            (Hook::Xdp, Self::Open) => "isthmus_xdp_open",
            (Hook::Xdp, Self::Softwires) => "isthmus_xdp_softwires",
            (Hook::Xdp, Self::MapT) => "isthmus_xdp_map_t",
            (Hook::Xdp, Self::Translation) => "isthmus_xdp_translation",
            (Hook::Xdp, Self::OpenV4) => "isthmus_xdp_open_v4",
            (Hook::Xdp, Self::ErrorsV4) => "isthmus_xdp_errors_v4",
            (Hook::Xdp, Self::OpenSoftwires) => "isthmus_xdp_open_softwires",
            (Hook::Xdp, Self::Fragments) => "isthmus_xdp_fragments",
            (Hook::Xdp, Self::Remember) => "isthmus_xdp_remember",
            (Hook::Xdp, Self::ErrorsV6) => "isthmus_xdp_errors_v6",
            (Hook::Xdp, Self::Hairpins) => "isthmus_xdp_hairpins",
            (Hook::Tc, Self::Base) => "isthmus_tc",
            (Hook::Tc, Self::Open) => "isthmus_tc_open",
            (Hook::Tc, Self::Softwires) => "isthmus_tc_softwires",
            (Hook::Tc, Self::MapT) => "isthmus_tc_map_t",
            (Hook::Tc, Self::Translation) => "isthmus_tc_translation",
            (Hook::Tc, Self::OpenV4) => "isthmus_tc_open_v4",
            (Hook::Tc, Self::ErrorsV4) => "isthmus_tc_errors_v4",
            (Hook::Tc, Self::OpenSoftwires) => "isthmus_tc_open_softwires",
            (Hook::Tc, Self::Fragments) => "isthmus_tc_fragments",
            (Hook::Tc, Self::Remember) => "isthmus_tc_remember",
            (Hook::Tc, Self::ErrorsV6) => "isthmus_tc_errors_v6",
            (Hook::Tc, Self::Hairpins) => "isthmus_tc_hairpins",
        }
    }
}

/// Entries of the program array of a hook.
pub const ENTRIES: usize = Slot::ALL.len();

const _: () = {
    let mut place = 0;
    while place < ENTRIES {
        assert!(Slot::ALL[place] as usize == place);
        place += 1;
    }
};
