//! The counters of prefixes that are discovered and announced.

isthmus_core::counters! {
    /// The kind of a counter.
    pub enum Kind {
        /// Messages about prefixes of NAT64s that were received and sent.
        Event = "event";
    }
    /// A counter of prefixes.
    pub enum Counter {
        /// Router advertisements that announce a prefix (RFC 8781 section 4).
        AdvertisementHeard = "pref64-advertisement-heard", Event;
        /// Router advertisements discarded because a router may have forwarded them: their hop limit is not 255 (RFC 4861 section 6.1.2).
        AdvertisementHopLimit = "pref64-advertisement-hop-limit", Event;
        /// Router advertisements discarded because their source is not link-local (RFC 4861 section 6.1.2).
        AdvertisementSource = "pref64-advertisement-source", Event;
        /// Router advertisements discarded because they are cut short, or their options do not fit (RFC 4861 section 6.1.2).
        AdvertisementMalformed = "pref64-advertisement-malformed", Event;
        /// PREF64 options ignored because of their length, length code or prefix (RFC 8781 section 4).
        OptionIgnored = "pref64-option-ignored", Event;
        /// Router solicitations sent (RFC 4861 section 6.3.7).
        SolicitationSent = "pref64-solicitation-sent", Event;
        /// Questions for ipv4only.arpa (RFC 7050 section 3).
        Asked = "pref64-asked", Event;
        /// Questions that no resolver replied to.
        AskedInVain = "pref64-asked-in-vain", Event;
        /// Addresses of ipv4only.arpa that contain no prefix, or leave open which one (RFC 7050 section 3).
        AddressIgnored = "pref64-address-ignored", Event;

        /// Router advertisements sent with prefixes of ours (RFC 8781 section 4).
        AdvertisementSent = "pref64-advertisement-sent", Event;
        /// Router advertisements that the link did not take.
        AdvertisementFailed = "pref64-advertisement-failed", Event;
        /// Router solicitations that were answered (RFC 4861 section 6.2.6).
        SolicitationHeard = "pref64-solicitation-heard", Event;
        /// Router solicitations discarded because of their hop limit or content (RFC 4861 section 6.1.1).
        SolicitationIgnored = "pref64-solicitation-ignored", Event;
        /// Router advertisements of others on the link that announce other prefixes than ours (RFC 8781 section 5.2).
        Inconsistent = "pref64-inconsistent", Event;
    }
}

/// The numbers behind [`Counter`], of one instance or one link.
pub type Counters = isthmus_core::counters::Counters<Counter, { Counter::ALL.len() }>;
