//! The data folder.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use crate::cli::{refused, succeeded};
use crate::process::run;

#[test]
fn commands_that_need_data_do_not_create_it() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    for args in [vec!["user", "list"], vec!["user", "disable", "ada"]] {
        assert!(refused(&run(&data, &args)).contains("no data in"));
    }
    assert!(!data.exists());
}

#[test]
fn data_of_a_newer_version_is_not_modified() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    succeeded(&run(&data, &["user", "add", "ada"]));
    let format = data.join("godwit.format");
    let text = fs::read_to_string(&format).unwrap();
    let newer = text.trim_end().trim_end_matches(|c: char| c.is_ascii_digit()).to_owned() + "999";
    fs::write(&format, newer).unwrap();
    for args in [vec!["serve", "--listen", "127.0.0.1:0"], vec!["user", "list"]] {
        let error = refused(&run(&data, &args));
        assert!(error.contains("999") && error.contains("newer version"), "{error}");
    }
}

/// The folder contains people's messages, and the key that signs their tokens.
#[test]
fn a_folder_readable_by_others_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mode = || fs::metadata(&data).unwrap().permissions().mode() & 0o777;
    let set_mode = |mode| fs::set_permissions(&data, Permissions::from_mode(mode)).unwrap();
    // An empty folder is made private: it had no content to read.
    fs::create_dir(&data).unwrap();
    set_mode(0o755);
    succeeded(&run(&data, &["user", "add", "ada"]));
    assert_eq!(mode(), 0o700);
    for open in [0o755, 0o750, 0o711] {
        set_mode(open);
        for args in [vec!["serve", "--listen", "127.0.0.1:0"], vec!["user", "list"], vec!["config", "check"]]
        {
            let error = refused(&run(&data, &args));
            let path = data.to_str().unwrap();
            assert!(error.contains(&format!("chmod 700 {path}")), "{open:o} {args:?}: {error}");
            assert_eq!(mode(), open, "who opened it closes it");
        }
    }
    set_mode(0o700);
    assert!(succeeded(&run(&data, &["user", "list"])).contains("ada"));
}

#[test]
fn tables_are_for_clusters() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    for command in ["create", "status", "migrate"] {
        assert!(succeeded(&run(&data, &["schema", command])).contains("has no schema"), "{command}");
    }
    assert!(succeeded(&run(&data, &["schema", "print"])).contains("CREATE TABLE IF NOT EXISTS log ("));
    assert!(!data.exists());
}
