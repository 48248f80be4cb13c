//! Every counter of the data plane, in one list: what a metric label, a row of
//! `docs/counters.md` (`make docs` writes it) and a field of `--counters` JSON is made from.

crate::counters! {
    /// The kind of event that a counter counts.
    pub enum Kind {
        /// Packets that left translated.
        Forwarded = "forwarded";
        /// Packets that were handed on without translation, or to the slow path.
        Passed = "passed";
        /// Packets that were dropped for this reason (an ICMP error may have been sent).
        Dropped = "dropped";
        /// Something other than the end of a packet.
        Event = "event";
    }
    /// The counters of packets and of state.
    pub enum Counter {
        /// Packets translated from IPv4 to IPv6.
        Translated4To6 = "translated-4to6", Forwarded;
        /// Packets translated from IPv6 to IPv4.
        Translated6To4 = "translated-6to4", Forwarded;
        /// Packets translated from IPv4 to IPv4 (RFC 3022).
        Translated4To4 = "translated-4to4", Forwarded;
        /// IPv6 packets put into IPv4 packets (RFC 4213).
        Encapsulated6In4 = "encapsulated-6in4", Forwarded;
        /// IPv6 packets taken out of IPv4 packets (RFC 4213).
        Decapsulated6In4 = "decapsulated-6in4", Forwarded;
        /// IPv4 packets put into IPv6 packets (RFC 2473).
        Encapsulated4In6 = "encapsulated-4in6", Forwarded;
        /// IPv4 packets taken out of IPv6 packets (RFC 2473).
        Decapsulated4In6 = "decapsulated-4in6", Forwarded;
        /// Neighbour solicitations that were answered (RFC 5214 section 8).
        NeighbourAnswered = "neighbour-answered", Forwarded;
        /// Packets from one inside host to another through the translator (RFC 6146 section 3.8,
        /// RFC 7757 section 4, RFC 4787 section 6).
        Hairpinned = "hairpinned", Forwarded;
        /// Packets that no instance is responsible for; the kernel has them.
        NotOurs = "not-ours", Passed;
        /// Packets that a BPF engine handed to the user-space engine (options, splits, ICMP errors
        /// to build).
        SlowPath = "slow-path", Passed;
        /// Fragments that wait for the first fragment of their datagram (RFC 6146 section 3.4).
        FragmentHeld = "fragment-held", Passed;

        /// The packet ends inside a header.
        Truncated = "truncated", Dropped;
        /// The IPv4 or IPv6 header contradicts itself (version, header length, total length).
        MalformedHeader = "malformed-header", Dropped;
        /// The IPv4 header checksum is wrong (RFC 1812 section 5.2.2).
        BadHeaderChecksum = "bad-header-checksum", Dropped;
        /// The transport header contradicts the length of the packet, or an ICMP error its checksum
        /// (RFC 5508 section 4.1).
        MalformedTransport = "malformed-transport", Dropped;
        /// TTL or hop limit expired; a Time Exceeded was due (RFC 7915 sections 4.1 and 5.1).
        HopLimitExceeded = "hop-limit-exceeded", Dropped;
        /// The source cannot be the source of a packet: loopback, multicast, unspecified (RFC 7915
        /// sections 4.1 and 5.1).
        IllegalSource = "illegal-source", Dropped;
        /// The destination cannot be translated: multicast, broadcast, loopback.
        IllegalDestination = "illegal-destination", Dropped;
        /// The source has no counterpart in the other family.
        UntranslatableSource = "untranslatable-source", Dropped;
        /// The destination has no counterpart in the other family.
        UntranslatableDestination = "untranslatable-destination", Dropped;
        /// A non-global IPv4 address under the well-known prefix (RFC 6052 section 3.1).
        NonGlobalWellKnown = "non-global-well-known", Dropped;
        /// An unexpired IPv4 source route (RFC 7915 section 4.1).
        SourceRoute = "source-route", Dropped;
        /// An IPv6 routing header with segments left (RFC 7915 section 5.1).
        RoutingHeader = "routing-header", Dropped;
        /// A fragment header followed by another extension header (RFC 7915 section 5.1.1).
        FragmentedExtensionHeader = "fragmented-extension-header", Dropped;
        /// An extension header chain longer than the engine follows.
        ExtensionHeaderChain = "extension-header-chain", Dropped;
        /// User space was busy, and as many of the same customer's packets waited for it as are its share.
        SlowPathShare = "slow-path-share", Dropped;
        /// A fragment that is impossible: overlapping a header, not a multiple of 8, or past 65,535
        /// bytes.
        BadFragment = "bad-fragment", Dropped;
        /// The first fragment did not come in time, or newer ones took the place of a waiting fragment
        /// (RFC 6146 section 3.4).
        FragmentTimeout = "fragment-timeout", Dropped;
        /// An ICMP type or code that has no counterpart (RFC 7915 sections 4.2 and 5.2).
        IcmpUntranslatable = "icmp-untranslatable", Dropped;
        /// An ICMP error about an ICMP error (RFC 7915 sections 4.3 and 5.3).
        IcmpNested = "icmp-nested", Dropped;
        /// The packet inside an ICMP error cannot be translated.
        IcmpInner = "icmp-inner", Dropped;
        /// UDP over IPv4 without a checksum, where the configuration forbids one to be computed, or the
        /// packet is a fragment (RFC 7915 section 4.5).
        ZeroChecksumUdp = "zero-checksum-udp", Dropped;
        /// The packet is larger than the MTU of the next link and must not be fragmented; its sender got
        /// an error (RFC 7915 sections 4.1 and 5.1).
        TooBig = "too-big", Dropped;
        /// A transport protocol that needs state and has none here (RFC 6146 section 3.4).
        UnsupportedProtocol = "unsupported-protocol", Dropped;
        /// The packet comes from outside, and there is no binding (RFC 6146 sections 3.5.1.2 and 3.5.2.2).
        NoBinding = "no-binding", Dropped;
        /// The packet comes from outside, and the filtering rule does not let it in (RFC 6146 section
        /// 3.5), or the policy of an lwAFTR forbids the packet (RFC 7596 sections 6.2 and 8.1).
        Filtered = "filtered", Dropped;
        /// The packet wants a session, and its source is none of the inside hosts (RFC 6146 section 1.2.3).
        NotInside = "not-inside", Dropped;
        /// A TCP segment that cannot open a session (RFC 6146 section 3.5.2.2).
        TcpNotSyn = "tcp-not-syn", Dropped;
        /// No port is free in the pool for this subscriber (RFC 6146 section 3.5.1.1).
        PoolExhausted = "pool-exhausted", Dropped;
        /// The subscriber has as many sessions as it may have.
        SubscriberLimit = "subscriber-limit", Dropped;
        /// The subscriber makes sessions faster than it may (RFC 6888 requirement 5).
        SubscriberRate = "subscriber-rate", Dropped;
        /// The table of sessions, bindings or subscribers is nearly full, and the network of the source has its
        /// share of what is left (RFC 6146 section 5.3).
        NetworkShare = "network-share", Dropped;
        /// The table of sessions, bindings or subscribers is full.
        TableFull = "table-full", Dropped;
        /// Two processors made the same entry at the same moment, and this packet lost.
        TableContention = "table-contention", Dropped;
        /// A packet that would loop through the translator forever.
        Loop = "loop", Dropped;
        /// A packet in a tunnel that does not come from the tunnel endpoint (RFC 4213 section 3.6).
        TunnelSource = "tunnel-source", Dropped;
        /// A packet for a tunnel that has no endpoint for this destination.
        TunnelDestination = "tunnel-destination", Dropped;
        /// A packet in a tunnel whose inner source does not belong to the outer source (RFC 3964 section
        /// 4, RFC 5969 section 12, RFC 7596 section 6.2).
        TunnelSpoofed = "tunnel-spoofed", Dropped;
        /// ICMP errors from routers inside a tunnel; the sender of the inner packet got an error (RFC 2473
        /// section 8, RFC 4213 section 3.4).
        TunnelError = "tunnel-error", Dropped;
        /// ICMP errors from routers inside a tunnel that quote too little to find the sender of the inner
        /// packet (RFC 4213 section 3.4).
        TunnelErrorShort = "tunnel-error-short", Dropped;
        /// ICMP errors from routers inside a tunnel about the size of a packet that may be fragmented, so
        /// that its sender gets no error (RFC 2473 section 8.3).
        TunnelTooBig = "tunnel-too-big", Dropped;
        /// Congestion was marked in a tunnel on a packet that does not support ECN (RFC 6040 section 4.2).
        CongestionUnheard = "congestion-unheard", Dropped;
        /// The engine could not grow the packet at its front, or send it.
        EngineError = "engine-error", Dropped;

        /// Bindings made.
        BindingCreated = "binding-created", Event;
        /// Bindings removed.
        BindingRemoved = "binding-removed", Event;
        /// Sessions made.
        SessionCreated = "session-created", Event;
        /// Sessions removed.
        SessionRemoved = "session-removed", Event;
        /// ICMP errors that the gateway itself sent.
        IcmpErrorSent = "icmp-error-sent", Event;
        /// ICMP errors that the gateway did not send because of its rate limit.
        IcmpErrorSuppressed = "icmp-error-suppressed", Event;
        /// Packets split because they were larger than the next link (RFC 7915 sections 4.1 and
        /// 5.1.1).
        Split = "split", Event;
        /// UDP checksums computed for packets that came without (RFC 7915 section 4.5).
        ChecksumComputed = "checksum-computed", Event;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_indices_and_names_are_unique() {
        for (index, counter) in Counter::ALL.iter().enumerate() {
            assert_eq!(*counter as usize, index);
            assert_eq!(
                Counter::ALL
                    .iter()
                    .filter(|c| c.name() == counter.name())
                    .count(),
                1
            );
        }
    }
}
