//! The atomic word of the tables: [`core::sync::atomic::AtomicU64`], or a replacement in BPF.
//!
//! LLVM cannot select an instruction for an atomic load or store on BPF before the fourth version
//! of the instruction set, which Linux 6.1 does not know. It can for read-modify-write operations.
//! The kernel's own memory model makes an aligned 64-bit load or store of a BPF program single, so
//! a volatile access is what `READ_ONCE` and `WRITE_ONCE` are in C. What more an
//! [`Ordering`](core::sync::atomic::Ordering) asks for depends on the processor, and the programs are built
//! for both kinds of it:
//!
//! - **x86-64** orders plain accesses by itself, so that they serve for every ordering. LLVM keeps volatile
//!   accesses in order, also with atomic operations, and so do the
//!   verifier and the JIT, which makes one instruction of each: `mov` of a load or a store, `lock` or
//!   `xchg` of a read-modify-write. The processor keeps loads in order, keeps stores in order, and makes a
//!   full barrier of a locked instruction. Therefore a plain load acquires, a plain store releases, and a
//!   plain load has its place in the one order of all read-modify-writes: it is what the host's compiler
//!   makes of a `SeqCst` load, too.
//! - **aarch64** does not (`--cfg weakly_ordered`). The JIT makes plain `ldr` and `str` of plain accesses, and of
//!   two loads only an address that depends on the first keeps them in order. Tables have none: a search
//!   compares tags, which is a control dependency, and a reader checks the life of a slot after words that it
//!   does not depend on. So a program could take the words of an entry that has ended for those of the next
//!   one. The test of the tables under `loom` finds this with relaxed loads. A read-modify-write that
//!   returns a value is a full barrier in the kernel's memory model, on every processor. So a load that is
//!   more than relaxed is one that adds no bit, and such a store is an exchange. Their price is that the
//!   processor takes the line for itself. `BPF_LOAD_ACQ`, which would be cheaper, came with Linux 6.15.
//!
//! On other processors the engine refuses to load programs.
//!
//! This is a crate of its own so that the core can forbid `unsafe`.
//!
//! Rust's BPF target has no compare-and-exchange in its library, though the machine has; the
//! compiler's intrinsics reach it. The programs are built with them enabled.
#![no_std]
#![cfg_attr(target_arch = "bpf", feature(core_intrinsics))]
#![cfg_attr(target_arch = "bpf", allow(internal_features))]

#[cfg(not(target_arch = "bpf"))]
pub use core::sync::atomic::AtomicU64;

#[cfg(target_arch = "bpf")]
pub use bpf::AtomicU64;

#[cfg(target_arch = "bpf")]
mod bpf {
    use core::cell::UnsafeCell;
    use core::intrinsics::{self, AtomicOrdering::SeqCst};
    use core::sync::atomic::Ordering;

    /// A 64-bit word that several processors change.
    #[repr(transparent)]
    pub struct AtomicU64(UnsafeCell<u64>);

    // SAFETY: every access is single and volatile, or an atomic operation.
    unsafe impl Sync for AtomicU64 {}

    /// Whether the processor does not give a plain access this order by itself.
    const fn needs_barrier(order: Ordering) -> bool {
        cfg!(weakly_ordered) && !matches!(order, Ordering::Relaxed)
    }

    impl core::fmt::Debug for AtomicU64 {
        fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            self.load(Ordering::Relaxed).fmt(f)
        }
    }

    impl AtomicU64 {
        /// The word with this content.
        #[must_use]
        pub const fn new(value: u64) -> Self {
            Self(UnsafeCell::new(value))
        }

        /// Reads the word; see [the crate](crate) for its order.
        #[inline(always)]
        pub fn load(&self, order: Ordering) -> u64 {
            if needs_barrier(order) {
                return self.fetch_or(0, order);
            }
            // SAFETY: the pointer is valid and aligned.
            unsafe { self.0.get().read_volatile() }
        }

        /// Writes the word; see [the crate](crate) for its order.
        #[inline(always)]
        pub fn store(&self, value: u64, order: Ordering) {
            if needs_barrier(order) {
                let _before = self.swap(value, order);
                return;
            }
            // SAFETY: the pointer is valid and aligned.
            unsafe { self.0.get().write_volatile(value) }
        }

        /// Writes the word and returns the old value.
        #[inline(always)]
        pub fn swap(&self, value: u64, _order: Ordering) -> u64 {
            // SAFETY: the pointer is valid and aligned.
            unsafe { intrinsics::atomic_xchg::<u64, { SeqCst }>(self.0.get(), value) }
        }

        /// Writes `new` if the word is `current`, and returns the old value.
        ///
        /// # Errors
        /// The word is another; the error is its value.
        #[inline(always)]
        pub fn compare_exchange(
            &self,
            current: u64,
            new: u64,
            _success: Ordering,
            _failure: Ordering,
        ) -> Result<u64, u64> {
            // SAFETY: the pointer is valid and aligned.
            let (found, done) = unsafe {
                intrinsics::atomic_cxchg::<u64, { SeqCst }, { SeqCst }>(self.0.get(), current, new)
            };
            if done { Ok(found) } else { Err(found) }
        }

        /// Adds to the word and returns the old value.
        #[inline(always)]
        pub fn fetch_add(&self, value: u64, _order: Ordering) -> u64 {
            // SAFETY: the pointer is valid and aligned.
            unsafe { intrinsics::atomic_xadd::<u64, u64, { SeqCst }>(self.0.get(), value) }
        }

        /// Sets bits of the word and returns the old value.
        #[inline(always)]
        pub fn fetch_or(&self, value: u64, _order: Ordering) -> u64 {
            // SAFETY: the pointer is valid and aligned.
            unsafe { intrinsics::atomic_or::<u64, u64, { SeqCst }>(self.0.get(), value) }
        }
    }
}
