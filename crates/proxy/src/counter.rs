//! Everything that the proxy counts, in one list.

isthmus_core::counters! {
    /// The kind of a counter.
    pub enum Kind {
        /// Requests of clients.
        Request = "request";
        /// Clients and requests that were refused for this reason.
        Refused = "refused";
        /// Requests that failed for this reason.
        Failed = "failed";
        /// Something other than the beginning or the end of a request.
        Event = "event";
    }
    /// What is counted.
    pub enum Counter {
        /// Connections of clients that were accepted.
        Connection = "connection", Request;
        /// Requests with an absolute URI (RFC 9112 section 3.2.2).
        RequestForwarded = "request-forwarded", Request;
        /// Tunnels by `CONNECT` (RFC 9110 section 9.3.6).
        TunnelConnect = "tunnel-connect", Request;

        /// Connections of clients that `allow` does not name, closed at once.
        Stranger = "stranger", Refused;
        /// Connections closed at once because their client has as many as it may have.
        ClientConnections = "client-connections", Refused;
        /// Connections closed at once because all clients together have as many as there may be.
        ConnectionsFull = "connections-full", Refused;
        /// Requests to ports that `ports` does not name; 403 was sent.
        PortRefused = "port-refused", Refused;
        /// Requests to the machine itself, to loopback, link-local or multicast addresses; 403 was sent.
        DestinationRefused = "destination-refused", Refused;
        /// Requests that contradict themselves or are not for a proxy; 400, 405 or 501 was sent.
        BadRequest = "bad-request", Refused;
        /// Requests that this proxy had forwarded before; 502 was sent.
        Loop = "loop", Refused;

        /// Names that the DNS does not have; 502 was sent.
        NameUnknown = "name-unknown", Failed;
        /// Names for which no resolver had an answer; 504 was sent.
        NameTimeout = "name-timeout", Failed;
        /// Destinations that none of their addresses reaches; 502 was sent.
        Unreachable = "unreachable", Failed;
        /// Destinations that did not answer in time; 504 was sent.
        ConnectTimeout = "connect-timeout", Failed;
        /// Servers that did not respond in time; 504 was sent.
        ResponseTimeout = "response-timeout", Failed;
        /// Servers that closed the connection or answered with what is no HTTP; 502 was sent.
        BadServer = "bad-server", Failed;

        /// Connections to servers over IPv4.
        ServerV4 = "server-v4", Event;
        /// Connections to servers over IPv6.
        ServerV6 = "server-v6", Event;
        /// Requests that went over a connection to the server that was there already.
        ServerReused = "server-reused", Event;
        /// Connections closed because they carried nothing for too long.
        Idle = "idle", Event;
        /// Tunnels whose bytes went on inside the kernel (splice).
        Spliced = "spliced", Event;
        /// Octets from clients.
        OctetsUp = "octets-up", Event;
        /// Octets to clients.
        OctetsDown = "octets-down", Event;
    }
}

/// The numbers behind [`Counter`], shared by all connections.
pub type Counters = isthmus_core::counters::Counters<Counter, { Counter::ALL.len() }>;
