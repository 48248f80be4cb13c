//! The atomic word of the tables under `loom`.

use core::sync::atomic::Ordering;

use loom::sync::atomic::fence;

/// The word of the tables in loom's model. Loom takes `SeqCst` of an access for acquire and release; with
/// fences it is what tables rely on: a full barrier.
#[derive(Debug, Default)]
pub struct AtomicU64(loom::sync::atomic::AtomicU64);

/// Defines read-modify-write operations with barriers around them.
macro_rules! updates {
    ($($name:ident)+) => {$(
        pub fn $name(&self, value: u64, order: Ordering) -> u64 {
            barrier(order);
            let before = self.0.$name(value, order);
            barrier(order);
            before
        }
    )+};
}

impl AtomicU64 {
    pub fn new(value: u64) -> Self {
        Self(loom::sync::atomic::AtomicU64::new(value))
    }

    pub fn load(&self, order: Ordering) -> u64 {
        self.0.load(order)
    }

    pub fn store(&self, value: u64, order: Ordering) {
        self.0.store(value, order);
    }

    updates!(swap fetch_add fetch_or);

    pub fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        barrier(success);
        let result = self.0.compare_exchange(current, new, success, failure);
        barrier(success);
        result
    }
}

fn barrier(order: Ordering) {
    if order == Ordering::SeqCst {
        fence(order);
    }
}
