//! `isthmus top` on a terminal.

use std::time::Instant;

use anyhow::{Context as _, Result};
use ratatui_core::terminal::Terminal;

use super::Top;
use super::terminal::{Tty, key};
use super::view::{Effect, View};

/// Shows it until somebody ends it. The terminal is as before afterwards, also after a panic.
pub(super) fn show(top: &Top) -> Result<()> {
    let mut view = View::new(top.by, top.most);
    // What is wrong with the first question is told before the terminal changes.
    view.take(top.ask(top.by, top.most, top.limit.unwrap_or(1))?, 1.0);
    let tty = Tty::open().context("cannot use the terminal")?;
    let mut terminal = Terminal::new(tty)?;
    let mut asked = Instant::now();
    loop {
        let rows = View::rows(terminal.size()?.height);
        let limit = top.limit.unwrap_or_else(|| rows.into());
        let answer = top.ask(view.by, view.most, limit);
        let seconds = asked.elapsed().as_secs_f64();
        asked = Instant::now();
        match answer {
            Ok(answer) => view.take(answer, seconds),
            Err(why) => view.fail(format!("{why:#}")),
        }
        if wait(top, &mut view, &mut terminal, asked)? == Effect::Quit {
            return Ok(());
        }
    }
}

/// Shows it until it is time to ask again, or until a key wants something else.
fn wait(
    top: &Top,
    view: &mut View,
    terminal: &mut Terminal<Tty>,
    asked: Instant,
) -> Result<Effect> {
    loop {
        terminal.draw(|frame| view.draw(frame))?;
        let rest = top.interval().saturating_sub(asked.elapsed());
        if rest.is_zero() {
            return Ok(Effect::Ask);
        }
        let Some(key) = key(rest)? else {
            continue;
        };
        let effect = view.press(key);
        if effect != Effect::Nothing {
            return Ok(effect);
        }
    }
}
