//! Access to fixed-size fields of a frame, in the one form that the verifier follows.

use aya_ebpf::programs::XdpContext;

/// A pointer to the `T` at `offset`, or nothing if the frame ends before its end.
#[inline(always)]
pub fn at<T>(context: &XdpContext, offset: usize) -> Option<*mut T> {
    let start = context.data() + offset;
    (start + size_of::<T>() <= context.data_end()).then_some(start as *mut T)
}

/// Reads the `T` at `offset`.
#[inline(always)]
pub fn read<T: Copy>(context: &XdpContext, offset: usize) -> Option<T> {
    // SAFETY: `at` has shown that all of `T` lies inside the frame.
    at::<T>(context, offset).map(|pointer| unsafe { pointer.read_unaligned() })
}
