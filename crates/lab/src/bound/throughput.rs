//! What a path carries at most.

use super::crossing::OnLink;
use super::message::segment_size;
use super::{Capacity, Packet, Path, Payload, TcpOptions, Transport};

impl Path {
    /// The most that messages of this size carry when they follow each other without a pause, in bits of
    /// payload per second: that of the link, or of the node, that does least.
    pub fn streaming(&self, transport: Transport, payload: Payload) -> f64 {
        let bytes = f64::from(payload.bytes());
        let links = self.carry(&transport.packets(payload, self));
        least(links.iter().map(|on_link| {
            let wire = on_link.link.rate.as_f64() * bytes / f64::from(on_link.wire_bytes());
            wire.min(messages_per_second(on_link) * 8.0 * bytes)
        }))
    }

    /// The most that messages of this size carry when each waits for the one before it to arrive at the
    /// other end, as in a game of ping-pong over a path that is the same in both directions. In bits of
    /// payload per second, in each direction in its turn.
    pub fn ping_pong(&self, transport: Transport, payload: Payload) -> f64 {
        8.0 * f64::from(payload.bytes()) / self.delay(transport, payload)
    }

    /// The most that one long TCP connection in each direction carries at the same time, in bits of payload
    /// per second and direction, when every second segment is acknowledged (RFC 9293 section 3.8.6.3) by
    /// a packet without data.
    pub fn both_ways(&self, options: TcpOptions) -> f64 {
        let size = segment_size(options, self);
        let packet = |bytes| Packet::whole(self.source(), bytes + options.header());
        let data = self.carry(&[packet(size)]);
        // What acknowledges comes the other way, but a link makes the same of it in both directions.
        let acknowledgements = self.carry(&[packet(0)]);
        least(data.iter().zip(&acknowledgements).map(|(data, ack)| {
            let wire = 2 * data.wire_bytes() + ack.wire_bytes();
            data.link.rate.as_f64() * f64::from(2 * size) / f64::from(wire)
        }))
    }
}

/// The messages that the node in front of a link can send.
fn messages_per_second(on_link: &OnLink) -> f64 {
    match on_link.link.sender {
        Capacity::Unlimited => f64::INFINITY,
        Capacity::PacketsPerSecond(rate) => rate.get() as f64 / on_link.packets.len() as f64,
    }
}

fn least(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::INFINITY, f64::min)
}
