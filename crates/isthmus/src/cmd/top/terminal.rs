//! The terminal of `isthmus top`: the sequences of ECMA-48 that every terminal of today knows, and single keys.

use std::io::{self, Read as _, Write as _, stdin, stdout};
use std::os::fd::AsFd as _;
use std::time::Duration;

use nix::errno::Errno;
use nix::libc::{TIOCGWINSZ, winsize};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::termios::{self, SetArg, Termios};
use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use ratatui_core::style::{Color, Modifier};

/// Another screen than that of the shell, without a cursor; and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[2J";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// A terminal that sends keys at once. It is as before when this is dropped.
pub(super) struct Tty {
    before: Termios,
}

impl Tty {
    /// Takes the terminal of the standard input and output.
    pub(super) fn open() -> io::Result<Self> {
        let before = termios::tcgetattr(stdin())?;
        let mut raw = before.clone();
        termios::cfmakeraw(&mut raw);
        termios::tcsetattr(stdin(), SetArg::TCSANOW, &raw)?;
        let tty = Self { before };
        tty.write(ENTER)?;
        Ok(tty)
    }

    #[expect(clippy::unused_self, reason = "only who has the terminal writes to it")]
    fn write(&self, text: &str) -> io::Result<()> {
        let mut out = stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        // Whoever took the terminal away has no use for it either.
        let _ = self.write(LEAVE);
        let _ = termios::tcsetattr(stdin(), SetArg::TCSANOW, &self.before);
    }
}

/// Waits for a key; `None` if there is none in time, or if the size of the terminal has changed. The end of the input is
/// an error.
pub(super) fn key(patience: Duration) -> io::Result<Option<u8>> {
    let input = stdin();
    let mut ready = [PollFd::new(input.as_fd(), PollFlags::POLLIN)];
    let patience = PollTimeout::try_from(patience).unwrap_or(PollTimeout::MAX);
    match poll(&mut ready, patience) {
        Ok(0) | Err(Errno::EINTR) => return Ok(None),
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }
    let mut bytes = [0; 64];
    match input.lock().read(&mut bytes)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        1 => Ok(Some(bytes[0])),
        // The sequence of an arrow or of another key without a letter.
        _ if bytes[0] == 0x1b => Ok(None),
        _ => Ok(Some(bytes[0])),
    }
}

/// The sequence for the style of a cell, after those of others.
fn style(cell: &Cell) -> String {
    let mut style = String::from("\x1b[0");
    for (modifier, code) in [
        (Modifier::BOLD, ";1"),
        (Modifier::DIM, ";2"),
        (Modifier::UNDERLINED, ";4"),
        (Modifier::REVERSED, ";7"),
    ] {
        if cell.modifier.contains(modifier) {
            style.push_str(code);
        }
    }
    if cell.fg == Color::Red {
        style.push_str(";31");
    }
    style + "m"
}

impl Backend for Tty {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut text = String::new();
        let mut before = None;
        for (x, y, cell) in content {
            let style = style(cell);
            let (place, known) = before.take().unwrap_or_default();
            if place != (x, y) || text.is_empty() {
                text.push_str(&format!("\x1b[{};{}H", y + 1, x + 1));
            }
            if known != style {
                text.push_str(&style);
            }
            text.push_str(cell.symbol());
            before = Some(((x + 1, y), style));
        }
        self.write(&text)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, _: P) -> io::Result<()> {
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.write("\x1b[0m\x1b[2J")
    }

    fn clear_region(&mut self, _: ClearType) -> io::Result<()> {
        self.clear()
    }

    fn size(&self) -> io::Result<Size> {
        size()
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize {
            columns_rows: size()?,
            pixels: Size::ZERO,
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Columns and lines of the terminal; those of the first ones (80 by 24) where it does not know.
fn size() -> io::Result<Size> {
    nix::ioctl_read_bad!(ask, TIOCGWINSZ, winsize);
    let mut size = winsize {
        ws_row: 0,
        ws_col: 0,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: the request writes a structure of this type, and it is one.
    unsafe { ask(nix::libc::STDOUT_FILENO, &raw mut size) }?;
    Ok(match (size.ws_col, size.ws_row) {
        (0, _) | (_, 0) => Size::new(80, 24),
        (columns, lines) => Size::new(columns, lines),
    })
}

#[cfg(test)]
mod tests {
    use ratatui_core::style::Style;

    use super::*;

    #[test]
    fn styles_are_sequences() {
        let mut cell = Cell::new("x");
        assert_eq!(style(&cell), "\x1b[0m");
        let heading = Modifier::BOLD | Modifier::UNDERLINED | Modifier::REVERSED;
        cell.set_style(Style::new().add_modifier(heading));
        assert_eq!(style(&cell), "\x1b[0;1;4;7m");
        cell.set_style(Style::reset().fg(Color::Red));
        assert_eq!(style(&cell), "\x1b[0;31m");
    }
}
