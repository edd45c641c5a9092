//! The data folder: who may open it, and the errors that an operator sees.

use std::fs;

use super::{Site, listed, scene};
use crate::{OpenError, Options};

#[track_caller]
fn refused(site: &Site) -> OpenError {
    let error = site.try_open(Options::default()).expect_err("it was opened");
    let text = error.to_string();
    assert!(text.contains(&*site.path().to_string_lossy()), "it names the folder: {text}");
    assert!(text.contains(": "), "it says what to do: {text}");
    assert!(!text.contains('\n'), "it is one line: {text}");
    error
}

#[test]
fn a_folder_belongs_to_one_process_at_a_time() {
    let site = Site::new();
    let store = site.open();
    let error = refused(&site);
    let own_pid = std::process::id();
    assert!(matches!(error, OpenError::Locked { holder: Some(pid), .. } if pid == own_pid), "{error:?}");
    drop(store);
    site.open();
}

#[test]
fn data_of_another_format_is_not_touched() {
    let site = Site::new();
    drop(site.open());
    let path = site.path().join("godwit.format");
    let format = fs::read_to_string(&path).unwrap();
    for (other, is_newer) in [("0", false), ("4", false), ("6", true), ("4000000000", true)] {
        fs::write(&path, format.replace('5', other)).unwrap();
        let error = refused(&site);
        assert_eq!(matches!(error, OpenError::NewerFormat { .. }), is_newer, "{error:?}");
        assert_eq!(matches!(error, OpenError::OlderFormat { .. }), !is_newer, "{error:?}");
    }
    fs::write(&path, "something else").unwrap();
    assert!(matches!(refused(&site), OpenError::Unreadable { .. }));
    fs::write(&path, format).unwrap();
    site.open();
}

#[test]
fn a_foreign_folder_is_not_touched() {
    let site = Site::new();
    fs::write(site.path().join("notes.txt"), "mine").unwrap();
    assert!(matches!(refused(&site), OpenError::Foreign { .. }));
    let names: Vec<_> = fs::read_dir(site.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["notes.txt"], "nothing was put into it");
}

#[test]
fn a_path_that_is_a_file_is_refused() {
    let site = Site::new();
    let path = site.path().join("file");
    fs::write(&path, "").unwrap();
    let clock = std::sync::Arc::clone(&site.clock);
    let error = crate::EmbeddedStore::open(&path, clock, Options::default()).expect_err("it was opened");
    assert!(matches!(error, OpenError::Io { .. }), "{error:?}");
}

#[test]
fn a_fresh_disk_and_a_missing_folder_are_accepted() {
    let mut site = Site::new();
    fs::create_dir(site.path().join("lost+found")).unwrap();
    drop(site.open());
    site = Site::new();
    fs::remove_dir(site.path()).unwrap();
    drop(site.open());
}

/// A killed first start leaves what it has made so far.
#[tokio::test]
async fn an_interrupted_first_start_is_repeated() {
    let site = Site::new();
    let half = site.path().join("engine.new");
    fs::create_dir(&half).unwrap();
    fs::write(half.join("1.journal"), "half").unwrap();
    fs::write(site.path().join("godwit.lock"), "1").unwrap();
    fs::write(site.path().join("godwit.format.new"), "god").unwrap();
    let store = site.open();
    let s = scene(&store);
    let chat = s.chat().await.unwrap();
    drop((s, store));
    assert!(!half.exists());
    assert_eq!(listed(&site.open(), chat.ada).await, [chat.id]);
}

/// Root may do everything, so the test constructs the error.
#[test]
fn a_folder_without_permission_is_reported() {
    let site = Site::new();
    let folder = crate::folder::Folder::open(site.path()).unwrap();
    let error = folder.failed(std::io::ErrorKind::PermissionDenied.into());
    assert!(matches!(error, OpenError::Denied { .. }), "{error:?}");
    assert!(error.to_string().contains("owner"));
}
