//! Loopback addresses for each Cassandra cluster: 127.0.C.1 to 127.0.C.3, so that several can use the same ports.

use std::fs::{self, File, OpenOptions};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use crate::error::{Doing as _, TestbedError};
use crate::nodes::NODES;
use crate::software::cache_folder;

pub(super) const CQL_PORT: u16 = 9042;
pub(super) const STORAGE_PORT: u16 = 7000;

/// 127.0.0.1 to 127.0.0.3, the usual addresses of a local cluster.
const FAMILIAR: u8 = 0;
const CHOICE: std::ops::RangeInclusive<u8> = 20..=250;

/// The loopback net of one cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Net(pub(super) u8);

impl Net {
    pub(super) fn address(self, node: u8) -> Ipv4Addr {
        Ipv4Addr::new(127, 0, self.0, node)
    }

    fn is_free(self) -> bool {
        let ports = [CQL_PORT, STORAGE_PORT];
        (1..=NODES)
            .all(|node| ports.iter().all(|port| TcpListener::bind((self.address(node), *port)).is_ok()))
    }
}

/// Reserves a net before its ports are open, and while a node is down.
#[derive(Debug)]
pub(super) struct Reservation {
    pub(super) net: Net,
    _lock: File,
}

impl Reservation {
    pub(super) fn any() -> Result<Self, TestbedError> {
        // Each process starts at another number, so that concurrent ones rarely try the same.
        let skip = std::process::id() as usize % CHOICE.len();
        let choice = CHOICE.skip(skip).chain(CHOICE.take(skip));
        let folder = locks_folder()?;
        choice.map(Net).find_map(|net| Self::of(&folder, net)).ok_or_else(|| {
            TestbedError::Refused(format!(
                "no loopback net is free: neither of 127.0.{}.1 to 127.0.{}.3 can be used on ports {CQL_PORT} and \
                 {STORAGE_PORT} (on macOS each address must first be added: sudo ifconfig lo0 alias 127.0.20.1)",
                CHOICE.start(),
                CHOICE.end()
            ))
        })
    }

    pub(super) fn familiar_or_any() -> Result<Self, TestbedError> {
        Self::of(&locks_folder()?, Net(FAMILIAR)).map_or_else(Self::any, Ok)
    }

    fn of(folder: &Path, net: Net) -> Option<Self> {
        let lock = OpenOptions::new().create(true).append(true).open(folder.join(format!("{}.lock", net.0)));
        let lock = lock.ok().filter(|lock| lock.try_lock().is_ok())?;
        net.is_free().then_some(Self { net, _lock: lock })
    }
}

fn locks_folder() -> Result<PathBuf, TestbedError> {
    let folder = cache_folder()?.join("nets");
    fs::create_dir_all(&folder).doing(|| format!("create {}", folder.display()))?;
    Ok(folder)
}
