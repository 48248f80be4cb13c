//! `isthmus sessions`: the sessions of a running gateway.

use std::io::{BufWriter, Write};
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{ArgGroup, Args};
use ipnet::IpNet;
use isthmus_gateway::control::{
    DeleteRequest, End, Filter, Listed, OutsideFilter, Reply, Request, SessionsRequest, Wish,
};
use serde_json::json;

use super::target::Target;

/// Bytes that are written at once.
const CHUNK: usize = 1 << 16;

/// Show, count, follow or end the sessions of the running gateway
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("filter").multiple(true))]
pub(crate) struct Sessions {
    #[command(flatten)]
    target: Target,
    /// Only this instance
    #[arg(long, value_name = "NAME", group = "filter")]
    instance: Option<String>,
    /// Only this protocol: tcp, udp or icmp; any where addresses are translated alone
    #[arg(long, value_name = "NAME", group = "filter")]
    protocol: Option<String>,
    /// Only subscribers in this network, or with this address
    #[arg(long, value_name = "NET", value_parser = net, group = "filter")]
    inside: Option<IpNet>,
    /// Only this address of the pool, with or without a port
    #[arg(long, value_name = "ADDRESS[:PORT]", group = "filter")]
    outside: Option<OutsideFilter>,
    /// Only sessions with this remote address, with or without a port
    #[arg(long, value_name = "ADDRESS[:PORT]", group = "filter")]
    remote: Option<OutsideFilter>,
    /// Print the number of sessions only
    #[arg(long, conflicts_with = "follow")]
    count: bool,
    /// Print sessions as they begin and end from now on, as JSON lines
    #[arg(long)]
    follow: bool,
    /// End them, give their ports back, and print how many they were
    #[arg(long, requires = "filter", conflicts_with_all = ["count", "follow", "limit"])]
    delete: bool,
    /// Print at most this many; 0 for all
    #[arg(long, value_name = "N", default_value_t = 0)]
    limit: u64,
    /// Print JSON lines
    #[arg(long)]
    json: bool,
}

/// A network, or a single address.
pub(super) fn net(text: &str) -> Result<IpNet, String> {
    text.parse::<IpNet>()
        .or_else(|_| text.parse::<IpAddr>().map(IpNet::from))
        .map_err(|_| format!("{text:?} is neither a network such as 2001:db8::/32 nor an address"))
}

impl Sessions {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        if self.delete {
            return self.delete();
        }
        let mut client = self.target.ask(&Request::Sessions(self.request()))?;
        // A system call for each line would take longer than the line.
        let mut out = BufWriter::with_capacity(CHUNK, std::io::stdout().lock());
        if !self.json && !self.count && !self.follow {
            writeln!(out, "{}", heading())?;
        }
        while let Some(reply) = client.receive()? {
            match reply {
                Reply::Session(row) if self.json => {
                    writeln!(out, "{}", serde_json::to_string(&row)?)?;
                }
                Reply::Session(row) => writeln!(out, "{}", line(&row))?,
                Reply::Record(record) => {
                    writeln!(out, "{record}")?;
                    out.flush()?;
                }
                Reply::End(end) => {
                    self.end(&mut out, end)?;
                    out.flush()?;
                    return Ok(ExitCode::SUCCESS);
                }
                other => bail!("unexpected answer from the gateway: {other:?}"),
            }
        }
        if self.follow {
            // The gateway has ended.
            return Ok(ExitCode::SUCCESS);
        }
        bail!("the gateway closed the connection in the middle of its answer")
    }

    fn delete(&self) -> Result<ExitCode> {
        let filter = self.filter();
        match self
            .target
            .answer(&Request::Delete(DeleteRequest { filter }))?
        {
            Reply::Deleted(ended) if self.json => println!("{}", json!({ "ended": ended })),
            Reply::Deleted(ended) => println!("{ended}"),
            other => bail!("unexpected answer from the gateway: {other:?}"),
        }
        Ok(ExitCode::SUCCESS)
    }

    fn filter(&self) -> Filter {
        Filter {
            instance: self.instance.clone(),
            protocol: self.protocol.clone(),
            inside: self.inside,
            outside: self.outside,
            remote: self.remote,
        }
    }

    fn request(&self) -> SessionsRequest {
        SessionsRequest {
            filter: self.filter(),
            wish: match (self.count, self.follow) {
                (true, _) => Wish::Count,
                (_, true) => Wish::Follow,
                _ => Wish::List,
            },
            limit: self.limit,
        }
    }

    fn end(&self, out: &mut impl Write, end: End) -> Result<()> {
        if self.count && self.json {
            writeln!(out, "{}", serde_json::to_string(&end)?)?;
        } else if self.count {
            writeln!(out, "{}", end.matched)?;
        } else if !self.json && end.listed < end.matched {
            writeln!(out, "… and {} more", end.matched - end.listed)?;
        }
        Ok(())
    }
}

/// The widths fit addresses of usual length. A longer address shifts the rest of its line. Rows are printed
/// as they arrive, so that memory does not grow with their number.
fn columns(cells: [&str; 9]) -> String {
    let [
        instance,
        protocol,
        inside,
        outside,
        remote,
        state,
        age,
        idle,
        expires,
    ] = cells;
    format!(
        "{instance:<10} {protocol:<5} {inside:<36} {outside:<21} {remote:<21} {state:<12} {age:>8} {idle:>8} \
         {expires:>8}"
    )
}

fn heading() -> String {
    columns([
        "INSTANCE", "PROTO", "INSIDE", "OUTSIDE", "REMOTE", "STATE", "AGE", "IDLE", "EXPIRES",
    ])
}

fn line(row: &Listed) -> String {
    let session = &row.session;
    let binding = &session.binding;
    columns([
        &row.instance,
        binding.protocol_name(),
        &end(binding.inside_address, binding.inside_port),
        &end(binding.outside_address.into(), binding.outside_port),
        &end(session.remote_address.into(), session.remote_port),
        &row.state,
        &format!("{} s", row.age),
        &row.idle.map_or("-".into(), |idle| format!("{idle} s")),
        &format!("{} s", row.expires),
    ])
}

/// An address, with its port if it has one.
fn end(address: IpAddr, port: Option<u16>) -> String {
    port.map_or_else(
        || address.to_string(),
        |port| SocketAddr::new(address, port).to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_network_of_one() {
        assert_eq!(net("2001:db8::1").unwrap().to_string(), "2001:db8::1/128");
        assert_eq!(net("10.0.0.0/8").unwrap().to_string(), "10.0.0.0/8");
        assert!(net("10.0.0/8").unwrap_err().contains("10.0.0/8"));
    }
}
