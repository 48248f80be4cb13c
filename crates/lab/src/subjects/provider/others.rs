//! Other implementations of the mechanisms: the kernel's own tunnels, and translators that are processes.

use std::{
    net::{Ipv4Addr, Ipv6Addr},
    path::PathBuf,
};

use crate::{
    Result,
    network::{device::Started, netns::Namespace, process},
    subjects::peers::{KernelTunnel, Mode, Translator, Tundra},
};

/// A gateway at one end of a mechanism, by another implementation.
#[derive(Debug, Clone, Copy)]
pub struct End {
    /// The requirements on the machine.
    needs: &'static [Need],
    /// The process that does the work, if there is one. Its link is called `tunnel`.
    translator: Option<Translator>,
    /// Shell commands in its namespace.
    lines: &'static [&'static str],
}

/// A requirement that a machine may not meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// The kernel's tunnels.
    Tunnel(KernelTunnel),
    /// The kernel's packet filter and its tool.
    Nftables,
}

impl Need {
    /// Tunnels of IPv6 in IPv4.
    pub const SIT: Self = Self::Tunnel(KernelTunnel::Sit);
    /// Tunnels of IPv4 in IPv6.
    pub const IP6TNL: Self = Self::Tunnel(KernelTunnel::Ip6tnl);

    /// Checks that the machine meets it.
    ///
    /// # Errors
    /// The machine does not meet it.
    pub fn require(self) -> Result<()> {
        match self {
            Self::Tunnel(tunnel) => tunnel.require(),
            Self::Nftables => process::require("nft", "nftables"),
        }
    }
}

impl End {
    /// Returns a gateway of the kernel.
    pub const fn kernel(needs: &'static [Need], lines: &'static [&'static str]) -> Self {
        Self {
            needs,
            translator: None,
            lines,
        }
    }

    /// Returns a gateway that is a process, with shell commands for its link.
    pub const fn process(translator: Translator, lines: &'static [&'static str]) -> Self {
        Self {
            needs: &[],
            translator: Some(translator),
            lines,
        }
    }

    /// Checks that the machine meets its requirements.
    ///
    /// # Errors
    /// The machine does not meet a requirement.
    pub fn require(&self) -> Result<()> {
        self.program()?;
        self.needs.iter().try_for_each(|need| need.require())
    }

    /// Returns the program of its process, if it has one.
    ///
    /// # Errors
    /// It is not installed.
    pub fn program(&self) -> Result<Option<PathBuf>> {
        let translator = self.translator.as_ref();
        translator.map(Translator::program).transpose()
    }

    /// Sets it up on a node. A process is bound to a CPU if one is given.
    ///
    /// # Errors
    /// It does not run on this machine.
    pub fn start(&self, node: &Namespace, cpu: Option<usize>) -> Result<Started> {
        let lines = self.lines.join("\n");
        match &self.translator {
            Some(translator) => translator.start(node, cpu, &lines),
            None => node.script(&lines).map(|()| Started::default()),
        }
    }
}

const SIT: &[Need] = &[Need::SIT];
const IP6TNL: &[Need] = &[Need::IP6TNL];
const IP6TNL_AND_NFT: &[Need] = &[Need::IP6TNL, Need::Nftables];

/// `sit`, for [`SIX_IN_FOUR`](super::SIX_IN_FOUR): the CE, and the BR.
pub const SIX_IN_FOUR: [End; 2] = [
    End::kernel(
        SIT,
        &[
            "ip addr add 203.0.113.1/32 dev lo",
            "ip link add tunnel type sit local 203.0.113.1 remote 203.0.113.129 ttl 64",
            "ip link set tunnel up",
            "ip route add 3fff:b::/48 dev tunnel",
        ],
    ),
    End::kernel(
        SIT,
        &[
            "ip addr add 203.0.113.129/32 dev lo",
            "ip link add tunnel type sit local 203.0.113.129 remote 203.0.113.1 ttl 64",
            "ip link set tunnel up",
            "ip route add 2001:db8:a::/48 dev tunnel",
        ],
    ),
];

/// `sit`, for [`SIX_TO_FOUR`](super::SIX_TO_FOUR): both routers.
pub const SIX_TO_FOUR: [End; 2] = [
    End::kernel(
        SIT,
        &[
            "ip addr add 203.0.113.1/32 dev lo",
            "ip link add tunnel type sit local 203.0.113.1 ttl 64",
            "ip link set tunnel up",
            "ip addr add 2002:cb00:7101::1/16 dev tunnel nodad",
        ],
    ),
    End::kernel(
        SIT,
        &[
            "ip addr add 203.0.113.129/32 dev lo",
            "ip link add tunnel type sit local 203.0.113.129 ttl 64",
            "ip link set tunnel up",
            "ip addr add 2002:cb00:7181::1/16 dev tunnel nodad",
        ],
    ),
];

/// `sit` with parameters of 6rd, for [`SIX_RD`](super::SIX_RD): the CE, and the BR.
pub const SIX_RD: [End; 2] = [
    End::kernel(
        SIT,
        &[
            "ip addr add 10.100.100.1/32 dev lo",
            "ip tunnel add tunnel mode sit local 10.100.100.1 ttl 64",
            "ip tunnel 6rd dev tunnel 6rd-prefix 2001:db8::/32 6rd-relay_prefix 10.0.0.0/8",
            "ip link set tunnel up",
            "ip addr add 2001:db8:6464:100::ffff/32 dev tunnel nodad",
            "ip route add default via ::10.0.0.1 dev tunnel",
        ],
    ),
    End::kernel(
        SIT,
        &[
            "ip addr add 10.0.0.1/32 dev lo",
            "ip tunnel add tunnel mode sit local 10.0.0.1 ttl 64",
            "ip tunnel 6rd dev tunnel 6rd-prefix 2001:db8::/32 6rd-relay_prefix 10.0.0.0/8",
            "ip link set tunnel up",
            "ip addr add 2001:db8:0:100::1/32 dev tunnel nodad",
        ],
    ),
];

/// `ip6tnl`, for [`FOUR_IN_SIX`](super::FOUR_IN_SIX): the CE, and the BR.
pub const FOUR_IN_SIX: [End; 2] = [
    End::kernel(
        IP6TNL,
        &[
            "ip addr add 2001:db8:12::1/128 dev lo nodad",
            "ip link add tunnel type ip6tnl mode ipip6 local 2001:db8:12::1 remote 2001:db8:ffff::1 encaplimit none",
            "ip link set tunnel up",
            "ip route add 198.51.100.0/24 dev tunnel",
        ],
    ),
    End::kernel(
        IP6TNL,
        &[
            "ip addr add 2001:db8:ffff::1/128 dev lo nodad",
            "ip link add tunnel type ip6tnl mode ipip6 local 2001:db8:ffff::1 remote 2001:db8:12::1 encaplimit none",
            "ip link set tunnel up",
            "ip route add 192.168.1.0/24 dev tunnel",
        ],
    ),
];

/// `ip6tnl` with masquerading, for [`DS_LITE`](super::DS_LITE): the B4, and the AFTR. It serves one customer.
pub const DS_LITE: [End; 2] = [
    End::kernel(
        IP6TNL_AND_NFT,
        &[
            "ip addr add 2001:db8:12::1/128 dev lo nodad",
            "ip link add tunnel type ip6tnl mode ipip6 local 2001:db8:12::1 remote 2001:db8:ffff::1 encaplimit none",
            "ip link set tunnel up",
            "ip route add default dev tunnel",
        ],
    ),
    End::kernel(
        IP6TNL_AND_NFT,
        &[
            "ip addr add 2001:db8:ffff::1/128 dev lo nodad",
            "ip link add tunnel type ip6tnl mode ipip6 local 2001:db8:ffff::1 remote 2001:db8:12::1 encaplimit none",
            "ip link set tunnel up",
            "ip route add 192.168.1.0/24 dev tunnel",
            "nft 'add table ip nat'",
            "nft 'add chain ip nat out { type nat hook postrouting priority 100; }'",
            "nft 'add rule ip nat out oifname != tunnel masquerade'",
        ],
    ),
];

/// TAYGA as the CE of [`CLAT`](super::CLAT). Routers between the translators have mappings, since TAYGA drops errors
/// whose sources it cannot translate.
pub const TAYGA_CLAT: End = End::process(
    Translator::Tayga(
        "ipv4-addr 192.0.0.2\nipv6-addr 2001:db8:12::2\nprefix 2001:db8:ffff::/96\n\
         map 192.168.1.10 2001:db8:12::a\nmap 198.18.0.1 3fff:c0::2\n\
         map 198.18.0.2 3fff:c0::1\nmap 198.18.0.3 3fff:c1::2",
    ),
    CLAT_ROUTES,
);

/// TAYGA as the PLAT of [`CLAT`](super::CLAT). It serves one customer, by an IPv4 address of its own.
pub const TAYGA_PLAT: End = End::process(
    Translator::Tayga(
        "ipv4-addr 203.0.113.2\nipv6-addr 2001:db8:fffe::2\nprefix 2001:db8:ffff::/96\n\
         map 203.0.113.1 2001:db8:12::464\nmap 198.18.0.1 3fff:c1::1",
    ),
    &[
        "ip route add 2001:db8:ffff::/96 dev tunnel",
        "ip route add 203.0.113.0/30 dev tunnel",
    ],
);

/// tundra as the CE of [`CLAT`](super::CLAT).
pub const TUNDRA_CLAT: End = End::process(
    Translator::Tundra(Tundra {
        mode: Mode::Clat,
        v4: Ipv4Addr::new(192, 168, 1, 10),
        v6: Ipv6Addr::new(0x2001, 0xdb8, 0x12, 0, 0, 0, 0, 0xa),
        prefix: Ipv6Addr::new(0x2001, 0xdb8, 0xffff, 0, 0, 0, 0, 0),
        own: (
            Ipv4Addr::new(192, 0, 0, 2),
            Ipv6Addr::new(0x2001, 0xdb8, 0x12, 0, 0, 0, 0, 2),
        ),
    }),
    CLAT_ROUTES,
);

const CLAT_ROUTES: &[&str] = &[
    "ip route add 2001:db8:12::a/128 dev tunnel",
    "ip route add default dev tunnel",
];
