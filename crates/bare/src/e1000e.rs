//! A network card of Intel's 82574 family, which QEMU calls `e1000e`: polled, without interrupts and offloads. The names are those of
//! the 82574 datasheet, whose chapter 10 has the registers.

use core::hint;
use core::ptr::{self, NonNull};

use isthmus_core::wire::resolution::Mac;

use crate::card::Driver;
use crate::clock;
use crate::frame::{Frame, Pool};
use crate::ring::{PLACES, Ring};

/// The card on the PCI bus: its vendor and device (82574L).
pub const IDENTITY: (u16, u16) = (0x8086, 0x10d3);

/// General registers (section 10.2.2).
const CTRL: usize = 0x0000;
const STATUS: usize = 0x0008;
const EECD: usize = 0x0010;
/// CTRL: ask for no more memory (GIO master disable); set link up; reset.
const QUIET: u32 = 1 << 2;
const SLU: u32 = 1 << 6;
const RST: u32 = 1 << 26;
/// STATUS: the card may ask for memory, or waits for some (GIO master enable).
const MASTER: u32 = 1 << 19;
/// EECD: the card has read its own settings (AUTO_RD).
const SETTLED: u32 = 1 << 9;
/// Interrupt mask clear (section 10.2.4): a 1 masks a cause.
const IMC: usize = 0x00d8;
/// Receiving (section 10.2.5): control, the registers of the ring, checksum offload, and the card's own address.
const RCTL: usize = 0x0100;
const RECEIVING: usize = 0x2800;
const RXCSUM: usize = 0x5000;
const RAL: usize = 0x5400;
const RAH: usize = 0x5404;
/// RCTL: enable; take all multicast, which neighbours use; take broadcast; strip the CRC. Buffers have 2,048 bytes (BSIZE is 0), and no
/// frame of more than 1,522 comes (LPE is 0).
const RECEIVE: u32 = 1 << 1 | 1 << 4 | 1 << 15 | 1 << 26;
/// RAH: the address is valid.
const AV: u32 = 1 << 31;
/// Sending (section 10.2.6): control, the gap between packets, the registers of the ring, and how it is read and written.
const TCTL: usize = 0x0400;
const TIPG: usize = 0x0410;
const SENDING: usize = 0x3800;
const TXDCTL: usize = 0x3828;
/// TXDCTL: each descriptor is written back by itself (WTHRESH 1, GRAN); bit 22 has to be set.
const EACH: u32 = 1 << 16 | 1 << 22 | 1 << 24;
/// TCTL: enable; pad short packets; the collision threshold 15 and distance 63 of full duplex. After a reset the register says besides
/// that the card reads several descriptors at once, and when.
const SEND: u32 = 1 << 1 | 1 << 3 | 0x0f << 4 | 0x3f << 12;
/// TIPG: IPGT 8, IPGR1 8 and IPGR2 6, as copper needs them.
const GAPS: u32 = 8 | 8 << 10 | 6 << 20;
/// Ticks that a reset may take at least, before any register is touched: a millisecond of a quick processor.
const RESETTING: u64 = 5_000_000;
/// Looks at a card that does not do as it is told.
const PATIENCE: u32 = 100_000;

/// The registers of a card: words of 32 bits.
pub struct Registers(NonNull<u8>);

impl Registers {
    /// The bytes that they take.
    const BYTES: u64 = 128 << 10;

    /// The registers in this window of memory. `None`: it is too small.
    ///
    /// # Safety
    /// The window is that of a card, mapped, and nobody else has it.
    pub unsafe fn inside(address: u64, bytes: u64) -> Option<Self> {
        let first = NonNull::new(ptr::with_exposed_provenance_mut(address as usize))?;
        (bytes >= Self::BYTES && address.is_multiple_of(4)).then_some(Self(first))
    }

    fn read(&self, register: usize) -> u32 {
        // SAFETY: all registers that are named here lie in the window.
        unsafe { self.0.byte_add(register).cast::<u32>().read_volatile() }
    }

    /// Writes a register.
    #[inline]
    pub fn write(&self, register: usize, value: u32) {
        // SAFETY: all registers that are named here lie in the window.
        unsafe {
            self.0
                .byte_add(register)
                .cast::<u32>()
                .write_volatile(value)
        };
    }

    /// Waits until bits of a register are as they should be. `None`: they never are.
    fn wait(&self, register: usize, bits: u32, wanted: u32) -> Option<()> {
        (0..PATIENCE)
            .find(|_| self.read(register) & bits == wanted)
            .map(drop)
    }

    /// Stops the card: it touches no memory any more. `None`: it does not. First it asks for no more: what memory answered after the
    /// reset would be no answer to anything.
    fn reset(&self) -> Option<()> {
        self.write(IMC, u32::MAX);
        self.write(RCTL, 0);
        self.write(TCTL, 0);
        self.write(CTRL, self.read(CTRL) | QUIET);
        // One that stays busy is reset all the same.
        let _ = self.wait(STATUS, MASTER, 0);
        self.write(CTRL, self.read(CTRL) | RST);
        let began = clock::ticks();
        while clock::ticks() - began < RESETTING {
            hint::spin_loop();
        }
        self.wait(CTRL, RST, 0)?;
        self.wait(EECD, SETTLED, SETTLED)?;
        self.write(IMC, u32::MAX);
        Some(())
    }

    /// The Ethernet address, which the card has read from its memory.
    fn mac(&self) -> Option<Mac> {
        let [a, b, c, d] = self.read(RAL).to_le_bytes();
        let high = self.read(RAH);
        let [e, f, ..] = high.to_le_bytes();
        (high & AV != 0).then_some([a, b, c, d, e, f])
    }
}

/// A card and the frames that it has. Its functions are not inlined, so that they leave the processor's registers to virtio's way.
pub struct E1000e {
    registers: Registers,
    mac: Mac,
    receiving: Ring,
    sending: Ring,
}

impl Drop for E1000e {
    fn drop(&mut self) {
        // The memory of its frames is given to others.
        let _ = self.registers.reset();
    }
}

impl Driver for E1000e {
    type Found = Registers;

    /// The order of section 4.6.
    fn open(registers: Self::Found, pool: &mut Pool) -> Option<Self> {
        registers.reset()?;
        let mac = registers.mac()?;
        let mut receiving = Ring::receiving(&registers, RECEIVING)?;
        let sending = Ring::sending(&registers, SENDING)?;
        registers.write(CTRL, registers.read(CTRL) | SLU);
        registers.write(RXCSUM, 0);
        registers.write(RCTL, RECEIVE);
        registers.write(TXDCTL, EACH);
        registers.write(TIPG, GAPS);
        registers.write(TCTL, registers.read(TCTL) | SEND);
        for _ in 0..PLACES {
            receiving.lend(pool.take()?).ok()?;
        }
        receiving.tell(&registers);
        Some(Self {
            registers,
            mac,
            receiving,
            sending,
        })
    }

    fn mac(&self) -> Mac {
        self.mac
    }

    #[cold]
    #[inline(never)]
    fn receive(&mut self, pool: &mut Pool) -> Option<Frame> {
        let frame = self.receiving.take_back()?;
        let Some(next) = pool.take() else {
            // There is room: it has just come from there.
            let _ = self.receiving.lend(frame);
            return None;
        };
        let _ = self.receiving.lend(next);
        Some(frame)
    }

    #[cold]
    #[inline(never)]
    fn send(&mut self, frame: Frame, pool: &mut Pool) {
        if !self.sending.has_room() {
            self.end_round(pool);
        }
        if let Err(lost) = self.sending.lend(frame) {
            pool.give(lost);
        }
    }

    #[cold]
    #[inline(never)]
    fn end_round(&mut self, pool: &mut Pool) {
        self.receiving.tell(&self.registers);
        self.sending.tell(&self.registers);
        while let Some(frame) = self.sending.take_back() {
            pool.give(frame);
        }
    }
}
