//! Isthmus on a machine without an operating system. It boots by PVH, finds its configuration in the initial ramdisk and
//! two network cards on the PCI bus, and takes packets from one to the other through the core.
//!
//! [`machine`] is the way of a packet. Nothing is allocated on it: all memory is given out at boot.
#![no_std]
#![no_main]

mod card;
mod clock;
mod console;
mod frame;
mod hal;
mod host;
mod machine;
mod memory;
mod neighbours;
mod own;
mod pci;
mod port;
mod serial;
mod sweeper;

use core::arch::{asm, global_asm};
use core::panic::PanicInfo;

use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng;
use clock::Clock;
use isthmus_core::slow::limiter::Limiter;
use isthmus_core::table::Line;
use isthmus_image::{Fault, Image};
use machine::{Machine, Work};
use sweeper::Sweeper;

global_asm!(include_str!("boot.s"));

/// Called by `boot.s`.
#[unsafe(no_mangle)]
extern "C" fn start(information: usize) -> ! {
    let began = clock::ticks();
    serial::Serial::open();
    // SAFETY: this is the start of a PVH machine, which comes once.
    match unsafe { boot(information, began) } {
        Ok(mut machine) => console::run(&mut machine),
        Err(why) => say!("isthmus: cannot start: {why}"),
    }
    halt()
}

/// Makes the machine of what the loader gave.
///
/// # Safety
/// `information` is what a PVH loader gave, and this is called once.
unsafe fn boot(information: usize, began: u64) -> Result<Machine, &'static str> {
    const MEMORY: &str = "there is too little memory: give the machine more";
    // SAFETY: the caller's.
    let words = unsafe { memory::begin(information) }?;
    // SAFETY: who starts the machine chose this file for it; its sum is checked.
    let image = unsafe { Image::read(words) }.map_err(Fault::explanation)?;
    let state = memory::take(image.head.state as usize * size_of::<Line>()).ok_or(MEMORY)?;
    // SAFETY: zeroed memory, aligned to a page, of which there is no other reference from here on; it is as long as said.
    let state = unsafe {
        core::slice::from_raw_parts(state.as_mut_ptr().cast::<Line>(), image.head.state as usize)
    };
    let mut pool = frame::Pool::new().ok_or(MEMORY)?;
    let mut transports = pci::network_cards();
    let mut open = || {
        let transport = transports
            .next()
            .ok_or("there are less than two virtio network cards")?;
        card::Card::open(transport, &mut pool).ok_or("a network card refuses to work")
    };
    let cards = [open()?, open()?];
    let mut rates = image
        .members
        .iter()
        .map(|member| u32::try_from(member.icmp_errors).unwrap_or(u32::MAX));
    let limiters = core::array::from_fn(|_| Limiter::new(rates.next().unwrap_or(0)));
    let mut seed = [0; 32];
    // Two starts of one image must not repeat each other.
    let chance = [clock::ticks(), 0, 0, 0];
    for ((bytes, word), chance) in seed.chunks_mut(8).zip(image.head.seed).zip(chance) {
        bytes.copy_from_slice(&(word ^ chance).to_le_bytes());
    }
    Ok(Machine {
        image,
        state,
        cards,
        pool,
        neighbours: neighbours::Neighbours::new(),
        counts: [[0; _]; _],
        limiters,
        random: ChaCha8Rng::from_seed(seed),
        clock: Clock::new(began),
        sweeper: Sweeper::new(),
        work: Work::default(),
    })
}

fn halt() -> ! {
    loop {
        // SAFETY: no interrupt will come.
        unsafe { asm!("cli", "hlt", options(nomem, nostack)) };
    }
}

#[panic_handler]
fn panic(panic: &PanicInfo<'_>) -> ! {
    say!("isthmus: halted: {panic}");
    halt()
}
