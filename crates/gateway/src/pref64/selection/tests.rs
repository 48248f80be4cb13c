use super::*;
use isthmus_core::wire::pref64::Lifetime;
use proptest::prelude::*;

const BOTH: Sources = Sources {
    advertisements: Source::Used,
    dns: Source::Used,
};
const DNS: Sources = Sources {
    advertisements: Source::Unused,
    dns: Source::Used,
};

fn prefix(text: &str) -> Prefix {
    Prefix::new(text.parse().unwrap(), 96).unwrap()
}

fn router(number: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, number)
}

fn option(text: &str, seconds: u32) -> Pref64 {
    Pref64 {
        prefix: prefix(text),
        lifetime: Lifetime::of_secs(seconds),
    }
}

/// A selection and a clock that is moved by hand, in seconds.
struct Fake {
    begun: Instant,
    selection: Selection,
}

impl Fake {
    fn new(sources: Sources) -> Self {
        let begun = Instant::now();
        Self {
            begun,
            selection: Selection::new(begun, sources, Duration::ZERO),
        }
    }

    fn at(&self, seconds: f64) -> Instant {
        self.begun + Duration::from_secs_f64(seconds)
    }

    /// The prefix at a time, and its source.
    fn uses(&mut self, seconds: f64) -> Option<(String, Origin)> {
        let selected = self.selection.selected(self.at(seconds))?;
        Some((selected.prefix.to_string(), selected.origin))
    }

    /// All tasks up to a time, with theirs; questions are left without reply.
    fn tasks(&mut self, until: f64) -> Vec<(u64, Task)> {
        let mut tasks = Vec::new();
        while let Some(next) = self.selection.next().filter(|next| *next <= self.at(until)) {
            while let Some(task) = self.selection.task(next) {
                tasks.push(((next - self.begun).as_secs(), task));
                if task == Task::Ask {
                    self.selection.unanswered(next);
                }
            }
        }
        tasks
    }

    fn hears(&mut self, seconds: f64, from: u16, options: &[Pref64]) -> usize {
        self.selection
            .advertised(self.at(seconds), router(from), options)
    }
}

/// RFC 8781 section 5.1: router advertisements before the DNS; and back when they end.
#[test]
fn rfc8781_5_1_routers_come_before_the_dns() {
    let mut fake = Fake::new(BOTH);
    assert_eq!(fake.uses(0.0), None);
    let dns = [prefix("2001:db8:64::")];
    fake.selection
        .answered(fake.at(1.0), &dns, Duration::from_secs(600));
    assert_eq!(
        fake.uses(1.0),
        Some(("2001:db8:64::/96".into(), Origin::Dns))
    );
    fake.hears(2.0, 1, &[option("64:ff9b::", 80)]);
    let told = Some(("64:ff9b::/96".into(), Origin::Router(router(1))));
    assert_eq!(fake.uses(2.0), told);
    assert_eq!(fake.uses(81.9), told);
    assert_eq!(
        fake.uses(82.0),
        Some(("2001:db8:64::/96".into(), Origin::Dns))
    );
    assert_eq!(
        fake.uses(600.9),
        Some(("2001:db8:64::/96".into(), Origin::Dns))
    );
    assert_eq!(fake.uses(601.0), None);
}

/// RFC 8781 section 4.1: "A lifetime of 0 indicates that the prefix SHOULD NOT be used anymore."
#[test]
fn rfc8781_4_1_a_lifetime_of_zero_removes() {
    let mut fake = Fake::new(BOTH);
    fake.hears(
        0.0,
        1,
        &[option("64:ff9b::", 1800), option("2001:db8:64::", 1800)],
    );
    assert_eq!(fake.uses(0.0).unwrap().0, "64:ff9b::/96");
    fake.hears(
        1.0,
        1,
        &[option("64:ff9b::", 0), option("2001:db8:64::", 1800)],
    );
    assert_eq!(fake.uses(1.0).unwrap().0, "2001:db8:64::/96");
    // What one router withdraws, another may go on to announce.
    fake.hears(2.0, 2, &[option("2001:db8:64::", 1800)]);
    fake.hears(3.0, 1, &[option("2001:db8:64::", 0)]);
    let told = Some(("2001:db8:64::/96".into(), Origin::Router(router(2))));
    assert_eq!(fake.uses(3.0), told);
    fake.hears(4.0, 2, &[option("2001:db8:64::", 0)]);
    assert_eq!(fake.uses(4.0), None);
}

/// RFC 7050 section 3: in the order received. A prefix in use stays as long as it is announced.
#[test]
fn rfc7050_3_the_first_of_several_and_no_change_without_need() {
    let mut fake = Fake::new(DNS);
    let (a, b) = (prefix("2001:db8:42::"), prefix("2001:db8:43::"));
    let hour = Duration::from_secs(3600);
    fake.selection.answered(fake.at(0.0), &[a, b], hour);
    assert_eq!(fake.uses(0.0).unwrap().0, "2001:db8:42::/96");
    fake.selection.answered(fake.at(9.0), &[b, a], hour);
    assert_eq!(fake.uses(9.0).unwrap().0, "2001:db8:42::/96");
    fake.selection.answered(fake.at(10.0), &[b], hour);
    assert_eq!(fake.uses(10.0).unwrap().0, "2001:db8:43::/96");
}

/// RFC 7050 section 3: repeated ten seconds before the TTL ends, and like any other question where
/// no resolver answers; the prefix holds to the end of its TTL.
#[test]
fn rfc7050_3_the_question_is_repeated() {
    let mut fake = Fake::new(DNS);
    assert_eq!(fake.selection.task(fake.at(0.0)), Some(Task::Ask));
    assert_eq!(fake.selection.task(fake.at(0.0)), None);
    let dns = [prefix("2001:db8:64::")];
    fake.selection
        .answered(fake.at(0.0), &dns, Duration::from_secs(600));
    let asked = [590, 591, 593, 597].map(|at| (at, Task::Ask));
    assert_eq!(fake.tasks(599.5), asked);
    assert!(fake.uses(599.9).is_some());
    assert_eq!(fake.uses(600.0), None);
    let asked = [605, 621, 653, 717, 781, 845].map(|at| (at, Task::Ask));
    assert_eq!(fake.tasks(850.0), asked);
}

/// RFC 7050 section 3: "the node MUST obey the Time to Live of the response before resending".
#[test]
fn rfc7050_3_a_negative_response_holds() {
    let mut fake = Fake::new(DNS);
    fake.selection.task(fake.at(0.0));
    fake.selection
        .denied(fake.at(0.0), Some(Duration::from_secs(300)));
    assert_eq!(fake.tasks(299.0), []);
    assert_eq!(fake.tasks(300.0), [(300, Task::Ask)]);
    fake.selection.denied(fake.at(300.0), None);
    assert_eq!(fake.tasks(359.0), []);
    assert_eq!(fake.tasks(360.0), [(360, Task::Ask)]);
}

/// RFC 7559 section 2: solicitations at growing intervals until a router answers. The DNS is asked when
/// the routers had time to, and not while they announce a prefix.
#[test]
fn rfc7559_2_solicitations() {
    let mut fake = Fake::new(BOTH);
    let solicited = |tasks: Vec<(u64, Task)>| -> Vec<u64> {
        let tasks = tasks.into_iter().filter(|(_, task)| *task == Task::Solicit);
        tasks.map(|(at, _)| at).collect()
    };
    assert_eq!(fake.selection.task(fake.at(0.0)), Some(Task::Solicit));
    assert_eq!(fake.selection.task(fake.at(0.9)), None);
    assert_eq!(fake.selection.task(fake.at(1.0)), Some(Task::Ask));
    fake.selection.unanswered(fake.at(1.0));
    assert_eq!(solicited(fake.tasks(70.0)), [4, 12, 28, 60]);
    fake.hears(70.0, 1, &[option("64:ff9b::", 80)]);
    assert_eq!(fake.tasks(149.0), []);
    assert_eq!(fake.uses(150.0), None);
    assert_eq!(solicited(fake.tasks(160.0)), [154, 158]);
}

/// RFC 8781 section 5.1: a prefix is specific to the link that it was heard on.
#[test]
fn rfc8781_5_1_another_link_has_other_prefixes() {
    let mut fake = Fake::new(BOTH);
    fake.hears(0.0, 1, &[option("64:ff9b::", 1800)]);
    assert_eq!(fake.uses(10.0).unwrap().0, "64:ff9b::/96");
    fake.selection.moved(fake.at(10.0));
    assert_eq!(fake.uses(10.0), None);
    assert_eq!(fake.selection.task(fake.at(10.0)), Some(Task::Solicit));
}

/// RFC 4291 section 2.4: addresses of no host, and the IPv4-mapped ones.
#[test]
fn prefixes_that_can_not_be_are_not_used() {
    let mut fake = Fake::new(BOTH);
    let bad = ["::ffff:0:0", "fe80::", "ff0e::", "::"].map(|text| option(text, 600));
    assert_eq!(fake.hears(0.0, 1, &bad), 4);
    assert_eq!(fake.uses(0.0), None);
}

#[test]
fn a_flood_of_prefixes_has_an_end() {
    let mut fake = Fake::new(BOTH);
    let refused: usize = (0..1000)
        .map(|number| {
            let text = format!("2001:db8:{number:x}::");
            fake.hears(0.0, number, &[option(&text, 600)])
        })
        .sum();
    assert_eq!(refused, 1000 - MOST_ADVERTISED);
    assert_eq!(fake.uses(1.0).unwrap().0, "2001:db8::/96");
}

proptest! {
    /// Whatever comes in whatever order: the one in use was announced and has not expired, and there is
    /// always a next time unless nothing is to be looked for any more.
    #[test]
    fn it_goes_on(events in proptest::collection::vec((0u8..6, 0u32..200, 0u16..4), 0..60)) {
        let mut fake = Fake::new(BOTH);
        let mut now = 0.0;
        for (what, number, which) in events {
            now += f64::from(number) / 4.0;
            let at = fake.at(now);
            let text = format!("2001:db8:{which}::");
            match what {
                0 => drop(fake.hears(now, which, &[option(&text, number)])),
                1 => fake.selection.answered(at, &[prefix(&text)], Duration::from_secs(number.into())),
                2 => fake.selection.denied(at, Some(Duration::from_secs(number.into()))),
                3 => fake.selection.unanswered(at),
                _ => while fake.selection.task(at).is_some() {},
            }
            if let Some(selected) = fake.selection.selected(at) {
                prop_assert!(selected.expires > at);
            }
            while fake.selection.task(at).is_some() {}
            let next = fake.selection.next();
            prop_assert!(next.is_some_and(|next| next > at), "{:?}", fake.selection);
        }
    }
}
