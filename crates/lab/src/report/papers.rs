//! The findings of the papers and the scope of the standards: one sentence for a figure, and the printed values.
//!
//! Figures of papers without printed values have a sentence only: no value is read off a plot.

/// A paper or standard, whose experiments have names that begin with its own.
pub(super) struct Source {
    /// The beginning of the names of experiments, up to the slash.
    pub(super) name: &'static str,
    /// Its title in the report.
    pub(super) title: &'static str,
    /// Its subject.
    pub(super) about: &'static str,
}

/// All sources in the order of the report; the standards come after the papers.
pub(super) const SOURCES: [Source; 7] = [
    Source {
        name: "paper-000",
        title: "Paper 000: Quintero, Sans and Gamess, 2016",
        about: "One-way delay and UDP throughput of native IPv4 and IPv6, ISATAP, 6to4 and NAT64 between two \
            hosts and a router, at 10 and 100 Mb/s.",
    },
    Source {
        name: "paper-001",
        title: "Paper 001: Tsetse and others, IVI",
        about: "The cost of stateless translation, step by step and in each direction, inside Linux and on a \
            machine without an operating system.",
    },
    Source {
        name: "paper-002",
        title: "Paper 002: Cordeiro, Carnier and Zucchi",
        about: "DS-Lite, MAP-E, MAP-T and 464XLAT on a small home router: throughput, loss, jitter, CPU, latency \
            and whether applications work.",
    },
    Source {
        name: "paper-003",
        title: "Paper 003: Gamess and Surós, 2008",
        about: "IPv4 and IPv6 between two hosts on one link, beside the most that Ethernet allows.",
    },
    Source {
        name: "paper-004",
        title: "Paper 004: Yu, Carpenter and Brownlee, 2010",
        about: "Round trips of HTTP through NAT64, NAT-PT and a dual-stack proxy, beside native IPv4 and IPv6.",
    },
    Source {
        name: "rfc8219",
        title: "RFC 8219: benchmarking IPv6 transition",
        about: "Throughput, latency, delay variation, loss and back-to-back frames at the standard's frame sizes.",
    },
    Source {
        name: "rfc9693",
        title: "RFC 9693: benchmarking stateful NAT",
        about: "The rate at which sessions are opened, their number, and the rate at which they are removed.",
    },
];

/// The finding of the paper, by the beginning of the experiment's name.
const FINDINGS: [(&str, &str); 30] = [
    (
        "paper-000/delay-tcp-10M",
        "The tunnels, ISATAP and 6to4, took longest at almost every size; NAT64 was faster \
        than native IPv6 in almost all cases.",
    ),
    (
        "paper-000/delay-tcp-100M",
        "As at 10 Mb/s, but ten times faster; Jool was faster than TAYGA.",
    ),
    (
        "paper-000/delay-udp-10M",
        "Measured, but left out of the paper for want of space.",
    ),
    (
        "paper-000/delay-udp-100M",
        "Native IPv4 was fastest, native IPv6 close behind, ISATAP and 6to4 alike and slower; \
        TAYGA was unexpectedly slow above 1750 bytes.",
    ),
    (
        "paper-000/throughput-udp-10M",
        "IPv4 had the most, then IPv6, then ISATAP and 6to4, which were alike; so were Jool \
        and TAYGA.",
    ),
    (
        "paper-000/throughput-udp-100M",
        "The same order as at 10 Mb/s, with ten times as much.",
    ),
    (
        "paper-001/steps",
        "The IP header cost most, then addresses; TCP, UDP and ICMP cost least and nearly the same. \
        From IPv4 to IPv6 every step cost more.",
    ),
    (
        "paper-001/prefix-length",
        "A prefix of 32 bits was cheapest, longer ones cost slightly more; from IPv4 to IPv6 cost \
        more with all of them.",
    ),
    (
        "paper-001/packet-rate",
        "From IPv4 to IPv6 came about 18 % fewer packets through than back (Linux), or 13 % (without \
        an operating system).",
    ),
    (
        "paper-001/round-trip",
        "Without an operating system a round trip took about 17 % less.",
    ),
    ("paper-001/files", "Larger files took longer."),
    (
        "paper-001/connect",
        "Connecting took equally long for all sizes of files.",
    ),
    (
        "paper-001/file-throughput",
        "Larger files reached a higher throughput.",
    ),
    (
        "paper-002/throughput",
        "All stayed below the 100 Mb/s that were offered; MAP-E and MAP-T did best, 464XLAT reached \
        40 Mb/s at most.",
    ),
    (
        "paper-002/throughput-tcp",
        "464XLAT reached 40 Mb/s at most; MAP-E and MAP-T carried about as much as by UDP in large packets, DS-Lite less.",
    ),
    (
        "paper-002/loss",
        "At 100 bytes all lost over 80 %; at 1400 bytes 464XLAT still lost over 60 %, the others less \
        than 8 %.",
    ),
    (
        "paper-002/jitter",
        "Very high for all at 100 and 250 bytes and better from 500; 464XLAT was worst.",
    ),
    (
        "paper-002/cpu",
        "464XLAT and DS-Lite used the whole processor in all tests, MAP-E and MAP-T only with small packets.",
    ),
    (
        "paper-002/cost",
        "The paper shows the processor's load alone: 464XLAT and DS-Lite used the whole of it.",
    ),
    (
        "paper-002/latency",
        "DS-Lite took twice and 464XLAT three times as long as MAP-E and MAP-T.",
    ),
    (
        "paper-002/overhead",
        "Tunnels add 40 bytes to a packet, translation adds 20.",
    ),
    (
        "paper-002/applications",
        "Browsing, mail and video worked; BitTorrent could not serve through any of the four, and IPsec \
        failed through all but DS-Lite.",
    ),
    (
        "paper-002/everyday",
        "Browsing, mail, video, news and banking worked. BitTorrent fetched, but served nobody; calls were worse than \
        natively everywhere.",
    ),
    ("paper-003/throughput-udp-10M", "Very close to the bound."),
    ("paper-003/throughput-tcp-10M", "Very close to the bound."),
    (
        "paper-003/throughput-udp-1000M",
        "Near the bound with large payloads, far from it with small ones.",
    ),
    (
        "paper-003/throughput-tcp-1000M",
        "Near the bound with large payloads, far from it with small ones.",
    ),
    (
        "paper-004/round-trip",
        "Native IPv4 was fastest, then native IPv6, NAT64, NAT-PT and the proxy.",
    ),
    (
        "paper-004/size",
        "NAT64 was a reasonable choice for small packets, and did badly with large outbound ones, which the \
        authors could not explain.",
    ),
    (
        "paper-004/connections",
        "From 1 to 100 simultaneous connections were planned; the values are not printed.",
    ),
];

/// The experiment with the applications of paper 002.
pub(super) const EVERYDAY: &str = "paper-002/everyday";
/// The mechanisms of paper 002.
pub(super) const TRIED_THROUGH: [&str; 4] = ["DS-Lite", "MAP-E", "MAP-T", "464XLAT"];

/// An application of paper 002.
pub(super) struct Tried {
    pub(super) application: &'static str,
    /// The paper's words about each of [`TRIED_THROUGH`].
    pub(super) saw: [&'static str; 4],
    /// The results that repeat it.
    pub(super) here: &'static [&'static str],
}

const WELL: [&str; 4] = ["no problem"; 4];
/// The applications of paper 002, in its order.
pub(super) const TRIED: [Tried; 10] = [
    tried("web search", WELL, &["browser, web search"]),
    tried("e-mail", WELL, &["e-mail, SMTP", "e-mail, IMAP"]),
    tried("social network", WELL, &["browser, social page"]),
    tried("video streaming", WELL, &["video streaming, HLS"]),
    tried(
        "BitTorrent",
        ["fetches, does not serve"; 4],
        &[
            "BitTorrent, fetching",
            "BitTorrent, serving",
            "BitTorrent, serving at a port that it asked for",
        ],
    ),
    tried("news", WELL, &["news, RSS over TLS"]),
    tried("home banking", WELL, &["home banking, mutual TLS"]),
    tried(
        "video call (Skype)",
        [
            "worse than natively",
            "worse than natively",
            "worse than natively",
            "very bad",
        ],
        &["video call, SIP", "video call, STUN and RTP"],
    ),
    tried(
        "online game",
        [
            "fine",
            "disconnects on Windows",
            "disconnects on Windows",
            "fine",
        ],
        &["online game"],
    ),
    tried(
        "VPN (L2TP/IPsec)",
        ["works on two of five systems", "fails", "fails", "fails"],
        &[
            "VPN, L2TP/IPsec",
            "VPN, IKEv2 with NAT traversal",
            "VPN, ESP without NAT traversal",
        ],
    ),
];

const fn tried(
    application: &'static str,
    saw: [&'static str; 4],
    here: &'static [&'static str],
) -> Tried {
    Tried {
        application,
        saw,
        here,
    }
}

/// Returns the name of the experiment that stands for a figure of a paper: those at a slow edge and at a fast one repeat the
/// same.
fn figure_of(experiment: &str) -> String {
    experiment.replace("/slow-edge-", "/")
}

/// Returns the paper's finding that this experiment repeats, in a sentence.
pub(super) fn finding(experiment: &str) -> Option<&'static str> {
    if experiment.starts_with("paper-003/throughput-") && experiment.ends_with("-100M") {
        return Some("Close to the bound, above all with large payloads.");
    }
    let experiment = figure_of(experiment);
    let found = FINDINGS.iter().find(|(name, _)| *name == experiment);
    found.map(|(_, says)| *says)
}

/// A value that a paper prints.
pub(super) struct Printed {
    experiment: &'static str,
    /// The mechanism in small letters; empty if the paper had only one.
    pub(super) mechanism: &'static str,
    /// The series that it belongs to; empty for any.
    pub(super) series: &'static str,
    /// The place on the axis, if there is one.
    pub(super) at: Option<f64>,
    /// The value as printed.
    pub(super) value: &'static str,
}

const fn printed(
    experiment: &'static str,
    mechanism: &'static str,
    series: &'static str,
    at: Option<f64>,
    value: &'static str,
) -> Printed {
    Printed {
        experiment,
        mechanism,
        series,
        at,
        value,
    }
}

const PRINTED: [Printed; 38] = [
    printed("paper-001/steps", "", "4to6 header", None, "15.8 µs"),
    printed("paper-001/steps", "", "4to6 address", None, "5 µs"),
    printed("paper-001/steps", "", "4to6 tcp", None, "2.5 µs"),
    printed("paper-001/steps", "", "4to6 udp", None, "2 µs"),
    printed("paper-001/steps", "", "4to6 icmp", None, "2.5 µs"),
    printed("paper-001/steps", "", "6to4 header", None, "12 µs"),
    printed("paper-001/steps", "", "6to4 address", None, "2 µs"),
    printed("paper-001/steps", "", "6to4 tcp", None, "2 µs"),
    printed("paper-001/steps", "", "6to4 udp", None, "1.5 µs"),
    printed("paper-001/steps", "", "6to4 icmp", None, "2 µs"),
    printed(
        "paper-002/throughput",
        "464xlat",
        "udp",
        Some(1400.0),
        "below 40 Mb/s",
    ),
    printed("paper-002/loss", "map-e", "udp", Some(100.0), "84 %"),
    printed("paper-002/loss", "464xlat", "udp", Some(100.0), "over 91 %"),
    printed(
        "paper-002/loss",
        "ds-lite",
        "udp",
        Some(1400.0),
        "below 8 %",
    ),
    printed("paper-002/loss", "map-e", "udp", Some(1400.0), "below 8 %"),
    printed("paper-002/loss", "map-t", "udp", Some(1400.0), "below 8 %"),
    printed(
        "paper-002/loss",
        "464xlat",
        "udp",
        Some(1400.0),
        "over 60 %",
    ),
    printed(
        "paper-002/jitter",
        "464xlat",
        "udp",
        Some(1400.0),
        "about 1 s",
    ),
    printed(
        "paper-002/jitter",
        "ds-lite",
        "udp",
        Some(1400.0),
        "over 100 ms",
    ),
    printed("paper-002/cpu", "464xlat", "udp", Some(1400.0), "100 %"),
    printed("paper-002/cpu", "ds-lite", "udp", Some(1400.0), "100 %"),
    printed("paper-002/cpu", "464xlat", "udp", Some(100.0), "100 %"),
    printed("paper-002/cpu", "ds-lite", "udp", Some(100.0), "100 %"),
    printed("paper-002/cpu", "map-e", "udp", Some(100.0), "100 %"),
    printed("paper-002/cpu", "map-t", "udp", Some(100.0), "100 %"),
    printed("paper-002/latency", "map-e", "", None, "1 ms"),
    printed("paper-002/latency", "map-t", "", None, "1 ms"),
    printed("paper-002/latency", "ds-lite", "", None, "2 ms"),
    printed("paper-002/latency", "464xlat", "", None, "3 ms"),
    printed("paper-002/overhead", "ds-lite", "", None, "40 bytes"),
    printed("paper-002/overhead", "map-e", "", None, "40 bytes"),
    printed("paper-002/overhead", "map-t", "", None, "20 bytes"),
    printed("paper-002/overhead", "464xlat", "", None, "20 bytes"),
    printed("paper-004/round-trip", "native ipv4", "", None, "631 µs"),
    printed("paper-004/round-trip", "native ipv6", "", None, "745 µs"),
    printed("paper-004/round-trip", "nat64", "", None, "1027 µs"),
    printed("paper-004/round-trip", "http proxy", "", None, "1355 µs"),
    printed("paper-004/round-trip", "nat-pt", "", None, "1064 µs"),
];

/// Returns the paper's printed values that this experiment repeats.
pub(super) fn printed_for(experiment: &str) -> impl Iterator<Item = &'static Printed> {
    let experiment = figure_of(experiment);
    PRINTED
        .iter()
        .filter(move |printed| printed.experiment == experiment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finding_and_value_belongs_to_a_paper() {
        let known = |name: &str| SOURCES.iter().any(|source| name.starts_with(source.name));
        assert!(FINDINGS.iter().all(|(name, _)| known(name)));
        assert!(
            PRINTED
                .iter()
                .all(|printed| finding(printed.experiment).is_some())
        );
    }

    #[test]
    fn experiments_of_the_papers_have_a_finding() {
        let experiments = crate::experiments::experiments();
        for experiment in experiments.filter(|experiment| experiment.name.starts_with("paper-")) {
            assert!(finding(experiment.name).is_some(), "{}", experiment.name);
        }
    }

    #[test]
    fn applications_are_in_the_table_once() {
        let here = TRIED.iter().flat_map(|tried| tried.here).copied();
        let (mut here, mut names): (Vec<_>, Vec<_>) = (
            here.collect(),
            crate::traffic::applications::everyday::names().collect(),
        );
        here.sort_unstable();
        names.sort_unstable();
        assert_eq!(here, names);
        let known = |name: &&'static str| {
            let mut subjects = crate::experiments::subjects().into_iter();
            subjects.any(|subject| subject.mechanism == *name)
        };
        assert!(TRIED_THROUGH.iter().all(known));
        assert_eq!(TRIED_THROUGH, crate::experiments::papers::OF_PAPER_002);
    }

    #[test]
    fn printed_values_belong_to_known_mechanisms() {
        let subjects = crate::experiments::subjects();
        let here = |mechanism: &str| {
            let same = |name: &str| name.to_lowercase() == mechanism;
            subjects.iter().any(|subject| same(subject.mechanism))
        };
        for printed in &PRINTED {
            let mechanism = printed.mechanism;
            assert!(mechanism.is_empty() || here(mechanism), "{mechanism}");
        }
        // Claims are about these as well.
        for mechanism in ["native ipv6", "isatap", "6to4 hosts"] {
            assert!(here(mechanism), "{mechanism}");
        }
    }

    #[test]
    fn the_papers_ratios_are_as_its_text_says() {
        // Paper 004: NAT64 37.9 % and the proxy 81.9 % above native IPv6.
        let of = |mechanism: &str| -> f64 {
            let found = printed_for("paper-004/round-trip");
            let value = found
                .into_iter()
                .find(|one| one.mechanism == mechanism)
                .unwrap()
                .value;
            value.trim_end_matches(" µs").parse().unwrap()
        };
        let over = |mechanism: &str| (of(mechanism) / of("native ipv6") * 1000.0).round() - 1000.0;
        // 1027/745 is 1.3785.
        assert_eq!((over("nat64"), over("http proxy")), (379.0, 819.0));
    }
}
