//! The packets that `isthmus trace` and `isthmus capture` follow.

use anyhow::{Result, bail};
use clap::Args;
use ipnet::IpNet;
use isthmus_gateway::control::{Reply, Request, TraceRequest, TracedPacket};

use super::sessions::net;
use super::target::Target;

/// Which packets, and how many. A packet meets a condition in the form that came or in the form that left.
#[derive(Args, Debug)]
pub(crate) struct Followed {
    #[command(flatten)]
    target: Target,
    /// Only packets from or to this network, or this address
    #[arg(long, value_name = "NET", value_parser = net)]
    network: Option<IpNet>,
    /// Only this protocol: tcp, udp, icmp (of both families) or a number
    #[arg(long, value_name = "NAME")]
    protocol: Option<String>,
    /// Only packets from or to this port
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Only packets that this instance has counted
    #[arg(long, value_name = "NAME")]
    instance: Option<String>,
    /// Only packets that are dropped, with or without an answer
    #[arg(long)]
    dropped: bool,
    /// End after this many packets; 0 for none
    #[arg(long, value_name = "N", default_value_t = 0)]
    count: u64,
}

impl Followed {
    /// Shows each packet, with at most `snap` bytes of each form, until there were enough or the gateway ends.
    pub(crate) fn each(
        &self,
        snap: Option<u32>,
        mut show: impl FnMut(TracedPacket) -> Result<()>,
    ) -> Result<()> {
        let request = TraceRequest {
            network: self.network,
            protocol: self.protocol.clone(),
            port: self.port,
            instance: self.instance.clone(),
            dropped: self.dropped,
            snap,
        };
        let mut client = self.target.ask(&Request::Trace(request))?;
        let mut count = 0;
        while let Some(reply) = client.receive()? {
            match reply {
                Reply::Packet(packet) => {
                    show(packet)?;
                    count += 1;
                    if count == self.count {
                        break;
                    }
                }
                Reply::Lost(count) => eprintln!("{count} packets came too fast to be shown"),
                Reply::Unseen(why) => eprintln!("not shown: packets of the {why}"),
                other => bail!("unexpected answer from the gateway: {other:?}"),
            }
        }
        Ok(())
    }
}

/// The reasons of a packet, as one phrase: counters by instance.
pub(crate) fn reasons(packet: &TracedPacket) -> String {
    let mut phrase = String::new();
    let mut before = None;
    for reason in &packet.reasons {
        let owner = reason.instance.as_deref().unwrap_or("gateway");
        if before == Some(owner) {
            phrase += ", ";
        } else {
            if before.is_some() {
                phrase += "; ";
            }
            phrase += owner;
            phrase += ": ";
        }
        phrase += &reason.counter;
        before = Some(owner);
    }
    phrase
}
