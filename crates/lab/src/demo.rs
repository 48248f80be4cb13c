//! The demonstration.
/// Runs it.
pub fn run() -> crate::Result<()> {
    Ok(())
}
