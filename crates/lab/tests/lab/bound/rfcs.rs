//! Figures of RFCs and of other people's measurements.

use isthmus_lab::figures::bound::{MECHANISMS, Rate, ethernet};

use super::megabits;
use super::rows::{Value, values};

/// RFC 8219 appendix A, with rounded figures. Its row "678" is of 678 bytes indeed.
#[test]
fn rfc8219_appendix_a() {
    let vectors = values(include_str!("rfc8219-appendix-a.txt"));
    assert_eq!(vectors.len(), 13 * 4);
    for Value {
        size,
        heading,
        text,
    } in vectors
    {
        let rate = megabits(heading.parse().unwrap());
        let found = ethernet::frames_per_second(rate, size, 20);
        let printed: u64 = text.parse().unwrap();
        assert!(
            found.abs_diff(printed) <= 1,
            "{size} bytes at {heading} Mb/s: {found}, printed {printed}"
        );
    }
}

/// RFC 8219 section 5.1 takes the most bytes that a mechanism adds.
#[test]
fn mechanisms_make_frames_this_much_longer() {
    for mechanism in MECHANISMS {
        let expected = match mechanism.name {
            "direct-ipv4" | "direct-ipv6" | "native-ipv4" | "native-ipv6" | "nat64-6to4" => 0,
            "4in6-inner" | "4in6-outer" | "4in6-wide" => 40,
            _ => 20,
        };
        assert_eq!(mechanism.overhead(), expected, "{}", mechanism.name);
    }
}

/// RFC 6349 section 4.1.1: the payload of 1460 bytes in each frame of 1518.
#[test]
fn rfc6349_tcp_throughput() {
    for (rate, megabits_of_payload) in [(100, 94.9), (1000, 949.2)] {
        let frames = ethernet::frames_per_second(megabits(rate), 1518, 0) as f64;
        let found = frames * 1460.0 * 8.0 / 1e6;
        assert!((found - megabits_of_payload).abs() < 0.1, "{found}");
    }
}

/// A hardware tester's count of frames of 550 bytes without FCS at 10 Gb/s through an lwAFTR: native frames sent,
/// tunnelled frames received.
#[test]
fn a_measured_lwaftr_is_within_a_thousandth() {
    let rate: Rate = "10G".parse().unwrap();
    for (overhead, measured) in [(0, 2_177_697.0), (40, 2_038_025.0), (40, 2_037_552.0)] {
        let bound = ethernet::frames_per_second(rate, 554, overhead) as f64;
        assert!(
            (measured / bound - 1.0).abs() < 0.0011,
            "{measured} {bound}"
        );
    }
}
