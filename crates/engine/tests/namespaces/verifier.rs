//! How much of the work of the kernel's verifier the programs need. It refuses one after a million instructions, follows
//! others from release to release, and its time is most of a first start.

use aya::programs::Program;
use aya::{EbpfLoader, VerifierLogLevel};

/// Instructions that the verifier may look at for a program: half of its limit.
const BUDGET: u32 = 500_000;

#[test]
fn programs_leave_half_of_the_verifiers_work() {
    // SAFETY: asks for a number.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("skipped: needs root");
        return;
    }
    let object = include_bytes!("../../../bpf/isthmus.bpf.o");
    let mut ebpf = EbpfLoader::new()
        .verifier_log_level(VerifierLogLevel::STATS)
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
    assert_eq!(counts.len(), 12);
    assert!(
        counts.iter().all(|(_, count)| *count <= BUDGET),
        "{counts:#?}"
    );
}
