//! The testbed: a subject in its network, running.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    net::IpAddr,
    sync::Arc,
};

use super::{
    edge::Edge,
    hosts,
    journal::Journal,
    links::Links,
    subject::{Carries, Endpoint, Setup, Subject, of},
};
use crate::{
    LabError, Result,
    figures::{bound, results::Gap},
    network::{
        cores::GATEWAY_CPU,
        device::Started,
        netns::Namespace,
        plan,
        process::Process,
        topology::{HOST_INTERFACE, HOST4, HOST6, Neighbours, Network, Offloads, Topology},
        wire::Counts,
    },
    subjects::{
        isthmus::{Engine, Instance, Keys},
        provider,
    },
    traffic::{
        services::Dns,
        sockets::{Host, Pair},
        tester::Port,
    },
};

/// A running subject between two hosts; dropping it removes everything.
#[derive(Debug)]
pub struct Testbed {
    /// The results of measurements that serve several experiments, each of a type of its own.
    kept: HashMap<TypeId, Box<dyn Any + Send + Sync>>,
    /// The bounds there and back, if links have a rate.
    bounds: Option<[bound::Path; 2]>,
    /// The places that the current measurement has left out.
    gaps: Vec<Gap>,
    /// The journal of the current trial.
    journal: Journal,
    // Fields are dropped in this order: the network goes last.
    started: Vec<Started>,
    edge: Option<Edge>,
    _authority: Option<Dns>,
    ends: Ends,
    subject: Subject,
    network: Network,
}

/// The ports at which hosts are reached from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ports {
    /// None, where there is a NAT.
    Closed,
    /// Those that they ask our gateways for, by PCP or NAT-PMP.
    OnRequest,
}

/// The hosts at the ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    /// The nodes of the calling host and of the called one.
    pub(super) nodes: [&'static str; 2],
    /// Their own addresses.
    pub(super) own: [IpAddr; 2],
    /// The second host's address as the first one knows it.
    pub(super) target: IpAddr,
}

impl Ends {
    /// Returns two hosts without a translator between them.
    fn new(nodes: [&'static str; 2], own: [IpAddr; 2]) -> Self {
        Self {
            nodes,
            own,
            target: own[1],
        }
    }
}

impl Testbed {
    /// Builds the network and starts the subject.
    ///
    /// # Errors
    /// It does not run on this machine.
    pub fn build(subject: &Subject, links: Links) -> Result<Self> {
        Self::build_with(subject, links, Ports::Closed)
    }

    /// Builds the network and starts the subject, whose gateways may let hosts ask for ports.
    ///
    /// # Errors
    /// It does not run on this machine.
    pub fn build_with(subject: &Subject, links: Links, ports: Ports) -> Result<Self> {
        // As on a wire: XDP cannot see that a checksum is unfinished.
        let offloads = Offloads::Off;
        let medium = links.medium();
        let build = |topology: Topology| topology.over(&medium).build();
        let (mut authority, mut edge) = (None, None);
        let (network, started, ends) = match subject.setup {
            Setup::Direct(target) => {
                let network = build(Topology::direct(Neighbours::Resolved, offloads))?;
                (network, Vec::new(), between(target))
            }
            Setup::Middle(middle, target) => {
                let network = build(Topology::dual_stack(Neighbours::Resolved, offloads))?;
                if subject.carries == Carries::Dns {
                    authority = Some(Dns::start(network.host4()?, plan::HOST4.into())?);
                }
                let started = vec![middle.device().start(&network, GATEWAY_CPU)?];
                (network, started, between(target))
            }
            Setup::Hosts(tunnel) => {
                let network = build(hosts::topology(tunnel, offloads))?;
                let (started, own) = hosts::start(tunnel, &network)?;
                (network, started, Ends::new([HOST6, HOST4], own))
            }
            Setup::Provider(mechanism, endpoints) => {
                let topology = mechanism.topology(offloads);
                let network = if links == Links::SlowEdge {
                    let mut network = build(topology.emulating(provider::CE))?;
                    edge = Some(Edge::start(subject, endpoints[0], &mut network)?);
                    network
                } else {
                    build(topology)?
                };
                let endpoints = match edge {
                    // The BR is no limit then, and takes no core from the machine.
                    Some(_) => [None, Some(Endpoint::Isthmus(Engine::Xdp))],
                    None => endpoints.map(Some),
                };
                let started = start_all(subject, mechanism, endpoints, ports, &network)?;
                let own = [mechanism.client, mechanism.server].map(|host| host.address());
                let ends = Ends::new([provider::CLIENT, provider::SERVER], own);
                (network, started, ends)
            }
        };
        Ok(Self {
            kept: HashMap::new(),
            gaps: Vec::new(),
            journal: Journal::default(),
            bounds: links.rate().map(|rate| subject.paths(rate)),
            started,
            edge,
            _authority: authority,
            ends,
            subject: subject.clone(),
            network,
        })
    }

    /// Returns the calling host.
    pub fn client(&self) -> Result<&Arc<Namespace>> {
        self.network.node(self.ends.nodes[0])
    }

    /// Returns the called host.
    pub fn server(&self) -> Result<&Arc<Namespace>> {
        self.network.node(self.ends.nodes[1])
    }

    /// Returns both hosts, for measurements with a socket at each end.
    pub fn pair(&self) -> Result<Pair> {
        let Ends { nodes, own, target } = self.ends;
        let host = |end: usize| Host::new(&self.network, nodes[end], HOST_INTERFACE, own[end]);
        Ok(Pair::translated(host(0)?, host(1)?, target))
    }

    /// Returns the server's address as the client knows it.
    pub fn address(&self) -> IpAddr {
        self.ends.target
    }

    /// Returns the bounds there and back, if links have a rate.
    pub fn bounds(&self) -> Option<&[bound::Path; 2]> {
        self.bounds.as_ref()
    }

    /// Returns the hosts' own addresses.
    pub(super) fn own(&self) -> [IpAddr; 2] {
        self.ends.own
    }

    /// Returns the subject.
    pub(super) fn subject(&self) -> &Subject {
        &self.subject
    }

    /// Returns the interfaces of both hosts, at which a tester takes their place.
    pub(super) fn ports(&self) -> Result<[Port; 2]> {
        let [client, server] = self.ends.nodes;
        // The links of topologies are in their order from the first host on.
        let last = match self.subject.setup {
            Setup::Direct(_) => (0, 1),
            Setup::Middle(..) | Setup::Hosts(_) => (1, 1),
            Setup::Provider(..) => (3, 0),
        };
        Ok([
            Port::of(&self.network, client, 0, 0)?,
            Port::of(&self.network, server, last.0, last.1)?,
        ])
    }

    /// Ends the gateway between two hosts and starts it again.
    pub(super) fn restart(&mut self) -> Result<()> {
        if let Setup::Middle(middle, _) = self.subject.setup {
            self.started.clear();
            let started = middle.device().start(&self.network, GATEWAY_CPU)?;
            self.started.push(started);
        }
        Ok(())
    }

    /// Returns the nodes of both hosts.
    pub(super) fn nodes(&self) -> [&'static str; 2] {
        self.ends.nodes
    }

    /// Returns the counters of each end of cables with a line rate.
    pub(super) fn passed(&self) -> Vec<Counts> {
        let wires = self.network.wires().into_iter();
        wires
            .flat_map(|wires| wires.taps().map(|(.., tap)| tap.left()))
            .collect()
    }

    /// Returns the network, for tools that inspect other nodes.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Returns the processes of the gateways.
    pub(super) fn gateways(&self) -> Vec<u32> {
        let processes = self.started.iter().flat_map(|started| &started.processes);
        processes.map(Process::id).collect()
    }

    /// Returns the result of a measurement that serves several experiments: it is made once for a testbed, and again only
    /// if it failed.
    pub(super) fn once<T: Clone + Send + Sync + 'static>(
        &mut self,
        measure: impl FnOnce(&Self) -> Result<T>,
    ) -> Result<T> {
        if let Some(kept) = self
            .kept
            .get(&TypeId::of::<T>())
            .and_then(|kept| kept.downcast_ref())
        {
            return Ok(T::clone(kept));
        }
        let made = measure(self)?;
        self.kept.insert(TypeId::of::<T>(), Box::new(made.clone()));
        Ok(made)
    }

    /// Begins a trial, which writes to this journal.
    pub(super) fn begin(&mut self, journal: &Journal) {
        self.journal = journal.clone();
        // A trial that was void has left gaps behind.
        self.gaps.clear();
    }

    /// Returns the journal of the current trial.
    pub(super) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Notes places that could not be measured.
    pub(super) fn leave_out(&mut self, gaps: Vec<Gap>) {
        self.gaps.extend(gaps);
    }

    /// Returns the places that were left out since the last call.
    pub(super) fn left_out(&mut self) -> Vec<Gap> {
        std::mem::take(&mut self.gaps)
    }

    /// Checks that the subject is running.
    ///
    /// # Errors
    /// A process of the subject has ended.
    pub fn check(&mut self) -> Result<()> {
        self.started.iter_mut().try_for_each(Started::check)?;
        self.edge.iter_mut().try_for_each(Edge::check)
    }

    /// Returns the slow edge.
    ///
    /// # Errors
    /// The links are other ones.
    pub(super) fn edge(&self) -> Result<&Edge> {
        self.edge
            .as_ref()
            .ok_or_else(|| LabError::NoNode("slow edge".into()))
    }
}

/// Starts the CE and the BR of a provider's network that are here.
fn start_all(
    subject: &Subject,
    mechanism: &provider::Mechanism,
    endpoints: [Option<Endpoint>; 2],
    ports: Ports,
    network: &Network,
) -> Result<Vec<Started>> {
    let mut started = Vec::new();
    let instances = mechanism.gateways().into_iter().zip(mechanism.asked);
    for ((gateway, asked), endpoint) in instances.zip(endpoints) {
        let Some(endpoint) = endpoint else { continue };
        let asked = match ports {
            Ports::Closed => &[],
            Ports::OnRequest => asked,
        };
        let node = network.node(gateway.0)?;
        let cpu = Some(GATEWAY_CPU);
        started.push(start(subject, gateway, asked, endpoint, node, cpu)?);
    }
    Ok(started)
}

/// Starts a gateway of a provider's network on its node, with these further keys.
pub(super) fn start(
    subject: &Subject,
    (_, interfaces, keys): provider::Gateway,
    more: Keys,
    endpoint: Endpoint,
    node: &Namespace,
    cpu: Option<usize>,
) -> Result<Started> {
    match endpoint {
        Endpoint::Isthmus(engine) => {
            let instance = Instance::new(subject.mechanism, keys).and(more);
            let gateway = of(instance, engine).on(interfaces).up(node, cpu)?;
            Ok(gateway.into_started())
        }
        Endpoint::Other(end) => end.start(node, cpu),
    }
}

/// Returns the hosts of a dual-stack network, of which the first calls the second by this address.
fn between(target: IpAddr) -> Ends {
    let nodes = [HOST6, HOST4];
    match target {
        IpAddr::V4(_) => Ends::new(nodes, [plan::HOST6_AS_IPV4.into(), target]),
        IpAddr::V6(plan::HOST4_AS_IPV6 | plan::GATEWAY6) => {
            Ends::new(nodes, [plan::HOST6.into(), target])
        }
        IpAddr::V6(_) => Ends {
            target,
            ..Ends::new(nodes, [plan::HOST6.into(), plan::HOST4.into()])
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        experiments::subjects,
        network::{congestion, interfaces},
    };

    #[test]
    #[ignore = "builds a network, as root: of the tier namespaces"]
    fn a_measurement_for_several_experiments_is_made_until_it_succeeds() {
        let subjects = subjects();
        let native = subjects.iter().find(|one| one.name == "native-ipv4");
        let mut testbed = Testbed::build(native.unwrap(), Links::Unlimited).unwrap();
        let failed = testbed.once(|_| Err::<Vec<u8>, _>(LabError::Tester("void".into())));
        assert!(failed.is_err());
        assert_eq!(testbed.once(|_| Ok(vec![1_u8])).unwrap(), [1]);
        assert_eq!(testbed.once(|_| Ok(vec![2_u8])).unwrap(), [1]);
        // Of another type is another measurement.
        assert_eq!(testbed.once(|_| Ok(vec![3_u16])).unwrap(), [3]);
    }

    #[test]
    #[ignore = "builds a network, as root: of the tier namespaces"]
    fn every_node_has_the_congestion_control_of_a_namespace_and_the_run_says_so() {
        let here = |namespace: &Namespace| {
            let control = namespace.run(&format!("cat {}", congestion::FILE));
            control.unwrap().trim().to_owned()
        };
        let subjects = subjects();
        let native = subjects.iter().find(|one| one.name == "native-ipv4");
        let settled = here(&Namespace::create("congestion").unwrap());
        let algorithms = congestion::ALGORITHMS;
        assert!(algorithms.contains(&settled.as_str()), "{settled}");
        for links in [Links::Unlimited, Links::Ethernet(10)] {
            let testbed = Testbed::build(native.unwrap(), links).unwrap();
            let network = testbed.network();
            let mut nodes = 0;
            for (node, namespace) in network.nodes() {
                assert_eq!(here(namespace), settled, "{node}");
                nodes += 1;
            }
            assert_eq!(nodes, 3);
            for interface in interfaces::of(network).unwrap() {
                let control = interface.congestion_control.as_ref();
                assert_eq!(control, Some(&settled), "{interface:?}");
            }
        }
    }
}
