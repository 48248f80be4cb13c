//! The sink, which counts the generator's datagrams, and the bare redirect.

use core::array;
use core::ops::Add;

use bytemuck::{Pod, Zeroable, cast};

/// The map of one [`Configuration`].
pub const SINK: &str = "SINK";
/// The map of [`Counts`] on each processor.
pub const COUNTS: &str = "COUNTS";

/// The counts of the sink, and the target of the redirect.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Configuration {
    /// The UDP port of datagrams that are counted.
    pub port: u32,
    /// 1: verify the checksums as well.
    pub verify: u32,
    /// The interface that `forward` sends to.
    pub forward: u32,
}

layout!(Configuration: 12, port: 0, verify: 4, forward: 8);

/// The frames that have arrived since the sink was attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Counts {
    /// Generated datagrams in IPv4.
    pub ipv4: u64,
    /// Generated datagrams in IPv6.
    pub ipv6: u64,
    /// Generated datagrams in IPv6 in IPv4.
    pub six_in_four: u64,
    /// Generated datagrams in IPv4 in IPv6.
    pub four_in_six: u64,
    /// Everything else.
    pub other: u64,
    /// Of the datagrams verified: right checksums.
    pub valid: u64,
    /// Of the datagrams verified: wrong, missing or truncated.
    pub invalid: u64,
}

layout!(Counts: 56, ipv4: 0, ipv6: 8, six_in_four: 16, four_in_six: 24, other: 32, valid: 40, invalid: 48);

type Words = [u64; size_of::<Counts>() / 8];

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (ours, theirs): (Words, Words) = (cast(self), cast(other));
        let sum: Words = array::from_fn(|n| ours[n] + theirs[n]);
        cast(sum)
    }
}

impl Counts {
    /// Returns the difference to an `earlier` reading.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        let (late, early): (Words, Words) = (cast(self), cast(earlier));
        let added: Words = array::from_fn(|n| late[n] - early[n]);
        cast(added)
    }
}
