//! One of the machine's own interfaces, and the device at the other end of its cable.

use std::{
    fs,
    net::{IpAddr, SocketAddr, SocketAddrV6, UdpSocket},
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::Problem;
use crate::{
    LabError,
    network::{place::Place, process},
    traffic::{generator::PORT, tester::Port},
};

/// The time that a device has to resolve an address, and the interval of the queries.
const PATIENCE: Duration = Duration::from_secs(3);
const ASKED_AGAIN: Duration = Duration::from_millis(200);
/// In `flags`: the interface is up.
const UP: u32 = 1;
/// The octets of preamble and gap that a frame takes on a cable in addition.
const FRAMING: f64 = 20.0;

/// An interface and its neighbour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// The device under test.
    pub device: Neighbour,
}

/// The device's end of a cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Neighbour {
    /// By its Ethernet address.
    Ethernet([u8; 6]),
    /// By an IP address, for which it answers.
    Address(IpAddr),
}

/// The treatment of an interface that carries the default route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Care {
    /// The interface is left alone.
    Refuse,
    /// The interface is used all the same.
    Insist,
}

impl std::str::FromStr for Neighbour {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(address) = text.parse() {
            return Ok(Self::Address(address));
        }
        ethernet(text).map(Self::Ethernet).ok_or_else(|| {
            format!(
                "{text} is neither an IP address nor an Ethernet address such as 02:00:5e:10:00:01"
            )
        })
    }
}

/// Parses an Ethernet address in the usual notation.
fn ethernet(text: &str) -> Option<[u8; 6]> {
    let octets: Option<Vec<u8>> = text
        .split(':')
        .map(|octet| {
            u8::from_str_radix(octet, 16)
                .ok()
                .filter(|_| octet.len() == 2)
        })
        .collect();
    octets?.try_into().ok()
}

impl Interface {
    /// Returns the tester's port at it.
    ///
    /// # Errors
    /// The interface does not exist, is down, has no carrier or is needed, or the device does not answer.
    pub fn port(&self, care: Care) -> Result<Port, Problem> {
        let name = &self.name;
        if name.contains('/') || !self.file("ifindex").exists() {
            return Err(Problem::NoInterface(name.clone()));
        }
        let flags = self.read("flags")?;
        let flags = u32::from_str_radix(flags.trim_start_matches("0x"), 16).unwrap_or(0);
        if flags & UP == 0 {
            return Err(Problem::Down(name.clone()));
        }
        if self.read("carrier")? != "1" {
            return Err(Problem::NoCarrier(name.clone()));
        }
        if care == Care::Refuse && self.has_default_route()? {
            return Err(Problem::DefaultRoute(name.clone()));
        }
        let own = self.read("address")?;
        let unread = || LabError::Output {
            tool: "address",
            output: format!("{name}: {own}"),
        };
        Ok(Port {
            place: Place::Host,
            interface: name.clone(),
            address: ethernet(&own).ok_or_else(unread)?,
            peer: match self.device {
                Neighbour::Ethernet(address) => address,
                Neighbour::Address(address) => self.resolve(address)?,
            },
        })
    }

    /// Returns the most frames of this size that its cable takes per second, if its speed is known.
    pub fn line_rate(&self, octets: u16) -> Option<f64> {
        let megabits: f64 = self.read("speed").ok()?.parse().ok()?;
        (megabits > 0.0).then(|| megabits * 1e6 / (8.0 * (f64::from(octets) + FRAMING)))
    }

    /// Returns whether it has an address, by which it answers neighbour discovery of the device.
    pub fn has(&self, address: IpAddr) -> Result<bool, Problem> {
        let shown = self.ip(&["addr", "show"])?;
        let own = shown[0]["addr_info"].as_array();
        let address = address.to_string();
        Ok(own.is_some_and(|all| all.iter().any(|one| one["local"] == address)))
    }

    fn has_default_route(&self) -> Result<bool, Problem> {
        let is_some = |shown: Value| shown.as_array().is_some_and(|routes| !routes.is_empty());
        Ok(is_some(self.ip(&["-4", "route", "show", "default"])?)
            || is_some(self.ip(&["-6", "route", "show", "default"])?))
    }

    /// Resolves an address on the link, as the kernel does for a datagram.
    fn resolve(&self, address: IpAddr) -> Result<[u8; 6], Problem> {
        let begun = Instant::now();
        let target = address.to_string();
        while begun.elapsed() < PATIENCE {
            // A datagram that finds no route leaves no neighbour, which is reported below.
            let _ = self.knock(address);
            std::thread::sleep(ASKED_AGAIN);
            let shown = self.ip(&["neigh", "show", "to", &target])?;
            if let Some(found) = shown[0]["lladdr"].as_str().and_then(ethernet) {
                return Ok(found);
            }
        }
        Err(Problem::NoAnswer {
            interface: self.name.clone(),
            address,
        })
    }

    fn knock(&self, address: IpAddr) -> std::io::Result<()> {
        let (any, target) = match address {
            IpAddr::V4(_) => ("0.0.0.0:0", SocketAddr::new(address, PORT)),
            IpAddr::V6(address) => {
                let scope = self
                    .read("ifindex")
                    .ok()
                    .and_then(|index| index.parse().ok());
                let scope = scope
                    .filter(|_| address.is_unicast_link_local())
                    .unwrap_or(0);
                ("[::]:0", SocketAddrV6::new(address, PORT, 0, scope).into())
            }
        };
        UdpSocket::bind(any)?.send_to(&[], target).map(drop)
    }

    /// Returns the JSON of an `ip` command about this interface.
    fn ip(&self, words: &[&str]) -> Result<Value, Problem> {
        process::require("ip", "iproute2")?;
        let mut command = Command::new("ip");
        command.arg("-json").args(words).args(["dev", &self.name]);
        let output = process::run(&mut command)?;
        if output.trim().is_empty() {
            return Ok(Value::Array(Vec::new()));
        }
        serde_json::from_str(&output).map_err(|_| LabError::Output { tool: "ip", output }.into())
    }

    fn file(&self, name: &str) -> PathBuf {
        Path::new("/sys/class/net").join(&self.name).join(name)
    }

    fn read(&self, file: &str) -> Result<String, Problem> {
        let path = self.file(file);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(text.trim().to_owned()),
            Err(source) => Err(LabError::File { path, source }.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str) -> Interface {
        Interface {
            name: name.into(),
            device: Neighbour::Ethernet([2; 6]),
        }
    }

    #[test]
    fn a_device_has_an_address_of_some_kind() {
        let read = |text: &str| text.parse::<Neighbour>();
        let ethernet = [0x02, 0, 0x5e, 0x10, 0, 1];
        assert_eq!(read("02:00:5e:10:00:01"), Ok(Neighbour::Ethernet(ethernet)));
        let address = "2001:2::1".parse().unwrap();
        assert_eq!(read("2001:2::1"), Ok(Neighbour::Address(address)));
        for wrong in ["02:00:5e:10:00", "2:0:5e:10:0:1", "eth1", "198.18.0"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_unknown_interface_is_named() {
        for name in ["no-such", "../net/lo", ""] {
            let problem = interface(name).port(Care::Refuse).unwrap_err();
            assert!(
                matches!(problem, Problem::NoInterface(_)),
                "{name}: {problem}"
            );
        }
    }
}
