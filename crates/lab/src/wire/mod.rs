//! Cables that behave as Ethernet: a frame takes its time of the wire, also when it is alone.
//!
//! Both ends of such a cable are TAP devices inside nodes of a [topology](crate::topology), so everything
//! that runs on a network device works on them: the kernel's forwarding, XDP, tc, user space. What one end
//! sends, a thread in this process ([`Wires`]) reads, keeps until its last bit would have arrived, and
//! writes to the other end. The devices have no offloads: each frame is at most the MTU and its header,
//! with complete checksums, as on a wire.
//!
//! * [`medium`]: what a cable is made of, as data
//! * `line`: when a frame begins and ends on a wire
//! * [`fault`]: what a cable can do wrong, for testing a tester
//! * `lane`: one direction of a cable, without devices and clocks
//! * `port`: the devices
//! * [`counts`]: what passed, and how punctually
//! * `thread`: the thread that moves frames
//!
//! The thread has one CPU for itself and never sleeps. It can move a few hundred thousand frames per
//! second: all of Ethernet at 10 and 100 Mb/s, and large frames at 1000 Mb/s. A run in which it was late
//! says so in its [`Counts`], and should be void.

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
pub use thread::Wires;
pub(crate) use thread::{Cable, Plug};

/// The CPU of the thread that moves the frames, and so of all that the kernel and XDP do with them on their
/// way. It is that of the generator: the one that user-space gateways do not have.
pub const CPU: usize = crate::measure::TESTER_CPU;
