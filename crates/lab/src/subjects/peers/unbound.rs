//! unbound with its dns64 module.

use std::{net::Ipv6Addr, path::Path};

use super::{start_dns64, version};
use crate::{
    Result,
    network::{
        device::{Device, Started},
        plan, process,
        topology::Network,
    },
};

/// unbound on the gateway, one thread, forwarding to the DNS server on the IPv4 host.
#[derive(Debug, Clone, Copy)]
pub struct Unbound {
    /// The gateway's address on which it listens.
    pub listen: Ipv6Addr,
}

impl Device for Unbound {
    fn name(&self) -> String {
        format!("unbound{} dns64", version("unbound"))
    }

    fn start(&self, network: &Network, cpu: usize) -> Result<Started> {
        process::require("unbound", "unbound")?;
        let configuration = |directory: &Path| {
            format!(
                "server:\n  directory: \"{directory}\"\n  chroot: \"\"\n  username: \"\"\n  \
             pidfile: \"\"\n  use-syslog: no\n  num-threads: 1\n  interface: {listen}\n  \
             access-control: ::0/0 allow\n  module-config: \"dns64 iterator\"\n  \
             dns64-prefix: {prefix}/96\n  do-not-query-localhost: no\n  \
             so-reuseport: no\n  local-zone: \"test.\" nodefault\n  local-zone: \"8.b.d.0.1.0.0.2.ip6.arpa.\" nodefault\n  local-zone: \"100.51.198.in-addr.arpa.\" nodefault\n  msg-cache-size: 64m\n  rrset-cache-size: 128m\n\
             remote-control:\n  control-enable: no\n\
             forward-zone:\n  name: \".\"\n  forward-addr: {upstream}\n",
                directory = directory.display(),
                listen = self.listen,
                prefix = plan::PREFIX,
                upstream = plan::HOST4,
            )
        };
        let program = ("unbound", &["-d", "-c"][..]);
        start_dns64(network, (self.listen, cpu), program, configuration)
    }
}
