//! What the virtio driver asks of the machine: memory for queues, and addresses as the cards see them, which are the
//! machine's own.

use core::ptr::{self, NonNull};

use virtio_drivers::{BufferDirection, Hal, PhysAddr};

use crate::memory;

/// The machine, for the driver.
pub struct Identity;

// SAFETY: memory is given out once, aligned to a page and zeroed; every address is its own physical address.
unsafe impl Hal for Identity {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        match memory::take(pages * virtio_drivers::PAGE_SIZE) {
            Some(memory) => {
                let first = NonNull::from(&mut memory[0]);
                (first.as_ptr().expose_provenance() as PhysAddr, first)
            }
            // The driver takes address 0 for an error.
            None => (0, NonNull::dangling()),
        }
    }

    unsafe fn dma_dealloc(_: PhysAddr, _: NonNull<u8>, _: usize) -> i32 {
        // Queues live as long as the machine.
        0
    }

    unsafe fn mmio_phys_to_virt(address: PhysAddr, _: usize) -> NonNull<u8> {
        let register = ptr::with_exposed_provenance_mut(address as usize);
        NonNull::new(register).expect("no register lies at address 0")
    }

    unsafe fn share(buffer: NonNull<[u8]>, _: BufferDirection) -> PhysAddr {
        buffer.as_ptr().cast::<u8>().expose_provenance() as PhysAddr
    }

    unsafe fn unshare(_: PhysAddr, _: NonNull<[u8]>, _: BufferDirection) {}
}
