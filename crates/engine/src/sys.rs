//! System calls that the standard library lacks.

pub(crate) mod bpf;

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::ptr;
use std::time::Duration;

use libc::{c_int, c_short, c_uint};

/// `TUNSETIFF`, `TUNSETOFFLOAD` and `TUNSETVNETHDRSZ` of `linux/if_tun.h`.
const TUNSETIFF: libc::Ioctl = 0x4004_54ca_u32 as libc::Ioctl;
const TUNSETOFFLOAD: libc::Ioctl = 0x4004_54d0_u32 as libc::Ioctl;
const TUNSETVNETHDRSZ: libc::Ioctl = 0x4004_54d8_u32 as libc::Ioctl;

/// The fields of `struct ifreq` that `TUNSETIFF` reads.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; libc::IFNAMSIZ],
    flags: c_short,
    padding: [u8; 22],
}

/// `MEMBARRIER_CMD_QUERY` and `MEMBARRIER_CMD_GLOBAL` of `membarrier(2)`.
const QUERY: c_int = 0;
const GLOBAL: c_int = 1;

fn membarrier(command: c_int) -> io::Result<c_int> {
    // SAFETY: a system call with plain numbers.
    match unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) } {
        -1 => Err(io::Error::last_os_error()),
        answer => Ok(answer as c_int),
    }
}

/// Checks that [`wait_for_bpf_programs`] works here.
///
/// # Errors
/// `Unsupported`: the kernel has no such call, or `nohz_full` processors, on which it does not make it.
pub(crate) fn can_wait_for_bpf_programs() -> io::Result<()> {
    if membarrier(QUERY)? & GLOBAL == 0 {
        return Err(io::ErrorKind::Unsupported.into());
    }
    Ok(())
}

/// Returns when every BPF program that runs now has ended. `MEMBARRIER_CMD_GLOBAL` waits for an RCU grace
/// period, which running programs delay.
pub(crate) fn wait_for_bpf_programs() -> io::Result<()> {
    membarrier(GLOBAL).map(drop)
}

/// Moves the calling thread to a new network namespace, which it returns.
pub(crate) fn leave_network() -> io::Result<File> {
    // SAFETY: a system call with a plain number; only this thread's namespace changes.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
    File::open("/proc/thread-self/ns/net")
}

/// Moves the calling thread to this network namespace.
pub(crate) fn enter_network(network: &File) -> io::Result<()> {
    // SAFETY: a system call with an open descriptor and a plain number; only this thread's namespace changes.
    check(unsafe { libc::setns(network.as_raw_fd(), libc::CLONE_NEWNET) })
}

/// Gives a thread batch priority: when it wakes up, it does not interrupt the running thread.
pub(crate) fn make_batch(thread: i32) -> io::Result<()> {
    // The kernel's `struct sched_param` is the priority. The call itself, because that of musl does nothing.
    let priority: c_int = 0;
    let call = libc::SYS_sched_setscheduler;
    // SAFETY: the kernel reads the priority.
    match unsafe { libc::syscall(call, thread, libc::SCHED_BATCH, &raw const priority) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Attaches an open `/dev/net/tun` to the interface `name`, which is created if it does not exist.
pub(crate) fn tun_attach(tun: &File, name: [u8; libc::IFNAMSIZ], flags: c_int) -> io::Result<()> {
    let mut request = InterfaceRequest {
        name,
        flags: flags as c_short,
        padding: [0; 22],
    };
    // SAFETY: the kernel reads and writes one `ifreq`, which `request` has the size of.
    check(unsafe { libc::ioctl(tun.as_raw_fd(), TUNSETIFF, &raw mut request) })
}

/// Sets the offloads that the reader of a TUN queue understands (`TUN_F_*`).
pub(crate) fn tun_set_offload(tun: &File, features: c_uint) -> io::Result<()> {
    let features = libc::c_ulong::from(features);
    // SAFETY: the argument is a plain number.
    check(unsafe { libc::ioctl(tun.as_raw_fd(), TUNSETOFFLOAD, features) })
}

/// Sets the length of the header before each packet of a TUN queue.
pub(crate) fn tun_set_header_length(tun: &File, length: c_int) -> io::Result<()> {
    // SAFETY: the kernel reads one `int`.
    check(unsafe { libc::ioctl(tun.as_raw_fd(), TUNSETVNETHDRSZ, &raw const length) })
}

/// Returns a new event descriptor, which wakes threads that poll.
pub(crate) fn event() -> io::Result<File> {
    // SAFETY: a plain system call.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    check(fd)?;
    // SAFETY: the descriptor is new and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) }.into())
}

/// Waits until one of two descriptors is readable, or the timeout passes.
pub(crate) fn wait_readable(
    descriptors: [BorrowedFd<'_>; 2],
    timeout: Option<Duration>,
) -> io::Result<()> {
    let mut polled = descriptors.map(|descriptor| libc::pollfd {
        fd: descriptor.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    });
    let timeout = timeout.map(|timeout| libc::timespec {
        tv_sec: timeout.as_secs() as _,
        tv_nsec: timeout.subsec_nanos().into(),
    });
    let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
    let (count, mask) = (polled.len() as _, ptr::null());
    // SAFETY: the kernel reads and writes two `pollfd`, and reads the time if there is one.
    let result = unsafe { libc::ppoll(polled.as_mut_ptr(), count, timeout, mask) };
    match check(result) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        result => result,
    }
}

/// Whether a descriptor is readable now.
pub(crate) fn is_readable(file: &File) -> bool {
    let mut polled = libc::pollfd {
        fd: file.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: the kernel reads and writes one `pollfd`.
    unsafe { libc::poll(&raw mut polled, 1, 0) > 0 }
}

/// Returns the number of the link with this name in the network namespace of the calling thread.
pub(crate) fn link_number(name: &str) -> io::Result<u32> {
    let name = CString::new(name)?;
    // SAFETY: the kernel reads a string that ends with a zero.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        number => Ok(number),
    }
}

/// Makes a descriptor refer to what another one refers to. Its owner keeps it.
pub(crate) fn replace(descriptor: BorrowedFd<'_>, by: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: both are open, and `dup3` replaces the first in one step, so that its owner has an open one all the time.
    check(unsafe { libc::dup3(by.as_raw_fd(), descriptor.as_raw_fd(), libc::O_CLOEXEC) })
}

/// Returns the number of the user whose rights this process has.
pub(crate) fn user() -> u32 {
    // SAFETY: the call always succeeds.
    unsafe { libc::geteuid() }
}

/// Returns the nanoseconds of the clock that BPF programs also read, within a few milliseconds.
pub(crate) fn coarse_clock() -> u64 {
    read_clock(libc::CLOCK_MONOTONIC_COARSE)
}

/// Returns the nanoseconds of that clock, exactly.
pub(crate) fn clock() -> u64 {
    read_clock(libc::CLOCK_MONOTONIC)
}

fn read_clock(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes one `timespec`. The call cannot fail for a clock that exists.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Whether the device of a link takes the tags of VLANs off the frames that it receives.
pub(crate) fn takes_tags_off(link: &str) -> io::Result<bool> {
    /// `struct ethtool_value`.
    #[repr(C)]
    struct Value {
        command: u32,
        data: u32,
    }
    /// The fields of `struct ifreq` that `SIOCETHTOOL` reads.
    #[repr(C)]
    struct Request {
        name: [u8; libc::IFNAMSIZ],
        at: *mut Value,
        padding: [u8; 16],
    }
    const ETHTOOL_GFLAGS: u32 = 0x25;
    const ETH_FLAG_RXVLAN: u32 = 1 << 8;
    const SIOCETHTOOL: libc::Ioctl = 0x8946;
    let mut name = [0; libc::IFNAMSIZ];
    let room = name
        .get_mut(..link.len())
        .ok_or(io::ErrorKind::InvalidInput)?;
    room.copy_from_slice(link.as_bytes());
    let mut value = Value {
        command: ETHTOOL_GFLAGS,
        data: 0,
    };
    let mut request = Request {
        name,
        at: &raw mut value,
        padding: [0; 16],
    };
    let socket = UnixDatagram::unbound()?;
    // SAFETY: the kernel reads one `ifreq`, which `request` has the size of, and writes to `value`.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) })?;
    Ok(value.data & ETH_FLAG_RXVLAN != 0)
}

fn check(result: c_int) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
