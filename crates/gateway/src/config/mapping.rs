//! Tables of explicit address mappings in files of their own: one `IPv4,IPv6` a line.

use isthmus_core::address::eam::Mapping;
use isthmus_core::address::{V4, V6};

use super::rows::{self, Files, Rows, Wrong};
use super::source::At;
use super::table::Value;
use super::value::{v4_net, v6_net};

/// The advice where two prefixes are no mapping.
pub(super) const ADVICE: &str = "expected a pair such as 192.0.2.0/28 and 2001:db8::/124";

/// The mappings in the file that `eam-file` names.
pub(super) fn file(value: &Value<'_>, files: &mut Files<'_>) -> Vec<At<Mapping>> {
    let rows = Rows {
        what: "mapping",
        example: "192.0.2.1,2001:db8::1",
    };
    rows::file(value, files, &rows, mapping)
}

/// Returns the mapping of one row, or the problem and the correction.
fn mapping(row: &str) -> Result<Mapping, Wrong> {
    const ROW: &str = "expected `192.0.2.0/28,2001:db8::/124`";
    let wrong = |problem: String| (problem, ROW.to_owned());
    let Some((left, right)) = row.split_once(',') else {
        return Err(wrong("it has no comma".to_owned()));
    };
    let (left, right) = (left.trim(), right.trim());
    let v4 = v4_net(left).map_err(|error| wrong(format!("\"{left}\": {error}")))?;
    let v6 = v6_net(right).map_err(|error| wrong(format!("\"{right}\": {error}")))?;
    Mapping::new(
        V4::from(v4.addr()),
        v4.prefix_len(),
        V6::from(v6.addr()),
        v6.prefix_len(),
    )
    .map_err(|error| (error.to_string(), ADVICE.to_owned()))
}
