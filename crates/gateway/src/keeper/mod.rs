//! Who holds what outlives the process of a gateway: the service manager, if the unit says so, or folders of
//! this machine.

mod files;
mod manager;

use std::io;
use std::path::Path;
use std::sync::Arc;

use isthmus_engine::keeper::Keeper;

pub(crate) use files::Files;
use manager::Manager;

/// Finds the keeper of the gateway with this control socket. `in_kernel` says whether its sessions lie in the
/// kernel's maps.
///
/// # Errors
/// There is none: why.
pub(crate) fn find(control: &Path, in_kernel: bool) -> Result<Arc<dyn Keeper>, String> {
    if let Some(manager) = Manager::find() {
        return Ok(Arc::new(manager));
    }
    let files = Files::of(control).map_err(|error| error.to_string())?;
    files.ready(in_kernel)?;
    Ok(Arc::new(files))
}

/// Removes what the folders of this machine hold for the gateway with this control socket. The service manager
/// forgets when it stops the unit.
///
/// # Errors
/// A folder refuses.
pub(crate) fn forget(control: &Path) -> io::Result<()> {
    Files::of(control)?.forget()
}
