//! The tester's XDP programs, embedded and loaded.

use aya::{
    Ebpf, EbpfLoader, Pod, VerifierLogLevel,
    maps::{Array, Map, MapData, PerCpuArray, PerCpuValues},
    programs::{Xdp, XdpMode},
};

use crate::{
    LabError, Result,
    network::{netns::Namespace, place::Place},
};

/// The object of `bpf/build.sh`.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../../../lab/bpf/lab.bpf.o");

/// Loads the object: its maps, and no program yet.
pub fn load() -> Result<Ebpf> {
    load_by(&mut EbpfLoader::new())
}

/// Loads the object with a loader that sets maps and constants.
pub fn load_by(loader: &mut EbpfLoader<'_>) -> Result<Ebpf> {
    loader
        .verifier_log_level(VerifierLogLevel::DISABLE)
        .load(OBJECT)
        .map_err(|problem| bpf("object", problem))
}

/// Returns one of the object's programs.
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

/// Takes an array out of the object.
pub fn array<T: Pod>(object: &mut Ebpf, name: &'static str) -> Result<Array<MapData, T>> {
    Array::try_from(map(object, name)?).map_err(|problem| bpf(name, problem))
}

/// Takes an array with a value for every CPU out of the object.
pub fn per_cpu<T: Pod>(object: &mut Ebpf, name: &'static str) -> Result<PerCpuArray<MapData, T>> {
    PerCpuArray::try_from(map(object, name)?).map_err(|problem| bpf(name, problem))
}

/// The same value for every CPU, to be written to the map `what`.
pub fn on_every_cpu<T: Pod>(value: T, what: &'static str) -> Result<PerCpuValues<T>> {
    let cpus = aya::util::nr_cpus().map_err(|(_, problem)| bpf(what, problem))?;
    PerCpuValues::try_from(vec![value; cpus]).map_err(|problem| bpf(what, problem))
}

/// Returns an error about the program or map `what`.
pub fn bpf(what: &'static str, problem: impl ToString) -> LabError {
    LabError::Bpf {
        what,
        problem: problem.to_string(),
    }
}

/// A program on an interface; dropping it detaches the program.
#[derive(Debug)]
pub struct Attached {
    _object: Ebpf,
}

impl Attached {
    /// Loads the program `name` and attaches it, native, to an interface inside a namespace.
    pub fn attach(
        object: Ebpf,
        name: &'static str,
        namespace: &Namespace,
        interface: &str,
    ) -> Result<Self> {
        let enter = |program: &mut Xdp| namespace.enter(|| attach(program, name, interface));
        Self::load(object, name, enter)
    }

    /// Attaches it to an interface of a namespace or of the machine itself.
    pub fn attach_at(
        object: Ebpf,
        name: &'static str,
        place: &Place,
        interface: &str,
    ) -> Result<Self> {
        Self::load(object, name, |program| {
            place.enter(|| attach(program, name, interface))
        })
    }

    fn load(
        mut object: Ebpf,
        name: &'static str,
        attach: impl FnOnce(&mut Xdp) -> Result<()>,
    ) -> Result<Self> {
        let program = program(&mut object, name)?;
        program.load().map_err(|problem| bpf(name, problem))?;
        attach(program)?;
        Ok(Self { _object: object })
    }
}

fn attach(program: &mut Xdp, name: &'static str, interface: &str) -> Result<()> {
    program
        .attach(interface, XdpMode::Driver)
        .map(drop)
        .map_err(|problem| bpf(name, problem))
}

/// Attaches a program that accepts everything. A veth with a program polls, and only then does its other end accept
/// redirected frames.
pub fn poll(namespace: &Namespace, interface: &str) -> Result<Attached> {
    Attached::attach(load()?, "pass", namespace, interface)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use aya_obj::Object;
    use isthmus_abi::lab::{fault, generator, receiver, sink};

    use super::*;

    #[test]
    fn maps_have_the_names_and_sizes_of_the_abi() {
        let shared = [
            (generator::GENERATOR, size_of::<generator::Configuration>()),
            (generator::PROGRESS, size_of::<generator::Progress>()),
            (generator::FRAMES, size_of::<generator::Frame>()),
            (generator::DIFFERENCES, size_of::<generator::Differences>()),
            (receiver::RECEIVER, size_of::<receiver::Expected>()),
            (receiver::RECEIVED, size_of::<receiver::Received>()),
            (receiver::TUPLES, size_of::<receiver::Tuple>()),
            (sink::SINK, size_of::<sink::Configuration>()),
            (sink::COUNTS, size_of::<sink::Counts>()),
            (fault::FAULT, size_of::<fault::Configuration>()),
        ];
        let mut object = Object::parse(OBJECT).unwrap();
        for (name, size) in shared {
            assert_eq!(object.maps[name].value_size(), size as u32, "{name}");
        }
        assert_eq!(
            object.maps[fault::TWICE].max_entries(),
            fault::COPIES as u32
        );
        let places = HashMap::from([(generator::PLACES, (&[0; generator::VARYING][..], true))]);
        object.patch_map_data(places).unwrap();
    }
}
