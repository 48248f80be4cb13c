//! The delay of a message.

use super::ethernet::{self, GAP};
use super::{Path, Payload, Transport};

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
}
