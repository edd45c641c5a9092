//! Unreachable Cassandra clusters and unusable keyspaces: one line of error that says how to fix it.

use std::path::Path;
use std::process::Output;
use std::time::Instant;

use godwit_testbed::{Cassandra, Shared};
use tempfile::TempDir;

use super::PURPOSE;
use crate::cli::{refused, succeeded};
use crate::people::{patience, unique};
use crate::process::run;
use crate::store::{made, url};

struct Site {
    cluster: Shared,
    folder: TempDir,
}

impl Site {
    fn new() -> Self {
        let cluster = Cassandra::shared().unwrap_or_else(|error| panic!("{error}"));
        Self { cluster, folder: tempfile::tempdir().unwrap() }
    }

    fn url(&self, keyspace: &str) -> String {
        url(&self.cluster.contact_points(), keyspace)
    }

    fn run(&self, args: &[&str]) -> Output {
        run(&self.folder.path().join("data"), args)
    }

    /// The error of a server that refuses to start.
    fn serve(&self, store: &str, settings: &[&str]) -> String {
        serve(self.folder.path(), store, settings)
    }
}

/// The error of a server that refuses to start.
pub(super) fn serve(folder: &Path, store: &str, settings: &[&str]) -> String {
    let mut args = vec!["serve", "--listen", "127.0.0.1:0", "--store", store];
    args.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    refused(&run(&folder.join("data"), &args))
}

fn assert_says(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "`{part}` is not in: {said}");
    }
}

#[test]
fn an_unreachable_cluster_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let began = Instant::now();
    // Nothing listens there.
    let said = serve(folder.path(), "cassandra://127.0.0.1:1/chat", &[]);
    assert_says(&said, &["no Cassandra node answers at 127.0.0.1:1", "correct --store"]);
    let said = serve(folder.path(), "cassandra://no-such-host.invalid/chat", &[]);
    assert_says(&said, &["no-such-host.invalid", "correct the name in --store"]);
    assert!(began.elapsed() < patience(), "it took {:?}", began.elapsed());
}

#[test]
fn creating_a_missing_keyspace_needs_permission() {
    let site = Site::new();
    let missing = unique("missing");
    let store = site.url(&missing);
    let looking = refused(&site.run(&["user", "list", "--store", &store]));
    let migrating = refused(&site.run(&["schema", "migrate", "--store", &store]));
    let serving = site.serve(&store, &["store.cassandra.migrate_at_start=false"]);
    for said in [looking, migrating, serving] {
        assert_says(&said, &[&format!("no keyspace {missing}"), "godwit schema create"]);
    }
    let status = succeeded(&site.run(&["schema", "status", "--store", &store]));
    assert_says(&status, &["the keyspace does not exist", "godwit schema create"]);
}

#[test]
fn an_impossible_replication_factor_is_refused() {
    let site = Site::new();
    let store = site.url(&unique("copies"));
    let said = site.serve(&store, &["store.cassandra.replication=5"]);
    assert_says(&said, &["5 replicas need 5 nodes", "has 3", "store.cassandra.replication"]);
    for setting in ["store.cassandra.replication.elsewhere=3", "store.cassandra.datacenter=elsewhere"] {
        assert_says(&site.serve(&store, &[setting]), &["no data centre elsewhere"]);
    }
}

#[test]
fn tls_to_a_cluster_without_tls_is_reported() {
    let site = Site::new();
    let store = site.url("chat");
    let file = site.folder.path().join("ca.pem");
    let setting = format!("store.cassandra.tls.ca_file={}", file.display());
    assert_says(&site.serve(&store, &[&setting]), &["ca.pem", "cannot read"]);
    std::fs::write(&file, "not a certificate").unwrap();
    assert_says(&site.serve(&store, &[&setting]), &["ca.pem", "it has no certificate"]);
}

#[test]
fn a_keyspace_with_another_replication_factor_is_reported() {
    let site = Site::new();
    let store = made(&site.cluster.contact_points(), PURPOSE);
    let said = site.serve(&store, &["store.cassandra.replication=2"]);
    assert_says(&said, &["3 replicas", "expected 2", "ALTER KEYSPACE"]);
}
