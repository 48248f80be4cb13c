//! The input and output ports of a PC.

use core::arch::asm;

/// Reads a byte.
///
/// # Safety
/// The device behind the port allows it.
pub unsafe fn read8(port: u16) -> u8 {
    let value;
    // SAFETY: the caller's.
    unsafe {
        asm!("in al, dx", in("dx") port, out("al") value, options(nomem, nostack, preserves_flags));
    }
    value
}

/// Writes a byte.
///
/// # Safety
/// The device behind the port allows it.
pub unsafe fn write8(port: u16, value: u8) {
    // SAFETY: the caller's.
    unsafe {
        asm!("out dx, al", in("dx") port, in("al") value, options(nomem, nostack, preserves_flags));
    }
}

/// Reads a word of 32 bits.
///
/// # Safety
/// The device behind the port allows it.
pub unsafe fn read32(port: u16) -> u32 {
    let value;
    // SAFETY: the caller's.
    unsafe {
        asm!("in eax, dx", in("dx") port, out("eax") value, options(nomem, nostack, preserves_flags));
    }
    value
}

/// Writes a word of 32 bits.
///
/// # Safety
/// The device behind the port allows it.
pub unsafe fn write32(port: u16, value: u32) {
    // SAFETY: the caller's.
    unsafe {
        asm!("out dx, eax", in("dx") port, in("eax") value, options(nomem, nostack, preserves_flags));
    }
}
