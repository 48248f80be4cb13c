//! How much of the work of the kernel's verifier the programs need. It refuses one after a million instructions, follows
//! others from release to release, and its time is most of a first start.

use aya::programs::Program;
use aya::{EbpfLoader, VerifierLogLevel};
use isthmus_abi::programs::{ENTRIES, Hook, Slot};
use isthmus_core::mechanism::AnyMechanism;

/// Instructions that the verifier may look at for a program: half of its limit.
const BUDGET: u32 = 500_000;

/// The same for the first program of a gateway of one mechanism, for all that it loads before packets pass, and for all
/// that it loads together.
const BUDGET_OF_FIRST: u32 = 45_000;
const BUDGET_BEFORE_PACKETS: u32 = 200_000;
const BUDGET_OF_ALL: u32 = 350_000;

/// The programs by name, each with the instructions that the verifier has looked at, when they are loaded for these
/// mechanisms.
fn verified(mechanisms: [u8; AnyMechanism::KINDS]) -> Vec<(String, u32)> {
    let object = include_bytes!("../../../bpf/isthmus.bpf.o");
    let mut ebpf = EbpfLoader::new()
        .verifier_log_level(VerifierLogLevel::STATS)
        .override_global("MECHANISMS", &mechanisms[..], true)
        .load(object)
        .unwrap();
    let mut counts = Vec::new();
    for (name, program) in ebpf.programs_mut() {
        match program {
            Program::Xdp(program) => program.load().unwrap(),
            Program::SchedClassifier(program) => program.load().unwrap(),
            _ => panic!("{name} is neither for XDP nor for tc"),
        }
        let count = program.info().unwrap().verified_instruction_count();
        counts.push((name.to_owned(), count.unwrap()));
    }
    assert_eq!(counts.len(), 2 * ENTRIES);
    counts
}

fn is_root() -> bool {
    // SAFETY: asks for a number.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        eprintln!("skipped: needs root");
    }
    root
}

#[test]
fn programs_leave_half_of_the_verifiers_work() {
    if !is_root() {
        return;
    }
    let counts = verified([1; AnyMechanism::KINDS]);
    println!("{counts:?}");
    assert!(
        counts.iter().all(|(_, count)| *count <= BUDGET),
        "{counts:#?}"
    );
}

#[test]
fn a_gateway_pays_for_the_mechanisms_that_it_has() {
    if !is_root() {
        return;
    }
    for number in 0..AnyMechanism::KINDS {
        let mut mechanisms = [0; AnyMechanism::KINDS];
        mechanisms[number] = 1;
        let counts = verified(mechanisms);
        for hook in [Hook::Xdp, Hook::Tc] {
            let packets = AnyMechanism::IN_BPF[number];
            let loaded = Slot::ALL.into_iter().filter(|slot| slot.takes(packets));
            let loaded = loaded.map(|slot| {
                let program = slot.name(hook);
                let (_, count) = counts.iter().find(|(name, _)| name == program).unwrap();
                (slot, *count)
            });
            let loaded: Vec<_> = loaded.collect();
            let sum = |waits: bool| -> u32 {
                let those = loaded.iter().filter(|(slot, _)| waits || !slot.can_wait());
                those.map(|(_, count)| count).sum()
            };
            let (first, before, all) = (loaded[0].1, sum(false), sum(true));
            println!("{hook:?} for {number}: {all}, {before} before packets pass, of {loaded:?}");
            assert!(first <= BUDGET_OF_FIRST, "{hook:?} for {number}: {first}");
            assert!(
                before <= BUDGET_BEFORE_PACKETS,
                "{hook:?} for {number}: {loaded:?}"
            );
            assert!(all <= BUDGET_OF_ALL, "{hook:?} for {number}: {loaded:?}");
        }
    }
}
