//! A made-up run as large as one of the whole laboratory: as many subjects, experiments and series.

use isthmus_lab::figures::results::{Point, Quantity};

use super::made_up::MadeUp;

const MECHANISMS: [&str; 14] = [
    "nat64",
    "siit",
    "nat-pt",
    "isatap",
    "6to4-hosts",
    "6in4",
    "6to4",
    "6rd",
    "4in6",
    "ds-lite",
    "lw4o6",
    "map-e",
    "map-t",
    "464xlat",
];
const NATIVE: [&str; 2] = ["native-ipv4", "native-ipv6"];
const OTHERS: [&str; 8] = [
    "siit-tayga",
    "464xlat-tayga",
    "nat44-nftables",
    "http-proxy-nginx",
    "http-proxy-apache",
    "http-proxy-squid",
    "dns64-unbound",
    "dns64-bind",
];
const FEW: [&str; 6] = [
    "native-ipv4",
    "native-ipv6",
    "nat64-isthmus-xdp",
    "siit-tayga",
    "isatap-isthmus-xdp",
    "6to4-hosts-isthmus-xdp",
];
const NAT: [&str; 4] = [
    "nat64-isthmus-xdp",
    "nat64-isthmus-tc",
    "nat64-isthmus-user",
    "nat44-nftables",
];

const PAYLOADS: Option<(&str, &str)> = Some(("payload", "bytes"));
const FILES: Option<(&str, &str)> = Some(("file", "bytes"));
const FRAMES: Option<(&str, &str)> = Some(("frame", "octets"));

/// Returns the run.
pub(crate) fn large() -> MadeUp {
    let mut made_up = MadeUp::new();
    let engines = ["xdp", "tc", "user"];
    let ours = engines.map(|engine| MECHANISMS.map(|name| format!("{name}-isthmus-{engine}")));
    let ours = ours.as_flattened().iter().map(String::as_str);
    let all: Vec<&str> = NATIVE.into_iter().chain(ours).chain(OTHERS).collect();
    all.iter().for_each(|subject| made_up.subject(subject));
    paper_000_and_003(&mut made_up);
    paper_001(&mut made_up, &all);
    paper_002(&mut made_up, &all);
    paper_004_and_standards(&mut made_up, &all);
    made_up
}

/// Adds an experiment that has the same series and places of all its subjects.
fn add(
    made_up: &mut MadeUp,
    name: &str,
    (quantity, over): (Quantity, Option<(&str, &str)>),
    subjects: &[&str],
    (series, places): (&[&str], &[f64]),
) {
    made_up.experiment(name, quantity, over);
    for (number, subject) in subjects.iter().enumerate() {
        let points = series.iter().flat_map(|series| {
            let value = move |at: f64| 1.234e-6 * (number + 1) as f64 * (1.0 + at / 1000.0);
            places.iter().map(move |at| Point {
                spread: Some([value(*at) * 0.9, value(*at) * 1.5]),
                ..Point::new(series, *at, value(*at))
            })
        });
        made_up.measured(name, subject, points.collect());
    }
}

fn paper_000_and_003(made_up: &mut MadeUp) {
    let places = [50.0, 1250.0, 5000.0];
    for name in [
        "delay-udp-10M",
        "delay-tcp-10M",
        "delay-udp-100M",
        "delay-tcp-100M",
    ] {
        let name = format!("paper-000/{name}");
        let shape = (&["forward", "back", "mean"][..], &places[..]);
        add(
            made_up,
            &name,
            (Quantity::OneWayDelay, PAYLOADS),
            &FEW,
            shape,
        );
    }
    let shape = (&["forward"][..], &places[..]);
    for name in ["throughput-udp-10M", "throughput-udp-100M"] {
        let name = format!("paper-000/{name}");
        add(
            made_up,
            &name,
            (Quantity::Throughput, PAYLOADS),
            &FEW,
            shape,
        );
    }
    for transport in ["udp", "tcp"] {
        for rate in ["10M", "100M", "1000M"] {
            let name = format!("paper-003/throughput-{transport}-{rate}");
            add(
                made_up,
                &name,
                (Quantity::Throughput, PAYLOADS),
                &NATIVE,
                shape,
            );
        }
    }
}

fn paper_001(made_up: &mut MadeUp, all: &[&str]) {
    let steps = ["parse", "address", "header", "tcp", "udp", "icmp"];
    let steps = ["4to6", "6to4"].map(|way| steps.map(|step| format!("{way} {step}")));
    let steps: Vec<&str> = steps.as_flattened().iter().map(String::as_str).collect();
    let one = &["siit-isthmus-user"];
    add(
        made_up,
        "paper-001/steps",
        (Quantity::Cost, None),
        one,
        (&steps, &[0.0]),
    );
    let lengths = (Quantity::Cost, Some(("prefix length", "bits")));
    let shape = (
        &["4to6", "6to4"][..],
        &[32.0, 40.0, 48.0, 56.0, 64.0, 96.0][..],
    );
    add(made_up, "paper-001/prefix-length", lengths, one, shape);
    let ping = (Quantity::RoundTrip, None);
    add(
        made_up,
        "paper-001/round-trip",
        ping,
        all,
        (&["both"], &[0.0]),
    );
    let shape = (&["download"][..], &[104e3, 318e3, 320e3, 531e3][..]);
    for (name, quantity) in [
        ("connect", Quantity::ConnectTime),
        ("files", Quantity::FileTime),
        ("file-throughput", Quantity::FileThroughput),
    ] {
        add(
            made_up,
            &format!("paper-001/{name}"),
            (quantity, FILES),
            all,
            shape,
        );
    }
}

fn paper_002(made_up: &mut MadeUp, all: &[&str]) {
    let places = [100.0, 500.0, 1400.0];
    let four = ["udp", "hosts", "gateways", "programs"];
    for (name, quantity, series) in [
        ("throughput", Quantity::Throughput, &four[..1]),
        ("loss", Quantity::Loss, &four[..1]),
        ("jitter", Quantity::Jitter, &four[..1]),
        ("cpu", Quantity::Cpu, &four[..]),
        ("cost", Quantity::Cost, &four[..]),
        ("latency", Quantity::RoundTrip, &four[..1]),
    ] {
        let name = format!("paper-002/{name}");
        add(made_up, &name, (quantity, PAYLOADS), all, (series, &places));
    }
    let name = "paper-002/throughput-tcp";
    add(
        made_up,
        name,
        (Quantity::Throughput, PAYLOADS),
        all,
        (&["tcp"], &[1400.0]),
    );
    let bytes = (Quantity::Overhead, None);
    add(
        made_up,
        "paper-002/overhead",
        bytes,
        &all[..19],
        (&["there"], &[0.0]),
    );
    let applications = [
        "ping",
        "large ping",
        "traceroute",
        "DNS by UDP",
        "DNS by TCP",
        "HTTP",
        "HTTPS",
        "download",
        "upload",
        "call",
        "passive FTP",
        "active FTP",
        "ESP",
        "IPv4 literal",
        "IPv4-only program",
        "unasked from outside",
    ];
    let works = (Quantity::Works, None);
    add(
        made_up,
        "paper-002/applications",
        works,
        all,
        (&applications, &[0.0]),
    );
}

fn paper_004_and_standards(made_up: &mut MadeUp, all: &[&str]) {
    let connections = (Quantity::RoundTrip, Some(("connections", "")));
    let shape = (&["small", "large"][..], &[1.0, 10.0, 100.0][..]);
    add(made_up, "paper-004/connections", connections, all, shape);
    let request = (Quantity::RoundTrip, None);
    add(
        made_up,
        "paper-004/round-trip",
        request,
        all,
        (&["both"], &[0.0]),
    );
    let shape = (
        &["both", "forward", "back"][..],
        &[50.0, 1250.0, 5000.0][..],
    );
    add(
        made_up,
        "paper-004/size",
        (Quantity::RoundTrip, PAYLOADS),
        all,
        shape,
    );
    let queries = (Quantity::QueryRate, Some(("cached", "%")));
    let dns = ["dns64-unbound", "dns64-bind"];
    add(
        made_up,
        "rfc8219/dns64",
        queries,
        &dns,
        (&["both"], &[0.0, 80.0]),
    );
    let forwards = &all[..41];
    let frames = (Quantity::PacketRate, FRAMES);
    add(
        made_up,
        "rfc8219/throughput",
        frames,
        forwards,
        (&["forward"], &[64.0]),
    );
    let delays = (Quantity::OneWayDelay, FRAMES);
    let shape = (&["forward", "forward 99.9 %"][..], &[64.0][..]);
    add(made_up, "rfc8219/latency", delays, forwards, shape);
    let sessions = (Quantity::Capacity, None);
    add(
        made_up,
        "rfc9693/capacity",
        sessions,
        &NAT,
        (&["there"], &[0.0]),
    );
    let removed = (Quantity::TearDownRate, None);
    add(
        made_up,
        "rfc9693/tear-down",
        removed,
        &NAT,
        (&["all at once"], &[0.0]),
    );
}
