//! System calls that the standard library lacks.

pub(crate) mod tracing;

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
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

/// Moves the calling thread to a new network namespace.
pub(crate) fn leave_network() -> io::Result<()> {
    // SAFETY: a system call with a plain number; only this thread's namespace changes.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) })
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
    let timeout = timeout.map_or(-1, |timeout| timeout.as_millis() as c_int);
    // SAFETY: the kernel reads and writes two `pollfd`.
    let result = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as _, timeout) };
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

/// Commands, attachments and modes of `linux/bpf.h` and `linux/if_link.h`.
const BPF_OBJ_PIN: c_int = 6;
const BPF_OBJ_GET: c_int = 7;
const BPF_OBJ_GET_INFO_BY_FD: c_int = 15;
const BPF_PROG_QUERY: c_int = 16;
const BPF_MAP_LOOKUP_BATCH: c_int = 24;
const BPF_LINK_CREATE: c_int = 28;
const BPF_LINK_GET_FD_BY_ID: c_int = 30;
const BPF_LINK_GET_NEXT_ID: c_int = 31;
const BPF_XDP: u32 = 37;
const BPF_TCX_INGRESS: u32 = 46;
const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;

/// The part of an XDP program's work: who runs it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum XdpMode {
    Driver,
    Stack,
}

/// The fields of `union bpf_attr` for objects with paths.
#[repr(C)]
struct PathAttributes {
    path: u64,
    descriptor: u32,
    flags: u32,
}

/// The fields of `union bpf_attr` for links.
#[repr(C)]
struct LinkAttributes {
    program: u32,
    interface: u32,
    attachment: u32,
    flags: u32,
}

/// Calls `bpf(2)`.
fn bpf<A>(command: c_int, attributes: &mut A) -> io::Result<c_int> {
    // SAFETY: the kernel reads and writes the attributes, in their size. What they point to lives for as long as the
    // call, and has the size that they say.
    match unsafe { libc::syscall(libc::SYS_bpf, command, &raw mut *attributes, size_of::<A>()) } {
        -1 => Err(io::Error::last_os_error()),
        answer => Ok(answer as c_int),
    }
}

/// Calls `bpf(2)` for a new descriptor.
fn bpf_descriptor<A>(command: c_int, attributes: &mut A) -> io::Result<OwnedFd> {
    let descriptor = bpf(command, attributes)?;
    // SAFETY: the descriptor is new and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// The fields of `union bpf_attr` for many entries of a map at once.
#[repr(C)]
#[derive(Default)]
struct BatchAttributes {
    after: u64,
    reached: u64,
    keys: u64,
    values: u64,
    count: u32,
    map: u32,
    flags: [u64; 2],
}

/// Reads all `entries` of an array that has a word for each of the possible `processors`: the words of the first
/// entry, then those of the next.
pub(crate) fn words_of_array(
    map: BorrowedFd<'_>,
    entries: u32,
    processors: usize,
) -> io::Result<Vec<u64>> {
    let mut keys = vec![0_u32; entries as usize];
    let mut words = vec![0_u64; entries as usize * processors];
    let mut reached = 0_u32;
    let mut attributes = BatchAttributes {
        reached: (&raw mut reached) as u64,
        keys: keys.as_mut_ptr() as u64,
        values: words.as_mut_ptr() as u64,
        count: entries,
        map: map.as_raw_fd() as u32,
        ..BatchAttributes::default()
    };
    bpf(BPF_MAP_LOOKUP_BATCH, &mut attributes)?;
    if attributes.count != entries {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(words)
}

/// Room for the numbers of the programs at one place; the kernel has no more than 64.
const MOST_PROGRAMS: usize = 64;

/// The fields of `union bpf_attr` for questions about an object.
#[repr(C)]
struct InfoAttributes {
    descriptor: u32,
    length: u32,
    at: u64,
}

/// The fields of `union bpf_attr` for questions about attachments.
#[repr(C)]
#[derive(Default)]
struct QueryAttributes {
    interface: u32,
    attachment: u32,
    flags: [u32; 2],
    at: u64,
    count: u32,
    padding: u32,
    unused: [u64; 4],
}

/// Returns the number of a loaded program.
pub(crate) fn program_id(program: BorrowedFd<'_>) -> io::Result<u32> {
    // The first fields of `struct bpf_prog_info`: type and number.
    let mut told = [0_u32; 2];
    let mut attributes = InfoAttributes {
        descriptor: program.as_raw_fd() as u32,
        length: size_of_val(&told) as u32,
        at: told.as_mut_ptr() as u64,
    };
    bpf(BPF_OBJ_GET_INFO_BY_FD, &mut attributes)?;
    Ok(told[1])
}

/// Returns the numbers of the programs at the ingress of a link. Kernels before 6.6 have no such place.
pub(crate) fn tcx_programs(interface: u32) -> io::Result<Vec<u32>> {
    let mut programs = vec![0_u32; MOST_PROGRAMS];
    let mut attributes = QueryAttributes {
        interface,
        attachment: BPF_TCX_INGRESS,
        at: programs.as_mut_ptr() as u64,
        count: MOST_PROGRAMS as u32,
        ..QueryAttributes::default()
    };
    bpf(BPF_PROG_QUERY, &mut attributes)?;
    programs.truncate(attributes.count as usize);
    Ok(programs)
}

/// The fields of `union bpf_attr` for walks through all objects.
#[repr(C)]
#[derive(Default)]
struct WalkAttributes {
    from: u32,
    next: u32,
    flags: u32,
}

/// A BPF link: an attachment that ends with its last descriptor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attachment {
    pub(crate) number: u32,
    pub(crate) program: u32,
    /// The network interface; something else for links to other things.
    pub(crate) interface: u32,
}

/// Returns all BPF links of the machine.
pub(crate) fn attachments() -> io::Result<Vec<Attachment>> {
    let mut all = Vec::new();
    let mut walk = WalkAttributes::default();
    loop {
        match bpf(BPF_LINK_GET_NEXT_ID, &mut walk) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(all),
            outcome => outcome?,
        };
        let mut named = WalkAttributes {
            from: walk.next,
            ..WalkAttributes::default()
        };
        // It may be gone by now.
        if let Ok(link) = bpf_descriptor(BPF_LINK_GET_FD_BY_ID, &mut named) {
            all.push(attachment(&link)?);
        }
        walk.from = walk.next;
    }
}

fn attachment(link: &OwnedFd) -> io::Result<Attachment> {
    // The first fields of `struct bpf_link_info`: type, number, program, padding, and, of links to interfaces, that.
    let mut told = [0_u32; 5];
    let mut attributes = InfoAttributes {
        descriptor: link.as_raw_fd() as u32,
        length: size_of_val(&told) as u32,
        at: told.as_mut_ptr() as u64,
    };
    bpf(BPF_OBJ_GET_INFO_BY_FD, &mut attributes)?;
    let [_, number, program, _, interface] = told;
    Ok(Attachment {
        number,
        program,
        interface,
    })
}

/// Gives a map or program a path in a BPF file system.
pub(crate) fn pin(object: BorrowedFd<'_>, path: &CStr) -> io::Result<()> {
    let mut attributes = PathAttributes {
        path: path.as_ptr() as u64,
        descriptor: object.as_raw_fd() as u32,
        flags: 0,
    };
    bpf(BPF_OBJ_PIN, &mut attributes).map(drop)
}

/// Opens the map or program with a path in a BPF file system.
pub(crate) fn pinned(path: &CStr) -> io::Result<OwnedFd> {
    let mut attributes = PathAttributes {
        path: path.as_ptr() as u64,
        descriptor: 0,
        flags: 0,
    };
    bpf_descriptor(BPF_OBJ_GET, &mut attributes)
}

/// Attaches an XDP program to a link, until the descriptor is closed.
pub(crate) fn attach_xdp(
    program: BorrowedFd<'_>,
    interface: u32,
    mode: XdpMode,
) -> io::Result<OwnedFd> {
    let flags = match mode {
        XdpMode::Driver => XDP_FLAGS_DRV_MODE,
        XdpMode::Stack => XDP_FLAGS_SKB_MODE,
    };
    attach(program, interface, BPF_XDP, flags)
}

/// Attaches a tc program to the ingress of a link, behind those that are there, until the descriptor is closed.
pub(crate) fn attach_tc(program: BorrowedFd<'_>, interface: u32) -> io::Result<OwnedFd> {
    attach(program, interface, BPF_TCX_INGRESS, 0)
}

fn attach(
    program: BorrowedFd<'_>,
    interface: u32,
    attachment: u32,
    flags: u32,
) -> io::Result<OwnedFd> {
    let mut attributes = LinkAttributes {
        program: program.as_raw_fd() as u32,
        interface,
        attachment,
        flags,
    };
    bpf_descriptor(BPF_LINK_CREATE, &mut attributes)
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
