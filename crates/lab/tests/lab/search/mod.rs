//! The searches of the tester on devices that are only arithmetic, with known results.

mod devices;
mod known;
mod properties;
