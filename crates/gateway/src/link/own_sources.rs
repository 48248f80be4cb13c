//! Packets from the gateway's link whose source is an address of the machine itself, which the kernel takes for forged.

use std::fs;
use std::path::PathBuf;

/// Which of them there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnSources {
    /// None.
    None,
    /// ICMP errors of the gateway.
    Errors,
    /// All that comes from hosts that share the address. What returns to the machine has sources that are not routed
    /// into the link.
    Hosts,
}

/// Has the kernel take them from this link, and no others.
pub(super) fn accept(link: &str, own: OwnSources) {
    let path =
        |name: &str, leaf: &str| PathBuf::from(format!("/proc/sys/net/ipv4/conf/{name}/{leaf}"));
    let is_strict =
        |name| fs::read_to_string(path(name, "rp_filter")).is_ok_and(|it| it.trim() == "1");
    let accepted = if own == OwnSources::None { "0" } else { "1" };
    let mut values = vec![("accept_local", accepted)];
    if own == OwnSources::Hosts && ["all", link].into_iter().any(is_strict) {
        values.push(("rp_filter", "2"));
    }
    for (leaf, value) in values {
        let path = path(link, leaf);
        if fs::read_to_string(&path).is_ok_and(|now| now.trim() == value) {
            continue;
        }
        if let Err(error) = fs::write(&path, value) {
            tracing::warn!(%error, "net.ipv4.conf.{link}.{leaf} could not be set to {value}");
        }
    }
}
