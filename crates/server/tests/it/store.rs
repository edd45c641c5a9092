//! The store of this run. Every test that is not about the files of the embedded store, or about a cluster, is run on both:
//! on the embedded store by default, and on Cassandra with `GODWIT_TEST_STORE=cassandra`.
//!
//! On Cassandra all tests share a keyspace, because making one takes longer than most of them, and what earlier runs with the
//! same tables left in it stays. So no test relies on an empty world: the people of each have handles that nobody else has.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::OnceLock;

use godwit_testkit::cluster::{Cluster, Shared};

const VARIABLE: &str = "GODWIT_TEST_STORE";
const PURPOSE: &str = "e2e";
/// What `godwit` reads when it is told of no other file.
const DEFAULT_FILE: &str = "godwit.toml";

/// Where a server has its data. A cluster is not disturbed by others while this lives.
#[derive(Debug)]
pub(crate) enum TestStore {
    /// In the data folder.
    Embedded,
    Cassandra(Shared),
    /// At a place that the test looks after.
    At(String),
}

impl TestStore {
    pub(crate) fn of_run() -> Self {
        if is_cassandra() { Self::Cassandra(Self::cluster()) } else { Self::Embedded }
    }

    /// `None` where it is what a server uses by itself.
    pub(crate) fn url(&self) -> Option<String> {
        match self {
            Self::Embedded => None,
            Self::Cassandra(cluster) => Some(url(&cluster.contact_points(), &keyspace(PURPOSE))),
            Self::At(url) => Some(url.clone()),
        }
    }

    /// Makes it that of all commands that run in this folder and are not told otherwise.
    pub(crate) fn settle(&self, folder: &Path) {
        let file = folder.join(DEFAULT_FILE);
        if let Some(url) = self.url()
            && !file.exists()
        {
            std::fs::write(file, format!("[store]\nurl = {url:?}\n")).unwrap();
        }
    }

    fn cluster() -> Shared {
        static MADE: OnceLock<()> = OnceLock::new();
        let cluster = Cluster::shared().unwrap_or_else(|error| panic!("{error}"));
        // Once for all, rather than by whichever server happens to start first.
        MADE.get_or_init(|| drop(schema("create", &url(&cluster.contact_points(), &keyspace(PURPOSE)))));
        cluster
    }
}

/// How much of something is enough to show it. On Cassandra everything takes ten times as long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Enough {
    pub(crate) embedded: usize,
    pub(crate) cassandra: usize,
}

impl Enough {
    pub(crate) fn here(self) -> usize {
        if is_cassandra() { self.cassandra } else { self.embedded }
    }
}

fn is_cassandra() -> bool {
    match std::env::var(VARIABLE).as_deref() {
        Err(_) | Ok("" | "embedded") => false,
        Ok("cassandra") => true,
        Ok(other) => panic!("{VARIABLE} is `{other}`, and can be embedded or cassandra"),
    }
}

pub(crate) fn url(contact_points: &[String], keyspace: &str) -> String {
    format!("cassandra://{}/{keyspace}", contact_points.join(","))
}

/// Another one when the tables are others, so that who changes them need not clean up.
pub(crate) fn keyspace(purpose: &str) -> String {
    static TABLES: OnceLock<u64> = OnceLock::new();
    let tables = TABLES.get_or_init(|| {
        let mut tables = DefaultHasher::new();
        schema("print", "cassandra://nowhere/any").hash(&mut tables);
        tables.finish()
    });
    format!("godwit_{purpose}_{:08x}", *tables as u32)
}

fn schema(command: &str, store: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let output = crate::process::run(&folder.path().join("data"), &["schema", command, "--store", store]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
