//! The data folder: its lock and its format.
//!
//! ```text
//! DIR/
//! ├─ godwit.lock      locked while a process has the folder open; contains its process id
//! ├─ godwit.format    the version of the format
//! ├─ engine/          the engine's files
//! └─ engine.new/      left by an interrupted first start; made again
//! ```

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use godwit_domain::ports::StoreError;
use thiserror::Error;

use crate::engine::{Engine, EngineError, sync_folder};
use crate::options::Options;

/// The format of keys and records that this version reads and writes.
const FORMAT: u32 = 5;
const FORMAT_PREFIX: &str = "godwit embedded store, format ";

const LOCK_FILE: &str = "godwit.lock";
const FORMAT_FILE: &str = "godwit.format";
const FORMAT_FILE_NEW: &str = "godwit.format.new";
const ENGINE_FOLDER: &str = "engine";
const ENGINE_FOLDER_NEW: &str = "engine.new";

/// Why a store could not be opened, and what the operator can do about it. One line each.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    #[error("{} is in use by another process{}: stop it, or use another folder", path.display(), in_brackets(holder))]
    Locked { path: PathBuf, holder: Option<u32> },
    #[error(
        "{} has data of format {found}, but this version of Godwit only knows {FORMAT}: use the newer version that wrote it",
        path.display()
    )]
    NewerFormat { path: PathBuf, found: u32 },
    #[error(
        "{} has data of format {found}, but this version of Godwit only knows {FORMAT}: use the older version that wrote it, \
         and follow its upgrade notes",
        path.display()
    )]
    OlderFormat { path: PathBuf, found: u32 },
    #[error("{} is not empty and not a Godwit data folder: use another folder", path.display())]
    Foreign { path: PathBuf },
    #[error("this user cannot read and write {}: change its owner, or use another folder", path.display())]
    Denied { path: PathBuf, source: io::Error },
    #[error("cannot use {}: check the path and the disk", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("cannot open the data in {}: check the disk, or restore a backup", path.display())]
    Unreadable { path: PathBuf, source: Box<dyn std::error::Error + Send + Sync> },
}

fn in_brackets(holder: &Option<u32>) -> String {
    holder.map(|pid| format!(" (pid {pid})")).unwrap_or_default()
}

/// A data folder, locked by this process until it is dropped.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// The operating system releases the lock with the file, even when the process is killed.
    _lock: File,
}

impl Folder {
    /// Locks a data folder. Creates it if it does not exist or is empty.
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        fs::create_dir_all(path).map_err(|source| failed(path, source))?;
        if is_foreign(path).map_err(|source| failed(path, source))? {
            return Err(OpenError::Foreign { path: path.to_owned() });
        }
        let lock = lock(path)?;
        match read_format(path)? {
            Some(FORMAT) => {}
            Some(found) if found > FORMAT => {
                return Err(OpenError::NewerFormat { path: path.to_owned(), found });
            }
            Some(found) => return Err(OpenError::OlderFormat { path: path.to_owned(), found }),
            None => write_format(path).map_err(|source| failed(path, source))?,
        }
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    pub(crate) fn open_engine(&self, options: &Options) -> Result<Engine, OpenError> {
        let engine = self.path.join(ENGINE_FOLDER);
        if !engine.try_exists().map_err(|source| failed(&engine, source))? {
            self.create_engine(&engine, options)?;
        }
        Engine::open(&engine, options).map_err(|error| engine_failed(&engine, error))
    }

    /// Creates the engine in a temporary folder and renames that when it is complete, because the engine cannot
    /// open an incomplete folder.
    fn create_engine(&self, engine: &Path, options: &Options) -> Result<(), OpenError> {
        let new = self.path.join(ENGINE_FOLDER_NEW);
        match fs::remove_dir_all(&new) {
            Err(source) if source.kind() != ErrorKind::NotFound => return Err(failed(&new, source)),
            _ => drop(Engine::open(&new, options).map_err(|error| engine_failed(&new, error))?),
        }
        fs::rename(&new, engine)
            .and_then(|()| sync_folder(&self.path))
            .map_err(|source| failed(engine, source))
    }

    /// The error for an engine that opens but has unreadable data.
    pub(crate) fn unreadable(&self, error: StoreError) -> OpenError {
        OpenError::Unreadable { path: self.path.clone(), source: Box::new(error) }
    }

    pub(crate) fn failed(&self, source: io::Error) -> OpenError {
        failed(&self.path, source)
    }
}

/// Whether the folder has files, and none of them shows that it belongs to Godwit.
fn is_foreign(path: &Path) -> io::Result<bool> {
    if path.join(FORMAT_FILE).try_exists()? {
        return Ok(false);
    }
    // Left by an interrupted first start, by a server that stores its data elsewhere, or by the formatting of a
    // disk.
    let harmless = [LOCK_FILE, FORMAT_FILE_NEW, ENGINE_FOLDER_NEW, "admin.sock", "lost+found"];
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name();
        if !harmless.iter().any(|harmless| name == *harmless) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn lock(path: &Path) -> Result<File, OpenError> {
    let file_path = path.join(LOCK_FILE);
    let io_failed = |source| failed(&file_path, source);
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&file_path)
        .map_err(io_failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            let holder = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
            return Err(OpenError::Locked { path: path.to_owned(), holder });
        }
        Err(TryLockError::Error(source)) => return Err(io_failed(source)),
    }
    let written =
        file.set_len(0).and_then(|()| file.rewind()).and_then(|()| writeln!(file, "{}", std::process::id()));
    written.map_err(io_failed)?;
    Ok(file)
}

fn read_format(path: &Path) -> Result<Option<u32>, OpenError> {
    let path = path.join(FORMAT_FILE);
    match fs::read_to_string(&path) {
        Ok(text) => {
            match text.trim_end().strip_prefix(FORMAT_PREFIX).and_then(|version| version.parse().ok()) {
                Some(version) => Ok(Some(version)),
                None => Err(OpenError::Unreadable { path, source: "the file does not name a format".into() }),
            }
        }
        Err(source) if source.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(failed(&path, source)),
    }
}

/// A crash leaves either the whole file or none.
fn write_format(path: &Path) -> io::Result<()> {
    let new = path.join(FORMAT_FILE_NEW);
    let mut file = File::create(&new)?;
    writeln!(file, "{FORMAT_PREFIX}{FORMAT}")?;
    file.sync_all()?;
    fs::rename(new, path.join(FORMAT_FILE))?;
    sync_folder(path)
}

fn failed(path: &Path, source: io::Error) -> OpenError {
    let path = path.to_owned();
    match source.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => OpenError::Denied { path, source },
        _ => OpenError::Io { path, source },
    }
}

fn engine_failed(path: &Path, error: EngineError) -> OpenError {
    match error {
        EngineError::Io(source) => failed(path, source),
        error => OpenError::Unreadable { path: path.to_owned(), source: Box::new(error) },
    }
}
