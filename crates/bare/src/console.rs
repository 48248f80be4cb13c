//! The console: what the machine says when it starts, and what it answers to keys.

use core::net::IpAddr;

use isthmus_core::reason::Counter;
use isthmus_image::Address;

use crate::host::NOBODY;
use crate::machine::{Machine, Work};
use crate::port;
use crate::say;
use crate::serial::Serial;

/// Rounds without packets after which the machine looks whether a key was pressed: each look is dear.
const IDLE_ROUNDS: u32 = 1 << 10;
/// QEMU's `isa-debug-exit` ends the emulation when somebody writes there.
const EXIT: u16 = 0xf4;

/// A wish of somebody at the console.
pub enum Wish {
    /// It shall end.
    End,
    /// It shall start again: sessions end, counters are 0.
    Again,
    /// It shall start again with another configuration, which comes in so many bytes.
    Load(usize),
}

/// Says what the machine does, and does it until somebody wishes something else.
pub fn run(machine: &mut Machine) -> Wish {
    plan(machine);
    say!(
        "isthmus: forwards after {} us; keys: c counters, r start again, l load, q quit",
        machine.clock.nanos() / 1000
    );
    let mut rounds: u32 = 0;
    machine.work.pause();
    loop {
        let frames = machine.poll();
        machine.sweep();
        if frames != 0 {
            continue;
        }
        rounds = rounds.wrapping_add(1);
        if !rounds.is_multiple_of(IDLE_ROUNDS) {
            continue;
        }
        match Serial::key() {
            Some(b'c') => {
                counters(machine);
                machine.work.away = 0;
            }
            Some(b't') => time(machine),
            Some(key) => {
                if let Some(wish) = wish(key) {
                    counters(machine);
                    return wish;
                }
            }
            None => continue,
        }
        machine.work.pause();
    }
}

/// Waits until somebody wishes something.
pub fn wait() -> Wish {
    loop {
        let [key] = Serial::read();
        if let Some(wish) = wish(key) {
            return wish;
        }
    }
}

fn wish(key: u8) -> Option<Wish> {
    match key {
        b'q' => Some(Wish::End),
        b'r' => Some(Wish::Again),
        b'l' => Some(Wish::Load(u32::from_le_bytes(Serial::read()) as usize)),
        _ => None,
    }
}

/// Ends the emulation, if there is one.
pub fn end() {
    say!("isthmus: ends");
    // SAFETY: the port of a device that is there for this, or of none.
    unsafe { port::write32(EXIT, 0) };
}

/// Takes the time from the console.
fn time(machine: &mut Machine) {
    match machine.tell(u64::from_le_bytes(Serial::read())) {
        true => say!("time"),
        false => say!("isthmus: has a clock of its own"),
    }
}

fn plan(machine: &Machine) {
    say!(
        "isthmus {}: {} instances",
        env!("CARGO_PKG_VERSION"),
        machine.image.instances.len()
    );
    for own in machine.image.addresses {
        say!("card {}: {}", own.card, IpAddr::from(own.address));
    }
    for hop in machine.image.hops {
        let (to, via) = (IpAddr::from(hop.to.address), IpAddr::from(hop.via));
        let bits = hop.to.length - if to.is_ipv4() { 96 } else { 0 };
        match hop.via {
            Address::NONE => say!("route {to}/{bits}: card {}", hop.to.card),
            _ => say!("route {to}/{bits}: card {} via {via}", hop.to.card),
        }
    }
}

fn counters(machine: &Machine) {
    for (owner, row) in machine.counts.iter().enumerate() {
        for (counter, number) in Counter::ALL.iter().zip(row) {
            if *number == 0 {
                continue;
            }
            match owner {
                NOBODY => say!("counter gateway {} {number}", counter.name()),
                owner => say!("counter {owner} {} {number}", counter.name()),
            }
        }
    }
    let Work {
        frames,
        ticks,
        away,
        ..
    } = machine.work;
    say!("work {frames} frames {ticks} ticks {away} away");
    say!("counters end");
}
