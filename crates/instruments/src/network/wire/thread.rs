//! The thread that moves frames from one end of each cable to the other.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use super::{
    CPU, Ethernet, Tap,
    counts::Track,
    fault::Trigger,
    lane::{Frame, Lane},
    line::Line,
    medium::Direction,
    port::Port,
};
use crate::{
    LabError, Result,
    network::{cores::pin, netns::Namespace},
};

/// The length of a frame beyond its MTU: Ethernet's header and a VLAN tag.
const BEYOND_MTU: usize = 18;

/// An end of a cable.
pub(crate) struct Plug {
    node: &'static str,
    interface: &'static str,
    port: Port,
}

impl Plug {
    /// Makes the device `interface` of `node`, whose namespace is given.
    pub(crate) fn new(
        node: &'static str,
        interface: &'static str,
        namespace: &Namespace,
    ) -> Result<Self> {
        Ok(Self {
            node,
            interface,
            port: Port::open(namespace, interface)?,
        })
    }
}

/// A cable between two ends.
pub(crate) struct Cable {
    /// The ends, in the order of the link's.
    pub(crate) plugs: [Plug; 2],
    /// Its medium.
    pub(crate) ethernet: Ethernet,
    /// The MTU of both ends, in bytes.
    pub(crate) mtu: u32,
}

impl Cable {
    fn lane(&self, direction: Direction) -> (Lane, Arc<Track>) {
        let line = Line::new(
            self.ethernet.rate(),
            self.ethernet.propagation(),
            self.ethernet.room(),
        );
        let faults = self.ethernet.faults(direction).iter();
        let triggers = faults.map(|&fault| Trigger::new(fault)).collect();
        let track = Arc::<Track>::default();
        (Lane::new(line, triggers, Arc::clone(&track)), track)
    }
}

/// The cables of a network at work. Dropping it stops them and removes the devices at their ends.
#[derive(Debug)]
pub struct Wires {
    ends: Vec<(&'static str, &'static str, Tap)>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Wires {
    /// Starts a thread on [`CPU`] for cables whose ends are up.
    pub(crate) fn start(cables: Vec<Cable>) -> Result<Self> {
        if thread::available_parallelism().is_ok_and(|cpus| cpus.get() < 2) {
            return Err(LabError::OneCpu);
        }
        let epoch = Instant::now();
        let mut ends = Vec::new();
        let (mut lanes, mut tracks, mut ports) = (Vec::new(), Vec::new(), Vec::new());
        let (mut room, mut rooms) = (0, Vec::new());
        for cable in cables {
            let (forth, back) = (cable.lane(Direction::Forth), cable.lane(Direction::Back));
            room = room.max(cable.mtu as usize + BEYOND_MTU);
            for ((lane, track), plug) in [forth, back].into_iter().zip(cable.plugs) {
                lanes.push(lane);
                rooms.push(cable.ethernet.room());
                tracks.push(track);
                ends.push((plug.node, plug.interface));
                ports.push(plug.port);
            }
        }
        let all: Arc<[Arc<Track>]> = tracks.into();
        let ends = ends
            .into_iter()
            .enumerate()
            .map(|(number, (node, interface))| {
                let tap = Tap {
                    leaves: Arc::clone(&all[number]),
                    arrives: Arc::clone(&all[opposite(number)]),
                    all: Arc::clone(&all),
                    room: rooms[number],
                    epoch,
                };
                (node, interface, tap)
            });
        let ends = ends.collect();
        let stop = Arc::new(AtomicBool::new(false));
        let (ready, is_ready) = mpsc::channel();
        let stopped = Arc::clone(&stop);
        let work = move || {
            let pinned = pin(CPU);
            let mut mover = Mover::new(ports, lanes, room, epoch);
            // The receiver is gone if the lab gives up in this moment.
            let _ = ready.send(pinned);
            mover.run(&stopped);
        };
        let thread = thread::Builder::new().name("wires".into());
        let thread = thread.spawn(work).map_err(|source| LabError::Start {
            command: "the thread of the wires".into(),
            source,
        })?;
        let wires = Self {
            ends,
            stop,
            thread: Some(thread),
        };
        is_ready.recv().unwrap_or(Ok(()))?;
        Ok(wires)
    }

    /// Returns the end of a cable at an interface of a node, if there is one.
    pub fn tap(&self, node: &str, interface: &str) -> Option<Tap> {
        let mut ends = self.ends.iter();
        let (.., tap) = ends.find(|(of, name, _)| *of == node && *name == interface)?;
        Some(tap.clone())
    }

    /// Returns all ends: node, interface, and counters.
    pub fn taps(&self) -> impl Iterator<Item = (&'static str, &'static str, &Tap)> {
        self.ends
            .iter()
            .map(|(node, interface, tap)| (*node, *interface, tap))
    }
}

impl Drop for Wires {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic has been reported already, and the devices are gone.
            let _ = thread.join();
        }
    }
}

/// Returns the number of the other end of a cable. Ends are numbered in pairs.
fn opposite(end: usize) -> usize {
    end ^ 1
}

/// The transmitter at an end of a cable.
struct Transmitter {
    lane: Lane,
    port: Port,
    /// The last time at which nothing waited to leave.
    looked: Duration,
    /// The time before it is due at which a frame is handed to this end's node.
    lead: Duration,
}

/// The state of the thread that moves frames.
struct Mover {
    transmitters: Vec<Transmitter>,
    spare: Vec<Frame>,
    room: usize,
    epoch: Instant,
}

impl Mover {
    fn new(ports: Vec<Port>, lanes: Vec<Lane>, room: usize, epoch: Instant) -> Self {
        let transmitters = ports
            .into_iter()
            .zip(lanes)
            .map(|(port, lane)| Transmitter {
                lane,
                lead: port.cost(),
                port,
                looked: Duration::ZERO,
            });
        Self {
            transmitters: transmitters.collect(),
            spare: Vec::new(),
            room,
            epoch,
        }
    }

    fn run(&mut self, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            for end in 0..self.transmitters.len() {
                // Polling an end costs a system call, so due frames are delivered before each.
                self.deliver();
                self.look(end);
            }
        }
    }

    /// Delivers all frames that are due.
    fn deliver(&mut self) {
        for end in 0..self.transmitters.len() {
            let lead = self.transmitters[opposite(end)].lead;
            while let Some(due) = self.transmitters[end].lane.due() {
                let now = self.epoch.elapsed();
                let Some(late) = (now + lead).checked_sub(due) else {
                    break;
                };
                let Some((_, frame)) = self.transmitters[end].lane.take() else {
                    break;
                };
                let track = self.transmitters[end].lane.track();
                track.arrives(due, late);
                if !self.transmitters[opposite(end)].port.send(frame.octets()) {
                    track.refused();
                }
                self.spare.push(frame);
            }
        }
    }

    /// Takes a frame that waits to leave an end.
    fn look(&mut self, end: usize) {
        let mut frame = self.spare.pop().unwrap_or_else(|| Frame::new(self.room));
        let transmitter = &mut self.transmitters[end];
        let now = self.epoch.elapsed();
        let spare = if transmitter.port.receive(&mut frame) {
            transmitter.lane.accept(frame, transmitter.looked, now)
        } else {
            transmitter.lane.nothing(now);
            Some(frame)
        };
        transmitter.looked = now;
        self.spare.extend(spare);
    }
}
