//! TAYGA, the stateless translator in user space, as a SIIT gateway.

use super::{
    tun::{Translator, in_the_middle},
    version,
};
use crate::{
    Result,
    network::{
        device::{Device, Started},
        topology::Network,
    },
};

/// TAYGA with one explicit mapping for the IPv6-only host.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tayga;

/// The addresses of the [plan](crate::network::plan). A test compares them.
const CONFIGURATION: &str = "ipv4-addr 192.0.0.8\nipv6-addr 2001:db8:ffff::1\n\
    prefix 2001:db8:64::/96\nmap 192.0.2.6 2001:db8:6::6";

impl Device for Tayga {
    fn name(&self) -> String {
        format!("TAYGA{}", version("tayga"))
    }

    fn start(&self, network: &Network, cpu: usize) -> Result<Started> {
        in_the_middle(&Translator::Tayga(CONFIGURATION), network, cpu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::plan;

    #[test]
    fn the_addresses_are_those_of_the_plan() {
        let (prefix, v4, v6) = (plan::PREFIX, plan::HOST6_AS_IPV4, plan::HOST6);
        let wanted = format!("prefix {prefix}/96\nmap {v4} {v6}");
        assert!(CONFIGURATION.ends_with(&wanted), "{wanted}");
    }
}
