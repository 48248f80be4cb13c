//! Cables that behave as Ethernet: every frame takes its time on the wire, even a single one.
//!
//! Both ends of such a cable are TAP devices inside nodes of a [topology](crate::network::topology), so everything that runs
//! on a network device works on them: the kernel's forwarding, XDP, tc, user space. A thread in this process
//! ([`Wires`]) reads the frames of one end, keeps each until its last bit would have arrived, and writes it to the
//! other end. The devices have no offloads: each frame is at most the MTU and its header, with complete checksums, as
//! on a wire.
//!
//! * [`medium`]: the medium of a cable, as data
//! * `line`: the times at which frames begin and end on a wire
//! * [`fault`]: deliberate faults, for testing the tester
//! * `lane`: one direction of a cable, without devices and clocks
//! * `port`: the devices
//! * [`counts`]: counters, and punctuality
//! * `thread`: the thread that moves frames
//!
//! The thread has one CPU for itself and never sleeps. It can move a few hundred thousand frames per second: all of
//! Ethernet at 10 and 100 Mb/s, and large frames at 1000 Mb/s. If it was late, the [`Counts`] of the run say so, and
//! the run should be void.

pub mod counts;
pub mod fault;
mod lane;
mod line;
pub mod medium;
mod port;
mod recorder;
mod thread;

pub use counts::{Counts, Moment, Tap};
pub use fault::{Fault, What, When};
pub use medium::{Direction, Ethernet, Medium};
pub(super) use port::Port;
pub use thread::Wires;
pub(crate) use thread::{Cable, Plug};

/// The CPU of the thread that moves the frames. The kernel and XDP handle the frames on it too. It is the generator's
/// CPU, which user-space gateways do not use.
pub const CPU: usize = crate::network::cores::TESTER_CPU;
