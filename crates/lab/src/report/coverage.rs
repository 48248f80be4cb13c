//! All figures and tables of the five papers: the experiment that repeats each, or the reason why none does.
//!
//! Drawings of networks, listings of configurations and tables of the literature measure nothing and are not here.

/// The fate of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeated {
    /// This experiment repeats it.
    By(&'static str),
    /// This experiment repeats a part of it, and the text says what is left out.
    InPart(&'static str, &'static str),
    /// Committed counts of instructions do in part, and the text says what is left out.
    Counted(&'static str),
    /// Nothing does, for this reason.
    Not(&'static str),
}

use Repeated::{By, Counted, InPart, Not};

/// A figure or a table of a paper, or several that have one fate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Figure {
    /// The beginning of the names of the paper's experiments.
    pub(super) paper: &'static str,
    /// Its place in the paper.
    pub(super) place: &'static str,
    /// The number of measurements that are there.
    pub(super) measurements: usize,
    /// Its subject.
    pub(super) shows: &'static str,
    /// Its fate.
    pub(super) repeated: Repeated,
}

const WINDOWS: &str = "Windows 7, 8 and 10 are not here: the laboratory runs on Linux";
const INTERNET: &str =
    "the sites and the path through the Internet are not here: the laboratory has no Internet";
const BARE: &str = "the machine without an operating system is none of the laboratory’s subjects: its packets are counted in \
    instructions";
const ROUTER: &str = "the paper’s home router, which packets overload: here gateways are processes and programs on a fast core";
const TEXT: &str = "the paper’s text was not at hand beyond its abstract and parts; its figures’ numbers are not known";

const fn figure(
    paper: &'static str,
    place: &'static str,
    shows: &'static str,
    repeated: Repeated,
) -> Figure {
    Figure {
        paper,
        place,
        measurements: 1,
        shows,
        repeated,
    }
}

/// All figures and tables that show a measurement.
pub(super) const FIGURES: [Figure; 40] = [
    figure(
        "paper-000",
        "figure 16",
        "delay, TCP, 10 Mb/s, Debian",
        By("paper-000/delay-tcp-10M"),
    ),
    figure(
        "paper-000",
        "figure 20",
        "delay, UDP, 100 Mb/s, Debian",
        By("paper-000/delay-udp-100M"),
    ),
    figure(
        "paper-000",
        "figure 24",
        "delay, TCP, 100 Mb/s, Debian",
        By("paper-000/delay-tcp-100M"),
    ),
    figure(
        "paper-000",
        "figure 28",
        "UDP throughput, 10 Mb/s, Debian",
        By("paper-000/throughput-udp-10M"),
    ),
    figure(
        "paper-000",
        "figure 32",
        "UDP throughput, 100 Mb/s, Debian",
        By("paper-000/throughput-udp-100M"),
    ),
    Figure {
        paper: "paper-000",
        place: "figures 17–19, 21–23, 25–27, 29–31, 33–35",
        measurements: 15,
        shows: "delay (TCP at 10 Mb/s, UDP and TCP at 100 Mb/s) and UDP throughput (10 and 100 Mb/s), each with Windows 7, 8 \
            and 10",
        repeated: Not(WINDOWS),
    },
    figure(
        "paper-000",
        "not shown",
        "delay, UDP, 10 Mb/s",
        By("paper-000/delay-udp-10M"),
    ),
    figure(
        "paper-001",
        "figure 5",
        "steps of a translation, Linux",
        By("paper-001/steps"),
    ),
    figure(
        "paper-001",
        "figure 6",
        "the same without an operating system",
        Counted("instructions of whole packets by protocol, and not of single steps"),
    ),
    figure(
        "paper-001",
        "figure 7",
        "packets in a second",
        InPart("paper-001/packet-rate", BARE),
    ),
    figure(
        "paper-001",
        "figure 8",
        "round trip of a ping",
        InPart("paper-001/round-trip", BARE),
    ),
    figure(
        "paper-001",
        "figure 10",
        "cost by prefix length, Linux",
        By("paper-001/prefix-length"),
    ),
    figure(
        "paper-001",
        "figure 11",
        "the same without an operating system",
        Counted("instructions and not nanoseconds"),
    ),
    figure(
        "paper-001",
        "figure 12",
        "round trips to three sites, Linux",
        Not(INTERNET),
    ),
    figure(
        "paper-001",
        "figure 13",
        "the same without an operating system",
        Not(INTERNET),
    ),
    figure(
        "paper-001",
        "figure 14",
        "time of a connection to three sites, Linux",
        InPart("paper-001/connect", INTERNET),
    ),
    figure(
        "paper-001",
        "figure 15",
        "the same without an operating system",
        Not(INTERNET),
    ),
    figure(
        "paper-001",
        "figure 16",
        "time of a translation of the Internet’s traffic, Linux",
        Not(INTERNET),
    ),
    figure(
        "paper-001",
        "figure 17",
        "the same without an operating system",
        Not(INTERNET),
    ),
    figure(
        "paper-001",
        "figure 18",
        "time of a connection, by size of file",
        InPart("paper-001/connect", INTERNET),
    ),
    figure(
        "paper-001",
        "figure 19",
        "time of a file",
        InPart("paper-001/files", INTERNET),
    ),
    figure(
        "paper-001",
        "figure 20",
        "throughput of a file",
        InPart(
            "paper-001/file-throughput",
            "the paper counts all octets on the wire, and not only the file’s",
        ),
    ),
    figure(
        "paper-002",
        "table of applications",
        "ten services on five systems",
        InPart(
            "paper-002/everyday",
            "Windows, macOS, Android and iOS; L2TP only where the kernel has PPP; the media of a call and a game are what the laboratory sends",
        ),
    ),
    figure(
        "paper-002",
        "figure 2",
        "a video call, Windows",
        Not(WINDOWS),
    ),
    figure(
        "paper-002",
        "figure 3",
        "a video call, Linux",
        Not("Skype’s service is not here"),
    ),
    figure(
        "paper-002",
        "figure 4",
        "processor of the customer’s router",
        InPart("paper-002/slow-edge-cpu", "the load by TCP"),
    ),
    figure(
        "paper-002",
        "figure 5",
        "latency",
        InPart("paper-002/latency", ROUTER),
    ),
    figure(
        "paper-002",
        "figure 6",
        "jitter",
        By("paper-002/slow-edge-jitter"),
    ),
    figure(
        "paper-002",
        "figure 7",
        "loss",
        By("paper-002/slow-edge-loss"),
    ),
    figure(
        "paper-002",
        "figure 8, UDP",
        "throughput at 100 Mb/s",
        By("paper-002/slow-edge-throughput"),
    ),
    figure(
        "paper-002",
        "figure 8, TCP",
        "throughput",
        InPart("paper-002/throughput-tcp", ROUTER),
    ),
    figure(
        "paper-002",
        "section on overhead",
        "octets that a mechanism adds",
        By("paper-002/overhead"),
    ),
    figure(
        "paper-003",
        "10 Mb/s, UDP",
        "throughput beside the bound",
        InPart("paper-003/throughput-udp-10M", TEXT),
    ),
    figure(
        "paper-003",
        "10 Mb/s, TCP",
        "throughput beside the bound",
        InPart("paper-003/throughput-tcp-10M", TEXT),
    ),
    figure(
        "paper-003",
        "100 Mb/s",
        "throughput beside the bound",
        InPart("paper-003/throughput-udp-100M", TEXT),
    ),
    figure(
        "paper-003",
        "1000 Mb/s",
        "throughput beside the bound",
        InPart("paper-003/throughput-udp-1000M", TEXT),
    ),
    figure(
        "paper-003",
        "Windows XP, Solaris 10",
        "the same",
        Not("only Linux is here"),
    ),
    figure(
        "paper-004",
        "simplest case",
        "median round trips of five ways",
        By("paper-004/round-trip"),
    ),
    figure(
        "paper-004",
        "single connection",
        "round trip by size of packet",
        InPart(
            "paper-004/size",
            "the proxy, which carries HTTP and no messages of a size",
        ),
    ),
    figure(
        "paper-004",
        "plan",
        "1 to 100 connections at once",
        By("paper-004/connections"),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::experiments;

    /// The papers number what they show: 000 has measurements in figures 16 to 35, 001 in 5 to 8 and 10 to 20, 002 in 2
    /// to 8.
    #[test]
    fn no_figure_is_forgotten() {
        let all = [
            ("paper-000", vec![16..=35]),
            ("paper-001", vec![5..=8, 10..=20]),
            ("paper-002", vec![2..=8]),
        ];
        for (paper, ranges) in all {
            for number in ranges.into_iter().flatten() {
                let is_here = |figure: &&Figure| {
                    figure.paper == paper && numbers(figure.place).contains(&number)
                };
                let here = FIGURES.iter().filter(is_here).count();
                // UDP and TCP of figure 8 of paper 002 have two experiments.
                let times = 1 + usize::from((paper, number) == ("paper-002", 8));
                assert_eq!(here, times, "{paper}, figure {number}");
            }
        }
    }

    /// Returns the figures of a place: of `figure 8, UDP` one, of `figures 17–19, 21` four.
    fn numbers(place: &str) -> Vec<u32> {
        let number = |text: &str| text.parse().unwrap();
        if let Some(one) = place.strip_prefix("figure ") {
            let (one, _) = one.split_once(',').unwrap_or((one, ""));
            return vec![number(one)];
        }
        let ranges = place.strip_prefix("figures ").unwrap_or_default();
        let ranges = ranges.split(", ").filter(|range| !range.is_empty());
        let ends = ranges.map(|range| range.split_once('–').unwrap_or((range, range)));
        ends.flat_map(|(first, last)| number(first)..=number(last))
            .collect()
    }

    #[test]
    fn no_measurement_is_lost_where_several_have_one_row() {
        for figure in &FIGURES {
            let numbers = numbers(figure.place).len();
            assert_eq!(figure.measurements, numbers.max(1), "{}", figure.place);
        }
        let all: usize = FIGURES.iter().map(|figure| figure.measurements).sum();
        assert_eq!(all, 54);
    }

    #[test]
    fn what_repeats_a_figure_exists_and_every_experiment_of_a_paper_repeats_one() {
        let repeats = |name: &str| {
            FIGURES.iter().any(|figure| match figure.repeated {
                By(experiment) | InPart(experiment, _) => experiment == name,
                Counted(_) | Not(_) => false,
            })
        };
        let here = |name: &str| experiments().any(|experiment| experiment.name == name);
        for figure in &FIGURES {
            if let By(name) | InPart(name, _) = figure.repeated {
                assert!(here(name) && name.starts_with(figure.paper), "{name}");
            }
        }
        // These show more than the papers did: an edge that the load does not overload, single protocols, the cost of one
        // packet, and the same at other rates and by TCP.
        let more = [
            "paper-002/throughput",
            "paper-002/loss",
            "paper-002/jitter",
            "paper-002/cpu",
            "paper-002/applications",
            "paper-002/cost",
            "paper-003/throughput-tcp-100M",
            "paper-003/throughput-tcp-1000M",
        ];
        let of_papers = experiments().filter(|experiment| experiment.name.starts_with("paper-"));
        for experiment in of_papers.filter(|experiment| !more.contains(&experiment.name)) {
            assert!(repeats(experiment.name), "{}", experiment.name);
        }
    }
}
