//! Gateways with a known fault, by which the tester is tested.

use aya::maps::DevMap;
use isthmus_abi::lab::fault::{COPIES, Configuration, FAULT, TWICE};
use isthmus_engine::bpf::Plain;

use crate::{
    Result,
    network::{
        device::{Device, Started},
        programs::{self, Attached, bpf},
        topology::{FOUR, Network, SIX},
    },
};

/// The fault of a gateway. Most affect one of every N IPv4 frames, where N is 1 or more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It drops the frame.
    Drop(u32),
    /// It changes a bit.
    Corrupt(u32),
    /// It removes an octet at the end. The kernel does not notice, and a page of the generator's stays short: only
    /// the first 64 frames of a trial are as long as they should be.
    Shorten(u32),
    /// It sends the frame twice.
    Duplicate(u32),
    /// It sends the frame before its predecessor.
    Swap(u32),
    /// It keeps every frame until N more have come, 1 to 16384.
    Hold(u32),
    /// It passes N frames per second, 1 or more, and drops the rest.
    Police(u32),
}

/// An XDP program that redirects frames from the first link to the second, with a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Faulty(pub Fault);

impl Device for Faulty {
    fn name(&self) -> String {
        format!("XDP redirect with a fault: {:?}", self.0)
    }

    fn start(&self, network: &Network, _: usize) -> Result<Started> {
        let gateway = network.gateway()?;
        let (program, every, held, interval) = match self.0 {
            Fault::Drop(every) => ("drop_some", every, 0, 0),
            Fault::Corrupt(every) => ("corrupt_some", every, 0, 0),
            Fault::Shorten(every) => ("shorten_some", every, 0, 0),
            Fault::Duplicate(every) => ("duplicate_some", every, 0, 0),
            Fault::Swap(every) => ("hold_back", every, 1, 0),
            Fault::Hold(held) => ("hold_back", 0, held, 0),
            Fault::Police(rate) => ("police", 0, 0, 1_000_000_000 / rate),
        };
        let mut object = programs::load()?;
        let interface = gateway.interface_index(FOUR)?;
        let configuration = Configuration {
            interface,
            every,
            held,
            interval,
        };
        // The map has to be open until the program is loaded.
        let mut map = programs::array(&mut object, FAULT)?;
        map.set(0, Plain(configuration), 0)
            .map_err(|problem| bpf(FAULT, problem))?;
        let copies = programs::map(&mut object, TWICE)?;
        let mut twice = DevMap::try_from(copies).map_err(|problem| bpf(TWICE, problem))?;
        // The number of an interface is one of the namespace in which it is written there.
        gateway.enter(|| {
            for place in 0..COPIES as u32 {
                let set = twice.set(place, interface, None, 0);
                set.map_err(|problem| bpf(TWICE, problem))?;
            }
            Ok(())
        })?;
        Ok(Started {
            programs: vec![Attached::attach(object, program, gateway, SIX)?],
            ..Started::default()
        })
    }
}
