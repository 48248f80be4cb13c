//! The tables of this directory: a line of headings, then a size and its values; `#` begins a comment.

pub(crate) struct Value {
    pub(crate) size: u32,
    pub(crate) heading: &'static str,
    pub(crate) text: &'static str,
}

/// Returns all values of a table.
pub(crate) fn values(table: &'static str) -> Vec<Value> {
    let mut lines = table.lines().filter(|line| !line.starts_with('#'));
    let headings: Vec<_> = lines.next().unwrap().split_whitespace().collect();
    let mut values = Vec::new();
    for line in lines {
        let cells: Vec<_> = line.split_whitespace().collect();
        assert_eq!(cells.len(), headings.len(), "{line}");
        let size = cells[0].parse().unwrap();
        let named = headings.iter().zip(cells).skip(1);
        values.extend(named.map(|(heading, text)| Value {
            size,
            heading,
            text,
        }));
    }
    values
}
