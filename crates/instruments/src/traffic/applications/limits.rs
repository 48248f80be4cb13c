//! How long an application may take.

use std::time::Duration;

/// The time that an application has on a busy machine, if it is expected to work.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// The time that a host waits for another one that may be unreachable.
pub(super) const REACH: Duration = Duration::from_millis(700);
