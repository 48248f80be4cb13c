//! The BPF programs of Isthmus: one for XDP and one for tc, both around
//! [`isthmus_core::gateway::process`].
//!
//! They adapt input and output only. A program hands a packet that it cannot process on unchanged: the
//! kernel routes it to the link of the user-space engine, which runs the same core on the same memory.
#![no_std]
#![no_main]

mod configured;
mod ethernet;
mod frame;
mod hook;
mod linear;
mod link;
mod lookup;
mod maps;
mod owner;
mod ranges;
mod route;
mod services;
mod skb;
mod stage;
mod sum;
mod tc;
mod xdp;

#[cfg(not(test))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";
