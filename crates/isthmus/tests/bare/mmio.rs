//! Cards that the command line names, as Firecracker and QEMU's `microvm` do it: its order says which one is the left one.

use std::sync::PoisonError;

use isthmus_lab::subjects::bare::{Board, Emulated};

use super::{FORWARDS, LEFT, ONE, RIGHT, SIIT, boot, forwards, starts_again};

/// The words of the emulator's devices: its first card, its second one, and whatever comes third.
const FIRST: &str = "virtio_mmio.device=512@0xfeb00e00:12";
const SECOND: &str = "virtio_mmio.device=512@0xfeb00c00:11";
const THIRD: &str = "virtio_mmio.device=512@0xfeb00a00:10";

/// A machine whose command line is this one, and not that of the emulator, and what it says before this.
fn told(line: &str, options: &[&str], awaited: &str) -> Option<(Emulated, Vec<String>)> {
    let own = [
        "-machine",
        "auto-kernel-cmdline=off,ioapic2=off",
        "-append",
        line,
    ];
    let options = [&own, options].concat();
    boot(Board::Microvm, SIIT, &[], &options, awaited)
}

#[test]
fn the_emulator_names_its_cards_in_order() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    starts_again(Board::Microvm);
}

#[test]
fn the_card_that_comes_first_on_the_command_line_is_the_left_one() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    // Something else than a card, and a place where nothing is, come before.
    let line = format!("quiet {THIRD} virtio_mmio.device=512@0xfeb00000:5 {SECOND} {FIRST}");
    let other = ["-device", "virtio-rng-device"];
    let Some((mut machine, said)) = told(&line, &other, FORWARDS) else {
        return;
    };
    assert!(!said.join(" ").contains("passes over"), "{said:#?}");
    forwards(&mut machine, RIGHT, LEFT);
}

#[test]
fn words_that_are_wrong_are_told_and_passed_over() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let wrong = [
        ("4K", "<size>@<base>:<irq>"),
        ("4K@0xd0000000", "<size>@<base>:<irq>"),
        ("4K@0xd0000000:", "<size>@<base>:<irq>"),
        ("4X@0xd0000000:5", "<size>@<base>:<irq>"),
        ("4K@d0000000:5", "<size>@<base>:<irq>"),
        ("4K@0xd0000002:5", "<size>@<base>:<irq>"),
        ("4K@0x3fffff:5", "4 MiB to 4 GiB"),
        ("4K@0xfffff004:5", "4 MiB to 4 GiB"),
        ("18014398509481984K@0xd0000000:5", "<size>@<base>:<irq>"),
        ("4K@0xd0000000:5", "a virtio device"),
        ("4@0xfeb00e00:12", "a virtio device"),
    ];
    let words = wrong.map(|(device, _)| format!("virtio_mmio.device={device}"));
    let line = format!("{} {FIRST} {SECOND}", words.join(" "));
    let Some((mut machine, said)) = told(&line, &[], FORWARDS) else {
        return;
    };
    for (word, (_, right)) in words.iter().zip(wrong) {
        let beginning = format!("isthmus: passes over {word}: expected ");
        let is_told = |line: &String| line.starts_with(&beginning) && line.contains(right);
        assert!(said.iter().any(is_told), "{beginning}… {right}: {said:#?}");
    }
    forwards(&mut machine, LEFT, RIGHT);
}

#[test]
fn a_card_of_old_virtio_is_told() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let old = ["-global", "virtio-mmio.force-legacy=true"];
    let problem = format!("isthmus: passes over {FIRST}: expected a device of virtio 1.0");
    told(FIRST, &old, &problem);
}

#[test]
fn a_card_that_is_missing_is_told() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let problem = "isthmus: cannot start: there are less than two network cards: the command line";
    told(FIRST, &[], problem);
}
