//! A Cassandra cluster with password and TLS.

use std::process::Output;

use godwit_testbed::{Cassandra, Secured};
use tempfile::TempDir;

use super::refusals::serve;
use crate::cli::{refused, succeeded};
use crate::process::godwit;
use crate::store::url;

fn secured() -> &'static Secured {
    Cassandra::secured().unwrap_or_else(|error| panic!("{error}"))
}

/// A folder whose `godwit.toml` has everything except the password.
fn configured(cluster: &Secured) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let toml = format!(
        "[store.cassandra]\nusername = {:?}\n[store.cassandra.tls]\nca_file = {:?}\n",
        cluster.user(),
        cluster.ca_certificate()
    );
    std::fs::write(folder.path().join("godwit.toml"), toml).unwrap();
    folder
}

fn store(cluster: &Secured) -> String {
    url(&[cluster.contact_point()], "secured")
}

/// A command with valid credentials.
fn run(cluster: &Secured, folder: &TempDir, args: &[&str]) -> Output {
    let mut command = godwit(&folder.path().join("data"));
    command.env("GODWIT_STORE__CASSANDRA__PASSWORD", cluster.password()).args(args).output().unwrap()
}

#[test]
fn the_right_password_and_certificate_connect() {
    let cluster = secured();
    let folder = configured(cluster);
    let command = |args: &[&str]| run(cluster, &folder, args);
    // One node, so one copy: a warning, and it works.
    let made = command(&["schema", "create", "--store", &store(cluster)]);
    let said = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success() && said.contains("few replicas"), "{said}");
    assert!(String::from_utf8_lossy(&made.stdout).contains("1 replica in "));
    succeeded(&command(&["user", "add", "ada", "--store", &store(cluster)]));
    assert!(succeeded(&command(&["user", "list", "--store", &store(cluster)])).starts_with("ada "));
    let printed = succeeded(&command(&["config", "print"]));
    assert!(printed.contains("password = \"…\""), "{printed}");
}

/// On the node with little other data: dropping a table makes a node flush everything.
#[test]
fn a_keyspace_is_deleted_only_on_request() {
    let cluster = secured();
    let folder = configured(cluster);
    let store = url(&[cluster.contact_point()], "fresh");
    let command = |args: &[&str]| run(cluster, &folder, &[args, &["--store", &store]].concat());
    // There is nothing to delete yet, so no confirmation is needed.
    assert!(command(&["schema", "create", "--fresh"]).status.success());
    succeeded(&command(&["user", "add", "ada"]));
    let said = refused(&command(&["schema", "create", "--fresh"]));
    assert!(said.contains("all its data") && said.contains("--yes"), "{said}");
    assert!(succeeded(&command(&["user", "list"])).contains("ada"));

    let done = command(&["schema", "create", "--fresh", "--yes"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(String::from_utf8_lossy(&done.stdout).contains("the newest"));
    assert_eq!(succeeded(&command(&["user", "list"])), "");
}

#[test]
fn missing_credentials_are_reported() {
    let cluster = secured();
    let folder = configured(cluster);
    let store = store(cluster);
    let password = |password: &str| format!("store.cassandra.password={password}");
    let said = serve(folder.path(), &store, &[&password("wrong")]);
    assert!(said.contains("rejects user cassandra") && !said.contains("wrong"), "{said}");

    let bare = tempfile::tempdir().unwrap();
    let said = serve(bare.path(), &store, &[]);
    assert!(said.contains("if the cluster uses TLS, set store.cassandra.tls.ca_file"), "{said}");
    let ca = format!("store.cassandra.tls.ca_file={}", cluster.ca_certificate().display());
    let said = serve(bare.path(), &store, &[&ca]);
    assert!(said.contains("requires a user name and password"), "{said}");
    let other = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/keys/other-ca.pem");
    let said = serve(bare.path(), &store, &[&format!("store.cassandra.tls.ca_file={other}")]);
    assert!(
        said.contains("store.cassandra.tls.ca_file") && said.contains("the authority that signed"),
        "{said}"
    );
}
