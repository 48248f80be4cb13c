//! Sizes of Ethernet frames, as benchmarks count them.

use isthmus_abi::lab::tag;

use crate::packet::Form;

/// Octets of the frame check sequence, which sizes count and nobody here sees.
const FCS: u16 = 4;
/// Octets of payload that a tag takes.
const TAG: u16 = tag::LENGTH as u16;
/// Octets of the headers of Ethernet, IPv4, IPv6 and UDP.
const ETHERNET: u16 = 14;
const IPV4: u16 = 20;
const IPV6: u16 = 40;
const UDP: u16 = 8;
/// The largest size that fits into a page with what the kernel keeps beside it.
const MOST: u16 = 3072;

/// The frame sizes of RFC 8219 section 5.1.1 that can be generated. What is beyond them there (4096,
/// 8192 and 9216) does not fit into a page, which is all that a generated frame has.
pub const RFC_8219: [u16; 10] = [64, 128, 256, 512, 768, 1024, 1280, 1518, 1522, 2048];

/// The size of a frame in octets, with the frame check sequence: 64 to 3072.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct FrameSize(u16);

/// A size that frames cannot have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("frames of {octets} octets: {form} with a tag takes {least} to {MOST}")]
pub struct BadFrameSize {
    octets: u16,
    form: Form,
    least: u16,
}

impl FrameSize {
    /// A size for tagged frames of a form.
    ///
    /// # Errors
    /// Headers and tag do not fit into it, or it does not fit into a page.
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

    /// The least for a form: 64 for IPv4, 84 for IPv6, 104 for one in the other.
    pub fn least(form: Form) -> Self {
        Self(headers(form) + TAG + FCS)
    }

    /// The size that a frame of this size has when it arrives in another form, with the same payload.
    pub fn when(self, form: Form, becomes: Form) -> Self {
        Self(self.0 - headers(form) + headers(becomes))
    }

    /// Octets with the frame check sequence.
    pub fn octets(self) -> u16 {
        self.0
    }

    /// Octets without it, as programs see the frame.
    pub fn seen(self) -> usize {
        usize::from(self.0 - FCS)
    }

    /// Octets of UDP payload.
    pub fn payload(self, form: Form) -> usize {
        self.seen() - usize::from(headers(form))
    }

    /// The MTU that a link needs for it.
    pub fn mtu(self) -> u32 {
        u32::from(self.0 - FCS - ETHERNET)
    }
}

impl std::fmt::Display for FrameSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Octets of all headers, Ethernet's included.
fn headers(form: Form) -> u16 {
    ETHERNET
        + UDP
        + match form {
            Form::V4 => IPV4,
            Form::V6 => IPV6,
            Form::SixInFour | Form::FourInSix => IPV4 + IPV6,
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
    fn a_size_is_refused_with_what_would_be_right() {
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
