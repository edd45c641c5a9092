//! The store of this run. Every test that is not about the files of the embedded store, or about a cluster, is run on both:
//! on the embedded store by default, and on Cassandra with `GODWIT_TEST_STORE=cassandra`.
//!
//! On Cassandra all tests share a keyspace, because making one takes longer than most of them, and what earlier runs with the
//! same tables left in it stays. So no test relies on an empty world: the people of each have handles that nobody else has.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

use godwit_testkit::cluster::{Cluster, Redis, Shared};

const VARIABLE: &str = "GODWIT_TEST_STORE";
const PURPOSE: &str = "e2e";
/// What `godwit` reads when it is told of no other file.
const DEFAULT_FILE: &str = "godwit.toml";

/// Where a server has its data. A cluster is not disturbed by others while this lives.
#[derive(Debug)]
pub(crate) enum TestStore {
    /// In the data folder.
    Embedded,
    /// In the keyspace of this purpose.
    Cassandra(Shared, &'static str),
    /// At a place that the test looks after.
    At(String),
}

impl TestStore {
    pub(crate) fn of_run() -> Self {
        Self::of_run_for(PURPOSE)
    }

    /// One that only tests with this purpose use: what is due is dealt with by whichever server on a keyspace looks first, and
    /// those of other tests would tell nobody here.
    pub(crate) fn of_run_for(purpose: &'static str) -> Self {
        if is_cassandra() { Self::Cassandra(Self::cluster(), purpose) } else { Self::Embedded }
    }

    /// `None` where it is what a server uses by itself.
    pub(crate) fn url(&self) -> Option<String> {
        match self {
            Self::Embedded => None,
            Self::Cassandra(cluster, purpose) => Some(made(&cluster.contact_points(), purpose)),
            Self::At(url) => Some(url.clone()),
        }
    }

    /// What a configuration says of it. The servers of all tests share a keyspace, but none hears of those of other tests.
    pub(crate) fn settings(&self) -> String {
        match self.url() {
            Some(url) => {
                // The nodes share a machine, and one that is slow has not gone.
                let patience = "[store.cassandra]\nsilence_max_ms = 30000\nrequest_timeout_ms = 20000\n";
                let redis = redis().new_database();
                format!("[store]\nurl = {url:?}\n{patience}[cluster]\nredis_url = {redis:?}\n")
            }
            None => String::new(),
        }
    }

    /// Makes it that of all commands that run in this folder and are not told otherwise.
    pub(crate) fn settle(&self, folder: &Path) {
        let file = folder.join(DEFAULT_FILE);
        if self.url().is_some() && !file.exists() {
            std::fs::write(file, self.settings()).unwrap();
        }
    }

    fn cluster() -> Shared {
        Cluster::shared().unwrap_or_else(|error| panic!("{error}"))
    }
}

/// The place of a keyspace, whose tables are made once for all, rather than by whichever server happens to start first.
pub(crate) fn made(contact_points: &[String], purpose: &str) -> String {
    static MADE: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let url = url(contact_points, &keyspace(purpose));
    // Whoever comes second waits. One that failed is tried again.
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if !made.contains(&url) {
        schema("create", &url);
        made.insert(url.clone());
    }
    url
}

/// The Redis of this run.
fn redis() -> &'static Redis {
    static REDIS: LazyLock<Redis> =
        LazyLock::new(|| Redis::start().unwrap_or_else(|error| panic!("{error}")));
    &REDIS
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
fn keyspace(purpose: &str) -> String {
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
