//! The kernel threads that take the packets written to a link (threaded NAPI).
//!
//! If the kernel thread runs on the writing thread's core, it interrupts the writing thread at the first of many
//! packets, and then each packet costs two context switches. A batch thread waits until the writing thread
//! sleeps, or has used up its share of the core.

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

/// Returns the process numbers of the kernel threads of links with this name, in all network namespaces. The
/// set is empty if `/proc` does not show them.
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

/// Whether a kernel thread with this name serves a link of that name.
fn is_of(link: &str, thread: &str) -> bool {
    let number = thread
        .strip_prefix("napi/")
        .and_then(|rest| rest.strip_prefix(link))
        .and_then(|rest| rest.strip_prefix('-'));
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Gives these threads batch priority.
///
/// # Errors
/// We have neither all rights, as the threads have, nor `CAP_SYS_NICE`.
pub(super) fn let_wait(threads: &[i32]) -> io::Result<()> {
    for thread in threads {
        match sys::make_batch(*thread) {
            // The thread belonged to another gateway, which has ended.
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
        // The name is `napi/%s-%d` with the link's name and the NAPI's number (net/core/dev.c).
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
