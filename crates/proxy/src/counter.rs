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
        /// Changes of a connection's protocol, such as to WebSocket (RFC 9110 section 7.8).
        TunnelUpgrade = "tunnel-upgrade", Request;
        /// Requests by their host, without the setting of a proxy.
        RequestSite = "request-site", Request;
        /// Tunnels by the server name of TLS (RFC 6066 section 3).
        TunnelTls = "tunnel-tls", Request;
        /// Connections by SOCKS5 (RFC 1928 section 4).
        TunnelSocks = "tunnel-socks", Request;
        /// Associations for datagrams by SOCKS5 (RFC 1928 section 7).
        Association = "association", Request;

        /// Connections of clients that `allow` does not name, closed at once.
        Stranger = "stranger", Refused;
        /// Connections closed at once because their client has as many as it may have.
        ClientConnections = "client-connections", Refused;
        /// Connections closed at once because all clients together have as many as there may be.
        ConnectionsFull = "connections-full", Refused;
        /// Requests without the name and the password of a user; 407 was sent (RFC 9110 section 15.5.8).
        Unauthenticated = "unauthenticated", Refused;
        /// Datagrams that are not of an association's client, or of a server that it has not sent to.
        DatagramForeign = "datagram-foreign", Refused;
        /// Requests to ports that `ports` does not name; 403 was sent.
        PortRefused = "port-refused", Refused;
        /// Requests to the machine itself, to loopback, link-local or multicast addresses; 403 was sent.
        DestinationRefused = "destination-refused", Refused;
        /// Requests that contradict themselves or are not for a proxy; 400, 405, 414, 417 or 501 was sent.
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
        /// Lines of the access log that found no room.
        LogLost = "log-lost", Event;
        /// Octets from clients.
        OctetsUp = "octets-up", Event;
        /// Octets to clients.
        OctetsDown = "octets-down", Event;
    }
}

/// The numbers behind [`Counter`], shared by all connections.
pub type Counters = isthmus_core::counters::Counters<Counter, { Counter::ALL.len() }>;
