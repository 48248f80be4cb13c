//! From a target to a connection: what may be reached, names, and who answers first.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use isthmus_dns64::{Family, Resolver};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::counter::{Counter, Counters};
use crate::eyeballs;
use crate::failure::Failure;
use crate::proxy_header::{self, Ends};
use crate::reach::Reach;
use crate::target::{Host, Target};
use crate::tunnel::write_all;

/// A connection to a server, and its address.
pub(crate) type Server = (TcpStream, SocketAddr);

/// Opens connections to servers.
pub(crate) struct Dialer {
    pub(crate) reach: Reach,
    pub(crate) resolver: Arc<Resolver>,
    /// Servers that are told who the client is.
    pub(crate) told: Vec<IpNet>,
    pub(crate) timeout: Duration,
    pub(crate) counters: Arc<Counters>,
}

impl Dialer {
    /// Connects to a target for a client. Returns the address that answered, too.
    pub(crate) async fn dial(&self, target: &Target, ends: Ends) -> Result<Server, Failure> {
        self.reach.port(target.port)?;
        let connecting = async {
            match &target.host {
                Host::Address(address) => self.connect(*address, target.port).await,
                Host::Name(name) => self.race(name, target.port).await,
            }
        };
        let (stream, address) = match timeout(self.timeout, connecting).await {
            Ok(connected) => connected?,
            Err(_) => return Err(Failure::ConnectTimeout),
        };
        self.counters.count(match address {
            SocketAddr::V6(_) => Counter::ServerV6,
            SocketAddr::V4(_) => Counter::ServerV4,
        });
        // What a client sends is a whole already.
        let _ = stream.set_nodelay(true);
        if self.told.iter().any(|net| net.contains(&address.ip())) {
            let told = write_all(&stream, &proxy_header::header(ends)).await;
            told.map_err(|error| Failure::Unreachable(error.to_string()))?;
        }
        Ok((stream, address))
    }

    async fn connect(&self, address: IpAddr, port: u16) -> Result<Server, Failure> {
        self.reach.address(address)?;
        let to = SocketAddr::new(address, port);
        let failed = |error| Failure::Unreachable(format!("{to}: {error}"));
        let stream = TcpStream::connect(to).await.map_err(failed)?;
        Ok((stream, to))
    }

    async fn race(&self, name: &str, port: u16) -> Result<Server, Failure> {
        self.reach.name(name)?;
        let v6 = self.resolver.addresses(name, Family::V6);
        let v4 = self.resolver.addresses(name, Family::V4);
        eyeballs::connect(v6, v4, port, &|address| self.reach.address(address)).await
    }
}
