//! The loader's gifts to the machine (PVH: `xen/include/public/arch-x86/hvm/start_info.h`): its configuration, a command line,
//! and memory, which is given out once and never returned.

use core::ffi::CStr;
use core::ops::Range;
use core::ptr;
use core::slice;
use core::sync::atomic::{AtomicUsize, Ordering};

const MAGIC: u32 = 0x336e_c578;
/// The kind of memory that is free to use.
const RAM: u32 = 1;
/// The addresses from the program on, all of which `boot.s` maps.
pub const MAPPED: Range<u64> = 4 << 20..1 << 32;
/// The unit that memory is given out in.
pub const PAGE: usize = 4096;

#[repr(C)]
struct Start {
    magic: u32,
    version: u32,
    flags: u32,
    modules: u32,
    module_list: u64,
    command_line: u64,
    firmware: u64,
    memory_map: u64,
    memory_entries: u32,
    reserved: u32,
}

#[repr(C)]
struct Module {
    address: u64,
    size: u64,
    command_line: u64,
    reserved: u64,
}

#[repr(C)]
struct Entry {
    address: u64,
    size: u64,
    kind: u32,
    reserved: u32,
}

unsafe extern "C" {
    /// The end of the program with its zeroed memory, from `link.ld`.
    static image_end: u8;
}

/// All memory that can be given out: from here to [`LIMIT`].
static FIRST: AtomicUsize = AtomicUsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(0);
/// Memory that nobody has: from here to [`END`].
static NEXT: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);

/// Where a configuration lies.
#[derive(Clone, Copy)]
pub struct Place {
    address: usize,
    bytes: usize,
}

impl Place {
    /// The words there.
    ///
    /// # Safety
    /// There is no other reference to them.
    pub unsafe fn words(self) -> &'static mut [u64] {
        // SAFETY: who made this said so; the address is aligned.
        unsafe {
            let first = ptr::with_exposed_provenance_mut::<u64>(self.address);
            slice::from_raw_parts_mut(first, self.bytes / 8)
        }
    }
}

/// The configuration and the command line, in memory that is not given out.
#[derive(Clone, Copy)]
pub struct Loaded {
    /// The first module.
    pub configuration: Place,
    pub command_line: &'static CStr,
}

/// Takes the machine's memory into use, and returns what the loader put there.
///
/// # Errors
/// The loader gave no configuration, or no memory.
///
/// # Safety
/// `information` is the address that a PVH loader gave, and this is called once.
pub unsafe fn begin(information: usize) -> Result<Loaded, &'static str> {
    // SAFETY: the loader put it there, and nobody changes it.
    let start = unsafe { &*ptr::with_exposed_provenance::<Start>(information) };
    if start.magic != MAGIC || start.version == 0 {
        return Err("the loader does not speak PVH with a map of the memory");
    }
    if start.modules == 0 {
        return Err(
            "there is no configuration: give the file of `isthmus bare pack` as the initial ramdisk",
        );
    }
    // SAFETY: there is one at least.
    let module = unsafe { &*ptr::with_exposed_provenance::<Module>(start.module_list as usize) };
    // SAFETY: the loader says that so many are there.
    let entries = unsafe {
        let first = ptr::with_exposed_provenance::<Entry>(start.memory_map as usize);
        slice::from_raw_parts(first, start.memory_entries as usize)
    };
    let command_line = match start.command_line as usize {
        0 => c"",
        // SAFETY: the loader put it there, and it is not given out.
        first => unsafe { CStr::from_ptr(ptr::with_exposed_provenance(first)) },
    };
    let configuration = module.address..module.address + module.size;
    let line = start.command_line..start.command_line + command_line.count_bytes() as u64 + 1;
    let program = (&raw const image_end).addr() as u64;
    let largest = entries
        .iter()
        .filter(|entry| entry.kind == RAM)
        .map(|entry| entry.address.max(program)..(entry.address + entry.size).min(MAPPED.end))
        .flat_map(|free| around(free, &configuration))
        .flat_map(|free| around(free, &line))
        .max_by_key(|free| free.end.saturating_sub(free.start));
    let Range { start, end } = largest.ok_or("there is no memory")?;
    FIRST.store((start as usize).next_multiple_of(PAGE), Ordering::Relaxed);
    LIMIT.store(end as usize / PAGE * PAGE, Ordering::Relaxed);
    reclaim();
    if !module.address.is_multiple_of(8) || configuration.end > MAPPED.end {
        return Err("the configuration lies where it cannot be read");
    }
    Ok(Loaded {
        configuration: Place {
            address: module.address as usize,
            bytes: module.size as usize,
        },
        command_line,
    })
}

/// Free memory before and after some that is taken.
fn around(free: Range<u64>, taken: &Range<u64>) -> [Range<u64>; 2] {
    [
        free.start..free.end.min(taken.start),
        free.start.max(taken.end)..free.end,
    ]
}

/// Takes all memory back, for another start.
fn reclaim() {
    NEXT.store(FIRST.load(Ordering::Relaxed), Ordering::Relaxed);
    END.store(LIMIT.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Takes all memory back but that of the configuration.
///
/// # Safety
/// Nobody has a reference to memory that was given out.
pub unsafe fn reclaim_all_but(place: Place) {
    reclaim();
    if (FIRST.load(Ordering::Relaxed)..LIMIT.load(Ordering::Relaxed)).contains(&place.address) {
        END.store(place.address, Ordering::Relaxed);
    }
}

/// Takes all memory back, and gives the end of it to a configuration of so many bytes. `None`: it is too large.
///
/// # Safety
/// Nobody has a reference to memory that was given out.
pub unsafe fn reclaim_for(bytes: usize) -> Option<Place> {
    reclaim();
    let size = bytes.checked_next_multiple_of(PAGE)?;
    let address = END.load(Ordering::Relaxed).checked_sub(size)?;
    if address <= FIRST.load(Ordering::Relaxed) {
        return None;
    }
    END.store(address, Ordering::Relaxed);
    Some(Place { address, bytes })
}

/// Gives out zeroed memory, aligned to a page. `None`: there is too little.
pub fn take(bytes: usize) -> Option<&'static mut [u8]> {
    let bytes = bytes.checked_next_multiple_of(PAGE)?;
    let from = NEXT.load(Ordering::Relaxed);
    let to = from.checked_add(bytes)?;
    if from == 0 || to > END.load(Ordering::Relaxed) {
        return None;
    }
    NEXT.store(to, Ordering::Relaxed);
    let first = ptr::with_exposed_provenance_mut::<u8>(from);
    // SAFETY: free memory, which is given out once: there is one processor and no interrupt.
    unsafe {
        ptr::write_bytes(first, 0, bytes);
        Some(slice::from_raw_parts_mut(first, bytes))
    }
}
