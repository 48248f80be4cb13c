//! The comparison's columns say what they show.

use isthmus_lab::{
    figures::results::{Gap, Outcome, Point, Quantity},
    report,
};

use super::made_up::MadeUp;

/// Returns the row of a subject in the comparison.
fn row(page: &str, subject: &str) -> String {
    let table = page.split_once("<table id=\"compare\"").unwrap().1;
    let table = table.split_once("</table>").unwrap().0;
    let row = table.split("<tr").find(|row| row.contains(subject));
    row.unwrap().to_owned()
}

#[test]
fn a_delay_is_the_median_and_not_the_worst_frame() {
    let mut made_up = MadeUp::new();
    made_up.experiment("rfc8219/latency", Quantity::OneWayDelay, None);
    let points = vec![
        Point::new("forward", 0.0, 7e-6),
        Point::new("forward 99.9 %", 0.0, 900e-6),
    ];
    made_up.measured("rfc8219/latency", "siit-tayga", points);
    let page = report::page(&made_up.summary());
    let row = row(&page, "siit-tayga");
    assert!(row.contains("data-sort=\"0.000007\""), "{row}");
    assert!(!row.contains("0.0009"), "{row}");
}

#[test]
fn removed_connections_and_files_have_columns_of_their_own() {
    let mut made_up = MadeUp::new();
    made_up.experiment("rfc9693/tear-down", Quantity::TearDownRate, None);
    made_up.experiment(
        "paper-001/file-throughput",
        Quantity::FileThroughput,
        Some(("file", "bytes")),
    );
    made_up.experiment(
        "paper-002/throughput-tcp",
        Quantity::Throughput,
        Some(("payload", "bytes")),
    );
    made_up.line(
        "rfc9693/tear-down",
        "nat64-jool",
        "all at once",
        &[(0.0, 5e6)],
    );
    for subject in ["nat64-jool", "http-proxy-squid"] {
        let file = [(104_000.0, 1e9)];
        made_up.line("paper-001/file-throughput", subject, "download", &file);
    }
    made_up.line(
        "paper-002/throughput-tcp",
        "nat64-jool",
        "tcp",
        &[(1400.0, 3e9)],
    );
    let page = report::page(&made_up.summary());
    for heading in ["Connections removed", "File throughput", "Throughput"] {
        assert!(page.contains(&format!(">{heading}</button>")), "{heading}");
    }
    assert!(!page.contains(">New connections</button>"));
}

#[test]
fn a_capacity_at_the_end_of_the_search_is_no_limit() {
    let mut made_up = MadeUp::new();
    made_up.experiment("rfc9693/capacity", Quantity::Capacity, None);
    for (subject, sessions) in [("nat64-jool", 2000.0), ("nat44-nftables", 1500.0)] {
        let point = Point::new("there", 0.0, sessions);
        let point = if sessions == 2000.0 {
            point.with_ceiling(2000.0)
        } else {
            point
        };
        made_up.measured("rfc9693/capacity", subject, vec![point]);
    }
    let page = report::page(&made_up.summary());
    assert!(row(&page, "nat64-jool").contains("≥ 2"));
    let found = row(&page, "nat44-nftables");
    assert!(!found.contains('≥') && !found.contains("worst"), "{found}");
}

#[test]
fn a_size_that_failed_is_listed_and_the_others_stay() {
    let mut made_up = MadeUp::new();
    let axis = Some(("payload", "bytes"));
    made_up.experiment("paper-002/latency", Quantity::RoundTrip, axis);
    made_up.line(
        "paper-002/latency",
        "464xlat-tayga",
        "both",
        &[(100.0, 5e-5)],
    );
    made_up.trials[0].gaps.push(Gap {
        at: 1400.0,
        why: "ping: no answers".into(),
    });
    let summary = made_up.summary();
    assert_eq!(summary.measured, 1);
    let page = report::page(&summary);
    assert!(page.contains("at 1400: ping: no answers"));
    assert!(row(&page, "464xlat-tayga").contains("data-sort=\"0.00005\""));
}

#[test]
fn a_beaten_bound_is_found_and_a_clock_s_error_is_not() {
    let run = |quantity, value| {
        let mut made_up = MadeUp::new();
        made_up.experiment("one", quantity, None);
        let point = Point::new("forward", 0.0, value).with_bound(10.0);
        made_up.trial("one", "native-ipv4", Outcome::Measured(vec![point]));
        made_up.summary().beaten().len()
    };
    let throughput = [9.9, 10.05, 10.2].map(|value| run(Quantity::Throughput, value));
    assert_eq!(throughput, [0, 0, 1]);
    let delay = [9.8, 9.95, 10.1].map(|value| run(Quantity::OneWayDelay, value));
    assert_eq!(delay, [1, 0, 0]);
}
