//! unbound with its dns64 module.

use std::{net::Ipv6Addr, time::Duration};

use super::version;
use crate::{
    Result, leftovers, plan,
    process::{self, Process},
    services::dns_answers,
    subject::{Started, Subject},
    topology::Network,
};

/// unbound on the gateway, one thread, forwarding to the DNS server on the IPv4 host.
#[derive(Debug, Clone, Copy)]
pub struct Unbound {
    /// The gateway's address that it listens on.
    pub listen: Ipv6Addr,
}

impl Subject for Unbound {
    fn name(&self) -> String {
        format!("unbound{} dns64", version("unbound"))
    }

    fn start(&self, network: &Network, cpu: usize) -> Result<Started> {
        process::require("unbound", "unbound")?;
        let files = leftovers::directory()?;
        let path = files.path().join("unbound.conf");
        let configuration = format!(
            "server:\n  directory: \"{directory}\"\n  chroot: \"\"\n  username: \"\"\n  \
             pidfile: \"\"\n  use-syslog: no\n  num-threads: 1\n  interface: {listen}\n  \
             access-control: ::0/0 allow\n  module-config: \"dns64 iterator\"\n  \
             dns64-prefix: {prefix}/96\n  do-not-query-localhost: no\n  \
             so-reuseport: no\n  local-zone: \"test.\" nodefault\n  local-zone: \"8.b.d.0.1.0.0.2.ip6.arpa.\" nodefault\n  local-zone: \"100.51.198.in-addr.arpa.\" nodefault\n  msg-cache-size: 64m\n  rrset-cache-size: 128m\n\
             remote-control:\n  control-enable: no\n\
             forward-zone:\n  name: \".\"\n  forward-addr: {upstream}\n",
            directory = files.path().display(),
            listen = self.listen,
            prefix = plan::PREFIX,
            upstream = plan::HOST4,
        );
        leftovers::write(&path, configuration)?;
        let mut command = network.gateway()?.command_on(cpu, "unbound");
        let mut daemon = Process::start("unbound", command.args(["-d", "-c"]).arg(&path))?;
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
