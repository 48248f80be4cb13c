//! BIND with its dns64 option.

use std::{net::Ipv6Addr, time::Duration};

use super::version;
use crate::{
    Result, leftovers, plan,
    process::{self, Process},
    services::dns_answers,
    subject::{Started, Subject},
    topology::Network,
};

/// BIND on the gateway, one thread, forwarding to the DNS server on the IPv4 host.
#[derive(Debug, Clone, Copy)]
pub struct Bind {
    /// The gateway's address that it listens on.
    pub listen: Ipv6Addr,
}

impl Subject for Bind {
    fn name(&self) -> String {
        format!("BIND{} dns64", version("bind9"))
    }

    fn start(&self, network: &Network, cpu: usize) -> Result<Started> {
        process::require("named", "bind9")?;
        let files = leftovers::directory()?;
        let path = files.path().join("named.conf");
        let configuration = format!(
            "options {{\n  directory \"{directory}\";\n  pid-file none;\n  session-keyfile none;\n  \
             listen-on {{ none; }};\n  listen-on-v6 {{ {listen}; }};\n  recursion yes;\n  \
             allow-query {{ any; }};\n  allow-recursion {{ any; }};\n  dnssec-validation no;\n  \
             empty-zones-enable no;\n  forward only;\n  forwarders {{ {upstream}; }};\n  \
             recursive-clients 100000;\n  \
             dns64 {prefix}/96 {{ clients {{ any; }}; }};\n}};\ncontrols {{ }};\n",
            directory = files.path().display(),
            listen = self.listen,
            prefix = plan::PREFIX,
            upstream = plan::HOST4,
        );
        leftovers::write(&path, configuration)?;
        let mut command = network.gateway()?.command_on(cpu, "named");
        let mut daemon = Process::start("named", command.args(["-g", "-n", "1", "-c"]).arg(&path))?;
        let host6 = network.host6()?;
        daemon.wait_until(Duration::from_secs(5), || {
            dns_answers(host6, &self.listen.to_string())
        })?;
        Ok(Started {
            processes: vec![daemon],
            files: Some(files),
            ..Started::default()
        })
    }
}
