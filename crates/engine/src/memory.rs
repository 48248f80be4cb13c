//! Memory for the tables of the core: anonymous pages, or a BPF array map that the programs in the
//! kernel use at the same time.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};

use isthmus_core::table::{Line, Memory};

/// Mapped lines, all zero at first where they are anonymous.
#[derive(Debug)]
pub struct Region {
    /// Page-aligned; not read if `lines` is 0.
    base: NonNull<Line>,
    lines: u32,
}

// SAFETY: a region is memory that belongs to no thread, and its content is atomic words.
unsafe impl Send for Region {}
// SAFETY: as above; shared access is through atomic words only.
unsafe impl Sync for Region {}

impl Region {
    /// Anonymous memory of `lines` lines. Pages are taken from the system when they are first
    /// written.
    ///
    /// # Errors
    /// The system refuses so much memory.
    pub fn anonymous(lines: u32) -> io::Result<Self> {
        Self::map(lines, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
    }

    /// The memory behind a file descriptor: a BPF array map made with `BPF_F_MMAPABLE`, values of
    /// 64 bytes and at least `lines` entries. The kernel keeps the map for as long as the region
    /// is there.
    ///
    /// # Errors
    /// The descriptor can not be mapped in this size.
    pub fn of_map(map: BorrowedFd<'_>, lines: u32) -> io::Result<Self> {
        Self::map(lines, libc::MAP_SHARED, map.as_raw_fd())
    }

    fn map(lines: u32, flags: libc::c_int, fd: libc::c_int) -> io::Result<Self> {
        if lines == 0 {
            let base = NonNull::dangling();
            return Ok(Self { base, lines });
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory that is in
        // use.
        let base = unsafe { libc::mmap(ptr::null_mut(), length(lines), protection, flags, fd, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, lines })
    }

    /// How many lines there are.
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
        Some(unsafe { self.base.add(index as usize).as_ref() })
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if self.lines != 0 {
            // SAFETY: this is the mapping that `map` made, and no line outlives the region.
            unsafe { libc::munmap(self.base.as_ptr().cast(), length(self.lines)) };
        }
    }
}

fn length(lines: u32) -> usize {
    lines as usize * size_of::<Line>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::FromRawFd;
    use std::os::fd::{AsFd, OwnedFd};
    use std::sync::atomic::Ordering;

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

    #[test]
    fn two_views_of_one_descriptor_share_it() {
        // SAFETY: a plain system call with a valid name.
        let fd = unsafe { libc::memfd_create(c"lines".as_ptr(), 0) };
        assert!(fd >= 0);
        // SAFETY: the descriptor is new and nobody else's.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: a plain system call on our own descriptor.
        assert_eq!(unsafe { libc::ftruncate(fd.as_raw_fd(), 64 * 64) }, 0);
        let one = Region::of_map(fd.as_fd(), 64).unwrap();
        let other = Region::of_map(fd.as_fd(), 64).unwrap();
        one.line(63).unwrap()[0].store(5, Ordering::Relaxed);
        assert_eq!(other.line(63).unwrap()[0].load(Ordering::Relaxed), 5);
    }
}
