//! Packets that are followed through the programs, which the kernel runs on them one at a time.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use isthmus_core::reason::Counter;
use isthmus_engine::bpf::{Hook, KernelTranslator};
use isthmus_engine::counters::Owner;
use isthmus_engine::offline::Translator as _;
use isthmus_engine::trace::{Fate, Filter, Followed, LONGEST, Said, Sink};

use crate::common::{policy, ruleset};

/// A sink, and what comes out of it.
fn sink() -> (Sink, Receiver<Said>) {
    let (sender, said) = channel();
    let sender = Mutex::new(sender);
    (
        Arc::new(move |it| drop(sender.lock().unwrap().send(it))),
        said,
    )
}

#[test]
fn x() {
    for hook in [Hook::Xdp, Hook::Tc] {
        let mut translator = KernelTranslator::new(hook, ruleset(policy(), 1000), 1, 7).unwrap();
        let (sink, said) = sink();
        let tracer = translator
            .follow(Filter::default(), LONGEST as u32, sink)
            .unwrap();
        let mut packet = vec![
            0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 198, 51, 100, 9, 0, 9, 0, 9, 0,
            8, 0, 1,
        ];
        let sum: u32 = packet[..20]
            .chunks(2)
            .map(|it| u32::from(it[0]) << 8 | u32::from(it[1]))
            .sum();
        let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        translator
            .translate(&packet, 1, &mut |a, b| eprintln!("{a:x?} {b:x?}"))
            .unwrap();
        while let Ok(it) = said.recv_timeout(Duration::from_secs(2)) {
            eprintln!("{it:x?}");
        }
        drop(tracer);
    }
}
