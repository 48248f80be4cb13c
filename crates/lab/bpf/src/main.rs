//! The tester's XDP programs.
//!
//! | program | runs at | does |
//! |---|---|---|
//! | `generate4`, `generate6`, `generate46` | run by `BPF_PROG_TEST_RUN` | write one small UDP frame and redirect it |
//! | `vary4`, `vary6`, `vary46` | likewise | the same for frames so many that caches could not hold them as a whole |
//! | `tag4`, `tag6`, `tag46`, `tag_varied4`, … | likewise | the same, with number and time of sending in the frame |
//! | `receive4`, `receive6`, `receive_six_in_four`, `receive_four_in_six` | receiving interface | account for each tagged frame |
//! | `observe4`, `observe6` | likewise | the same, and keep its addresses and ports |
//! | `sink` | receiving interface | count arrivals per family, then drop them |
//! | `pass` | any end of a veth pair | nothing: its presence gives the veth a NAPI, which redirects need |
//! | `forward` | a router's inner interface | redirect to one interface: the ceiling of every XDP path |
//! | `drop_some`, `corrupt_some`, `shorten_some`, `duplicate_some`, `hold_back` | likewise | the same with a fault, which the tester must find |
#![no_std]
#![no_main]

mod fault;
mod frame;
mod generator;
mod receiver;
mod sink;

use aya_ebpf::{bindings::xdp_action, macros::xdp, programs::XdpContext};

/// Accepts everything.
#[xdp]
pub fn pass(_: XdpContext) -> u32 {
    xdp_action::XDP_PASS
}

#[cfg(not(test))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";
