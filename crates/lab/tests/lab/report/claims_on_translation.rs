//! The claims of the paper on the cost of translation, on runs that decide them.

use isthmus_lab::{
    figures::results::{Point, Quantity},
    report::claims::Verdict::{DoesNotHold, Holds, HoldsInPart, NotAsked},
};

use super::{
    claims::{REPETITIONS, add_values, repeated, verdict},
    made_up::MadeUp,
};

#[test]
fn h5_directions() {
    let with = |up: f64, down: f64| {
        let mut made_up = MadeUp::new();
        for (name, quantity, [up, down]) in [
            (
                "paper-001/packet-rate",
                Quantity::PacketRate,
                [1.0 / up, 1.0 / down],
            ),
            ("paper-001/prefix-length", Quantity::Cost, [up, down]),
        ] {
            made_up.experiment(name, quantity, None);
            for factor in REPETITIONS {
                let point = |series, value| Point::new(series, 0.0, value * factor);
                let points = vec![point("4to6", up), point("6to4", down)];
                made_up.measured(name, "ivi-isthmus-xdp", points);
            }
        }
        made_up
    };
    assert_eq!(verdict(&with(2.0, 1.0), "H5"), Holds);
    assert_eq!(verdict(&with(1.0, 2.0), "H5"), DoesNotHold);
    let mut inside = with(2.0, 1.0);
    inside
        .trials
        .retain(|trial| trial.planned.experiment == "paper-001/prefix-length");
    assert_eq!(verdict(&inside, "H5"), Holds, "either experiment is enough");
    let mut one_way = MadeUp::new();
    add_values(
        &mut one_way,
        "paper-001/packet-rate",
        Quantity::PacketRate,
        "4to6",
        &[("ivi-isthmus-xdp", 1.0)],
    );
    add_values(
        &mut one_way,
        "paper-001/prefix-length",
        Quantity::Cost,
        "4to6",
        &[("ivi-isthmus-xdp", 1.0)],
    );
    assert_eq!(verdict(&one_way, "H5"), NotAsked);
}

#[test]
fn h6_steps() {
    let with = |header: f64, address: f64, tcp: f64| {
        let mut made_up = MadeUp::new();
        made_up.experiment("paper-001/steps", Quantity::Cost, None);
        let points = ["4to6", "6to4"].into_iter().flat_map(|direction| {
            let steps = [
                ("header", header),
                ("address", address),
                ("tcp", tcp),
                ("udp", 1.0),
                ("icmp", 1.0),
            ];
            steps.map(|(step, value)| Point::new(&format!("{direction} {step}"), 0.0, value))
        });
        let points: Vec<Point> = points.collect();
        for factor in REPETITIONS {
            let slower = |point: &Point| Point {
                value: point.value * factor,
                ..point.clone()
            };
            let points = points.iter().map(slower).collect();
            made_up.measured("paper-001/steps", "ivi-isthmus-user", points);
        }
        made_up
    };
    assert_eq!(verdict(&with(5.0, 3.0, 2.0), "H6"), Holds);
    assert_eq!(verdict(&with(5.0, 3.0, 4.0), "H6"), HoldsInPart);
    assert_eq!(verdict(&with(0.3, 0.5, 2.0), "H6"), DoesNotHold);
}

#[test]
fn h7_prefixes() {
    let with = |first: f64| {
        let mut made_up = MadeUp::new();
        made_up.experiment(
            "paper-001/prefix-length",
            Quantity::Cost,
            Some(("prefix length", "bits")),
        );
        let line = [(32.0, first), (40.0, 2.0), (64.0, 2.5)];
        repeated(
            &mut made_up,
            "paper-001/prefix-length",
            "ivi-isthmus-user",
            "4to6",
            &line,
        );
        made_up
    };
    assert_eq!(verdict(&with(1.0), "H7"), Holds);
    assert_eq!(verdict(&with(2.2), "H7"), HoldsInPart);
    assert_eq!(verdict(&with(3.0), "H7"), DoesNotHold);
    let mut alone = MadeUp::new();
    alone.experiment(
        "paper-001/prefix-length",
        Quantity::Cost,
        Some(("prefix length", "bits")),
    );
    alone.line(
        "paper-001/prefix-length",
        "ivi-isthmus-user",
        "4to6",
        &[(32.0, 1.0)],
    );
    assert_eq!(verdict(&alone, "H7"), NotAsked);
}

#[test]
fn h12_files() {
    let with = |connect: [f64; 2], time: [f64; 2], throughput: [f64; 2]| {
        let mut made_up = MadeUp::new();
        for (name, quantity, [small, large]) in [
            ("connect", Quantity::ConnectTime, connect),
            ("files", Quantity::FileTime, time),
            ("file-throughput", Quantity::Throughput, throughput),
        ] {
            let name = format!("paper-001/{name}");
            made_up.experiment(&name, quantity, Some(("file size", "kB")));
            let line = [(104.0, small), (531.0, large)];
            repeated(&mut made_up, &name, "ivi-isthmus-xdp", "download", &line);
        }
        made_up
    };
    assert_eq!(
        verdict(&with([1.0, 1.02], [1.0, 2.0], [1.0, 2.0]), "H12"),
        Holds
    );
    assert_eq!(
        verdict(&with([1.0, 1.5], [1.0, 2.0], [1.0, 2.0]), "H12"),
        HoldsInPart
    );
    assert_eq!(
        verdict(&with([1.0, 1.0], [2.0, 1.0], [1.0, 2.0]), "H12"),
        HoldsInPart
    );
    assert_eq!(
        verdict(&with([1.0, 1.0], [1.0, 2.0], [2.0, 1.0]), "H12"),
        HoldsInPart
    );
    assert_eq!(
        verdict(&with([1.0, 1.5], [2.0, 1.0], [2.0, 1.0]), "H12"),
        DoesNotHold
    );
}
