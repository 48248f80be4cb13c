//! The laboratory as its users run it: a few subjects in one experiment with a known result.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use isthmus_lab::LabError;
use isthmus_lab::experiments;
use isthmus_lab::figures::results::{
    Attempt, Directory, Interface, Offload, Outcome, Planned, Point, SearchLimits, Trial,
};
use isthmus_lab::network::process::Process;

use crate::gateway::ISTHMUS;
use crate::net::possible;

/// The growth of a packet from the client behind the first gateway, in octets: nothing, an IPv6 header less an
/// IPv4 header (RFC 7915), an IPv4 header (RFC 5969), an IPv6 header (RFC 2473).
const ADDED: [(&str, f64); 5] = [
    ("native-ipv6", 0.0),
    ("siit-isthmus-user", -20.0),
    ("map-t-isthmus-xdp", 20.0),
    ("6rd-isthmus-tc", 20.0),
    ("ds-lite-isthmus-user", 40.0),
];

fn lab(arguments: &[&str]) -> Output {
    // Cargo builds the gateway for this test, but not the program that `isthmus lab` starts.
    if let Err(stale @ LabError::Stale { .. }) = isthmus_lab::subjects::isthmus::laboratory() {
        panic!("{stale}");
    }
    let mut command = Command::new(ISTHMUS);
    command.arg("lab").args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    let both = [&output.stdout, &output.stderr];
    both.map(|said| String::from_utf8_lossy(said)).concat()
}

/// The exit status of a run of which trials are void or could not be run.
const NOT_ALL_MEASURED: Option<i32> = Some(2);

/// Runs short experiments with these subjects to the end. All trials are measured.
fn measure(experiments: &[&str], subjects: &[&str], run: &Path) -> Directory {
    let output = run_all(experiments, subjects, run);
    assert!(output.status.success(), "{}", said(&output));
    Directory::open(run).unwrap()
}

/// Runs short experiments with these subjects to the end. Trials may be void.
fn try_to_measure(experiments: &[&str], subjects: &[&str], run: &Path) -> Directory {
    let output = run_all(experiments, subjects, run);
    let status = output.status;
    assert!(
        status.success() || status.code() == NOT_ALL_MEASURED,
        "{}",
        said(&output)
    );
    Directory::open(run).unwrap()
}

/// Runs short experiments with these subjects to the end.
fn run_all(experiments: &[&str], subjects: &[&str], run: &Path) -> Output {
    let mut arguments = vec!["run"];
    arguments.extend(experiments);
    let subjects = subjects.join(",");
    arguments.extend(["--subjects", &subjects]);
    arguments.extend(["--output", run.to_str().unwrap()]);
    lab(&arguments)
}

/// Returns the measurements of each subject.
fn measured(run: &Path) -> BTreeMap<String, f64> {
    let directory = Directory::open(run).unwrap();
    let value = |outcome: &Outcome| match outcome {
        Outcome::Measured(points) => points[0].value,
        other => panic!("{other:?}"),
    };
    directory
        .trials()
        .map(|trial| (trial.planned.subject.clone(), value(&trial.outcome)))
        .collect()
}

#[test]
fn a_run_is_measured_resumed_and_reported() {
    if !possible() || !two_cpus() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let place = run.to_str().unwrap();
    let subjects = ADDED.map(|(subject, _)| subject);
    measure(&["paper-002/overhead"], &subjects, &run);
    let expected: BTreeMap<String, f64> = ADDED
        .map(|(subject, octets)| (subject.to_owned(), octets))
        .into();
    assert_eq!(measured(&run), expected);
    assert_networks_are_kept(&Directory::open(&run).unwrap());

    // No other run may begin there; an interrupted run continues.
    let output = lab(&["run", "paper-002/overhead", "--output", place]);
    assert!(!output.status.success() && said(&output).contains("--resume"));
    let kept = fs::read(run.join("trials/0000.json")).unwrap();
    fs::remove_file(run.join("trials/0003.json")).unwrap();
    let output = lab(&["run", "--resume", "--output", place]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("1 trials"), "{}", said(&output));
    assert_eq!(measured(&run), expected);
    assert_eq!(fs::read(run.join("trials/0000.json")).unwrap(), kept);

    let report = folder.path().join("report");
    let output = lab(&["report", place, "--output", report.to_str().unwrap()]);
    assert!(output.status.success(), "{}", said(&output));
    let page = fs::read_to_string(report.join("index.html")).unwrap();
    assert!(ADDED.iter().all(|(subject, _)| page.contains(subject)));
}

/// Checks that each trial names its network, whose links have the MTU of Ethernet and, as on a wire, leave no segmentation
/// and no checksums to others.
fn assert_networks_are_kept(directory: &Directory) {
    let networks = &directory.run().networks;
    for trial in directory.trials() {
        let network = &networks[trial.evidence.network.unwrap()];
        let is_ours = |one: &&Interface| one.name.starts_with("isthmus");
        let links: Vec<_> = network.iter().filter(|one| !is_ours(one)).collect();
        assert!(links.len() >= 4, "{:?}: {network:?}", trial.planned);
        for link in links {
            assert_eq!(link.mtu, 1500, "{link:?}");
            for offload in [Offload::TxChecksumming, Offload::TcpSegmentation] {
                assert!(!link.offloads.contains(&offload), "{link:?}");
            }
        }
    }
    // The network with a gateway is another one than that of a CE and a BR.
    assert!((2..=directory.trials().count()).contains(&networks.len()));
}

/// Others' gateways, of which many kernels have none: what they add is what the RFCs above say, and the same as ours.
/// Ours are in user space where a machine may be emulated, which takes long to load BPF programs.
mod others {
    use super::*;

    #[test]
    fn tunnels_of_the_kernel_add_what_ours_add() {
        let tunnels = [
            ("6in4-kernel", 20.0),
            ("6in4-isthmus-user", 20.0),
            ("6to4-kernel", 20.0),
            ("6rd-kernel", 20.0),
            ("isatap-kernel", 20.0),
            ("isatap-isthmus-user", 20.0),
            ("6to4-hosts-kernel", 20.0),
            ("4in6-kernel", 40.0),
            ("4in6-isthmus-user", 40.0),
            ("ds-lite-kernel", 40.0),
        ];
        add(&tunnels);
    }

    #[test]
    fn jool_adds_what_ours_adds() {
        let translators = [
            ("nat64-jool", -20.0),
            ("siit-jool", -20.0),
            ("siit-isthmus-user", -20.0),
        ];
        add(&translators);
    }

    #[test]
    fn a_clat_by_tayga_adds_what_ours_adds() {
        add(&[("464xlat-tayga", 20.0), ("464xlat-isthmus-xdp", 20.0)]);
    }

    /// Measures these, unless one of them is not installed.
    fn add(expected: &[(&str, f64)]) {
        if !possible() || !two_cpus() {
            return;
        }
        // Our own subjects must be there.
        let theirs = experiments::subjects().into_iter().filter(|subject| {
            !subject.name.contains("isthmus")
                && expected.iter().any(|(name, _)| subject.name == *name)
        });
        let mut missing = theirs.filter_map(|subject| subject.describe().missing);
        if let Some(reason) = missing.next() {
            eprintln!("skipped: {reason}");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        let subjects: Vec<&str> = expected.iter().map(|(subject, _)| *subject).collect();
        measure(&["paper-002/overhead"], &subjects, &run);
        let expected = expected
            .iter()
            .map(|(name, octets)| ((*name).to_owned(), *octets));
        assert_eq!(measured(&run), expected.collect());
    }
}

/// Prints a message if there is only one.
fn two_cpus() -> bool {
    let two = std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() >= 2);
    if !two {
        eprintln!("skipped: cables with a line rate need a CPU for themselves");
    }
    two
}

/// The reasons why an application fails: some mechanisms hide the client's address, and some do not carry all
/// protocols. A NAT64 has only TCP, UDP and ICMP (RFC 6146 section 1), as has our NAT44. Without a CLAT, IPv6 hosts
/// reach no IPv4 address (RFC 6877 section 1). A stateless translator copies unknown protocols (RFC 7915 section
/// 5.1) and has an address for each host.
const FAILING: [(&str, &[&str]); 6] = [
    ("native-ipv4", &[]),
    ("6rd-isthmus-user", &[LITERAL, IPV4_ONLY]),
    ("siit-isthmus-xdp", &[ACTIVE_FTP, LITERAL, IPV4_ONLY]),
    (
        "nat64-isthmus-user",
        &[ACTIVE_FTP, ESP, LITERAL, IPV4_ONLY, UNASKED],
    ),
    ("464xlat-isthmus-tc", &[ACTIVE_FTP, ESP, UNASKED]),
    ("map-t-isthmus-user", &[ACTIVE_FTP, ESP, UNASKED]),
];
const ACTIVE_FTP: &str = "active FTP";
const ESP: &str = "ESP";
const LITERAL: &str = "IPv4 literal";
const IPV4_ONLY: &str = "IPv4-only program";
const UNASKED: &str = "unasked from outside";

/// Runs a short experiment. Returns the points of each subject, in the order of the names, or nothing where the
/// machine had so much other work that a trial is void.
fn points_of<const N: usize>(experiment: &str, subjects: [&str; N]) -> Option<[Vec<Point>; N]> {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let directory = try_to_measure(&[experiment], &subjects, &run);
    let mut points = Vec::new();
    for subject in subjects {
        let mut trials = directory.trials();
        let found = trials.find(|trial| trial.planned.subject == subject);
        match &found.unwrap().outcome {
            Outcome::Measured(measured) => points.push(measured.clone()),
            Outcome::Void(why) => {
                eprintln!("{subject} is void: {why}");
                return None;
            }
            Outcome::NotRun(why) => panic!("{subject}: {why}"),
        }
    }
    Some(points.try_into().unwrap())
}

/// The first points that a machine with other work lets be measured, in three turns.
fn points_in_turns<const N: usize>(
    experiment: &str,
    subjects: [&str; N],
) -> Option<[Vec<Point>; N]> {
    let points = (0..3).find_map(|_| points_of(experiment, subjects));
    if points.is_none() {
        eprintln!("skipped: this machine is too busy: a trial of each turn is void");
    }
    points
}

#[test]
fn applications_work_where_the_rfcs_say_so() {
    if !possible() {
        return;
    }
    let all = points_of(
        "paper-002/applications",
        FAILING.map(|(subject, _)| subject),
    )
    .expect("that an application works depends on no clock");
    for ((subject, failing), points) in FAILING.into_iter().zip(all) {
        assert_eq!(points.len(), 16);
        let failed: Vec<_> = points.iter().filter(|point| point.value < 1.0).collect();
        let names: Vec<&str> = failed.iter().map(|point| &*point.series).collect();
        assert_eq!(names, failing, "{subject}: {failed:?}");
        assert!(failed.iter().all(|point| point.reason.is_some()));
    }
}

#[test]
fn what_there_is_not_is_not_begun() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let place = run.to_str().unwrap();
    for (wanted, told) in [
        (
            ["paper-002/nothing", "--subjects", "native-ipv6"],
            "paper-002/nothing",
        ),
        (["paper-002", "--subjects", "nobody"], "nobody"),
        (["paper-002", "--profile", "slow"], "slow"),
    ] {
        let mut arguments = vec!["run"];
        arguments.extend(wanted);
        arguments.extend(["--output", place]);
        let output = lab(&arguments);
        assert!(!output.status.success());
        assert!(said(&output).contains(told), "{}", said(&output));
        assert!(!run.exists());
    }
}

/// Measurements here would differ beside other work.
mod timed {
    use super::*;

    /// Rates without loss are below the tester's ceiling. The search comes near them to a tenth, and so is the ceiling.
    fn are_rates(planned: &Planned, points: &[Point]) {
        for point in points {
            let most = 1.1 * point.ceiling.unwrap();
            assert!(
                point.value > 0.0 && point.value < most,
                "{planned:?}: {point:?}"
            );
        }
    }

    /// Each rate is one that was tried within the limits of its search, and at which nothing was lost.
    fn were_tried(trial: &Trial, points: &[Point]) {
        for point in points {
            let SearchLimits {
                least, most, loss, ..
            } = point.search.unwrap();
            assert!((least..=most.unwrap()).contains(&point.value), "{point:?}");
            assert_eq!(loss, 0.0);
            let passed = |attempt: &Attempt| {
                let is_at = attempt.load.is_some_and(|load| {
                    load.rate == Some(point.value) && load.sent > 0 && load.lost == 0
                });
                let is_of = attempt.series.as_ref() == Some(&point.series);
                is_of && attempt.at == Some(point.at) && is_at && attempt.void.is_none()
            };
            assert!(trial.evidence.attempts.iter().any(passed), "{trial:?}");
        }
    }

    /// Others who always work on the gateways' core make every attempt void. The trial keeps how much they worked, and
    /// why it was repeated.
    #[test]
    fn what_is_void_is_kept_with_its_reason() {
        if !possible() || !two_cpus() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        let mut spin = Command::new("taskset");
        spin.args(["-c", "1", "sh", "-c", "while :; do :; done"]);
        let others = Process::start("others", &mut spin).unwrap();
        let output = run_all(&["paper-001/round-trip"], &["siit-isthmus-user"], &run);
        drop(others);
        assert_eq!(output.status.code(), NOT_ALL_MEASURED, "{}", said(&output));
        let directory = Directory::open(&run).unwrap();
        let Trial {
            outcome, evidence, ..
        } = directory.trials().next().unwrap();
        let tolerances = directory.run().rules.tolerances.unwrap();
        assert!(matches!(outcome, Outcome::Void(_)), "{outcome:?}");
        assert_eq!(evidence.attempts.len(), tolerances.tries as usize);
        assert_eq!(evidence.retries.len() + 1, evidence.attempts.len());
        for attempt in &evidence.attempts {
            assert!(attempt.void.is_some(), "{attempt:?}");
            let disturbed = attempt.foreign + attempt.stolen;
            assert!(
                disturbed > tolerances.foreign_share * attempt.seconds,
                "{attempt:?}"
            );
        }
        // The gateway is a process, whose threads have a core for themselves.
        let mut gateway = evidence
            .threads
            .iter()
            .filter(|one| one.process == "isthmus");
        assert!(gateway.clone().count() > 0 && gateway.all(|one| one.cores == "1"));
    }

    /// Some frames always come through, and what is lost grows with the load.
    fn are_losses(planned: &Planned, points: &[Point]) {
        for point in points {
            assert!((0.0..1.0).contains(&point.value), "{planned:?}: {point:?}");
        }
        let of_first = |point: &&Point| point.series == points[0].series;
        let mut curve: Vec<&Point> = points.iter().filter(of_first).collect();
        curve.sort_by(|one, other| one.at.total_cmp(&other.at));
        let (least, most) = (curve[0], curve[curve.len() - 1]);
        assert!(least.value <= most.value, "{planned:?}: {points:?}");
    }

    /// Frames of the standards' tests come through whoever forwards, translates or carries them in a tunnel. A machine
    /// with other work makes trials void: then nothing is said of the subject, but never that it forwards nothing.
    #[test]
    fn frames_of_the_standards_pass_what_stands_between() {
        if !possible() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        let subjects = [
            "native-ipv6",
            "siit-isthmus-xdp",
            "nat64-isthmus-user",
            "6rd-isthmus-tc",
            "ds-lite-isthmus-user",
        ];
        let experiments = ["rfc8219/throughput", "rfc8219/frame-loss"];
        let directory = try_to_measure(&experiments, &subjects, &run);
        assert_eq!(directory.trials().count(), 2 * subjects.len());
        let mut measured = 0;
        for trial in directory.trials() {
            let planned = &trial.planned;
            let points = match &trial.outcome {
                Outcome::Measured(points) => points,
                Outcome::Void(why) => {
                    eprintln!("{planned:?} is void: {why}");
                    continue;
                }
                Outcome::NotRun(why) => panic!("{planned:?}: {why}"),
            };
            measured += 1;
            if planned.experiment == "rfc8219/throughput" {
                are_rates(planned, points);
                were_tried(trial, points);
            } else {
                are_losses(planned, points);
            }
        }
        if measured == 0 {
            eprintln!("skipped: this machine is too busy: all trials are void");
        }
    }

    /// Hosts and gateways together are not more than all, and programs are a part of it; there are only those that work.
    #[test]
    fn processor_time_is_divided_among_those_who_took_it() {
        if !possible() {
            return;
        }
        let subjects = ["native-ipv6", "siit-isthmus-xdp", "siit-isthmus-user"];
        let Some(points) = points_in_turns("paper-002/cost", subjects) else {
            return;
        };
        let [native, xdp, user] = points.map(|points| {
            let of_100 = points.into_iter().filter(|point| point.at == 100.0);
            of_100
                .map(|point| (point.series, point.value))
                .collect::<BTreeMap<String, f64>>()
        });
        for times in [&native, &xdp, &user] {
            let apart = times["hosts"] + times.get("gateways").copied().unwrap_or(0.0);
            assert!(times["hosts"] > 0.0, "{times:?}");
            assert!(apart <= times["udp"] * 1.000_001, "{times:?}");
        }
        assert!(!native.contains_key("programs") && !native.contains_key("gateways"));
        assert!(!user.contains_key("programs"), "{user:?}");
        assert!(
            xdp["programs"] > 0.0 && xdp["programs"] < xdp["udp"],
            "{xdp:?}"
        );
        // A process takes each packet in and gives it out; that of the programs sees the first ones.
        assert!(user["gateways"] > 2.0 * xdp["gateways"], "{user:?} {xdp:?}");
    }
}
