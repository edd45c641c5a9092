//! The store of this run. Every test that does not concern the files of the embedded store or Cassandra runs on both stores:
//! on the embedded one by default, and on Cassandra with `GODWIT_TEST_STORE=cassandra`.
//!
//! On Cassandra all tests share a keyspace, because creating one takes longer than most tests, and the data of earlier runs
//! with the same tables stays. Tests therefore do not rely on an empty store: each has people with unique handles.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

use godwit_testbed::{Cassandra, Redis, Shared};

const VARIABLE: &str = "GODWIT_TEST_STORE";
const PURPOSE: &str = "e2e";
/// The configuration file that `godwit` reads by default.
const DEFAULT_FILE: &str = "godwit.toml";

/// The store of a server. While this value lives, other tests do not disturb its cluster.
#[derive(Debug)]
pub(crate) enum TestStore {
    /// In the data folder.
    Embedded,
    /// In the keyspace for this purpose.
    Cassandra(Shared, &'static str),
    /// At a location that the test manages.
    At(String),
}

impl TestStore {
    pub(crate) fn of_run() -> Self {
        Self::of_run_for(PURPOSE)
    }

    /// A keyspace that only tests with this purpose use: any server on a keyspace may handle due items, and the servers of
    /// other tests send no events to this one.
    pub(crate) fn of_run_for(purpose: &'static str) -> Self {
        if is_cassandra() { Self::Cassandra(Self::cluster(), purpose) } else { Self::Embedded }
    }

    /// `None` if it is the default.
    pub(crate) fn url(&self) -> Option<String> {
        match self {
            Self::Embedded => None,
            Self::Cassandra(cluster, purpose) => Some(made(&cluster.contact_points(), purpose)),
            Self::At(url) => Some(url.clone()),
        }
    }

    /// Its settings. The servers of all tests share a keyspace, but those of different tests exchange no hints.
    pub(crate) fn settings(&self) -> String {
        match self.url() {
            Some(url) => {
                // The nodes share one machine and its clock, and a slow node is not a dead one.
                let patience = "[store.cassandra]\nsilence_max_ms = 30000\nrequest_timeout_ms = 20000\n\
                    clock_difference_max_ms = 1000\n";
                let redis = redis().new_database();
                format!("[store]\nurl = {url:?}\n{patience}[cluster]\nredis_url = {redis:?}\n")
            }
            None => String::new(),
        }
    }

    /// Makes it the default of all commands in this folder.
    pub(crate) fn settle(&self, folder: &Path) {
        let file = folder.join(DEFAULT_FILE);
        if self.url().is_some() && !file.exists() {
            std::fs::write(file, self.settings()).unwrap();
        }
    }

    fn cluster() -> Shared {
        Cassandra::shared().unwrap_or_else(|error| panic!("{error}"))
    }
}

/// The location of a keyspace, whose tables are created once for all, rather than by the first server.
pub(crate) fn made(contact_points: &[String], purpose: &str) -> String {
    static MADE: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let url = url(contact_points, &keyspace(purpose));
    // A second caller waits, and retries after a failure.
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

/// The amount that is enough for a test. On Cassandra everything takes ten times as long.
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

/// False on the thread of a test of the embedded store. The other threads of a runtime do not know to which test they belong.
pub(crate) fn may_be_on_cassandra() -> bool {
    let is_embedded = |name: &str| name.contains("::") && !name.contains("on_cassandra");
    is_cassandra() || !std::thread::current().name().is_some_and(is_embedded)
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

/// The name depends on the tables, so that a change of the tables needs no cleanup.
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
