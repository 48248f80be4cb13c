//! Programs that look at other BPF programs (`BPF_PROG_TYPE_TRACING`).

use std::ffi::{CStr, c_int};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use super::{BPF_OBJ_GET_INFO_BY_FD, InfoAttributes, bpf, bpf_descriptor};

/// Commands, types and attachments of `linux/bpf.h`.
const BPF_PROG_LOAD: c_int = 5;
const BPF_RAW_TRACEPOINT_OPEN: c_int = 17;
const BPF_PROG_TYPE_TRACING: u32 = 26;
const BPF_TRACE_FENTRY: u32 = 24;
const BPF_TRACE_FEXIT: u32 = 25;

/// Bytes of the verifier's words about a program that it refuses.
const LOG: usize = 1 << 20;

/// When a program looks at another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Entry,
    Exit,
}

/// The fields of `union bpf_attr` for a program.
#[repr(C)]
#[derive(Default)]
struct LoadAttributes {
    kind: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attachment: u32,
    types: u32,
    function_size: u32,
    functions: u64,
    function_count: u32,
    line_size: u32,
    lines: u64,
    line_count: u32,
    subject_type: u32,
    subject: u32,
    padding: u32,
}

const _: () = assert!(std::mem::offset_of!(LoadAttributes, subject) == 112);

/// The fields of `union bpf_attr` for an attachment that its program says all about.
#[repr(C)]
struct OpenAttributes {
    name: u64,
    program: u32,
    padding: u32,
}

/// Has a program look at the main function of another, until the descriptor is closed. The instructions are 8 octets
/// each.
///
/// # Errors
/// The kernel refuses; with the last words of the verifier, if it was it.
pub(crate) fn look_at(
    subject: BorrowedFd<'_>,
    moment: Moment,
    instructions: &[u64],
    license: &CStr,
) -> io::Result<OwnedFd> {
    let mut attributes = LoadAttributes {
        kind: BPF_PROG_TYPE_TRACING,
        instruction_count: instructions.len() as u32,
        instructions: instructions.as_ptr() as u64,
        license: license.as_ptr() as u64,
        attachment: match moment {
            Moment::Entry => BPF_TRACE_FENTRY,
            Moment::Exit => BPF_TRACE_FEXIT,
        },
        subject_type: main_function(subject)?,
        subject: subject.as_raw_fd() as u32,
        ..LoadAttributes::default()
    };
    let program = match bpf_descriptor(BPF_PROG_LOAD, &mut attributes) {
        Ok(program) => program,
        Err(error) => return Err(explained(error, attributes)),
    };
    let mut open = OpenAttributes {
        name: 0,
        program: program.as_raw_fd() as u32,
        padding: 0,
    };
    bpf_descriptor(BPF_RAW_TRACEPOINT_OPEN, &mut open)
}

/// The error with what the verifier says last.
fn explained(error: io::Error, mut attributes: LoadAttributes) -> io::Error {
    let mut log = vec![0_u8; LOG];
    attributes.log_level = 1;
    attributes.log_size = LOG as u32;
    attributes.log = log.as_mut_ptr() as u64;
    if bpf_descriptor(BPF_PROG_LOAD, &mut attributes).is_ok() {
        return error;
    }
    let text = String::from_utf8_lossy(&log);
    let said = text.trim_end_matches('\0').trim_end();
    let lines: Vec<&str> = said.lines().collect();
    let last = lines[lines.len().saturating_sub(4)..].join(" … ");
    if last.is_empty() {
        return error;
    }
    io::Error::new(error.kind(), format!("{error}: {last}"))
}

/// The number of the type of a program's main function, in the program's own types.
fn main_function(program: BorrowedFd<'_>) -> io::Result<u32> {
    /// The fields of `struct bpf_prog_info` up to the ones that count here.
    #[repr(C)]
    #[derive(Default)]
    struct Info {
        before: [u64; 16],
        types: u32,
        function_size: u32,
        functions: u64,
        function_count: u32,
        line_count: u32,
    }
    // `struct bpf_func_info`: the first instruction of a function, and the number of its type.
    let mut function = [0_u32; 2];
    let mut info = Info {
        function_size: size_of_val(&function) as u32,
        functions: function.as_mut_ptr() as u64,
        function_count: 1,
        ..Info::default()
    };
    let mut attributes = InfoAttributes {
        descriptor: program.as_raw_fd() as u32,
        length: size_of::<Info>() as u32,
        at: (&raw mut info) as u64,
    };
    bpf(BPF_OBJ_GET_INFO_BY_FD, &mut attributes)?;
    if info.function_count == 0 {
        let without = "it was loaded without the types of its functions";
        return Err(io::Error::new(io::ErrorKind::Unsupported, without));
    }
    Ok(function[1])
}
