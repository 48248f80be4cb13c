//! Packets on the data path that are for the gateway itself: requests in softwires, to the
//! address that it has in there, and responses of servers to a CLAT that asked them with its address.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV6};
use std::sync::{Arc, Mutex};

use isthmus_core::mechanism::aftr;
use isthmus_core::slow::own::{Datagram, Message};
use isthmus_engine::own::{Answer, Services};
use isthmus_pcp::SERVER_PORT;
use tokio::sync::mpsc;

use super::super::view::lock;
use super::service::Service;

/// The servers, and the clients that wait for responses.
#[derive(Default)]
pub(in super::super) struct Own {
    /// The servers by the ends of their softwires.
    servers: Mutex<BTreeMap<Ipv6Addr, Arc<Service>>>,
    /// The receivers of responses, by the address that they are for.
    askers: Mutex<BTreeMap<SocketAddrV6, Asker>>,
}

/// A client that waits for a server's response.
struct Asker {
    server: Ipv6Addr,
    responses: mpsc::Sender<Vec<u8>>,
}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Own")
            .field("servers", &lock(&self.servers).keys())
            .field("askers", &lock(&self.askers).keys())
            .finish()
    }
}

impl Own {
    /// Serves in these softwires, and in no others any more.
    pub(super) fn serve(&self, services: BTreeMap<Ipv6Addr, Arc<Service>>) {
        *lock(&self.servers) = services;
    }

    /// Takes responses of a server to an address, until [`deafen`](Self::deafen).
    pub(super) fn listen(
        &self,
        to: SocketAddrV6,
        server: Ipv6Addr,
        responses: mpsc::Sender<Vec<u8>>,
    ) {
        lock(&self.askers).insert(to, Asker { server, responses });
    }

    /// Takes no more responses to an address.
    pub(super) fn deafen(&self, to: &SocketAddrV6) {
        lock(&self.askers).remove(to);
    }
}

impl Services for Own {
    fn ask(&self, datagram: &Datagram<'_>) -> Answer {
        let (to, from) = (datagram.destination, datagram.source);
        let local = Ipv6Addr::from(datagram.softwire.destination);
        let service = lock(&self.servers).get(&local).map(Arc::clone);
        let Some(service) = service.filter(|_| to.port == SERVER_PORT && to.address == aftr::OWN)
        else {
            return Answer::Nobody;
        };
        let customer = Ipv6Addr::from(datagram.softwire.source);
        let source = Ipv4Addr::from(from.address);
        let answer = service.answer_in_softwire(customer, source, datagram.payload);
        answer.map_or(Answer::Silence, Answer::With)
    }

    fn hear(&self, message: &Message<'_>) -> bool {
        let to = SocketAddrV6::new(message.destination.into(), message.ports.destination, 0, 0);
        let askers = lock(&self.askers);
        let asker = askers.get(&to).filter(|asker| {
            message.ports.source == SERVER_PORT && Ipv6Addr::from(message.source) == asker.server
        });
        // What there is no room for is asked for again.
        asker.is_some_and(|asker| asker.responses.try_send(message.payload.to_vec()).is_ok())
    }
}
