//! Isthmus on a machine without an operating system. It boots by PVH, finds its configuration in the initial ramdisk and
//! two network cards, and takes packets from one to the other through the core.
//!
//! [`machine`] is the way of a packet. Nothing is allocated on it: all memory is given out at boot.
#![no_std]
#![no_main]

mod card;
mod clock;
mod console;
mod e1000e;
mod fault;
mod fragments;
mod frame;
mod hal;
mod host;
mod machine;
mod memory;
mod mmio;
mod neighbours;
mod own;
mod pci;
mod port;
mod queue;
mod ring;
mod serial;
mod sweeper;
mod virtio;

use core::arch::{asm, global_asm};
use core::panic::PanicInfo;

use card::{Card, Found};
use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng;
use clock::Clock;
use console::Wish;
use isthmus_core::mechanism::Mechanism as _;
use isthmus_core::nat;
use isthmus_core::slow::limiter::Limiter;
use isthmus_core::table::Line;
use isthmus_core::time::Instant;
use isthmus_image::{Binding, Fault, Image};
use machine::{Machine, Work};
use memory::Loaded;
use serial::Serial;
use sweeper::Sweeper;

global_asm!(include_str!("boot.s"));

const MEMORY: &str = "there is too little memory: give the machine more";
const TOO_FEW: &str = "there are less than two network cards: the command line names those of virtio \
    (virtio_mmio.device=<size>@<base>:<irq>), or they are on a PCI bus, of virtio or Intel's 82574L";
const REFUSES: &str = "a network card refuses to work: it needs an Ethernet address, and one of virtio version 1.0 \
    with event indices";

/// Called by `boot.s`.
#[unsafe(no_mangle)]
extern "C" fn start(information: usize) -> ! {
    Serial::open();
    fault::catch();
    // SAFETY: this is the start of a PVH machine, which comes once.
    match unsafe { memory::begin(information) } {
        Ok(loaded) => work(loaded),
        Err(why) => say!("isthmus: cannot start: {why}"),
    }
    halt()
}

/// Starts a machine with a configuration, and another one when somebody wishes so.
fn work(mut loaded: Loaded) {
    loop {
        let began = clock::ticks();
        // SAFETY: the machine before this one is gone.
        let wish = match unsafe { boot(loaded, began) } {
            Ok(mut machine) => console::run(&mut machine),
            Err(why) => {
                say!("isthmus: cannot start: {why}");
                console::wait()
            }
        };
        match wish {
            Wish::End => return console::end(),
            // SAFETY: the machine is gone.
            Wish::Again => unsafe { memory::reclaim_all_but(loaded.configuration) },
            // SAFETY: the machine is gone, and nobody but this has the place.
            Wish::Load(bytes) => match unsafe { memory::reclaim_for(bytes) } {
                Some(place) => {
                    loaded.configuration = place;
                    // SAFETY: likewise.
                    for word in unsafe { place.words() } {
                        *word = u64::from_le_bytes(Serial::read());
                    }
                }
                None => return say!("isthmus: halted: {MEMORY}"),
            },
        }
    }
}

/// Makes the machine of its configuration.
///
/// # Safety
/// There is no other machine.
unsafe fn boot(loaded: Loaded, began: u64) -> Result<Machine, &'static str> {
    // SAFETY: the caller's; who starts the machine chose this configuration for it, and its sum is checked.
    let image = unsafe { Image::read(loaded.configuration.words()) }.map_err(Fault::explanation)?;
    let state = memory::take(image.head.state as usize * size_of::<Line>()).ok_or(MEMORY)?;
    // SAFETY: zeroed memory, aligned to a page, of which there is no other reference from here on; it is as long as said.
    let state = unsafe {
        core::slice::from_raw_parts(state.as_mut_ptr().cast::<Line>(), image.head.state as usize)
    };
    for binding in image.bindings {
        bind(&image, state, binding).ok_or("a static binding has no place")?;
    }
    let mut pool = frame::Pool::new().ok_or(MEMORY)?;
    let whole = Some(frame::Whole::new().ok_or(MEMORY)?);
    let named = mmio::network_cards(loaded.command_line).map(|card| Found::Virtio(card.into()));
    let mut found = named.chain(pci::network_cards());
    let mut open = || Card::open(found.next().ok_or(TOO_FEW)?, &mut pool).ok_or(REFUSES);
    let cards = [open()?, open()?];
    let mut rates = image
        .instances
        .iter()
        .map(|instance| instance.policy.icmp_errors);
    let limiters = core::array::from_fn(|_| Limiter::new(rates.next().unwrap_or(0)));
    let mut seed = [0; 32];
    // Two starts of one image must not repeat each other, but for tests.
    let (clock, chance) = match image.head.is_told() {
        false => (Clock::new(began), [clock::ticks(), 0, 0, 0]),
        true => (Clock::told(), [0; 4]),
    };
    for ((bytes, word), chance) in seed.chunks_mut(8).zip(image.head.seed).zip(chance) {
        bytes.copy_from_slice(&(word ^ chance).to_le_bytes());
    }
    Ok(Machine {
        image,
        state,
        cards,
        turn: 0,
        pool,
        neighbours: neighbours::Neighbours::new(),
        fragments: fragments::Fragments::new(),
        whole,
        counts: [[0; _]; _],
        limiters,
        random: ChaCha8Rng::from_seed(seed),
        clock,
        sweeper: Sweeper::new(),
        work: Work::default(),
    })
}

/// Makes a static binding, before any packet. `None`: there is no room for it, or the pool does not have its address.
fn bind(image: &Image<'_>, state: &[Line], binding: &Binding) -> Option<()> {
    let instance = image.instances.get(binding.instance as usize)?;
    let nat = instance.mechanism.nat()?;
    nat::insert_static(state, nat, Instant::from_nanos(0), &binding.get()?).ok()
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
