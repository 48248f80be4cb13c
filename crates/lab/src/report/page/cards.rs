//! The first screen: a card for each mechanism, in the order that suits the reader's network.

use maud::{Markup, html};

use crate::{
    figures::results::{Quantity, SubjectInfo},
    report::{
        advise::{self, BrState, CeRouters, Core, Hosts, Inbound, Needs, Peers},
        amount,
        best::best,
        counted,
        style::is_native,
        summary::{ExperimentSummary, Figure, Summary},
    },
};

/// Returns the cards, and the switches that put them in order.
pub(super) fn cards(summary: &Summary<'_>) -> Markup {
    let mechanisms = mechanisms(summary);
    html! {
        @if mechanisms.is_empty() {
            p.none { "Nothing has been measured yet." }
        } @else {
            (switches())
            ol.choice data-orders=(orders(&mechanisms)) {
                @for (number, mechanism) in mechanisms.iter().enumerate() {
                    (card(summary, mechanism, number))
                }
            }
            p.about {
                "Cost: instructions of a packet, counted exactly: of ours in XDP, or of the one that is named if it is another’s (Linux " (counted::kernel())
                "); they count work and not cache misses. × is by the kernel’s forwarding"
                @if let Some(native) = counted::native() { ", which takes " (amount::grouped(native)) }
                ". All else is this run’s, by the wall clock, of the implementation that is named."
            }
        }
    }
}

/// Returns the mechanisms that were measured, in the order of the run.
fn mechanisms<'a>(summary: &Summary<'a>) -> Vec<&'a str> {
    let mut mechanisms: Vec<&str> = Vec::new();
    for answers in &summary.experiments {
        for subject in answers.subjects() {
            let name = subject.mechanism.as_str();
            let alone = name.starts_with("one link");
            if !is_native(subject) && !alone && !mechanisms.contains(&name) {
                mechanisms.push(name);
            }
        }
    }
    let place = |name: &&str| {
        summary
            .run
            .subjects
            .iter()
            .position(|one| one.mechanism == *name)
    };
    mechanisms.sort_by_key(place);
    mechanisms
}

/// The answers to a question of the advice.
struct Question {
    asks: &'static str,
    answers: &'static [&'static str],
}

/// The questions that make the most difference.
const QUESTIONS: [Question; 4] = [
    Question {
        asks: "Hosts",
        answers: &["IPv6 only", "some know IPv4 only"],
    },
    Question {
        asks: "Core",
        answers: &["IPv6", "IPv4"],
    },
    Question {
        asks: "Customers to an address",
        answers: &["1", "16", "1024"],
    },
    Question {
        asks: "From outside",
        answers: &["nothing", "some ports", "every port"],
    },
];

/// Returns the needs of a network with these answers.
fn needs([hosts, core, sharing, inbound]: [usize; 4]) -> Needs {
    let core = [Core::V6, Core::V4][core];
    Needs {
        hosts: [Hosts::V6Only, Hosts::Dual][hosts],
        core,
        // A network that has one protocol wants the other one.
        peers: match core {
            Core::V6 => Peers::V4,
            Core::V4 => Peers::V6,
        },
        customers_per_address: [1, 16, 1024][sharing],
        inbound: [Inbound::Unneeded, Inbound::SomePorts, Inbound::EveryPort][inbound],
        ce: CeRouters::Ours,
        br: BrState::State,
    }
}

fn switches() -> Markup {
    html! {
        div.switches role="group" aria-label="Your network: the cards follow it" {
            @for question in &QUESTIONS {
                fieldset {
                    legend { (question.asks) }
                    div {
                        @for (number, answer) in question.answers.iter().enumerate() {
                            button type="button" data-answer=(number) aria-pressed="false" { (answer) }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the order of the cards for all answers: numbers of possible mechanisms, a bar, and numbers of the others;
/// the last question's answers follow each other.
fn orders(mechanisms: &[&str]) -> String {
    let sizes = QUESTIONS.each_ref().map(|question| question.answers.len());
    let all: usize = sizes.iter().product();
    let order = |mut number: usize| {
        let mut answers = [0; 4];
        for (answer, size) in answers.iter_mut().zip(sizes).rev() {
            *answer = number % size;
            number /= size;
        }
        let [possible, others] = [true, false].map(|possible| {
            let advice = advise::advise(&needs(answers), None);
            let found = advice.iter().filter(|one| one.is_possible() == possible);
            let places = found.filter_map(|one| {
                mechanisms
                    .iter()
                    .position(|name| name.eq_ignore_ascii_case(one.mechanism))
            });
            places
                .map(|place| place.to_string())
                .collect::<Vec<_>>()
                .join(",")
        });
        format!("{possible}|{others}")
    };
    (0..all).map(order).collect::<Vec<_>>().join(" ")
}

fn card(summary: &Summary<'_>, mechanism: &str, number: usize) -> Markup {
    let best = best(summary, |subject| subject.mechanism == mechanism);
    let rows = rows(summary, mechanism, best);
    html! {
        li data-card=(number) {
            h3 { (mechanism) @if let Some(best) = best { small { (best.name) } } }
            dl {
                @for (name, value) in rows {
                    dt { (name) }
                    dd { @match value { Some(value) => (value), None => span.none { "–" } } }
                }
            }
        }
    }
}

/// Returns the rows of a card.
fn rows(
    summary: &Summary<'_>,
    mechanism: &str,
    best: Option<&SubjectInfo>,
) -> [(&'static str, Option<Markup>); 6] {
    let of = |experiment: &str, series: &[&str]| {
        let answers = summary.experiment(experiment)?;
        figure(answers, &best?.name, series).map(|figure| (answers.experiment.quantity, figure))
    };
    let exact = counted::of(mechanism).or_else(|| counted::of_another(&best?.name));
    let exact = exact.map(|exact| {
        html! {
            (amount::grouped(exact.instructions)) " instr. " small { (amount::number(exact.by_native)) " ×" }
        }
    });
    let rate = of("rfc8219/throughput", &["forward", "6to4", "4to6"])
        .or_else(|| of("paper-002/throughput-tcp", &["tcp"]))
        .or_else(|| of("rfc8219/dns64", &["queries"]));
    let rate = rate.map(|(quantity, figure)| {
        html! { (amount::amount(quantity, figure.value())) @if figure.limited(quantity) { " †" } }
    });
    let bytes = of("paper-002/overhead", &["there"]).map(|(_, figure)| {
        let octets = figure.value();
        let sign = if octets > 0.0 { "+" } else { "" };
        html! { (sign) (amount::number(octets)) }
    });
    [
        ("Cost", exact),
        ("Rate", rate),
        ("Delay", added(summary, best)),
        ("Bytes", bytes),
        ("Breaks", breaks(summary, best)),
        ("Sure", sure(summary, best)),
    ]
}

/// Returns a subject's figure of the first of these series that it has, in the middle of the axis.
fn figure<'s>(
    answers: &'s ExperimentSummary<'_>,
    subject: &str,
    series: &[&str],
) -> Option<&'s Figure> {
    let line = series
        .iter()
        .find_map(|series| answers.line(subject, series))?;
    line.figures.get(line.figures.len() / 2)
}

/// Returns the round trip less that of native forwarding.
fn added(summary: &Summary<'_>, best: Option<&SubjectInfo>) -> Option<Markup> {
    let names = [
        "paper-004/round-trip",
        "paper-001/round-trip",
        "paper-002/latency",
    ];
    names.into_iter().find_map(|name| {
        let answers = summary.experiment(name)?;
        let value = figure(answers, &best?.name, &["both"])?.value();
        let native = ["native-ipv6", "native-ipv4"];
        let native = native
            .into_iter()
            .find_map(|name| figure(answers, name, &["both"]))?;
        let more = value - native.value();
        let sign = if more >= 0.0 { "+" } else { "" };
        Some(html! {
            (sign) (amount::amount(Quantity::RoundTrip, more)) " " small { "round trip" }
        })
    })
}

/// Returns the applications that fail through it.
fn breaks(summary: &Summary<'_>, best: Option<&SubjectInfo>) -> Option<Markup> {
    let answers = summary.experiment("paper-002/applications")?;
    let of_best = answers
        .lines
        .iter()
        .filter(|line| line.subject.name == best.map_or("", |one| &one.name));
    let tried: Vec<(&str, bool)> = of_best
        .filter_map(|line| Some((line.series, line.figures.first()?.value() >= 1.0)))
        .collect();
    if tried.is_empty() {
        return None;
    }
    let broken: Vec<&str> = tried
        .iter()
        .filter(|(_, works)| !works)
        .map(|(name, _)| *name)
        .collect();
    let names = broken.join(", ");
    Some(html! {
        @if broken.is_empty() {
            "nothing of " (tried.len())
        } @else {
            span title=(names) { (broken.len()) " of " (tried.len()) ": " (names) }
        }
    })
}

/// Returns how sure the run's figures of a subject are: the repetitions, and the widest interval of a median.
fn sure(summary: &Summary<'_>, best: Option<&SubjectInfo>) -> Option<Markup> {
    let name = &best?.name;
    let lines = summary
        .experiments
        .iter()
        .flat_map(|answers| &answers.lines);
    let figures = lines
        .filter(|line| line.subject.name == *name)
        .flat_map(|line| &line.figures);
    let mut least = usize::MAX;
    let mut widest: Option<f64> = None;
    for figure in figures {
        least = least.min(figure.values.len());
        if let (Some([low, high]), true) = (figure.interval, figure.value() > 0.0) {
            let half = (high - low) / 2.0 / figure.value();
            widest = Some(widest.map_or(half, |before| before.max(half)));
        }
    }
    Some(match (least, widest) {
        (usize::MAX, _) => return None,
        (1, _) => html! { "measured once" },
        (count, Some(half)) => html! { (count) " times, up to ±" (amount::percent(half)) },
        (count, None) => html! { (count) " times" },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::advise::MECHANISMS;

    #[test]
    fn every_answer_has_an_order_of_all_that_are_advised() {
        let names: Vec<&str> = MECHANISMS.iter().map(|mechanism| mechanism.name).collect();
        let orders = orders(&names);
        let all: Vec<&str> = orders.split(' ').collect();
        assert_eq!(all.len(), 2 * 2 * 3 * 3);
        for order in &all {
            let numbers = order.split([',', '|']).filter(|number| !number.is_empty());
            let mut numbers: Vec<usize> = numbers.map(|number| number.parse().unwrap()).collect();
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..names.len()), "{order}");
        }
        // Hosts with IPv6 only, an IPv6 core, shared addresses, nothing from outside: NAT64 is the first.
        let nat64 = names.iter().position(|name| *name == "NAT64").unwrap();
        assert!(all[3].starts_with(&format!("{nat64},")), "{}", all[3]);
        // A core of IPv4: none of those that cross IPv6.
        let (possible, _) = all[9].split_once('|').unwrap();
        assert!(
            !possible
                .split(',')
                .any(|number| number == nat64.to_string())
        );
    }
}
