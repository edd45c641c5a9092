//! A real Cassandra for tests: three nodes on this machine, or one with passwords and TLS. Also Redis.
//!
//! In reading order:
//!
//! - [`Cassandra`]: the entry point; the Cassandra cluster comes from the environment or is started once per process
//! - `alone`: another cluster for a single test, which may kill and pause its nodes
//! - `nodes`: the nodes in a state folder, with a drawing of its layout
//! - `node`, `config`: one node: its files, its start, its log
//! - `process`, `leash`: processes that end with their owner, however that ends
//! - `locks`: locks on the cluster
//! - `net`: loopback addresses for each cluster
//! - `software`, `tools`: the software that a cluster needs, and how it is fetched
//! - `secured`, `redis`, `redis_groups`: the node with passwords and TLS; Redis alone and in groups
//!
//! All calls block, for seconds if a node starts. Asynchronous tests should use `spawn_blocking` if other tasks
//! must continue meanwhile.
//!
//! A test may assume the following. A write is durable once acknowledged, because the commit log is not synced
//! periodically. In a cluster that a test has alone, a silent node is noticed after about seven seconds.
//! Requests time out after ten seconds, and in the shared cluster after twenty, because the machine may be
//! busy. Keyspaces are not removed, so each test takes one of its own.
//!
//! This crate uses no driver. It reads from the logs whether nodes are up and see each other as up.

mod alone;
mod config;
mod error;
mod leash;
mod locks;
mod net;
mod node;
mod nodes;
mod process;
mod progress;
mod redis;
mod redis_groups;
mod secured;
mod software;
mod tools;

use std::path::PathBuf;
use std::sync::OnceLock;

pub use alone::Alone;
pub use error::TestbedError;
pub use nodes::{NODES, Nodes, Owned};
pub use redis::{Redis, RedisServer};
pub use redis_groups::{RedisCluster, RedisSentinel, redis_authority};
pub use secured::Secured;
pub use software::fetch_cassandra;

use locks::{LoneLock, SharedLock};
use nodes::Purpose;

/// The state folder of a running Cassandra cluster. `godwit-testbed` sets it for the command that it runs.
pub const FOLDER_VARIABLE: &str = "GODWIT_TEST_CASSANDRA_FOLDER";

/// The addresses of a Cassandra cluster that this crate does not manage: `host:port,host:port`.
pub const CASSANDRA_VARIABLE: &str = "GODWIT_TEST_CASSANDRA";

/// The entry point for tests.
#[derive(Debug)]
pub struct Cassandra;

impl Cassandra {
    /// Shares the cluster with other tests, also of other processes, while the returned value lives. Meanwhile
    /// no test has a cluster alone. Do not keep the value in a `static`, because [`Cassandra::alone`] would
    /// wait for it forever. A test must not call this twice: a test that waits for [`Cassandra::alone`] lets
    /// nobody in, and waits for the first value.
    pub fn shared() -> Result<Shared, TestbedError> {
        match Source::from_environment()? {
            Source::Foreign(contact_points) => Ok(Shared { contact_points, _lock: None }),
            Source::Folder(nodes) => Shared::of(&nodes),
            Source::Own => {
                static OWN: OnceLock<Result<Owned, TestbedError>> = OnceLock::new();
                Shared::of(started(&OWN, Purpose::Test)?)
            }
        }
    }

    /// A cluster for a single test, started once per process. Killing its nodes disturbs no other test. If a
    /// state folder in the environment names the shared cluster, this also waits until no test uses that one,
    /// because the machine has enough to do. A test that holds [`Shared`] while it calls this deadlocks.
    pub fn alone() -> Result<Alone, TestbedError> {
        static ALONE: OnceLock<Result<Owned, TestbedError>> = OnceLock::new();
        let shared = match Source::from_environment()? {
            Source::Folder(nodes) => Some(LoneLock::acquire(nodes.folder())?),
            Source::Foreign(_) | Source::Own => None,
        };
        Alone::of(started(&ALONE, Purpose::Faults)?.clone(), shared)
    }

    /// One node that requires a password and TLS, started once per process.
    pub fn secured() -> Result<&'static Secured, TestbedError> {
        static SECURED: OnceLock<Result<Secured, TestbedError>> = OnceLock::new();
        SECURED.get_or_init(Secured::start).as_ref().map_err(Clone::clone)
    }
}

/// A cluster that other tests use too.
#[derive(Debug)]
pub struct Shared {
    contact_points: Vec<String>,
    _lock: Option<SharedLock>,
}

impl Shared {
    fn of(nodes: &Nodes) -> Result<Self, TestbedError> {
        let lock = SharedLock::acquire(nodes.folder())?;
        if !nodes.are_well() {
            let folder = nodes.folder().display();
            return Err(TestbedError::Refused(format!("a Cassandra node in {folder} has ended")));
        }
        Ok(Self { contact_points: nodes.contact_points(), _lock: Some(lock) })
    }

    /// The addresses for clients, the first node first: `127.0.41.1:9042` and so on.
    pub fn contact_points(&self) -> Vec<String> {
        self.contact_points.clone()
    }
}

/// The source of the cluster for this process.
enum Source {
    Folder(Nodes),
    Foreign(Vec<String>),
    Own,
}

impl Source {
    fn from_environment() -> Result<Self, TestbedError> {
        if let Some(folder) = variable(FOLDER_VARIABLE) {
            return Nodes::open(&PathBuf::from(folder)).map(Self::Folder);
        }
        Ok(match variable(CASSANDRA_VARIABLE) {
            Some(list) => Self::Foreign(list.split(',').map(|point| point.trim().to_owned()).collect()),
            None => Self::Own,
        })
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// The cluster that this process has started for a purpose. It ends with the process: a `static` is never
/// dropped, but the kernel closes its leash.
fn started(
    cell: &'static OnceLock<Result<Owned, TestbedError>>,
    purpose: Purpose,
) -> Result<&'static Nodes, TestbedError> {
    cell.get_or_init(|| Owned::start_for(purpose)).as_ref().map(Owned::nodes).map_err(Clone::clone)
}
