//! The claims of the paper on the cost of translation, on runs that decide them.

use isthmus_lab::{
    claims::Verdict::{CannotBeTold, DoesNotHoldHere, HoldsHere},
    results::{Point, Quantity},
};

use super::{
    claims::{add_values, verdict},
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
            let points = vec![Point::new("4to6", 0.0, up), Point::new("6to4", 0.0, down)];
            made_up.measured(name, "ivi-isthmus-xdp", points);
        }
        made_up
    };
    assert_eq!(verdict(&with(2.0, 1.0), "H5"), HoldsHere);
    assert_eq!(verdict(&with(1.0, 2.0), "H5"), DoesNotHoldHere);
    let mut inside = with(2.0, 1.0);
    inside
        .trials
        .retain(|trial| trial.planned.experiment == "paper-001/prefix-length");
    assert_eq!(
        verdict(&inside, "H5"),
        HoldsHere,
        "either experiment is enough"
    );
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
    assert_eq!(verdict(&one_way, "H5"), CannotBeTold);
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
        made_up.measured("paper-001/steps", "ivi-isthmus-user", points.collect());
        made_up
    };
    assert_eq!(verdict(&with(5.0, 3.0, 2.0), "H6"), HoldsHere);
    assert_eq!(verdict(&with(5.0, 3.0, 4.0), "H6"), DoesNotHoldHere);
    assert_eq!(verdict(&with(3.0, 5.0, 2.0), "H6"), DoesNotHoldHere);
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
        made_up.line("paper-001/prefix-length", "ivi-isthmus-user", "4to6", &line);
        made_up
    };
    assert_eq!(verdict(&with(1.0), "H7"), HoldsHere);
    assert_eq!(verdict(&with(2.2), "H7"), DoesNotHoldHere);
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
    assert_eq!(verdict(&alone, "H7"), CannotBeTold);
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
            made_up.line(
                &name,
                "ivi-isthmus-xdp",
                "download",
                &[(104.0, small), (531.0, large)],
            );
        }
        made_up
    };
    assert_eq!(
        verdict(&with([1.0, 1.02], [1.0, 2.0], [1.0, 2.0]), "H12"),
        HoldsHere
    );
    assert_eq!(
        verdict(&with([1.0, 1.5], [1.0, 2.0], [1.0, 2.0]), "H12"),
        DoesNotHoldHere
    );
    assert_eq!(
        verdict(&with([1.0, 1.0], [2.0, 1.0], [1.0, 2.0]), "H12"),
        DoesNotHoldHere
    );
    assert_eq!(
        verdict(&with([1.0, 1.0], [1.0, 2.0], [2.0, 1.0]), "H12"),
        DoesNotHoldHere
    );
}
