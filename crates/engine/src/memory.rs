//! Memory for the tables of the core: anonymous pages, or a BPF array map that programs in the kernel use at
//! the same time.

use std::fs::File;
use std::io::{self, Read as _};
use std::marker::PhantomData;
use std::os::fd::{AsFd as _, AsRawFd, BorrowedFd, FromRawFd as _, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering;

use isthmus_core::table::{Line, Memory};

/// Mapped pages that this process owns. They are unmapped on drop.
#[derive(Debug)]
struct Pages {
    /// Page-aligned; dangling if `length` is 0.
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: pages belong to no thread.
unsafe impl Send for Pages {}
// SAFETY: a reference to `Pages` gives no access to the pages' contents. The owners of `Pages` do.
unsafe impl Sync for Pages {}

impl Pages {
    /// Maps zeroed anonymous memory, or the memory of a file descriptor.
    fn map(length: usize, file: Option<BorrowedFd<'_>>) -> io::Result<Self> {
        if length == 0 {
            let base = NonNull::dangling();
            return Ok(Self { base, length });
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let (flags, fd) = match file {
            None => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1),
            Some(file) => (libc::MAP_SHARED, file.as_raw_fd()),
        };
        // SAFETY: the kernel chooses the address of the new mapping, so that it overlaps no memory in use.
        let base = unsafe { libc::mmap(ptr::null_mut(), length, protection, flags, fd, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, length })
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        if self.length != 0 {
            // SAFETY: this is the mapping that `map` made, and nothing borrowed from it outlives it.
            unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
        }
    }
}

/// Mapped lines. Anonymous lines start at zero. They are atomic words, so that threads may share them.
#[derive(Debug)]
pub struct Region {
    pages: Pages,
    lines: u32,
}

impl Region {
    /// Returns anonymous memory of `lines` lines. The system provides each page at its first write.
    ///
    /// # Errors
    /// The system refuses this much memory.
    pub fn anonymous(lines: u32) -> io::Result<Self> {
        let pages = Pages::map(length(lines), None)?;
        Ok(Self { pages, lines })
    }

    /// Returns the memory behind a file descriptor: a BPF array map made with `BPF_F_MMAPABLE`, whose value size is
    /// a power of two, with at least `lines` lines. The kernel keeps the map as long as the region exists.
    ///
    /// # Errors
    /// The descriptor cannot be mapped in this size.
    pub fn of_map(map: BorrowedFd<'_>, lines: u32) -> io::Result<Self> {
        let pages = Pages::map(length(lines), Some(map))?;
        Ok(Self { pages, lines })
    }

    /// Copies all lines that the other one has as well. Nobody writes to either meanwhile. Pages of zeros are not
    /// touched, so that they take no memory.
    pub fn copy_to(&self, other: &Self) {
        for number in 0..self.lines.min(other.lines) {
            if let (Some(from), Some(to)) = (self.line(number), other.line(number)) {
                for (from, to) in from.iter().zip(to) {
                    let word = from.load(Ordering::Relaxed);
                    if word != 0 {
                        to.store(word, Ordering::Relaxed);
                    }
                }
            }
        }
    }

    /// Returns the number of lines.
    #[must_use]
    pub fn lines(&self) -> u32 {
        self.lines
    }
}

impl Memory for Region {
    #[inline(always)]
    fn line(&self, index: u32) -> Option<&Line> {
        if index >= self.lines {
            return None;
        }
        // SAFETY: the mapping has `lines` lines, is aligned to a page, lives as long as `self`,
        // and any bytes are valid atomic words.
        Some(unsafe { self.pages.base.cast::<Line>().add(index as usize).as_ref() })
    }
}

/// A BPF array map whose values this process writes and programs read. Values are moved into the mapping as
/// typed values, because a system call that copies a value's bytes would read its padding, which is
/// uninitialised.
#[derive(Debug)]
pub(crate) struct Values<T> {
    pages: Pages,
    count: u32,
    of: PhantomData<T>,
}

impl<T: Copy> Values<T> {
    /// Returns the values of a map made with `BPF_F_MMAPABLE`, with at least `count` entries of the size of `T`.
    ///
    /// # Errors
    /// The descriptor cannot be mapped in this size.
    pub(crate) fn of_map(map: BorrowedFd<'_>, count: u32) -> io::Result<Self> {
        const {
            assert!(
                size_of::<T>().is_multiple_of(8),
                "values lie at multiples of 8 octets"
            )
        }
        Ok(Self {
            pages: Pages::map(count as usize * size_of::<T>(), Some(map))?,
            count,
            of: PhantomData,
        })
    }

    /// Writes a value; does nothing past the end. Programs must not read this entry at the same time.
    pub(crate) fn put(&mut self, index: u32, value: T) {
        if index < self.count {
            // SAFETY: the mapping has `count` values and is aligned to a page. No reference to it is ever made, and the
            // process reads none of it.
            unsafe { self.pages.base.cast::<T>().add(index as usize).write(value) };
        }
    }
}

/// Returns the bytes of values as they lie in memory, for a machine with the same layout. They go through a file in memory
/// and the kernel, because a program must not read the padding between fields, which is uninitialised.
///
/// # Errors
/// The system has no memory for the file.
pub fn bytes_of<T: Copy>(values: &[T]) -> io::Result<Vec<u8>> {
    // SAFETY: a plain system call with a valid name.
    let file = unsafe { libc::memfd_create(c"values".as_ptr(), libc::MFD_CLOEXEC) };
    if file < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and has no other owner.
    let mut file = File::from(unsafe { OwnedFd::from_raw_fd(file) });
    let length = size_of_val(values);
    file.set_len(length as u64)?;
    let count = u32::try_from(values.len()).map_err(io::Error::other)?;
    let mut mapped = Values::of_map(file.as_fd(), count)?;
    for (index, value) in (0..).zip(values) {
        mapped.put(index, *value);
    }
    let mut bytes = Vec::with_capacity(length);
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn length(lines: u32) -> usize {
    lines as usize * size_of::<Line>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_zero_apart_and_bounded() {
        let region = Region::anonymous(1000).unwrap();
        for index in [0, 1, 999] {
            let line = region.line(index).unwrap();
            assert!(line.iter().all(|word| word.load(Ordering::Relaxed) == 0));
            line[7].store(u64::from(index) + 1, Ordering::Relaxed);
        }
        assert_eq!(region.line(1).unwrap()[7].load(Ordering::Relaxed), 2);
        assert!(region.line(1000).is_none());
        assert!(Region::anonymous(0).unwrap().line(0).is_none());
    }

    /// Returns a descriptor of zeroed memory.
    fn shared(lines: u32) -> OwnedFd {
        // SAFETY: a plain system call with a valid name.
        let fd = unsafe { libc::memfd_create(c"lines".as_ptr(), 0) };
        assert!(fd >= 0);
        // SAFETY: the descriptor is new and has no other owner.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let length = length(lines) as libc::off_t;
        // SAFETY: a plain system call on our own descriptor.
        assert_eq!(unsafe { libc::ftruncate(fd.as_raw_fd(), length) }, 0);
        fd
    }

    #[test]
    fn two_views_of_one_descriptor_share_it() {
        let fd = shared(64);
        let one = Region::of_map(fd.as_fd(), 64).unwrap();
        let other = Region::of_map(fd.as_fd(), 64).unwrap();
        one.line(63).unwrap()[0].store(5, Ordering::Relaxed);
        assert_eq!(other.line(63).unwrap()[0].load(Ordering::Relaxed), 5);
    }

    #[test]
    fn bytes_are_those_of_the_values() {
        assert_eq!(
            bytes_of(&[1u64, 0x0203]).unwrap(),
            [1u64.to_ne_bytes(), 0x0203u64.to_ne_bytes()].concat()
        );
        assert!(bytes_of::<u64>(&[]).unwrap().is_empty());
    }

    #[test]
    fn values_lie_one_after_the_other() {
        #[repr(C)]
        #[derive(Clone, Copy)]
        struct Padded {
            long: u64,
            short: u8,
        }
        let fd = shared(1);
        let mut values = Values::of_map(fd.as_fd(), 4).unwrap();
        values.put(3, Padded { long: 7, short: 8 });
        values.put(4, Padded { long: 9, short: 9 });
        let lines = Region::of_map(fd.as_fd(), 2).unwrap();
        let word = |line, at: usize| lines.line(line).unwrap()[at].load(Ordering::Relaxed);
        assert_eq!((word(0, 6), word(0, 7) as u8), (7, 8));
        assert_eq!(word(1, 0), 0, "an entry past the end was written");
    }
}
