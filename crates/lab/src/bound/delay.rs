//! The delay of a message, alone or in a ping-pong.

use super::ethernet::{self, GAP};
use super::{Packet, Path, Payload, Transport};

/// Returns the delays of a message and of its answer, which has the same size, in seconds, where one follows the
/// other without a pause. Over TCP a receiver acknowledges every second segment at once (RFC 9293 section 3.8.6.3),
/// and the rest by its answer. If the number of segments is even, the answer waits for an acknowledgement on the
/// first link.
pub fn ping_pong([there, back]: [&Path; 2], transport: Transport, payload: Payload) -> [f64; 2] {
    [(there, back), (back, there)].map(|(goes, came)| {
        goes.delay(transport, payload) + goes.waits_for_acknowledgement(came, transport, payload)
    })
}

impl Path {
    /// Returns the time from a message's first bit on the first link to its last bit at the end of the last, in
    /// seconds. Every node receives a packet as a whole before it sends it on; a node that fragments or reassembles a
    /// packet has all of it before it sends any of it.
    pub fn delay(&self, transport: Transport, payload: Payload) -> f64 {
        let mut arrived: Vec<f64> = Vec::new();
        for on_link in self.carry(&transport.packets(payload, self)) {
            let rate = on_link.link.rate;
            let mut free = 0.0_f64;
            let mut ends = Vec::with_capacity(on_link.packets.len());
            for sent in &on_link.packets {
                // On the first link the message is there from the beginning.
                let ready = arrived.get(sent.after).copied().unwrap_or(0.0);
                let length = sent.packet.length();
                let end = ready.max(free) + rate.seconds(ethernet::serialised_bytes(length));
                free = end + rate.seconds(GAP);
                ends.push(end);
            }
            arrived = ends;
        }
        arrived.last().copied().unwrap_or(0.0)
    }
    /// Returns how long a message on this path waits for the acknowledgement of one that came on another, in seconds.
    fn waits_for_acknowledgement(
        &self,
        came: &Self,
        transport: Transport,
        payload: Payload,
    ) -> f64 {
        let Transport::Tcp(options) = transport else {
            return 0.0;
        };
        if !transport.packets(payload, came).len().is_multiple_of(2) {
            return 0.0;
        }
        let acknowledgement = Packet::whole(self.source(), options.header());
        let on_links = self.carry(&[acknowledgement]);
        on_links
            .first()
            .map_or(0.0, |first| first.link.rate.seconds(first.wire_bytes()))
    }
}
