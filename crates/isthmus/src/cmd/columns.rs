//! Tables for people.

use std::fmt;

/// The alignment of a column's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// Names.
    Left,
    /// Numbers.
    Right,
}

/// Rows of text under headings. Columns are as wide as their longest cell.
#[derive(Debug)]
pub(crate) struct Columns<const N: usize> {
    align: [Align; N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> Columns<N> {
    /// Returns a table with these headings.
    pub(crate) fn new(headings: [(&str, Align); N]) -> Self {
        Self {
            align: headings.map(|(_, align)| align),
            rows: vec![headings.map(|(heading, _)| heading.to_uppercase())],
        }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells);
    }

    /// Whether the table has no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }
}

impl<const N: usize> fmt::Display for Columns<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: usize| {
            self.rows
                .iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: [usize; N] = std::array::from_fn(width);
        for row in &self.rows {
            let cells = row.iter().zip(widths).zip(self.align);
            let line: Vec<String> = cells
                .map(|((cell, width), align)| match align {
                    Align::Left => format!("{cell:<width$}"),
                    Align::Right => format!("{cell:>width$}"),
                })
                .collect();
            writeln!(f, "{}", line.join("  ").trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_left_numbers_right() {
        let mut table = Columns::new([("name", Align::Left), ("value", Align::Right)]);
        assert!(table.is_empty());
        table.row(["translated".into(), "7".into()]);
        table.row(["x".into(), "123456".into()]);
        assert_eq!(
            table.to_string(),
            "NAME         VALUE\ntranslated       7\nx           123456\n"
        );
    }
}
