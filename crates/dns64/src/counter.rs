//! Everything the DNS64 counts, in one list: a metric label, a row of the documentation and a
//! field of the JSON output are made from it.

isthmus_core::counters! {
    /// The kind of a counter.
    pub enum Kind {
        /// Queries that came in.
        Query = "query";
        /// Queries that got an answer.
        Answered = "answered";
        /// Queries that were refused or ignored for this reason.
        Refused = "refused";
        /// Something other than the beginning or the end of a query.
        Event = "event";
    }
    /// The fates of a query that are counted.
    pub enum Counter {
        /// Datagrams that came in over UDP.
        QueryUdp = "query-udp", Query;
        /// Messages that came in over TCP.
        QueryTcp = "query-tcp", Query;

        /// Queries answered from the cache.
        AnsweredCache = "answered-cache", Answered;
        /// Queries answered after asking upstream.
        AnsweredUpstream = "answered-upstream", Answered;
        /// Queries answered without anyone else: ipv4only.arpa (RFC 8880 section 7.1), its reverse names, ANY (RFC 8482).
        AnsweredLocal = "answered-local", Answered;

        /// Too short for a header, or itself a response: nothing is sent, so that two servers cannot be made to talk for ever.
        Ignored = "ignored", Refused;
        /// The query contradicts itself; FORMERR was sent (RFC 1035 section 4.1.1).
        Malformed = "malformed", Refused;
        /// An operation other than a standard query; NOTIMP was sent (RFC 1035 section 4.1.1).
        NotImplemented = "not-implemented", Refused;
        /// A version of EDNS other than 0; BADVERS was sent (RFC 6891 section 6.1.3).
        BadVersion = "bad-version", Refused;
        /// A zone transfer, class ANY or NONE, or no recursion desired; REFUSED was sent.
        NotAllowed = "not-allowed", Refused;
        /// As many questions as allowed are already under way; SERVFAIL was sent.
        Overload = "overload", Refused;
        /// Queries and TCP connections of clients that `allow` does not name; REFUSED was sent to at most a thousand queries in a second (RFC 5358 section 4).
        Stranger = "stranger", Refused;
        /// Queries beyond the rate of their client; over UDP every second one was told to use TCP, and over TCP they wait.
        RateLimited = "rate-limited", Refused;
        /// As many questions as one client may have are already under way; SERVFAIL was sent.
        ClientQuestions = "client-questions", Refused;
        /// A TCP connection closed at once because its client has as many as one may have.
        ClientConnections = "client-connections", Refused;
        /// A TCP connection closed at once because as many as allowed are open.
        ConnectionRefused = "connection-refused", Refused;

        /// Answers made with synthesized AAAA records (RFC 6147 section 5.1.7).
        Synthesized = "synthesized", Event;
        /// PTR answers made by a CNAME into in-addr.arpa (RFC 6147 section 5.3.1).
        SynthesizedPtr = "synthesized-ptr", Event;
        /// AAAA questions with DO and CD set, handed on without synthesis (RFC 6147 section 5.5).
        DnssecPassed = "dnssec-passed", Event;
        /// AAAA records that were left out because of the exclusion set (RFC 6147 section 5.1.4).
        ExcludedAaaa = "excluded-aaaa", Event;
        /// A records that no prefix may represent: outside its ranges, or non-global under 64:ff9b::/96 (RFC 6052 section 3.1).
        ExcludedA = "excluded-a", Event;
        /// Chains of CNAME or DNAME that loop or are too long; SERVFAIL was sent.
        BrokenChain = "broken-chain", Event;
        /// Answers with SERVFAIL made here, because nothing useful came from upstream.
        ServerFailure = "server-failure", Event;
        /// Responses cut to what the client can receive over UDP (RFC 2181 section 9).
        Truncated = "truncated", Event;
        /// Queries that joined an identical question already under way.
        Coalesced = "coalesced", Event;
        /// Responses that the socket did not take.
        SendFailed = "send-failed", Event;
        /// TCP connections closed because the client was idle or slow (RFC 7766 section 6.2.3).
        ConnectionIdle = "connection-idle", Event;

        /// Questions sent upstream over UDP.
        UpstreamUdp = "upstream-udp", Event;
        /// Questions sent upstream over TCP.
        UpstreamTcp = "upstream-tcp", Event;
        /// Questions to which an upstream resolver gave no reply in time (RFC 6147 section 5.1.3).
        UpstreamTimeout = "upstream-timeout", Event;
        /// Questions that could not reach an upstream resolver.
        UpstreamUnreachable = "upstream-unreachable", Event;
        /// Replies whose ID or question is not ours (RFC 5452 section 4.2).
        UpstreamMismatch = "upstream-mismatch", Event;
        /// Replies in which the question is spelled in another way than it was asked: asked again over TCP.
        UpstreamRespelled = "upstream-respelled", Event;
        /// Replies without a DNS cookie from a resolver that has them: asked again over TCP (RFC 7873 section 5.3).
        UpstreamCookieless = "upstream-cookieless", Event;
        /// Replies that cannot be read.
        UpstreamMalformed = "upstream-malformed", Event;
        /// Times that an upstream resolver was taken for down.
        UpstreamDown = "upstream-down", Event;
    }
}

/// The numbers behind [`Counter`], shared by all threads of a server.
pub type Counters = isthmus_core::counters::Counters<Counter, { Counter::ALL.len() }>;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_plain() {
        let names: BTreeSet<_> = Counter::ALL.iter().map(|c| c.name()).collect();
        assert_eq!(names.len(), Counter::ALL.len());
        for counter in Counter::ALL {
            assert!(
                counter
                    .name()
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b == b'-')
            );
            assert!(counter.explanation().ends_with('.'), "{counter:?}");
        }
    }

    #[test]
    fn counts_only_what_is_counted() {
        let counters = Counters::default();
        counters.count(Counter::Synthesized);
        counters.add(Counter::ExcludedA, 3);
        for (counter, n) in counters.iter() {
            let expected = match counter {
                Counter::Synthesized => 1,
                Counter::ExcludedA => 3,
                _ => 0,
            };
            assert_eq!(n, expected, "{counter:?}");
        }
    }
}
