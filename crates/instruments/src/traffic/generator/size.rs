//! Sizes of Ethernet frames, as benchmarks count them.

use isthmus_abi::lab::tag;

use crate::traffic::packet::{ETHERNET, Form};

/// Octets of the frame check sequence. Sizes include it; programs never see it.
const FCS: u16 = 4;
/// Octets of payload that a tag takes.
const TAG: u16 = tag::LENGTH as u16;
/// The largest size that fits into a page next to the kernel's own data.
const MOST: u16 = 3072;

/// The frame sizes of RFC 8219 section 5.1.1 that can be generated. The larger ones (4096, 8192 and 9216) do not fit
/// into a page, which is the space of a generated frame.
pub const RFC_8219: [u16; 10] = [64, 128, 256, 512, 768, 1024, 1280, 1518, 1522, 2048];

/// The size of a frame in octets, with the frame check sequence: 64 to 3072.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct FrameSize(u16);

/// The error of a size that frames cannot have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("frames of {octets} octets: {form} with a tag takes {least} to {MOST}")]
pub struct BadFrameSize {
    octets: u16,
    form: Form,
    least: u16,
}

impl FrameSize {
    /// Returns a size for tagged frames of a form.
    ///
    /// # Errors
    /// Headers and tag do not fit into the size, or the size does not fit into a page.
    pub fn new(octets: u16, form: Form) -> Result<Self, BadFrameSize> {
        let least = Self::least(form).0;
        if (least..=MOST).contains(&octets) {
            Ok(Self(octets))
        } else {
            Err(BadFrameSize {
                octets,
                form,
                least,
            })
        }
    }

    /// Returns the size of a frame with this many octets of UDP payload.
    ///
    /// # Errors
    /// A tag does not fit into the payload, or the frame does not fit into a page.
    pub fn with_payload(octets: u16, form: Form) -> Result<Self, BadFrameSize> {
        Self::new(octets.saturating_add(form.headers() + FCS), form)
    }

    /// Returns the least size for a form: 64 for IPv4, 84 for IPv6, 104 for one in the other.
    pub fn least(form: Form) -> Self {
        Self(form.headers() + TAG + FCS)
    }

    /// Returns the size of the same frame in another form, with the same payload.
    pub fn when(self, form: Form, becomes: Form) -> Self {
        Self(self.0 - form.headers() + becomes.headers())
    }

    /// Returns the octets with the frame check sequence.
    pub fn octets(self) -> u16 {
        self.0
    }

    /// Returns the octets without the frame check sequence, as programs see the frame.
    pub fn seen(self) -> usize {
        usize::from(self.0 - FCS)
    }

    /// Returns the octets of UDP payload.
    pub fn payload(self, form: Form) -> usize {
        self.seen() - usize::from(form.headers())
    }

    /// Returns the MTU that a link needs for it.
    pub fn mtu(self) -> u32 {
        u32::from(self.0 - FCS - ETHERNET)
    }
}

impl std::fmt::Display for FrameSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_sizes_are_the_rfcs() {
        // RFC 8219 section 5.1.1: 64, and 84 where IPv6 is translated to IPv4.
        assert_eq!(FrameSize::least(Form::V4).octets(), 64);
        assert_eq!(FrameSize::least(Form::V6).octets(), 84);
        assert_eq!(
            FrameSize::least(Form::V6).when(Form::V6, Form::V4).octets(),
            64
        );
        assert_eq!(FrameSize::least(Form::FourInSix).octets(), 104);
    }

    #[test]
    fn an_invalid_size_is_refused_with_the_valid_range() {
        let refused = FrameSize::new(64, Form::V6).unwrap_err().to_string();
        assert_eq!(
            refused,
            "frames of 64 octets: IPv6 with a tag takes 84 to 3072"
        );
        assert!(FrameSize::new(4096, Form::V4).is_err());
        for octets in RFC_8219 {
            assert!(FrameSize::new(octets, Form::V4).is_ok());
        }
    }

    #[test]
    fn an_ethernet_of_1500_octets_takes_1518() {
        let size = FrameSize::new(1518, Form::V4).unwrap();
        assert_eq!(
            (size.mtu(), size.seen(), size.payload(Form::V4)),
            (1500, 1514, 1472)
        );
    }
}
