//! Tables.

use maud::{Markup, Render, html};

/// A table, in a frame in which it can be moved if it is wide.
pub(super) struct Table {
    pub(super) class: Option<&'static str>,
    pub(super) caption: Markup,
    /// The heads of its columns.
    pub(super) heads: Markup,
    pub(super) rows: Markup,
}

impl Render for Table {
    fn render(&self) -> Markup {
        html! {
            div.wide tabindex="0" {
                table class=[self.class] {
                    caption { (self.caption) }
                    thead { tr { (self.heads) } }
                    tbody { (self.rows) }
                }
            }
        }
    }
}

/// Returns the heads of columns.
pub(super) fn heads(columns: &[&str]) -> Markup {
    html! {
        @for column in columns {
            th scope="col" { (column) }
        }
    }
}
