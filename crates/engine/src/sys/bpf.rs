//! BPF objects that the kernel holds: what it tells of them, their paths, and where programs are attached.

pub(crate) mod tracing;

use std::ffi::{CStr, c_int};
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Commands, attachments, kinds and modes of `linux/bpf.h` and `linux/if_link.h`.
const BPF_MAP_CREATE: c_int = 0;
const BPF_MAP_UPDATE_ELEM: c_int = 2;
const BPF_OBJ_PIN: c_int = 6;
const BPF_OBJ_GET: c_int = 7;
const BPF_OBJ_GET_INFO_BY_FD: c_int = 15;
const BPF_PROG_QUERY: c_int = 16;
const BPF_MAP_FREEZE: c_int = 22;
const BPF_MAP_LOOKUP_BATCH: c_int = 24;
const BPF_LINK_CREATE: c_int = 28;
const BPF_LINK_UPDATE: c_int = 29;
const BPF_LINK_GET_FD_BY_ID: c_int = 30;
const BPF_LINK_GET_NEXT_ID: c_int = 31;
const BPF_MAP_TYPE_ARRAY: u32 = 2;
const BPF_F_RDONLY_PROG: u32 = 1 << 7;
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

/// Reads `entries` of an array that has a word for each of the possible `processors`: the words of the first
/// entry, then those of the next.
pub(crate) fn words_of_array(
    map: BorrowedFd<'_>,
    entries: Range<u32>,
    processors: usize,
) -> io::Result<Vec<u64>> {
    if entries.is_empty() {
        return Ok(Vec::new());
    }
    let mut keys = vec![0_u32; entries.len()];
    let mut words = vec![0_u64; entries.len() * processors];
    let mut reached = 0_u32;
    let before = entries.start.checked_sub(1);
    let mut attributes = BatchAttributes {
        after: before.as_ref().map_or(0, |key| &raw const *key as u64),
        reached: (&raw mut reached) as u64,
        keys: keys.as_mut_ptr() as u64,
        values: words.as_mut_ptr() as u64,
        count: entries.len() as u32,
        map: map.as_raw_fd() as u32,
        ..BatchAttributes::default()
    };
    bpf(BPF_MAP_LOOKUP_BATCH, &mut attributes)?;
    if attributes.count as usize != entries.len() {
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

/// Returns the first words of what the kernel tells of an object.
fn first_words<const WORDS: usize>(object: BorrowedFd<'_>) -> io::Result<[u32; WORDS]> {
    let mut told = [0; WORDS];
    let mut attributes = InfoAttributes {
        descriptor: object.as_raw_fd() as u32,
        length: size_of_val(&told) as u32,
        at: told.as_mut_ptr() as u64,
    };
    bpf(BPF_OBJ_GET_INFO_BY_FD, &mut attributes)?;
    Ok(told)
}

/// Returns the number of a loaded program.
pub(crate) fn program_id(program: BorrowedFd<'_>) -> io::Result<u32> {
    // The first fields of `struct bpf_prog_info`.
    let [_kind, number] = first_words(program)?;
    Ok(number)
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
    // The first fields of `struct bpf_link_info`, and, of links to interfaces, that.
    let [_kind, number, program, _padding, interface] = first_words(link.as_fd())?;
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

/// The fields of `union bpf_attr` for another program of a link.
#[repr(C)]
struct LinkUpdateAttributes {
    link: u32,
    program: u32,
    flags: u32,
    before: u32,
}

/// Puts another program in the place of that of an attachment, in one step.
pub(crate) fn update_link(link: BorrowedFd<'_>, program: BorrowedFd<'_>) -> io::Result<()> {
    let mut attributes = LinkUpdateAttributes {
        link: link.as_raw_fd() as u32,
        program: program.as_raw_fd() as u32,
        flags: 0,
        before: 0,
    };
    bpf(BPF_LINK_UPDATE, &mut attributes).map(drop)
}

/// The fields of `union bpf_attr` for a new map.
#[repr(C)]
struct MapAttributes {
    kind: u32,
    key: u32,
    value: u32,
    entries: u32,
    flags: u32,
}

/// The fields of `union bpf_attr` for an entry of a map.
#[repr(C)]
struct EntryAttributes {
    map: u64,
    key: u64,
    value: u64,
    flags: u64,
}

/// Makes an array of one value that neither programs nor processes can change, so that the verifier knows it.
pub(crate) fn constant(value: &[u8]) -> io::Result<OwnedFd> {
    let key = 0_u32;
    let mut map = MapAttributes {
        kind: BPF_MAP_TYPE_ARRAY,
        key: size_of_val(&key) as u32,
        value: value.len() as u32,
        entries: 1,
        flags: BPF_F_RDONLY_PROG,
    };
    let map = bpf_descriptor(BPF_MAP_CREATE, &mut map)?;
    let mut entry = EntryAttributes {
        map: map.as_raw_fd() as u64,
        key: (&raw const key) as u64,
        value: value.as_ptr() as u64,
        flags: 0,
    };
    bpf(BPF_MAP_UPDATE_ELEM, &mut entry)?;
    let mut frozen = map.as_raw_fd() as u32;
    bpf(BPF_MAP_FREEZE, &mut frozen)?;
    Ok(map)
}
