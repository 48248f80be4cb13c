//! The receiver, and the bare redirect that bounds every XDP path from above.
//!
//! The sink counts the generator's datagrams (by the UDP destination port) and everything else
//! apart, so that neighbour discovery and the like never pass for throughput. When asked it also
//! verifies both checksums of each datagram: the tester's self-check, too slow to measure with.

use aya_ebpf::{
    bindings::xdp_action,
    btf_maps::{Array, PerCpuArray},
    helpers::bpf_redirect,
    macros::{btf_map, xdp},
    programs::XdpContext,
};

use crate::frame::{fold, read};

/// Bytes after the Ethernet header that a verified datagram has: UDP header and 18 of payload.
const DATAGRAM: usize = 26;

/// What user space asks of the sink. Its twin is `sink::Configuration` in the lab.
#[repr(C)]
pub struct Configuration {
    /// The UDP destination port that is counted.
    port: u32,
    /// 1: verify the checksums as well.
    verify: u32,
    /// Where `forward` sends to.
    forward: u32,
}

/// What one CPU has received. Its twin is `sink::Counts` in the lab.
#[repr(C)]
pub struct Counts {
    ipv4: u64,
    ipv6: u64,
    other: u64,
    valid: u64,
    invalid: u64,
}

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

/// Sends every frame to one interface, untouched.
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
    let port = configuration.port as u16;
    match read::<u16>(context, 12).map(u16::from_be) {
        Some(0x0800) if is_udp(context, 23, 36, port) => {
            counts.ipv4 += 1;
            if configuration.verify == 1 {
                verdict(counts, check4(context));
            }
        }
        Some(0x86dd) if is_udp(context, 20, 56, port) => {
            counts.ipv6 += 1;
            if configuration.verify == 1 {
                verdict(counts, check6(context));
            }
        }
        _ => counts.other += 1,
    }
    Some(())
}

#[inline(always)]
fn is_udp(context: &XdpContext, protocol: usize, destination: usize, port: u16) -> bool {
    read::<u8>(context, protocol) == Some(17)
        && read::<u16>(context, destination).map(u16::from_be) == Some(port)
}

#[inline(always)]
fn verdict(counts: &mut Counts, valid: Option<bool>) {
    if valid == Some(true) {
        counts.valid += 1;
    } else {
        counts.invalid += 1;
    }
}

/// Whether header and UDP checksum are right (RFC 1071: the sum over all is all ones).
#[inline(always)]
fn check4(context: &XdpContext) -> Option<bool> {
    let header = sum::<10>(context, 14)?;
    let addresses = sum::<4>(context, 26)?;
    let datagram = sum::<{ DATAGRAM / 2 }>(context, 34)?;
    let pseudo = addresses + u64::from((DATAGRAM as u16).to_be()) + u64::from(17u16.to_be());
    let present = read::<u16>(context, 40)? != 0;
    Some(fold(header) == 0xffff && present && fold(pseudo + datagram) == 0xffff)
}

/// Whether the UDP checksum is right and present (RFC 8200 section 8.1).
#[inline(always)]
fn check6(context: &XdpContext) -> Option<bool> {
    let addresses = sum::<16>(context, 22)?;
    let datagram = sum::<{ DATAGRAM / 2 }>(context, 54)?;
    let pseudo = addresses + u64::from((DATAGRAM as u16).to_be()) + u64::from(17u16.to_be());
    let present = read::<u16>(context, 60)? != 0;
    Some(present && fold(pseudo + datagram) == 0xffff)
}

/// The sum of `N` 16-bit words at `offset`.
#[inline(always)]
fn sum<const N: usize>(context: &XdpContext, offset: usize) -> Option<u64> {
    let words: [u16; N] = read(context, offset)?;
    let mut sum = 0;
    for word in words {
        sum += u64::from(word);
    }
    Some(sum)
}
