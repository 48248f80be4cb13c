//! When a measurement counts: every tolerance, and the number of times that something void is tried again.

/// The number of times that a void trial is tried.
pub const TRIES: u32 = 3;

/// The share by which a value may be better than its bound: the clock's own error, and not that of the model or of
/// the measurement.
pub const BEATEN: f64 = 0.01;
