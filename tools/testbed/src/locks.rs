//! Locks on a Cassandra cluster: shared by many tests, or exclusive for one. They are file locks, because the tests run
//! in several processes, and the kernel releases them when a process ends.
//!
//! There are two files. A test that wants the cluster alone first locks the gate, so that no further tests
//! enter. With one file it could wait forever while others come and go.

use std::fs::{File, OpenOptions};
use std::path::Path;

use crate::error::{Doing as _, TestbedError};

const GATE: &str = "gate.lock";
const USE: &str = "use.lock";

/// Released on drop.
#[derive(Debug)]
pub(super) struct SharedLock {
    _in_use: File,
}

impl SharedLock {
    pub(super) fn acquire(folder: &Path) -> Result<Self, TestbedError> {
        let gate = open(folder, GATE)?;
        gate.lock_shared().doing(|| "wait for the cluster".to_owned())?;
        let in_use = open(folder, USE)?;
        in_use.lock_shared().doing(|| "wait for the cluster".to_owned())?;
        Ok(Self { _in_use: in_use })
    }
}

/// Released on drop.
#[derive(Debug)]
pub(super) struct LoneLock {
    _in_use: File,
    _gate: File,
}

impl LoneLock {
    pub(super) fn acquire(folder: &Path) -> Result<Self, TestbedError> {
        let gate = open(folder, GATE)?;
        gate.lock().doing(|| "wait for the cluster".to_owned())?;
        let in_use = open(folder, USE)?;
        in_use.lock().doing(|| "wait for the cluster".to_owned())?;
        Ok(Self { _in_use: in_use, _gate: gate })
    }
}

/// Opens the file again for each lock. A lock belongs to the open file, so threads of one process exclude each
/// other too.
fn open(folder: &Path, name: &str) -> Result<File, TestbedError> {
    let path = folder.join(name);
    let file = OpenOptions::new().create(true).append(true).open(&path);
    file.doing(|| format!("open {}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    const A_MOMENT: Duration = Duration::from_millis(100);
    const LONG: Duration = Duration::from_secs(10);

    #[test]
    fn many_share_the_lock_or_one_holds_it_alone() {
        let folder = tempfile::tempdir().unwrap();
        let first = SharedLock::acquire(folder.path()).unwrap();
        let second = SharedLock::acquire(folder.path()).unwrap();
        let (sender, receiver) = channel();
        std::thread::scope(|scope| {
            scope.spawn(|| sender.send(LoneLock::acquire(folder.path()).unwrap()));
            drop(first);
            assert!(receiver.recv_timeout(A_MOMENT).is_err(), "one still shares it");
            drop(second);
            assert!(receiver.recv_timeout(LONG).is_ok());
        });
    }

    #[test]
    fn a_waiter_for_the_exclusive_lock_is_not_overtaken() {
        let folder = tempfile::tempdir().unwrap();
        let first = SharedLock::acquire(folder.path()).unwrap();
        let (lone_sender, lone) = channel();
        let (late_sender, late) = channel();
        std::thread::scope(|scope| {
            scope.spawn(|| lone_sender.send(LoneLock::acquire(folder.path()).unwrap()));
            std::thread::sleep(A_MOMENT);
            scope.spawn(|| late_sender.send(SharedLock::acquire(folder.path()).unwrap()));
            assert!(late.recv_timeout(A_MOMENT).is_err(), "the gate is closed");
            drop(first);
            let alone = lone.recv_timeout(LONG).unwrap();
            assert!(late.recv_timeout(A_MOMENT).is_err(), "it is alone");
            drop(alone);
            assert!(late.recv_timeout(LONG).is_ok());
        });
    }
}
