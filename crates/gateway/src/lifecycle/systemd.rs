//! The service manager: readiness, reload, stop, watchdog (sd_notify). Where there is none, all of
//! this does nothing.

use std::time::Duration;

use sd_notify::NotifyState;

/// The gateway works.
pub(super) fn ready(summary: &str) {
    notify(&[NotifyState::Ready, NotifyState::Status(summary)]);
}

/// The gateway reads its configuration again; [`ready`] follows, whatever comes of it.
pub(super) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => notify(&[NotifyState::Reloading, now]),
        Err(error) => tracing::debug!(%error, "no clock for the service manager"),
    }
}

/// The gateway ends.
pub(super) fn stopping() {
    notify(&[NotifyState::Stopping]);
}

/// The gateway is alive.
pub(super) fn alive() {
    notify(&[NotifyState::Watchdog]);
}

/// How often [`alive`] is due: half of what the service manager allows.
pub(super) fn watchdog() -> Option<Duration> {
    sd_notify::watchdog_enabled().map(|limit| limit / 2)
}

fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "the service manager does not listen");
    }
}
