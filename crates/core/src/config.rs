//! The data of a configuration in one place, for the gateway, which makes it from its configuration file.

pub use crate::address::eam::EamTable;
pub use crate::address::networks::{V4Network, V4Networks, V6Network, V6Networks};
pub use crate::address::softwire::SoftwireTable;
pub use crate::mechanism::isatap::{Isatap, IsatapRole, Lifetimes, Routers};
pub use crate::mechanism::lwaftr::{Borders, LwAftrPolicy, Permission, Unbound};
pub use crate::mechanism::siit::{Hairpin, Overlap, PrefixMapping};
pub use crate::mechanism::six_in_four::{Embedded, Outside, PeerV4, Scope};
pub use crate::mechanism::{AnyMechanism, Instance};
pub use crate::policy::{Alg, Policy, ServiceClass, ZeroUdpChecksum};

/// Gives the data of each mechanism in the list.
macro_rules! data {
    ($($(#[$about:meta])+ $module:ident::$name:ident,)+) => {
        $(pub use crate::mechanism::$module::$name;)+
    };
}
crate::for_each_mechanism!(data);
