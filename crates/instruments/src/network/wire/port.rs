//! The end of a cable: a TAP device in a node's namespace, and the reading and writing of its frames.

use std::{
    fmt, io,
    os::fd::{AsFd as _, OwnedFd},
    time::{Duration, Instant},
};

use rustix::io::dup;
use tun_rs::{DeviceBuilder, Layer, SyncDevice};

use super::lane::Frame;
use crate::{LabError, Result, network::netns::Namespace};

/// The number of measurements of the cost of a hand-over.
const SAMPLES: usize = 500;
/// The rank of the one that counts, from the cheapest. Hardly any is cheaper, so that frames are not handed over
/// early.
const CHEAP: usize = SAMPLES / 10;

/// A TAP device; dropping it removes the device.
pub(crate) struct Port {
    device: SyncDevice,
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Port")
    }
}

impl Port {
    /// Makes the device `interface` in a namespace. It is down, and without offloads: a frame read here is at most
    /// the MTU and an Ethernet header, with complete checksums.
    pub(crate) fn open(namespace: &Namespace, interface: &str) -> Result<Self> {
        let problem = |source: io::Error| LabError::Tap {
            interface: interface.into(),
            source,
        };
        namespace.enter(|| {
            let device = DeviceBuilder::new()
                .name(interface)
                .layer(Layer::L2)
                .inherit_enable_state()
                .build_sync()
                .map_err(problem)?;
            device.set_nonblocking(true).map_err(problem)?;
            Ok(Self { device })
        })
    }

    /// Returns a second handle of the device, which a child process has as well.
    ///
    /// # Errors
    /// This process has too many files open.
    pub(in crate::network) fn handle(&self) -> io::Result<OwnedFd> {
        dup(self.device.as_fd()).map_err(io::Error::from)
    }

    /// Reads a frame that the node sends. Returns false if there is none.
    pub(super) fn receive(&self, frame: &mut Frame) -> bool {
        // There is no frame, or the device is gone with its namespace.
        let Ok(length) = self.device.recv(frame.room()) else {
            return false;
        };
        frame.set_length(length);
        true
    }

    /// Hands a frame to the node. By the end of this call the kernel's stack has done all that it does without
    /// waiting: answered, forwarded, put into a socket. Returns false if the device is down or gone.
    pub(super) fn send(&self, frame: &[u8]) -> bool {
        self.device.send(frame).is_ok()
    }

    /// Measures the tester's own time for handing a frame to the node's stack: a call with a frame of a type that the
    /// stack does not know (IEEE 802's for experiments), and which it drops at once.
    pub(super) fn cost(&self) -> Duration {
        let mut frame = [0; 60];
        frame[12..14].copy_from_slice(&[0x88, 0xb5]);
        let mut times = [(); SAMPLES].map(|()| {
            let begin = Instant::now();
            self.send(&frame);
            begin.elapsed()
        });
        times.sort_unstable();
        times[CHEAP]
    }
}
