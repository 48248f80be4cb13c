//! The tester's XDP programs, embedded and loaded.

use aya::{
    Ebpf, EbpfLoader, VerifierLogLevel,
    maps::Map,
    programs::{Xdp, XdpMode},
};

use crate::{LabError, Result, netns::Namespace};

/// Built by `bpf/build.sh`.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/lab.bpf.o");

/// Loads the object: its maps, and no program yet.
pub fn load() -> Result<Ebpf> {
    load_by(&mut EbpfLoader::new())
}

/// The same with a loader that knows more about maps and constants.
pub fn load_by(loader: &mut EbpfLoader<'_>) -> Result<Ebpf> {
    loader
        .verifier_log_level(VerifierLogLevel::DISABLE)
        .load(OBJECT)
        .map_err(|problem| bpf("object", problem))
}

/// One of the object's programs.
pub fn program<'a>(object: &'a mut Ebpf, name: &'static str) -> Result<&'a mut Xdp> {
    object
        .program_mut(name)
        .ok_or_else(|| bpf(name, "not in the object"))?
        .try_into()
        .map_err(|problem| bpf(name, problem))
}

/// Takes one of the object's maps out of it.
pub fn map(object: &mut Ebpf, name: &'static str) -> Result<Map> {
    object
        .take_map(name)
        .ok_or_else(|| bpf(name, "not in the object"))
}

/// An error about the program or map `what`.
pub fn bpf(what: &'static str, problem: impl ToString) -> LabError {
    LabError::Bpf {
        what,
        problem: problem.to_string(),
    }
}

/// A program on an interface; dropping it takes the program off.
#[derive(Debug)]
pub struct Attached {
    _object: Ebpf,
}

impl Attached {
    /// Loads the program `name` and attaches it, native, to an interface inside a namespace.
    pub fn attach(
        mut object: Ebpf,
        name: &'static str,
        namespace: &Namespace,
        interface: &str,
    ) -> Result<Self> {
        let program = program(&mut object, name)?;
        program.load().map_err(|problem| bpf(name, problem))?;
        namespace.enter(|| {
            program
                .attach(interface, XdpMode::Driver)
                .map_err(|problem| bpf(name, problem))
        })?;
        Ok(Self { _object: object })
    }
}

/// Puts a program that accepts everything on an interface. A veth with a program polls, and only
/// then does its other end accept redirected frames.
pub fn poll(namespace: &Namespace, interface: &str) -> Result<Attached> {
    Attached::attach(load()?, "pass", namespace, interface)
}
