//! The highest throughput of a path.

use super::crossing::OnLink;
use super::message::segment_size;
use super::{Capacity, Packet, Path, Payload, TcpOptions, Transport};

impl Path {
    /// Returns the throughput of messages of this size that follow each other without a pause, in bits of payload per
    /// second: that of the slowest link or node.
    pub fn streaming(&self, transport: Transport, payload: Payload) -> f64 {
        let bytes = f64::from(payload.bytes());
        let links = self.carry(&transport.packets(payload, self));
        least(links.iter().map(|on_link| {
            let wire = on_link.link.rate.as_f64() * bytes / f64::from(on_link.wire_bytes());
            wire.min(messages_per_second(on_link) * 8.0 * bytes)
        }))
    }

    /// Returns the throughput of messages of this size that each wait for the arrival of the one before, as in a
    /// ping-pong over a path that is the same in both directions. It is in bits of payload per second, in each
    /// direction in turn.
    pub fn ping_pong(&self, transport: Transport, payload: Payload) -> f64 {
        8.0 * f64::from(payload.bytes()) / self.delay(transport, payload)
    }

    /// Returns the throughput of one long TCP connection in each direction at the same time, in bits of payload per
    /// second and direction, when every second segment is acknowledged (RFC 9293 section 3.8.6.3) by a packet without
    /// data.
    pub fn both_ways(&self, options: TcpOptions) -> f64 {
        let size = segment_size(options, self);
        let packet = |bytes| Packet::whole(self.source(), bytes + options.header());
        let data = self.carry(&[packet(size)]);
        // Acknowledgements come the other way, but a link has the same effect in both directions.
        let acknowledgements = self.carry(&[packet(0)]);
        least(data.iter().zip(&acknowledgements).map(|(data, ack)| {
            let wire = 2 * data.wire_bytes() + ack.wire_bytes();
            data.link.rate.as_f64() * f64::from(2 * size) / f64::from(wire)
        }))
    }
}

/// Returns the messages per second that the node in front of a link can send.
///
fn messages_per_second(on_link: &OnLink) -> f64 {
    match on_link.link.sender {
        Capacity::Unlimited => f64::INFINITY,
        Capacity::PacketsPerSecond(rate) => rate.get() as f64 / on_link.packets.len() as f64,
    }
}

fn least(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::INFINITY, f64::min)
}
