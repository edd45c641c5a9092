//! The data folder.

use std::fs;

use crate::cli::{refused, succeeded};
use crate::process::run;

#[test]
fn a_folder_without_data_is_left_alone_by_those_who_only_look() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    for args in [vec!["user", "list"], vec!["user", "disable", "ada"]] {
        assert!(refused(&run(&data, &args)).contains("no data in"));
    }
    assert!(!data.exists());
}

#[test]
fn data_of_a_newer_version_is_left_alone() {
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

#[test]
fn tables_are_for_clusters() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    for command in ["create", "status", "migrate"] {
        assert!(succeeded(&run(&data, &["schema", command])).contains("needs no schema"), "{command}");
    }
    assert!(succeeded(&run(&data, &["schema", "print"])).contains("CREATE TABLE IF NOT EXISTS log ("));
    assert!(!data.exists());
}
