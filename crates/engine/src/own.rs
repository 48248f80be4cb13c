//! Packets for the gateway itself that arrive among those to translate. The thread of their queue serves them.

use std::fmt::Debug;

use isthmus_core::encap::four_in_six::{self, Softwire};
use isthmus_core::host::Host;
use isthmus_core::packet::Packet;
use isthmus_core::reason::Counter;
use isthmus_core::slow::own::{Datagram, Message};
use isthmus_core::wire::ipv6;

use crate::buffer::Buffer;
use crate::host::UserHost;
use crate::slowpath::Output;

/// Services of the gateway itself.
pub trait Services: Debug + Send + Sync {
    /// Returns what to do with a datagram. The thread of a queue calls this and waits.
    fn ask(&self, datagram: &Datagram<'_>) -> Answer;

    /// Passes a router advertisement to a CE, and returns whether the CE has asked for it.
    fn hear(&self, message: &Message<'_>) -> bool;
}

/// The action for a datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// No service listens at its port.
    Nobody,
    /// Nothing.
    Silence,
    /// Answer it with this.
    With(Vec<u8>),
}

/// No services.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unserved;

impl Services for Unserved {
    fn ask(&self, _datagram: &Datagram<'_>) -> Answer {
        Answer::Nobody
    }

    fn hear(&self, _message: &Message<'_>) -> bool {
        false
    }
}

/// The action for a packet that was taken.
pub(crate) enum Taken {
    /// Nothing more.
    Done,
    /// Tell its sender that no service listens.
    Unreachable,
}

/// Takes a packet for the gateway itself.
pub(crate) fn take(
    services: &dyn Services,
    packet: &mut Buffer<'_>,
    host: &mut UserHost<'_>,
    out: &mut impl Output,
) -> Taken {
    packet.complete_checksum();
    let Ok(outer) = ipv6::Header::read(packet, 0) else {
        return never(host);
    };
    if !four_in_six::carries(outer.next_header()) {
        let message = Message::read(packet.packet());
        host.count(match message.filter(|message| services.hear(message)) {
            Some(_) => Counter::NotOurs,
            None => Counter::TunnelSource,
        });
        return Taken::Done;
    }
    let Ok(softwire) = Softwire::open(packet, &outer) else {
        return never(host);
    };
    let inner = softwire.inner.bytes().unwrap_or(&[]);
    let Some(datagram) = Datagram::read(&outer, inner) else {
        // No service speaks another protocol.
        host.count(Counter::IllegalDestination);
        return Taken::Done;
    };
    match services.ask(&datagram) {
        Answer::Nobody => return Taken::Unreachable,
        Answer::Silence => host.count(Counter::Decapsulated4In6),
        Answer::With(answer) => {
            host.count(Counter::Decapsulated4In6);
            match datagram.answer(&answer) {
                Some(headers) => {
                    host.count(Counter::Encapsulated4In6);
                    out.parts(&headers, &answer);
                }
                None => host.count(Counter::EngineError),
            }
        }
    }
    Taken::Done
}

/// The core found the packet in a softwire before it came here.
fn never(host: &mut UserHost<'_>) -> Taken {
    host.count(Counter::EngineError);
    Taken::Done
}
