//! The kernel's own tunnels.

use std::sync::OnceLock;

use crate::{
    LabError, Result,
    network::{
        device::{Device, Started},
        netns::Namespace,
        plan,
        topology::Network,
    },
};

/// A device of the kernel between the gateway of a dual-stack network and its second host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelTunnel {
    /// IPv6 in IPv4: `sit`.
    Sit,
    /// IPv4 in IPv6: `ip6tnl`.
    Ip6tnl,
}

/// The name of the device.
const LINK: &str = "tunnel";

impl KernelTunnel {
    /// Returns the kind of the device.
    fn kind(self) -> &'static str {
        match self {
            Self::Sit => "sit",
            Self::Ip6tnl => "ip6tnl",
        }
    }

    /// Makes the device, with routes to the networks behind it.
    fn make(self, node: &Namespace) -> Result<()> {
        let (options, network) = match self {
            Self::Sit => (
                format!("local {} remote {} ttl 64", plan::GATEWAY4, plan::HOST4),
                plan::BEHIND_V4,
            ),
            Self::Ip6tnl => (
                format!(
                    "mode ipip6 local {} remote {} encaplimit none",
                    plan::GATEWAY4_AS_IPV6,
                    plan::HOST4_AS_IPV6
                ),
                plan::BEHIND_V6,
            ),
        };
        node.ip(&[
            format!("link add {LINK} type {} {options}", self.kind()),
            format!("link set {LINK} up"),
            format!("route add {network} dev {LINK}"),
        ])
    }

    /// Checks that this machine's kernel has it.
    ///
    /// # Errors
    /// This machine's kernel does not have it. The test needs root.
    pub fn require(self) -> Result<()> {
        static SIT: OnceLock<bool> = OnceLock::new();
        static IP6TNL: OnceLock<bool> = OnceLock::new();
        let (known, option) = match self {
            Self::Sit => (&SIT, "CONFIG_IPV6_SIT"),
            Self::Ip6tnl => (&IP6TNL, "CONFIG_IPV6_TUNNEL"),
        };
        let is_here = match known.get() {
            Some(is_here) => *is_here,
            None => {
                // Adding such a link loads its module.
                let is_here = self.make(&Namespace::create("probe")?).is_ok();
                *known.get_or_init(|| is_here)
            }
        };
        if is_here {
            Ok(())
        } else {
            Err(LabError::NoModule {
                module: self.kind(),
                from: option,
            })
        }
    }
}

impl Device for KernelTunnel {
    fn name(&self) -> String {
        format!("kernel {}", self.kind())
    }

    fn start(&self, network: &Network, _: usize) -> Result<Started> {
        self.make(network.gateway()?)?;
        Ok(Started::default())
    }
}
