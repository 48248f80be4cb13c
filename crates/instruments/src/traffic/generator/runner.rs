//! The thread that runs a generator's program: the kernel runs it a given number of times, or until a signal comes.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicI32, Ordering},
    },
    time::Instant,
};

use rustix::{
    process::{Pid, Signal, kill_process},
    thread::gettid,
};

use crate::{LabError, Result};

/// A thread that runs a program.
#[derive(Debug, Default)]
pub(super) struct Runner {
    /// Its number; 0 while it runs nothing.
    thread: AtomicI32,
    /// Whether the runs that are left are not wanted.
    is_enough: AtomicBool,
}

/// How a call of the kernel ended.
pub(super) enum End {
    /// All runs are over.
    Complete,
    /// A signal came.
    Interrupted,
}

impl Runner {
    /// Makes a call that runs a program on this thread, and returns when it ended.
    ///
    /// # Errors
    /// That of the call; or a signal came that is not from [`Runner::end`].
    pub(super) fn run(&self, call: impl FnOnce() -> Result<End>) -> Result<Instant> {
        self.thread
            .store(gettid().as_raw_nonzero().get(), Ordering::Release);
        let end = call();
        self.thread.store(0, Ordering::Release);
        match end? {
            End::Interrupted if !self.is_enough.load(Ordering::Acquire) => Err(LabError::Tester(
                "a signal interrupted the sender of frames".into(),
            )),
            End::Complete | End::Interrupted => Ok(Instant::now()),
        }
    }

    /// Ends the runs. If the signal meets another thread of this process, it does nothing there, and the runs pass.
    ///
    /// # Errors
    /// The signal cannot be handled.
    pub(super) fn end(&self) -> Result<()> {
        handle()?;
        self.is_enough.store(true, Ordering::Release);
        if let Some(thread) = Pid::from_raw(self.thread.load(Ordering::Acquire)) {
            // The kernel gives a signal for a thread's number to that thread first. One that has ended needs none.
            let _ = kill_process(thread, Signal::URG);
        }
        Ok(())
    }
}

/// Has the signal do nothing but interrupt: nobody uses it, and it is ignored if it is not handled.
fn handle() -> Result<()> {
    static HANDLED: OnceLock<bool> = OnceLock::new();
    let register = || {
        let seen = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(signal_hook::consts::SIGURG, seen).is_ok()
    };
    match HANDLED.get_or_init(register) {
        true => Ok(()),
        false => Err(LabError::Tester("SIGURG cannot be handled".into())),
    }
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use rustix::thread::{NanosleepRelativeResult, Timespec, nanosleep};

    use super::*;

    /// A call that lasts a minute, or until a signal comes.
    fn long_call() -> Result<End> {
        let minute = Timespec {
            tv_sec: 60,
            tv_nsec: 0,
        };
        match nanosleep(&minute) {
            NanosleepRelativeResult::Interrupted(_) => Ok(End::Interrupted),
            _ => Ok(End::Complete),
        }
    }

    #[test]
    fn a_call_ends_before_its_time_and_another_thread_s_does_not() {
        let begun = Instant::now();
        let (wanted, unwanted) = (Runner::default(), Runner::default());
        thread::scope(|scope| {
            let victim = scope.spawn(|| {
                let half_a_second = Duration::from_millis(500);
                unwanted.run(|| {
                    thread::sleep(half_a_second);
                    Ok(End::Complete)
                })?;
                Ok::<_, LabError>(begun.elapsed() >= half_a_second)
            });
            let sender = scope.spawn(|| wanted.run(long_call));
            // A signal that comes before the call has begun does not end it.
            while !sender.is_finished() {
                thread::sleep(Duration::from_millis(5));
                wanted.end().unwrap();
            }
            assert!(sender.join().unwrap().is_ok());
            assert!(begun.elapsed() < Duration::from_secs(30));
            assert!(victim.join().unwrap().unwrap());
        });
    }

    #[test]
    fn a_signal_of_others_is_an_error() {
        let interrupted = Runner::default().run(|| Ok(End::Interrupted));
        assert!(matches!(interrupted, Err(LabError::Tester(_))));
    }
}
