//! BIND with its dns64 option.

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

/// BIND on the gateway, one thread, forwarding to the DNS server on the IPv4 host.
#[derive(Debug, Clone, Copy)]
pub struct Bind {
    /// The gateway's address on which it listens.
    pub listen: Ipv6Addr,
}

impl Device for Bind {
    fn name(&self) -> String {
        format!("BIND{} dns64", version("bind9"))
    }

    fn start(&self, network: &Network, cpu: usize) -> Result<Started> {
        process::require("named", "bind9")?;
        let configuration = |directory: &Path| {
            format!(
                "options {{\n  directory \"{directory}\";\n  pid-file none;\n  session-keyfile none;\n  \
             listen-on {{ none; }};\n  listen-on-v6 {{ {listen}; }};\n  recursion yes;\n  \
             allow-query {{ any; }};\n  allow-recursion {{ any; }};\n  dnssec-validation no;\n  \
             empty-zones-enable no;\n  forward only;\n  forwarders {{ {upstream}; }};\n  \
             recursive-clients 100000;\n  \
             dns64 {prefix}/96 {{ clients {{ any; }}; }};\n}};\ncontrols {{ }};\n",
                directory = directory.display(),
                listen = self.listen,
                prefix = plan::PREFIX,
                upstream = plan::HOST4,
            )
        };
        let program = ("named", &["-g", "-n", "1", "-c"][..]);
        start_dns64(network, (self.listen, cpu), program, configuration)
    }
}
