//! A slow edge inside of its machine: it takes the cards, runs the gateway, and tells the machine's clock.

use std::{convert::Infallible, thread, time::Duration};

use super::clock::Tick;
use crate::{
    LabError, Result,
    experiments::{subject::Setup, subjects, testbed},
    network::{emulated::READY, topology::Offloads},
    subjects::provider,
};

/// The interval at which the clock is told: a line takes some tens of thousands of instructions.
const TELL: Duration = Duration::from_millis(100);
/// The nanoseconds between two interrupts of a card.
const MODERATION: u32 = 500_000;

/// Returns the lines of a shell that make a card wait before it interrupts, as cards do to get several frames at once. Without
/// that the emulator spends its time on falling asleep and waking.
fn moderate(interface: &str) -> String {
    let folder = format!("/sys/class/net/{interface}");
    format!("echo 10 >{folder}/napi_defer_hard_irqs\necho {MODERATION} >{folder}/gro_flush_timeout")
}

/// Is the edge of the subject with this name, until the machine ends.
///
/// # Errors
/// There is no such subject, or its edge does not run in this machine.
pub fn serve(name: &str) -> Result<Infallible> {
    let no_edge = || LabError::NoNode(format!("edge of {name}"));
    let mut subjects = subjects().into_iter();
    let subject = subjects.find(|subject| subject.name == name);
    let subject = subject.ok_or_else(no_edge)?;
    let Setup::Provider(mechanism, [endpoint, _]) = subject.setup else {
        return Err(no_edge());
    };
    let network = mechanism.topology(Offloads::Off).take_place(provider::CE)?;
    let [ce, _] = mechanism.gateways();
    let node = network.node(provider::CE)?;
    let (_, interfaces, _) = ce;
    for interface in interfaces {
        node.script(&moderate(interface))?;
    }
    let mut gateway = testbed::start(&subject, ce, &[], endpoint, node, None)?;
    println!("{READY}");
    loop {
        gateway.check()?;
        println!("{}", Tick::now()?);
        thread::sleep(TELL);
    }
}
