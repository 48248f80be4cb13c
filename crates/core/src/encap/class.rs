//! DSCP and ECN in tunnels (RFC 6040, RFC 2983).

use crate::policy::ServiceClass;
use crate::reason::Counter;
use crate::verdict::Refusal;

/// The two bits of explicit congestion notification (RFC 3168 section 5).
const ECN: u8 = 0b11;
const NOT_CAPABLE: u8 = 0b00;
const CAPABLE_1: u8 = 0b01;
const CONGESTION: u8 = 0b11;

/// The octet of the outer header: DSCP as it is configured, the mark of congestion that of the
/// packet (RFC 6040 section 4.1, normal mode).
#[inline(always)]
#[must_use]
pub const fn outer(class: ServiceClass, inner: u8) -> u8 {
    class.of(inner) & !ECN | inner & ECN
}

/// The octet of a packet that leaves a tunnel: its own DSCP (RFC 2983 section 4.2), and the
/// stronger mark of congestion of both (RFC 6040 section 4.2, figure 4).
///
/// # Errors
/// Congestion was marked on a packet whose sender would not see the mark.
#[inline(always)]
pub const fn inner(outer: u8, inner: u8) -> Result<u8, Refusal> {
    match (inner & ECN, outer & ECN) {
        (NOT_CAPABLE, CONGESTION) => Err(Refusal::Drop(Counter::CongestionUnheard)),
        (NOT_CAPABLE, _) => Ok(inner),
        (_, CONGESTION) => Ok(inner | CONGESTION),
        // ECT(0) outside says nothing; ECT(1) outside turns ECT(0) into itself.
        (CONGESTION, _) => Ok(inner),
        (_, CAPABLE_1) => Ok(inner & !ECN | CAPABLE_1),
        _ => Ok(inner),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6040 figure 4: rows are the inner mark (Not-ECT, ECT(0), ECT(1), CE), columns the outer
    /// one in the same order.
    #[test]
    fn figure_4() {
        const NOT: u8 = 0b00;
        const ECT0: u8 = 0b10;
        const ECT1: u8 = 0b01;
        const CE: u8 = 0b11;
        let order = [NOT, ECT0, ECT1, CE];
        let table = [
            (NOT, [Some(NOT), Some(NOT), Some(NOT), None]),
            (ECT0, [Some(ECT0), Some(ECT0), Some(ECT1), Some(CE)]),
            (ECT1, [Some(ECT1), Some(ECT1), Some(ECT1), Some(CE)]),
            (CE, [Some(CE), Some(CE), Some(CE), Some(CE)]),
        ];
        for (from, row) in table {
            for (mark, expected) in order.into_iter().zip(row) {
                // DSCP 46 inside, 10 outside.
                let got = inner(10 << 2 | mark, 46 << 2 | from);
                assert_eq!(got.ok(), expected.map(|mark| 46 << 2 | mark));
            }
        }
    }

    #[test]
    fn a_packet_takes_its_mark_along() {
        for mark in 0..4 {
            assert_eq!(outer(ServiceClass::Copy, 46 << 2 | mark), 46 << 2 | mark);
            assert_eq!(
                outer(ServiceClass::Set(10 << 2 | 1), 46 << 2 | mark),
                10 << 2 | mark
            );
        }
    }
}
