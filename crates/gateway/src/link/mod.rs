//! The gateway's own link, and what of the machine's network it changes: addresses and routes on
//! that link, and forwarding.
//!
//! Everything is remembered and taken back at the end. What a crash leaves behind goes away in
//! two ways: a TUN link, with its addresses and routes, ends with the process; forwarding is
//! restored from a file of saved values. Routes and addresses carry a protocol number of their
//! own, so that leftovers on a link that the operator made to last are recognised.

mod netlink;
mod sources;
mod sysctl;
mod wanted;

pub(crate) use netlink::mark;
pub use netlink::{Changes, Link, LinkError, PROTOCOL};
pub use sysctl::{SysctlError, Sysctls};
pub use wanted::{Forwarding, Wanted};
