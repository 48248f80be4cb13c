//! The gateways under test, behind one interface.
//!
//! * [`isthmus`]: our gateway
//! * [`peers`]: those of others, and the kernel
//! * [`provider`]: the network in which a mechanism has a CE and a BR, and who can be either
//! * [`bare`]: the machine without an operating system, in an emulator

pub mod bare;
pub mod isthmus;
pub mod peers;
pub mod provider;
