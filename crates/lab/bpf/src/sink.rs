//! The receiver, and the bare redirect that bounds every XDP path from above.
//!
//! The sink counts the generator's datagrams by what carries them, and everything else apart, so
//! that neighbour discovery and the like never pass for throughput. It knows them by a UDP port,
//! that of their destination or, where a NAT may change that, that of their source. When asked it
//! also verifies all checksums of each datagram: the tester's self-check, too slow to measure with.

use aya_ebpf::{
    bindings::xdp_action,
    btf_maps::{Array, PerCpuArray},
    helpers::bpf_redirect,
    macros::{btf_map, xdp},
    programs::XdpContext,
};
use isthmus_abi::lab::{
    sink::{Configuration, Counts},
    tag::fold,
};

use crate::frame::read;

/// Bytes of a datagram that is verified: UDP header and 18 of payload.
const DATAGRAM: usize = 26;

const ETHERNET: usize = 14;
const IPV4: usize = 20;
const IPV6: usize = 40;

#[btf_map]
static SINK: Array<Configuration, 1, 0> = Array::new();
#[btf_map]
static COUNTS: PerCpuArray<Counts, 1, 0> = PerCpuArray::new();

/// Counts and drops.
#[xdp]
pub fn sink(context: XdpContext) -> u32 {
    count(&context);
    xdp_action::XDP_DROP
}

/// Redirects every frame to one interface, untouched.
#[xdp]
pub fn forward(_: XdpContext) -> u32 {
    match SINK.get(0) {
        // SAFETY: the helper takes plain numbers.
        Some(configuration) => unsafe { bpf_redirect(configuration.forward, 0) as u32 },
        None => xdp_action::XDP_ABORTED,
    }
}

#[inline(always)]
fn count(context: &XdpContext) -> Option<()> {
    let configuration = SINK.get(0)?;
    let counts = COUNTS.get_ptr_mut(0)?;
    // SAFETY: the slot is this CPU's own, and XDP programs run with softirqs off.
    let counts = unsafe { &mut *counts };
    let port = (configuration.port as u16).to_be();
    let verify = configuration.verify == 1;
    let (outer, inner) = match read::<u16>(context, 12).map(u16::from_be) {
        Some(0x0800) => (read::<u8>(context, ETHERNET + 9), IPV4),
        Some(0x86dd) => (read::<u8>(context, ETHERNET + 6), IPV6),
        _ => (None, 0),
    };
    let valid = match (outer, inner) {
        (Some(UDP), IPV4) if is_ours(context, ETHERNET + IPV4, port) => {
            counts.ipv4 += 1;
            verify.then(|| check4(context, ETHERNET))
        }
        (Some(UDP), IPV6) if is_ours(context, ETHERNET + IPV6, port) => {
            counts.ipv6 += 1;
            verify.then(|| check6(context, ETHERNET))
        }
        (Some(SIX), IPV4) if is_ours(context, ETHERNET + IPV4 + IPV6, port) => {
            counts.six_in_four += 1;
            verify.then(|| {
                let outer = header(context, ETHERNET)?;
                Some(outer && check6(context, ETHERNET + IPV4)?)
            })
        }
        (Some(FOUR), IPV6) if is_ours(context, ETHERNET + IPV6 + IPV4, port) => {
            counts.four_in_six += 1;
            verify.then(|| check4(context, ETHERNET + IPV6))
        }
        _ => {
            counts.other += 1;
            None
        }
    };
    if let Some(valid) = valid {
        verdict(counts, valid);
    }
    Some(())
}

/// IP protocol numbers.
const FOUR: u8 = 4;
const UDP: u8 = 17;
const SIX: u8 = 41;

/// Returns whether one of the ports of the UDP header at `offset` is the generator's.
#[inline(always)]
fn is_ours(context: &XdpContext, offset: usize, port: u16) -> bool {
    read::<[u16; 2]>(context, offset).is_some_and(|ports| ports[0] == port || ports[1] == port)
}

#[inline(always)]
fn verdict(counts: &mut Counts, valid: Option<bool>) {
    if valid == Some(true) {
        counts.valid += 1;
    } else {
        counts.invalid += 1;
    }
}

/// Returns whether the sum over the IPv4 header at `at` is right (RFC 1071: all ones).
#[inline(always)]
fn header(context: &XdpContext, at: usize) -> Option<bool> {
    Some(fold(sum::<10>(context, at)?) == 0xffff)
}

/// Returns whether header and UDP checksum of the IPv4 packet at `at` are right.
#[inline(always)]
fn check4(context: &XdpContext, at: usize) -> Option<bool> {
    let addresses = sum::<4>(context, at + 12)?;
    Some(header(context, at)? && datagram(context, at + IPV4, addresses)?)
}

/// Returns whether the UDP checksum of the IPv6 packet at `at` is right and present (RFC 8200 section 8.1).
#[inline(always)]
fn check6(context: &XdpContext, at: usize) -> Option<bool> {
    let addresses = sum::<16>(context, at + 8)?;
    datagram(context, at + IPV6, addresses)
}

/// Returns whether the datagram at `at` between addresses with this sum has a right checksum.
#[inline(always)]
fn datagram(context: &XdpContext, at: usize, addresses: u64) -> Option<bool> {
    let datagram = sum::<{ DATAGRAM / 2 }>(context, at)?;
    let pseudo =
        addresses + u64::from((DATAGRAM as u16).to_be()) + u64::from(u16::from(UDP).to_be());
    let present = read::<u16>(context, at + 6)? != 0;
    Some(present && fold(pseudo + datagram) == 0xffff)
}

/// Returns the sum of `N` 16-bit words at `offset`.
#[inline(always)]
fn sum<const N: usize>(context: &XdpContext, offset: usize) -> Option<u64> {
    let words: [u16; N] = read(context, offset)?;
    let mut sum = 0;
    for word in words {
        sum += u64::from(word);
    }
    Some(sum)
}
