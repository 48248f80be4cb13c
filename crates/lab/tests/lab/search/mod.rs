//! The searches of the tester on devices that are only arithmetic, whose right answer is known.

mod devices;
mod known;
mod properties;
