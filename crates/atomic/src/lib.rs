//! The atomic word of the tables: [`core::sync::atomic::AtomicU64`], or what stands for it in BPF.
//!
//! LLVM cannot select an instruction for an atomic load or store on BPF before the fourth version
//! of the instruction set, which Linux 6.1 does not know; read-modify-write operations it can.
//! The kernel's own memory model makes an aligned 64-bit load or store of a BPF program single, so
//! a volatile access is what `READ_ONCE` and `WRITE_ONCE` are in C. The word of BPF takes an
//! [`Ordering`](core::sync::atomic::Ordering) as the other does and cannot heed it. It is right where the
//! processor orders plain accesses by itself:
//!
//! - **x86-64**: yes. LLVM keeps volatile accesses in order, also with atomic operations, and so do the
//!   verifier and the JIT, which makes one instruction of each: `mov` of a load or a store, `lock` or
//!   `xchg` of a read-modify-write. The processor keeps loads in order, keeps stores in order, and makes a
//!   full barrier of a locked instruction. Therefore a plain load acquires, a plain store releases, and a
//!   plain load has its place in the one order of all read-modify-writes: it is what the host's compiler
//!   makes of a `SeqCst` load, too.
//! - **aarch64**: no. A read-modify-write that returns a value is a full barrier there as well, but the JIT
//!   makes plain `ldr` and `str` of the rest, and of two plain loads only an address that depends on the
//!   first keeps them in order. Tables have none: a search compares tags, which is a control dependency, and
//!   a reader checks the life of a slot after words that it does not depend on. So a program could take
//!   the words of an entry that has ended for those of the next one. The test of the tables under `loom`
//!   finds this with relaxed loads. `BPF_LOAD_ACQ`, which would help, came with Linux 6.15.
//!
//! The engine refuses to load programs where the answer is not yes.
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

        /// Reads the word, in the processor's order: see [the crate](crate).
        #[inline(always)]
        pub fn load(&self, _order: Ordering) -> u64 {
            // SAFETY: the pointer is valid and aligned.
            unsafe { self.0.get().read_volatile() }
        }

        /// Writes the word, in the processor's order: see [the crate](crate).
        #[inline(always)]
        pub fn store(&self, value: u64, _order: Ordering) {
            // SAFETY: the pointer is valid and aligned.
            unsafe { self.0.get().write_volatile(value) }
        }

        /// Writes the word and gives what was there.
        #[inline(always)]
        pub fn swap(&self, value: u64, _order: Ordering) -> u64 {
            // SAFETY: the pointer is valid and aligned.
            unsafe { intrinsics::atomic_xchg::<u64, { SeqCst }>(self.0.get(), value) }
        }

        /// Writes `new` if `current` is there.
        ///
        /// # Errors
        /// The present word, if it is not `current`.
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

        /// Adds to the word and gives what was there.
        #[inline(always)]
        pub fn fetch_add(&self, value: u64, _order: Ordering) -> u64 {
            // SAFETY: the pointer is valid and aligned.
            unsafe { intrinsics::atomic_xadd::<u64, u64, { SeqCst }>(self.0.get(), value) }
        }

        /// Subtracts from the word and gives what was there.
        #[inline(always)]
        pub fn fetch_sub(&self, value: u64, order: Ordering) -> u64 {
            self.fetch_add(value.wrapping_neg(), order)
        }

        /// Sets bits of the word and gives what was there.
        #[inline(always)]
        pub fn fetch_or(&self, value: u64, _order: Ordering) -> u64 {
            // SAFETY: the pointer is valid and aligned.
            unsafe { intrinsics::atomic_or::<u64, u64, { SeqCst }>(self.0.get(), value) }
        }

        /// Clears the bits of the word that are not in `value`, and gives what was there.
        #[inline(always)]
        pub fn fetch_and(&self, value: u64, _order: Ordering) -> u64 {
            // SAFETY: the pointer is valid and aligned.
            unsafe { intrinsics::atomic_and::<u64, u64, { SeqCst }>(self.0.get(), value) }
        }
    }
}
