//! Other people's gateways, as they are installed on this machine, and the kernel itself.

mod kernel;
mod nftables;
mod tayga;
mod unbound;

pub use kernel::{Forwarding, Redirect};
pub use nftables::Nftables;
pub use tayga::Tayga;
pub use unbound::Unbound;
