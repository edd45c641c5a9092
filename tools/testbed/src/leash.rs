//! A leash ends processes with their owner, even if the owner is killed. It is a named pipe that the owner
//! holds open for writing. The kernel closes it when the owner ends, and its readers see the end of the file.
//!
//! The pipe has a name, because another process may restart a node that must end with the same owner, and opens
//! the same pipe.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_setfl};

use crate::error::{Doing as _, TestbedError};

const FILE: &str = "leash";

/// How long the processes and the folder may take to disappear.
const END_WAIT_MAX: Duration = Duration::from_secs(60);

/// Waits for the end of the owner, and removes the folder. Retries, because processes that are about to be
/// killed may still write into it.
const KEEPER: &str = r#"
cat >/dev/null
tries=0
while [ -e "$1" ] && [ $tries -lt 50 ]; do
    rm -rf "$1" || sleep 0.2
    tries=$((tries + 1))
done
"#;

/// The owner's end of the pipe. When it is dropped or the process ends, the processes on the leash are killed
/// and the folder is removed.
#[derive(Debug)]
pub(super) struct Leash {
    folder: PathBuf,
    writer: Option<File>,
}

impl Leash {
    /// Creates a temporary folder with a leash.
    pub(super) fn on_new_folder(prefix: &str) -> Result<Self, TestbedError> {
        let folder = tempfile::Builder::new().prefix(prefix).tempdir();
        let folder = folder.doing(|| "create a temporary folder".to_owned())?;
        let leash = Self::hold(folder.path())?;
        // From here on the keeper removes the folder.
        let _ = folder.keep();
        Ok(leash)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    fn hold(folder: &Path) -> Result<Self, TestbedError> {
        let path = folder.join(FILE);
        let made = Command::new("mkfifo").arg(&path).status().doing(|| "run mkfifo".to_owned())?;
        if !made.success() {
            return Err(TestbedError::Refused(format!("mkfifo could not make {}", path.display())));
        }
        // Opened for both, because opening for writing alone would wait for a reader. Other programs do not
        // inherit it.
        let writer = OpenOptions::new().read(true).write(true).open(&path);
        let leash = Self {
            folder: folder.to_owned(),
            writer: Some(writer.doing(|| format!("open {}", path.display()))?),
        };
        leash.start_keeper()?;
        Ok(leash)
    }

    fn start_keeper(&self) -> Result<(), TestbedError> {
        use std::os::unix::process::CommandExt as _;
        let mut command = Command::new("sh");
        command.args(["-c", KEEPER, "keeper"]).arg(&self.folder);
        let reader = reader(&self.folder)?.map_or_else(Stdio::null, Stdio::from);
        // In a process group of its own, so that Ctrl-C in a terminal does not end it before its work is done.
        let spawned =
            command.stdin(reader).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn();
        let mut child = spawned.doing(|| "run sh".to_owned())?;
        std::thread::spawn(move || child.wait());
        Ok(())
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        self.writer.take();
        let began = Instant::now();
        while self.folder.exists() && began.elapsed() < END_WAIT_MAX {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The reading end, which returns nothing and ends with the owner of the folder. `None` if there is no leash,
/// because the processes are meant to stay. If the owner has already ended, reading ends at once.
pub(super) fn reader(folder: &Path) -> Result<Option<File>, TestbedError> {
    let path = folder.join(FILE);
    if !path.exists() {
        return Ok(None);
    }
    let not_blocking = i32::try_from(OFlags::NONBLOCK.bits()).expect("a flag of open(2) is an int");
    let file = OpenOptions::new().read(true).custom_flags(not_blocking).open(&path);
    let file = file.doing(|| format!("open {}", path.display()))?;
    // Only opening must not block.
    fcntl_setfl(&file, OFlags::empty()).doing(|| format!("use {}", path.display()))?;
    Ok(Some(file))
}
