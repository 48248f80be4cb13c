//! The data of a configuration in one place, for the gateway, which makes it from its configuration file.

pub use crate::address::eam::EamTable;
pub use crate::address::networks::{V4Network, V4Networks, V6Network, V6Networks};
pub use crate::address::softwire::SoftwireTable;
pub use crate::mechanism::aftr::Aftr;
pub use crate::mechanism::four_in_six::FourInSix;
pub use crate::mechanism::isatap::{Isatap, IsatapRole, Lifetimes, Routers};
pub use crate::mechanism::lwaftr::{Borders, LwAftr, LwAftrPolicy, Permission, Unbound};
pub use crate::mechanism::map_e_br::MapEBr;
pub use crate::mechanism::map_e_ce::MapECe;
pub use crate::mechanism::map_t_br::MapTBr;
pub use crate::mechanism::map_t_ce::MapTCe;
pub use crate::mechanism::nat44::Nat44;
pub use crate::mechanism::nat64::Nat64;
pub use crate::mechanism::siit::{Hairpin, Overlap, PrefixMapping, Siit};
pub use crate::mechanism::six_in_four::{Embedded, Outside, PeerV4, SixInFour};
pub use crate::mechanism::{AnyMechanism, Instance};
pub use crate::policy::{Policy, ServiceClass, ZeroUdpChecksum};
