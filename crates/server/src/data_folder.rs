//! Permissions of the data folder, which holds people's messages and the key that signs their tokens.
//!
//! As in other databases, a folder that other users can read is refused rather than changed, so that the operator finds out
//! who may have read it. An empty folder contains nothing yet and is made private.

use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use thiserror::Error;

const PRIVATE: u32 = 0o700;
/// The permissions of group and others.
const OTHERS: u32 = 0o077;

#[derive(Debug, Error)]
#[error(
    "other users can read the data folder {folder} (mode {mode:04o}): run `chmod 700 {folder}`",
    folder = folder.display()
)]
pub struct ReadableByOthers {
    folder: PathBuf,
    mode: u32,
}

/// Creates a folder that only its owner can read, or checks an existing one. The store reports all other problems with the
/// folder, because its errors are clearer.
pub fn make_private(folder: &Path) -> Result<(), ReadableByOthers> {
    if let Err(error) = DirBuilder::new().recursive(true).mode(PRIVATE).create(folder) {
        tracing::debug!(%error, "could not create the data folder");
    }
    if is_empty(folder)
        && let Err(error) = std::fs::set_permissions(folder, Permissions::from_mode(PRIVATE))
    {
        tracing::debug!(%error, "could not restrict the mode of the data folder");
    }
    refuse_others(folder)
}

/// True if [`make_private`] would accept the folder.
pub fn check_private(folder: &Path) -> Result<(), ReadableByOthers> {
    if is_empty(folder) { Ok(()) } else { refuse_others(folder) }
}

fn is_empty(folder: &Path) -> bool {
    folder.read_dir().is_ok_and(|mut entries| entries.next().is_none())
}

fn refuse_others(folder: &Path) -> Result<(), ReadableByOthers> {
    match folder.metadata() {
        Ok(found) if found.is_dir() && found.permissions().mode() & OTHERS != 0 => {
            let mode = found.permissions().mode() & 0o7777;
            Err(ReadableByOthers { folder: folder.to_owned(), mode })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(folder: &Path) -> u32 {
        folder.metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_folder_is_made_private_while_it_is_empty_and_refused_when_it_is_not() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("a/data");
        make_private(&folder).unwrap();
        assert_eq!(mode(&folder), PRIVATE);
        std::fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        make_private(&folder).unwrap();
        assert_eq!(mode(&folder), PRIVATE);
        std::fs::write(folder.join("journal"), "words").unwrap();
        for open in [0o755, 0o750, 0o701] {
            std::fs::set_permissions(&folder, Permissions::from_mode(open)).unwrap();
            let said = make_private(&folder).unwrap_err().to_string();
            assert!(said.contains(&format!("{open:04o}")) && said.contains("chmod 700"), "{said}");
            assert_eq!(mode(&folder), open, "it is the owner who closes it");
            assert!(check_private(&folder).is_err());
        }
    }
}
