//! Answers neighbours that ask for the addresses that the gateway translates, where these lie in the network of a
//! link: a pool in the network of the uplink, the IPv6 address of a CLAT. Nobody has a route to them there, and the
//! kernel does not know them for its own.
//!
//! The gateway answers by itself, and not by proxy entries of the kernel: a network can be answered for as well as an
//! address, nothing on the machine is changed, and nothing stays behind.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use isthmus_core::wire::resolution::{self, Mac};
use tokio::task::JoinHandle;

use super::packet_socket::{PacketSocket, Questions};
use super::survey::Survey;

/// More than a question has.
const LONGEST: usize = 256;

/// The questions that are answered: on which link, with which Ethernet address, and for what.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    link: u32,
    name: String,
    mac: Mac,
    questions: Questions,
    networks: BTreeSet<IpNet>,
    /// Addresses of the machine itself: its kernel answers for them.
    own: BTreeSet<IpAddr>,
}

/// The places where questions are answered.
#[derive(Debug, Default)]
pub struct Answers(BTreeMap<Place, Task>);

/// A task that ends when it is dropped.
#[derive(Debug)]
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Answers {
    /// Answers for those of `routes` that lie in the network of a link, and for nothing else. Returns what cannot be.
    pub fn apply(&mut self, routes: &BTreeSet<IpNet>, survey: &Survey) -> Vec<String> {
        let wanted = places(routes, survey);
        self.0
            .retain(|place, task| wanted.contains(place) && !task.0.is_finished());
        let mut troubles = Vec::new();
        for place in wanted {
            if self.0.contains_key(&place) {
                continue;
            }
            let names: Vec<_> = place.networks.iter().map(ToString::to_string).collect();
            match PacketSocket::open(place.link, place.questions) {
                Ok(socket) => {
                    let networks = names.join(" ");
                    tracing::info!(link = place.name, networks, "answers neighbours");
                    let task = tokio::spawn(answer(socket, Arc::new(place.clone())));
                    self.0.insert(place, Task(task));
                }
                Err(error) => troubles.push(format!(
                    "neighbours on {} get no answer for {}: {error}",
                    place.name,
                    names.join(", ")
                )),
            }
        }
        troubles
    }
}

/// Where which questions are to be answered. A network of a link's size or larger is not: other nodes of the link have
/// addresses there. Neither is all that is routed here for other reasons.
fn places(routes: &BTreeSet<IpNet>, survey: &Survey) -> BTreeSet<Place> {
    let own: BTreeSet<IpAddr> = survey.addresses().map(|address| address.addr()).collect();
    let mut places = BTreeSet::new();
    for link in survey.ethernets() {
        for questions in [Questions::Arp, Questions::Solicitations] {
            let is_v4 = questions == Questions::Arp;
            let within = |route: &IpNet| {
                link.addresses.iter().any(|address| {
                    let network = address.trunc();
                    network.contains(route) && network.prefix_len() < route.prefix_len()
                })
            };
            let networks: BTreeSet<_> = routes
                .iter()
                .filter(|route| matches!(route, IpNet::V4(_)) == is_v4 && within(route))
                .copied()
                .collect();
            let others = |network: &IpNet| !own.contains(&network.addr()) || !is_host(network);
            if networks.iter().any(others) {
                let own = own
                    .iter()
                    .filter(|own| networks.iter().any(|net| net.contains(*own)));
                places.insert(Place {
                    link: link.number,
                    name: link.name.clone(),
                    mac: link.mac,
                    questions,
                    own: own.copied().collect(),
                    networks,
                });
            }
        }
    }
    places
}

fn is_host(network: &IpNet) -> bool {
    network.prefix_len() == network.max_prefix_len()
}

/// Answers until the socket fails for good: the link is gone.
async fn answer(socket: PacketSocket, place: Arc<Place>) {
    let ours = |address: IpAddr| {
        place
            .networks
            .iter()
            .any(|network| network.contains(&address))
            && !place.own.contains(&address)
    };
    let mut buffer = [0; LONGEST];
    loop {
        let (question, asker) = match socket.receive(&mut buffer).await {
            Ok(question) => question,
            Err(error) if is_passing(&error) => continue,
            Err(error) => {
                return tracing::debug!(link = place.name, %error, "neighbours get no answers");
            }
        };
        let sent = match place.questions {
            Questions::Arp => resolution::arp(question, place.mac, ours)
                .map(|(reply, to)| socket.send(&reply, to)),
            Questions::Solicitations => resolution::neighbour(question, asker, place.mac, ours)
                .map(|(advertisement, to)| socket.send(&advertisement, to)),
        };
        if let Some(Err(error)) = sent {
            tracing::debug!(link = place.name, %error, "a neighbour got no answer");
        }
    }
}

/// The link is down, and may come up again.
fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NetworkDown | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::survey::Ethernet;

    fn survey() -> Survey {
        let net = |text: &str| text.parse::<IpNet>().unwrap();
        Survey {
            links: vec![Ethernet {
                number: 2,
                name: "wan".into(),
                mac: [2, 0, 0, 0, 0, 1],
                addresses: vec![
                    net("192.0.2.1/24"),
                    net("2001:db8:1::1/64"),
                    net("fe80::1/64"),
                ],
            }],
            others: vec![net("203.0.113.1/32")],
        }
    }

    fn asked(routes: &[&str]) -> Vec<(Questions, Vec<String>)> {
        let routes = routes.iter().map(|text| text.parse().unwrap()).collect();
        let places = places(&routes, &survey()).into_iter();
        let networks = |place: &Place| place.networks.iter().map(ToString::to_string).collect();
        places
            .map(|place| (place.questions, networks(&place)))
            .collect()
    }

    #[test]
    fn what_lies_in_the_network_of_a_link_is_answered_for() {
        let pool = (Questions::Arp, vec!["192.0.2.16/28".into()]);
        let hosts = (Questions::Solicitations, vec!["2001:db8:1::/96".into()]);
        let routes = [
            "192.0.2.16/28",
            "64:ff9b::/96",
            "2001:db8:1::/96",
            "198.51.100.0/24",
        ];
        assert_eq!(asked(&routes), [pool, hosts]);
    }

    #[test]
    fn the_network_of_a_link_belongs_to_its_nodes() {
        assert_eq!(asked(&["192.0.2.0/24", "0.0.0.0/0", "2001:db8:1::/64"]), []);
        // The machine's own: its kernel answers.
        assert_eq!(asked(&["192.0.2.1/32"]), []);
    }
}
