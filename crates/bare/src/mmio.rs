//! The network cards that the command line names, where there is no bus to look at: Firecracker and QEMU's `microvm` write a
//! word for each device, as Linux reads it (`Documentation/admin-guide/kernel-parameters.txt`).

use core::ffi::CStr;
use core::ptr::{self, NonNull};

use virtio_drivers::transport::mmio::{MmioError, MmioTransport, MmioVersion, VirtIOHeader};
use virtio_drivers::transport::{DeviceType, Transport as _};

use crate::memory::MAPPED;
use crate::say;

/// The beginning of the word of a device.
const NAME: &[u8] = b"virtio_mmio.device=";
/// Registers are words of 32 bits.
const ALIGNMENT: u64 = 4;

/// The virtio network cards that the command line names, in its order. Other devices are passed over, and so are words that are
/// wrong, which the console tells.
pub fn network_cards(command_line: &CStr) -> impl Iterator<Item = MmioTransport<'static>> {
    let words = command_line.to_bytes().split(u8::is_ascii_whitespace);
    words.filter_map(|word| {
        let device = word.strip_prefix(NAME)?;
        open(device).unwrap_or_else(|problem| {
            say!("isthmus: passes over {}: {problem}", word.escape_ascii());
            None
        })
    })
}

/// Opens a device. `None`: it is no network card.
fn open(device: &[u8]) -> Result<Option<MmioTransport<'static>>, &'static str> {
    const EXPECTED: &str = "expected <size>@<base>:<irq> with a base from 4 MiB to 4 GiB, such as \
        virtio_mmio.device=4K@0xd0000000:5";
    const MODERN: &str =
        "expected a device of virtio 1.0 (QEMU: -global virtio-mmio.force-legacy=false)";
    let Window { header, size } = Window::read(device).ok_or(EXPECTED)?;
    // SAFETY: who starts the machine says that the registers of a device are there. The place is mapped and aligned, and the
    // machine that had the device before is gone.
    match unsafe { MmioTransport::new(header, size) } {
        Ok(device) if device.device_type() != DeviceType::Network => Ok(None),
        Ok(card) if card.version() == MmioVersion::Modern => Ok(Some(card)),
        Ok(_) | Err(MmioError::UnsupportedVersion(_)) => Err(MODERN),
        Err(MmioError::InvalidDeviceID(_)) => Ok(None),
        Err(MmioError::BadMagic(_) | MmioError::MmioRegionTooSmall) => {
            Err("expected the base and the size of a virtio device")
        }
    }
}

/// Where the registers of a device are.
struct Window {
    header: NonNull<VirtIOHeader>,
    size: usize,
}

impl Window {
    /// Reads `<size>@<base>:<irq>`, with `:<id>` behind it or without. The machine polls, so that it needs no interrupt.
    fn read(device: &[u8]) -> Option<Self> {
        let (size, place) = str::from_utf8(device).ok()?.split_once('@')?;
        let (base, interrupt) = place.split_once(':')?;
        let (size, base) = (bytes(size)?, number(base)?);
        let is_mapped = MAPPED.contains(&base) && size <= MAPPED.end - base;
        let is_right = interrupt.split(':').all(|part| number(part).is_some());
        if !is_mapped || !is_right || !base.is_multiple_of(ALIGNMENT) {
            return None;
        }
        Some(Self {
            header: NonNull::new(ptr::with_exposed_provenance_mut(base as usize))?,
            size: size as usize,
        })
    }
}

/// Reads a number of bytes, or of KiB with a `K` behind it.
fn bytes(text: &str) -> Option<u64> {
    match text.strip_suffix(['K', 'k']) {
        Some(kilo) => number(kilo)?.checked_mul(1 << 10),
        None => number(text),
    }
}

/// Reads a number, which is hexadecimal behind `0x`.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
