//! The interfaces of a network as they are: MTUs, offloads, and the congestion control of their nodes.

use crate::{
    LabError, Result,
    figures::results::{Interface, Offload},
    network::{congestion, netns::Namespace, process, topology::Network},
};

/// Prints the congestion control, and a line for each interface that is up, with its MTU and behind that its features.
const SHOW: &str = "echo \"congestion $(cat \"$1\")\"
cd /sys/class/net
for each in */; do
    name=${each%/}
    if [ $(($(cat \"$name/flags\") & 1)) = 1 ] && [ \"$name\" != lo ]; then
        echo \"interface $name $(cat \"$name/mtu\")\"
        ethtool -k \"$name\"
    fi
done";

/// The features of `ethtool -k` that are kept.
const FEATURES: [(&str, Offload); 5] = [
    ("rx-checksumming", Offload::RxChecksumming),
    ("tx-checksumming", Offload::TxChecksumming),
    ("tcp-segmentation-offload", Offload::TcpSegmentation),
    ("generic-segmentation-offload", Offload::GenericSegmentation),
    ("generic-receive-offload", Offload::GenericReceive),
];

/// Returns the interfaces of a network that are up, without loopbacks, node by node.
///
/// # Errors
/// `ethtool` is missing, or says something else.
pub fn of(network: &Network) -> Result<Vec<Interface>> {
    process::require("ethtool", "ethtool")?;
    let nodes = network
        .nodes()
        .map(|(node, namespace)| of_node(node, namespace));
    Ok(nodes.collect::<Result<Vec<_>>>()?.concat())
}

fn of_node(node: &str, namespace: &Namespace) -> Result<Vec<Interface>> {
    let output = process::run(
        namespace
            .command("sh")
            .args(["-c", SHOW, "sh", congestion::FILE]),
    )?;
    parse(node, &output).ok_or(LabError::Output {
        tool: "ethtool",
        output,
    })
}

/// Parses the output of [`SHOW`].
fn parse(node: &str, output: &str) -> Option<Vec<Interface>> {
    let mut interfaces: Vec<Interface> = Vec::new();
    let mut congestion_control = None;
    for line in output.lines() {
        if let Some(algorithm) = line.strip_prefix("congestion ") {
            congestion_control = Some(algorithm.to_owned());
        } else if let Some(found) = line.strip_prefix("interface ") {
            let (name, mtu) = found.split_once(' ')?;
            interfaces.push(Interface {
                node: node.into(),
                name: name.into(),
                mtu: mtu.parse().ok()?,
                offloads: Vec::new(),
                congestion_control: Some(congestion_control.clone()?),
            });
        } else if let Some((feature, state)) = line.split_once(": ") {
            let known = FEATURES.iter().find(|(name, _)| *name == feature);
            if let Some((_, offload)) = known.filter(|_| state.starts_with("on")) {
                interfaces.last_mut()?.offloads.push(*offload);
            }
        }
    }
    Some(interfaces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::topology::{HOST_INTERFACE, HOST6, Neighbours, Offloads, Topology};

    #[test]
    fn what_ethtool_says_is_read() {
        let output = "congestion reno\ninterface six 1500\nFeatures for six:\nrx-checksumming: on\ntx-checksumming: off\n\
            \ttx-checksum-ip-generic: off\nscatter-gather: on\ngeneric-receive-offload: on\n\
            interface tun0 1280\nFeatures for tun0:\nrx-checksumming: off [fixed]\n\
            tcp-segmentation-offload: on [fixed]\n";
        let interface = |name: &str, mtu, offloads: &[Offload]| Interface {
            node: "gateway".into(),
            name: name.into(),
            mtu,
            offloads: offloads.to_vec(),
            congestion_control: Some("reno".into()),
        };
        let expected = [
            interface(
                "six",
                1500,
                &[Offload::RxChecksumming, Offload::GenericReceive],
            ),
            interface("tun0", 1280, &[Offload::TcpSegmentation]),
        ];
        assert_eq!(parse("gateway", output).unwrap(), expected);
        assert_eq!(parse("gateway", "congestion reno\ninterface six\n"), None);
        assert_eq!(parse("gateway", "interface six 1500\n"), None);
    }

    #[test]
    #[ignore = "builds networks, as root: of the tier namespaces"]
    fn mtus_and_offloads_are_those_that_were_set() {
        for (offloads, is_on) in [(Offloads::On, true), (Offloads::Off, false)] {
            let network = Topology::dual_stack(Neighbours::Resolved, offloads)
                .with_mtu(HOST6, HOST_INTERFACE, 1400)
                .build()
                .unwrap();
            let found = of(&network).unwrap();
            let told: Vec<_> = found
                .iter()
                .map(|one| (one.node.as_str(), one.name.as_str(), one.mtu))
                .collect();
            let expected = [
                ("host6", "eth0", 1400),
                ("gateway", "four", 1500),
                ("gateway", "six", 1400),
                ("host4", "eth0", 1500),
            ];
            assert_eq!(told, expected);
            for one in &found {
                let has = |offload| one.offloads.contains(&offload);
                assert!(has(Offload::GenericReceive), "{one:?}");
                for offload in [
                    Offload::TxChecksumming,
                    Offload::TcpSegmentation,
                    Offload::GenericSegmentation,
                ] {
                    assert_eq!(has(offload), is_on, "{one:?}");
                }
            }
        }
    }
}
