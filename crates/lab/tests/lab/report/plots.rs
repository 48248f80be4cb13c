//! The plots of the page: what is drawn by lines, by a band and by bars, and what is shown at first.

use isthmus_lab::{
    figures::results::{Point, Quantity},
    report,
};

use super::{made_up::MadeUp, markup};

/// Returns a run with one experiment over an axis, of these subjects.
fn over_axis(subjects: &[&str], places: &[f64]) -> MadeUp {
    let mut made_up = MadeUp::new();
    made_up.experiment("one", Quantity::RoundTrip, Some(("payload", "bytes")));
    for (number, subject) in subjects.iter().enumerate() {
        let value = 1e-3 * (number + 1) as f64;
        let values: Vec<(f64, f64)> = places.iter().map(|at| (*at, value)).collect();
        made_up.line("one", subject, "both", &values);
    }
    made_up
}

/// Returns the page, which must be valid.
fn page(made_up: &MadeUp) -> String {
    let page = report::page(&made_up.summary());
    markup::check(&page);
    page
}

/// Returns the names in the legend, each with whether it is pressed.
fn legend(page: &str) -> Vec<(String, bool)> {
    let (_, legend) = page.split_once("<ul class=\"legend\"").unwrap();
    let (legend, _) = legend.split_once("</ul>").unwrap();
    let buttons = legend.split("<button").skip(1);
    let entry = |button: &str| {
        let (button, _) = button.split_once("</button>").unwrap();
        let (_, name) = button.rsplit_once("</svg>").unwrap();
        (name.to_owned(), button.contains("aria-pressed=\"true\""))
    };
    buttons.map(entry).collect()
}

fn names(page: &str) -> Vec<String> {
    legend(page).into_iter().map(|(name, _)| name).collect()
}

const FEW: [&str; 3] = ["native-ipv4", "native-ipv6", "nat64-isthmus-xdp"];
const MANY: [&str; 9] = [
    "native-ipv4",
    "nat64-isthmus-xdp",
    "siit-isthmus-xdp",
    "nat64-isthmus-user",
    "siit-isthmus-user",
    "nat64-tayga",
    "siit-tayga",
    "map-t-isthmus-xdp",
    "map-t-isthmus-user",
];

#[test]
fn native_forwarding_is_one_band() {
    let mut made_up = over_axis(&FEW, &[100.0, 1000.0]);
    // Four values of two subjects: 1, 2, 3 and 6 ms.
    made_up.line("one", "native-ipv4", "both", &[(100.0, 3e-3)]);
    made_up.line("one", "native-ipv6", "both", &[(100.0, 6e-3)]);
    let page = page(&made_up);
    assert_eq!(names(&page), ["native", "nat64-isthmus-xdp"]);
    assert_eq!(
        page.matches("<path class=\"band\"").count(),
        2,
        "in the plot and the legend"
    );
    for text in [
        "data-value=\"2.50 ms\" data-times=\"4\" data-range=\"1 ms to 6 ms\"",
        "data-value=\"1.50 ms\" data-times=\"2\" data-range=\"1 ms to 2 ms\"",
        "Grey: native forwarding",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn native_forwarding_alone_is_lines() {
    let page = page(&over_axis(&FEW[..2], &[100.0, 1000.0]));
    assert_eq!(names(&page), ["native-ipv4", "native-ipv6"]);
    assert!(!page.contains("<path class=\"band\""));
    assert!(!page.contains("Grey: native forwarding"));
}

#[test]
fn many_lines_have_a_frame_for_each_mechanism() {
    let made_up = over_axis(&MANY, &[100.0, 1000.0]);
    let page = page(&made_up);
    let frames: Vec<&str> = page.split("<svg class=\"plot small\"").skip(1).collect();
    let mechanisms = ["nat64", "siit", "map-t"];
    assert_eq!(frames.len(), mechanisms.len());
    let axes = |frame: &str| {
        let (_, axes) = frame.split_once("<g class=\"axes\">").unwrap();
        axes.split_once("</g>").unwrap().0.to_owned()
    };
    for (frame, mechanism) in frames.iter().zip(mechanisms) {
        assert!(frame.contains(&format!(
            "class=\"mechanism\" x=\"8\" y=\"18\">{mechanism}<"
        )));
        assert_eq!(axes(frame), axes(frames[0]), "the axes are the same");
        assert!(frame.contains("<path class=\"band\""));
        let (frame, _) = frame.split_once("</svg>").unwrap();
        let lines = frame.matches("<g class=\"line h").count();
        assert_eq!(lines, if mechanism == "map-t" { 2 } else { 3 });
    }
    // The axes are named once, and not in each frame.
    assert!(page.contains(">Round trip in ms, over payload in bytes<"));
    assert!(!page.contains("class=\"name\""));
    // All engines are shown, and the legend has the order of the frames.
    let all = legend(&page);
    assert!(all.iter().all(|(_, pressed)| *pressed), "{all:?}");
    assert_eq!(all[1].0, "nat64-isthmus-xdp");
    assert_eq!(all[2].0, "nat64-isthmus-user");
    let summary = made_up.summary();
    let picture = report::picture(&summary, &summary.experiments[0]).unwrap();
    markup::check_picture(&picture);
    assert_eq!(picture.matches("class=\"mechanism\"").count(), 3);
}

/// On paper, a legend says what a marker and a dash mean in all frames.
#[test]
fn a_make_has_one_look_in_all_frames() {
    let many = page(&over_axis(&MANY, &[100.0, 1000.0]));
    let entries = many.split("<li class=\"paper\">").skip(1);
    let entries = entries.map(|entry| entry.split_once("</li>").unwrap().0);
    let looks: Vec<(&str, &str)> = entries
        .map(|entry| entry.rsplit_once("</svg>").unwrap())
        .collect();
    let names: Vec<&str> = looks.iter().map(|(_, name)| *name).collect();
    assert_eq!(names, ["XDP", "user space", "tayga"]);
    // The dashes of user space are those of its line in each frame.
    let dashes = "stroke-dasharray=\"8 4\"";
    assert!(looks[1].0.contains(dashes));
    for frame in many.split("<svg class=\"plot small\"").skip(1) {
        assert!(frame.contains(dashes));
    }
    // Subjects that share a frame keep their names on paper.
    let few = page(&over_axis(&FEW, &[100.0, 1000.0]));
    assert!(!few.contains("class=\"paper\"") && !few.contains("class=\"screen\""));
}

#[test]
fn seven_lines_of_one_mechanism_share_a_frame() {
    let names: Vec<String> = (0..7).map(|number| format!("nat64-{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let page = page(&over_axis(&names, &[100.0, 1000.0]));
    assert_eq!(page.matches("<svg class=\"plot\"").count(), 1);
    assert!(!page.contains("plot small"));
}

#[test]
fn the_best_engine_of_a_mechanism_is_shown_at_first() {
    let subjects = [
        "native-ipv4",
        "nat64-isthmus-xdp",
        "nat64-isthmus-tc",
        "nat64-tayga",
    ];
    let mut made_up = over_axis(&subjects, &[100.0, 1000.0]);
    let frames = Some(("frame", "octets"));
    made_up.experiment("rfc8219/throughput", Quantity::PacketRate, frames);
    // User space is the fastest, but the experiment does not have it.
    for (subject, rate) in [("xdp", 2e6), ("tc", 3e6), ("user", 4e6)] {
        let subject = format!("nat64-isthmus-{subject}");
        made_up.line("rfc8219/throughput", &subject, "6to4", &[(64.0, rate)]);
    }
    let page = page(&made_up);
    let expected = [
        ("native", true),
        ("nat64-isthmus-xdp", false),
        ("nat64-isthmus-tc", true),
        ("nat64-tayga", true),
    ];
    assert_eq!(
        legend(&page),
        expected.map(|(name, pressed)| (name.to_owned(), pressed))
    );
    // Without the script, too.
    assert_eq!(
        page.matches("<g class=\"line h0 gone\" data-key=\"1\"")
            .count(),
        1
    );
    assert_eq!(page.matches(" gone\"").count(), 1);
    assert!(page.contains("Of our engines the best is shown"));
    let summary = made_up.summary();
    let picture = report::picture(&summary, &summary.experiments[0]).unwrap();
    assert!(!picture.contains(">nat64-isthmus-xdp<"));
    assert!(picture.contains(">nat64-isthmus-tc<"));
}

#[test]
fn the_bound_of_a_hidden_line_is_hidden() {
    let mut made_up = MadeUp::new();
    made_up.experiment("one", Quantity::RoundTrip, Some(("payload", "bytes")));
    for (subject, bound) in [("xdp", 0.5), ("tc", 0.5), ("user", 0.7)] {
        let point = |at| Point::new("both", at, 1.0).with_bound(bound);
        let subject = format!("nat64-isthmus-{subject}");
        made_up.measured("one", &subject, vec![point(1.0), point(2.0)]);
    }
    let page = page(&made_up);
    assert_eq!(
        page.matches("<path class=\"bound\" d").count(),
        2,
        "in the plot and the legend"
    );
    assert_eq!(page.matches("<path class=\"bound gone\" d").count(), 1);
    assert!(page.contains("data-keys=\"0 1\""));
}

#[test]
fn one_place_on_an_axis_has_bars() {
    let page = page(&over_axis(&FEW, &[1000.0]));
    assert_eq!(page.matches("<rect class=\"bar\"").count(), 3);
    assert!(page.contains(">payload: 1000 bytes<"));
    assert!(!page.contains("<ul class=\"legend\""));
}

#[test]
fn many_bars_stand_in_columns() {
    let columns = |count: usize, before: &str| {
        let names: Vec<String> = (0..count)
            .map(|number| format!("{before}-{number}"))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let page = page(&over_axis(&names, &[1000.0]));
        assert_eq!(page.matches("<rect class=\"bar\"").count(), count);
        page.matches("<svg class=\"plot").count()
    };
    assert_eq!((columns(12, "nat64"), columns(18, "nat64")), (1, 6));
    // Names have room beside their values.
    assert_eq!(columns(18, "a-mechanism-with-a-long-name"), 5);
}

#[test]
fn no_caption_is_without_its_content() {
    let mut made_up = over_axis(&FEW, &[100.0, 1000.0]);
    // Only native forwarding, which has no whiskers, has repetitions and bounds.
    let point = Point::new("both", 100.0, 2e-3).with_bound(1e-3);
    made_up.measured("one", "native-ipv4", vec![point]);
    let page = page(&made_up);
    for caption in ["Whiskers", "id=\"paper-000\"", ">bound<", "Ringed"] {
        assert!(!page.contains(caption), "{caption}");
    }
}
