//! tundra-nat64 (5.0 or later), a stateless translator in user space. It is not packaged in Debian.

use std::{
    env,
    net::{Ipv4Addr, Ipv6Addr},
    path::PathBuf,
};

use crate::{
    LabError, Result,
    network::{plan, process},
};

/// The environment variable that names the binary, if it is not on the path.
const BINARY: &str = "ISTHMUS_TUNDRA";

/// tundra's configuration: it translates the packets of one host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tundra {
    /// The side of the host.
    pub mode: Mode,
    /// The host's IPv4 address.
    pub v4: Ipv4Addr,
    /// The host's IPv6 address.
    pub v6: Ipv6Addr,
    /// The translation prefix, of 96 bits.
    pub prefix: Ipv6Addr,
    /// The addresses of the translator itself, from which its ICMP errors come.
    pub own: (Ipv4Addr, Ipv6Addr),
}

/// The side of the translator on which a host is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The host speaks IPv6, and reaches others by the prefix.
    Nat64,
    /// The host speaks IPv4, and its packets travel as IPv6.
    Clat,
}

impl Tundra {
    /// The configuration with the mapping of [`Tayga`](super::Tayga), for the IPv6-only host.
    pub const SIIT: Self = Self {
        mode: Mode::Nat64,
        v4: plan::HOST6_AS_IPV4,
        v6: plan::HOST6,
        prefix: plan::PREFIX,
        own: (
            Ipv4Addr::new(192, 0, 0, 8),
            Ipv6Addr::new(0x2001, 0xdb8, 0xffff, 0, 0, 0, 0, 1),
        ),
    };

    /// Returns its file for a TUN device, in the words of `tundra-nat64.conf(5)`. A missing key is an error there.
    pub(super) fn configuration(&self, link: &str) -> String {
        let Self {
            mode,
            v4,
            v6,
            prefix,
            own: (own4, own6),
        } = self;
        let mode = match mode {
            Mode::Nat64 => "nat64",
            Mode::Clat => "clat",
        };
        format!(
            "program.translator_threads = 1\nprogram.privilege_drop_user =\n\
             program.privilege_drop_group =\nio.mode = tun\nio.tun.device_path =\n\
             io.tun.interface_name = {link}\nio.tun.owner_user =\nio.tun.owner_group =\n\
             io.tun.multi_queue = no\nrouter.ipv4 = {own4}\nrouter.ipv6 = {own6}\n\
             router.generated_packet_ttl = 64\naddressing.mode = {mode}\n\
             addressing.nat64_clat.ipv4 = {v4}\naddressing.nat64_clat.ipv6 = {v6}\n\
             addressing.nat64_clat_siit.prefix = {prefix}\n\
             addressing.nat64_clat_siit.allow_translation_of_private_ips = yes\n\
             translator.ipv4.outbound_mtu = 1500\ntranslator.ipv6.outbound_mtu = 1500\n\
             translator.6to4.copy_dscp_and_ecn = yes\ntranslator.4to6.copy_dscp_and_ecn = yes\n"
        )
    }
}

/// Returns the path of the binary.
pub(crate) fn program() -> Result<PathBuf> {
    let Some(path) = env::var_os(BINARY).map(PathBuf::from) else {
        let package = format!("none: build it, and set {BINARY} to its path");
        return process::require("tundra-nat64", &package).map(|()| "tundra-nat64".into());
    };
    if path.is_file() {
        return Ok(path);
    }
    Err(LabError::Missing {
        program: format!("{BINARY}={}", path.display()),
        package: "none: the variable has to be the path of tundra-nat64".into(),
    })
}
