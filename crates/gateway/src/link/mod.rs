//! The gateway's own link, and its changes to the machine's network: addresses and routes on that link, and
//! forwarding.
//!
//! Every change is recorded and undone at the end. After a crash, a TUN link with its addresses and routes ends with
//! the process, and forwarding is restored from a file of saved values. Routes and addresses carry a protocol number
//! of their own, so that leftovers on a persistent link are recognised.

mod answers;
mod discipline;
mod host;
mod local;
mod monitor;
mod netlink;
mod outside;
mod own_sources;
mod packet_socket;
mod shared;
mod sources;
mod survey;
mod sysctl;
mod wanted;

pub use answers::Answers;
pub use host::HostRoute;
pub use local::{Local, Uplink};
pub use monitor::Monitor;
pub(crate) use netlink::mark;
pub use netlink::{Changes, Link, LinkError, PROTOCOL};
pub use outside::Refused;
pub use own_sources::OwnSources;
pub use shared::{SharedAddress, shared_among, take_back};
pub use survey::Survey;
pub use sysctl::{SysctlError, Sysctls};
pub use wanted::{Forwarding, Wanted};
