//! Faults of the processor: the machine says where it was, and halts. Without this, a fault is a reset.
//!
//! Faults have a stack of their own, since the one that ran over may be the fault.

use core::arch::{asm, global_asm};
use core::cell::UnsafeCell;

use crate::say;

/// Faults that a processor has (Intel SDM volume 3A, table 6-1).
const FAULTS: usize = 32;
/// Selectors of the code segment and of the task state segment.
const CODE: u16 = 8;
const TASK: u16 = 24;

global_asm!(
    // One entry for each fault, 16 bytes apart. Some faults push a code themselves.
    ".section .text.faults, \"ax\", @progbits",
    ".balign 16",
    "fault_entries:",
    ".set number, 0",
    ".rept 32",
    ".balign 16",
    ".if !((0x60227d00 >> number) & 1)",
    "push 0",
    ".endif",
    "push number",
    "jmp fault_common",
    ".set number, number + 1",
    ".endr",
    "fault_common:",
    "mov rdi, rsp",
    "and rsp, -16",
    "call {fault}",
    "ud2",
    fault = sym fault,
);

unsafe extern "C" {
    static fault_entries: u8;
}

/// The words on the stack at a fault.
#[repr(C)]
struct Frame {
    number: u64,
    code: u64,
    instruction: u64,
    segment: u64,
    flags: u64,
    stack: u64,
}

/// Memory of the processor's tables, which has one writer, at the start.
#[repr(C, align(16))]
struct Fixed<T>(UnsafeCell<T>);

// SAFETY: there is one processor, and this is written once, before anything reads it.
unsafe impl<T> Sync for Fixed<T> {}

impl<T> Fixed<T> {
    const fn new(content: T) -> Self {
        Self(UnsafeCell::new(content))
    }

    fn address(&self) -> u64 {
        self.0.get().expose_provenance() as u64
    }
}

static STACK: Fixed<[u8; 16 << 10]> = Fixed::new([0; 16 << 10]);
/// A task state segment in words of 32 bits, of which only the first stack of the table is used (at byte 36).
static TASK_STATE: Fixed<[u32; 26]> = Fixed::new([0; 26]);
/// Null, code, data, and the task state segment, as `boot.s` has the first three.
static DESCRIPTORS: Fixed<[u64; 5]> =
    Fixed::new([0, 0x00af_9b00_0000_ffff, 0x00cf_9300_0000_ffff, 0, 0]);
static GATES: Fixed<[[u64; 2]; FAULTS]> = Fixed::new([[0; 2]; FAULTS]);

#[repr(C, packed)]
struct Pointer {
    limit: u16,
    base: u64,
}

impl Pointer {
    fn to<T>(table: &Fixed<T>) -> Self {
        Self {
            limit: (size_of::<T>() - 1) as u16,
            base: table.address(),
        }
    }
}

/// Has faults come here.
pub fn catch() {
    let stack = STACK.address() + (16 << 10);
    let (task, size) = (TASK_STATE.address(), 26 * 4 - 1);
    let entries = (&raw const fault_entries).addr() as u64;
    // SAFETY: nobody else uses these tables yet. They are as the processor wants them, and their segments are those in use.
    unsafe {
        let state = TASK_STATE.0.get();
        (*state)[9] = stack as u32;
        (*state)[10] = (stack >> 32) as u32;
        let descriptors = DESCRIPTORS.0.get();
        // Available, present, 64 bits.
        (*descriptors)[3] =
            size | (task & 0xff_ffff) << 16 | 0x89 << 40 | (task >> 24 & 0xff) << 56;
        (*descriptors)[4] = task >> 32;
        for (gate, number) in (*GATES.0.get()).iter_mut().zip(0..) {
            let entry: u64 = entries + 16 * number;
            // An interrupt gate that is present, with the first stack of the table.
            let kind = 0x8e01 << 32 | u64::from(CODE) << 16;
            *gate = [
                entry & 0xffff | kind | (entry >> 16 & 0xffff) << 48,
                entry >> 32,
            ];
        }
        let (descriptors, gates) = (Pointer::to(&DESCRIPTORS), Pointer::to(&GATES));
        asm!("lgdt [{}]", in(reg) &raw const descriptors, options(readonly, nostack));
        asm!("ltr {:x}", in(reg) TASK, options(nostack));
        asm!("lidt [{}]", in(reg) &raw const gates, options(readonly, nostack));
    }
}

extern "C" fn fault(frame: &Frame) -> ! {
    let address: u64;
    // SAFETY: reading it changes nothing.
    unsafe { asm!("mov {}, cr2", out(reg) address, options(nomem, nostack, preserves_flags)) };
    let name = match frame.number {
        0 => "division error",
        6 => "invalid instruction",
        8 => "double fault",
        13 => "general protection fault",
        14 => "page fault",
        _ => "fault",
    };
    say!(
        "isthmus: halted: {name} {} (code {:#x}) at {:#x}, stack {:#x}, address {address:#x}",
        frame.number,
        frame.code,
        frame.instruction,
        frame.stack
    );
    crate::halt()
}
