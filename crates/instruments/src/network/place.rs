//! The place of an interface: a namespace of the lab, or the machine itself.

use std::{fs, sync::Arc};

use crate::{
    LabError, Result,
    network::{netns::Namespace, threads::join},
};

/// The place of an interface.
#[derive(Debug, Clone)]
pub enum Place {
    /// The machine's own interfaces.
    Host,
    /// A namespace of the lab.
    Namespace(Arc<Namespace>),
}

impl From<&Arc<Namespace>> for Place {
    fn from(namespace: &Arc<Namespace>) -> Self {
        Self::Namespace(Arc::clone(namespace))
    }
}

impl Place {
    /// Runs `task` on a thread in this place.
    pub fn enter<T: Send>(&self, task: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        match self {
            // The host needs a thread as well: the task may bind it to a CPU.
            Self::Host => std::thread::scope(|scope| join(scope.spawn(task))),
            Self::Namespace(namespace) => namespace.enter(task),
        }
    }

    /// Returns the index of an interface.
    pub fn interface_index(&self, interface: &str) -> Result<u32> {
        self.number(interface, "ifindex")
    }

    /// Returns the MTU of an interface, in octets.
    pub fn mtu(&self, interface: &str) -> Result<u32> {
        self.number(interface, "mtu")
    }

    /// Returns a number from one of the interface's files in `/sys/class/net`.
    fn number(&self, interface: &str, file: &'static str) -> Result<u32> {
        let path = format!("/sys/class/net/{interface}/{file}");
        let output = match self {
            Self::Host => fs::read_to_string(&path).map_err(LabError::file(path))?,
            Self::Namespace(namespace) => namespace.run(&format!("cat {path}"))?,
        };
        let tool = file;
        output
            .trim()
            .parse()
            .map_err(|_| LabError::Output { tool, output })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_has_a_loopback() {
        assert_eq!(Place::Host.interface_index("lo").unwrap(), 1);
        assert_eq!(Place::Host.mtu("lo").unwrap(), 65_536);
        assert!(Place::Host.mtu("no such").is_err());
    }
}
