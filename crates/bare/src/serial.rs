//! The serial line, a 16550: the console of the machine.

use core::fmt;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::port;

/// The first port of COM1.
const COM1: u16 = 0x3f8;
/// Line Status Register, and its bits.
const STATUS: u16 = COM1 + 5;
const RECEIVED: u8 = 1;
const EMPTY: u8 = 1 << 5;

/// Times that the machine looks whether the line takes a byte: a second, or a few.
const LOOKS: u32 = 1 << 22;
/// Those that are left. A line that took nothing for so long is not there: bytes are lost until it takes one again.
static PATIENCE: AtomicU32 = AtomicU32::new(LOOKS);

/// The console.
pub struct Serial;

impl Serial {
    /// Sets 115,200 bits per second, eight bits, queues on.
    pub fn open() {
        for (register, value) in [(1, 0), (3, 0x80), (0, 1), (1, 0), (3, 3), (2, 0xc7)] {
            // SAFETY: registers of the serial line, in the order of its data sheet.
            unsafe { port::write8(COM1 + register, value) };
        }
    }

    /// The key that somebody pressed, if any.
    pub fn key() -> Option<u8> {
        // SAFETY: reading takes the byte from the queue, and nobody else wants it.
        unsafe { (port::read8(STATUS) & RECEIVED != 0).then(|| port::read8(COM1)) }
    }

    /// The next bytes that come, however long that takes.
    pub fn read<const N: usize>() -> [u8; N] {
        core::array::from_fn(|_| {
            loop {
                if let Some(key) = Self::key() {
                    return key;
                }
            }
        })
    }

    fn byte(byte: u8) {
        // SAFETY: reading the status changes nothing here.
        while unsafe { port::read8(STATUS) } & EMPTY == 0 {
            match PATIENCE.load(Ordering::Relaxed).checked_sub(1) {
                Some(rest) => PATIENCE.store(rest, Ordering::Relaxed),
                None => return,
            }
        }
        PATIENCE.store(LOOKS, Ordering::Relaxed);
        // SAFETY: a byte to send.
        unsafe { port::write8(COM1, byte) };
    }
}

impl fmt::Write for Serial {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            if byte == b'\n' {
                Self::byte(b'\r');
            }
            Self::byte(byte);
        }
        Ok(())
    }
}

/// Writes a line to the console.
#[macro_export]
macro_rules! say {
    ($($part:tt)*) => {{
        use core::fmt::Write as _;
        // The console takes everything.
        let _ = writeln!($crate::serial::Serial, $($part)*);
    }};
}
