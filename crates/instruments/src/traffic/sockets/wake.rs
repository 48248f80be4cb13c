//! How long a gateway in user space takes to wake up, on this machine as it is now. A path without cables does not show
//! it, because there one CPU does everything: over cables, their thread's CPU interrupts that of the gateway. Some
//! hypervisors take ten times as long for that in one hour as in another.

use std::{
    hint,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use super::spin;
use crate::{
    Result,
    figures::statistics::median,
    network::{
        cores::{GATEWAY_CPU, TESTER_CPU, pin},
        threads::join,
    },
};

/// How often it is woken up.
const TIMES: u32 = 100;
/// For how long it sleeps each time.
const SLEEP: Duration = Duration::from_millis(1);

/// Returns the median of the times from when another CPU has something for a thread on [`GATEWAY_CPU`], where a task polls
/// as in [`PingPong`](super::pingpong::PingPong), until the thread has it.
///
/// # Errors
/// The machine has one CPU, or no `chrt`.
pub fn wake_up() -> Result<Duration> {
    let (to_gateway, messages) = mpsc::channel::<Instant>();
    let has_ended = AtomicBool::new(false);
    let mut times = thread::scope(|scope| {
        let gateway = scope.spawn(move || {
            pin(GATEWAY_CPU)?;
            let times = messages.iter().map(|sent| sent.elapsed().as_secs_f64());
            Ok(times.collect::<Vec<_>>())
        });
        let polling = scope.spawn(|| {
            spin(|| {
                while !has_ended.load(Ordering::Relaxed) {
                    hint::spin_loop();
                }
                Ok(())
            })
        });
        let tester = scope.spawn(move || {
            pin(TESTER_CPU)?;
            for _ in 0..TIMES {
                let begun = Instant::now();
                while begun.elapsed() < SLEEP {
                    hint::spin_loop();
                }
                // If the gateway has ended, it says why.
                let _ = to_gateway.send(Instant::now());
            }
            Ok(())
        });
        // The gateway's thread ends when nobody can send to it any more.
        let sent = join(tester);
        let times = join(gateway);
        has_ended.store(true, Ordering::Relaxed);
        join(polling).and(sent).and(times)
    })?;
    Ok(Duration::from_secs_f64(median(&mut times)))
}
