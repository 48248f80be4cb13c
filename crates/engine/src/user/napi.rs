//! The kernel threads that take what was written to a link (threaded NAPI).
//!
//! One that wakes up for the first packet of many interrupts the thread that writes them, if both
//! are on one core, and then each packet costs two changes of context. As batch work it waits until
//! the writer has nothing more to do, or its share of the core is used up.

use std::collections::BTreeSet;
use std::fs;
use std::io;

use crate::sys;

/// Gives each queue of a link a kernel thread.
///
/// # Errors
/// `/sys` is not that of our network namespace, or may not be written.
pub(super) fn start_threads(link: &str) -> io::Result<()> {
    fs::write(format!("/sys/class/net/{link}/threaded"), "1")
}

/// Process numbers of the kernel threads of links with this name, in whatever network namespace; none
/// if `/proc` does not show them.
pub(super) fn threads(link: &str) -> BTreeSet<i32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|process| {
            let number = process.file_name().to_str()?.parse().ok()?;
            let name = fs::read_to_string(process.path().join("comm")).ok()?;
            is_of(link, name.trim_end()).then_some(number)
        })
        .collect()
}

/// Whether a kernel thread with this name works for a link of that name.
fn is_of(link: &str, thread: &str) -> bool {
    let number = thread
        .strip_prefix("napi/")
        .and_then(|rest| rest.strip_prefix(link))
        .and_then(|rest| rest.strip_prefix('-'));
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Makes batch work of these threads.
///
/// # Errors
/// We have neither all rights, as they have, nor `CAP_SYS_NICE`.
pub(super) fn let_wait(threads: &[i32]) -> io::Result<()> {
    for thread in threads {
        match sys::make_batch(*thread) {
            // It was one of another gateway that ended meanwhile.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            result => result?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_kernel_threads() {
        // `napi/%s-%d` of the link's name and the number of the NAPI, net/core/dev.c.
        assert!(is_of("isthmus0", "napi/isthmus0-8193"));
        assert!(is_of("a-1", "napi/a-1-2"));
        for other in [
            "napi/isthmus01-8193",
            "napi/isthmus0-1-2",
            "napi/isthmus0-",
            "napi/isthmus0",
            "isthmus0-8193",
        ] {
            assert!(!is_of("isthmus0", other), "{other}");
        }
    }
}
