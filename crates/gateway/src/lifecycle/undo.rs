//! Steps that are undone unless they are kept.

use std::future::Future;

use tokio::runtime::Handle;

/// Something that was done to `T`. It is undone when this is dropped, so that a step that fails need not know
/// those before it.
#[must_use = "it is undone when it is dropped"]
pub(super) struct Done<T, U: FnOnce(T)>(Option<(T, U)>);

impl<T, U: FnOnce(T)> Done<T, U> {
    /// A step that was done to `to`, and that `undo` undoes.
    pub(super) const fn new(to: T, undo: U) -> Self {
        Self(Some((to, undo)))
    }

    /// Leaves it done.
    pub(super) fn keep(mut self) {
        self.0 = None;
    }
}

impl<T, U: FnOnce(T)> Drop for Done<T, U> {
    fn drop(&mut self) {
        if let Some((to, undo)) = self.0.take() {
            undo(to);
        }
    }
}

/// Waits for a future where nothing can be awaited: in a drop. The other tasks of this thread go to another
/// one meanwhile.
pub(super) fn wait<F: Future>(future: F) -> F::Output {
    tokio::task::block_in_place(|| Handle::current().block_on(future))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn what_is_not_kept_is_undone_last_first() {
        let undone = RefCell::new(Vec::new());
        let step = |number| Done::new(number, |number| undone.borrow_mut().push(number));
        let fail = || -> Result<(), ()> {
            let _first = step(1);
            let kept = step(2);
            kept.keep();
            let _third = step(3);
            Err(())
        };
        assert_eq!(fail(), Err(()));
        assert_eq!(undone.take(), [3, 1]);
    }

    #[test]
    fn a_drop_can_wait() {
        let runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = { runtime }.worker_threads(1).build().unwrap();
        let done = RefCell::new(false);
        runtime.block_on(async {
            let undo = |done: &RefCell<bool>| {
                wait(tokio::task::yield_now());
                done.replace(true);
            };
            drop(Done::new(&done, undo));
        });
        assert!(done.take());
    }
}
