//! A real Cassandra for tests: three nodes on this machine, or one with passwords and TLS. And Redis.
//!
//! In reading order:
//!
//! - [`Cluster`]: where a test asks; the cluster comes from the environment or is started once for this process
//! - `alone`: another cluster for one test only, which may kill and pause its nodes
//! - `nodes`: three nodes in a state folder; the folder's layout is drawn there
//! - `node`, `config`: one node: its files, its start, what its log says
//! - `process`, `leash`: processes that end with their owner, however that one ends
//! - `locks`: who may use the cluster at the moment
//! - `net`: addresses of its own for each cluster
//! - `software`, `tools`: what must be there to start one, and where it is fetched from
//! - `secured`, `redis`, `redis_groups`: the one node with passwords and TLS; Redis, alone and with others
//!
//! All calls block, for seconds if a node starts. In asynchronous tests use `spawn_blocking` where other tasks must go
//! on meanwhile.
//!
//! What a test may assume: writes are durable once acknowledged (the commit log is not synced periodically), a silent
//! node of a cluster that a test has alone is noticed after about seven seconds, and requests wait ten seconds (in the shared
//! cluster twenty) before they time out, because the machine may be busy. Keyspaces are not cleaned up: each test takes one of its own.
//!
//! No driver is known here: whether nodes are up, and see each other so, is read from their logs.

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
pub use error::ClusterError;
pub use nodes::{NODES, Nodes, Owned};
pub use redis::{Redis, RedisServer};
pub use redis_groups::{RedisCluster, RedisSentinel, redis_authority};
pub use secured::Secured;
pub use software::fetch_cassandra;

use locks::{LoneLock, SharedLock};
use nodes::Purpose;

/// The state folder of a cluster that runs already; `godwit-cluster` sets it for the command that it runs.
pub const CLUSTER_VARIABLE: &str = "GODWIT_TEST_CLUSTER";

/// The addresses of a cluster that somebody else runs: `host:port,host:port`.
pub const CASSANDRA_VARIABLE: &str = "GODWIT_TEST_CASSANDRA";

/// Where a test asks for Cassandra.
#[derive(Debug)]
pub struct Cluster;

impl Cluster {
    /// The cluster together with other tests, in other processes too, while the returned value lives. No test has a
    /// cluster alone meanwhile. Do not keep it in a `static`: [`Cluster::alone`] would wait for it for ever. Nor ask for it
    /// twice: whoever wants to be alone lets nobody in, and waits for the first.
    pub fn shared() -> Result<Shared, ClusterError> {
        match Source::from_environment()? {
            Source::Foreign(contact_points) => Ok(Shared { contact_points, _lock: None }),
            Source::Folder(nodes) => Shared::of(&nodes),
            Source::Own => {
                static OWN: OnceLock<Result<Owned, ClusterError>> = OnceLock::new();
                Shared::of(started(&OWN, Purpose::Test)?)
            }
        }
    }

    /// A cluster for this test only, started once for this process; what is killed there disturbs nobody else. If
    /// the shared one was started around all tests, it waits until nobody uses that: the machine has enough to do. A test
    /// that holds [`Shared`] and asks for this waits for itself.
    pub fn alone() -> Result<Alone, ClusterError> {
        static ALONE: OnceLock<Result<Owned, ClusterError>> = OnceLock::new();
        let shared = match Source::from_environment()? {
            Source::Folder(nodes) => Some(LoneLock::acquire(nodes.folder())?),
            Source::Foreign(_) | Source::Own => None,
        };
        Alone::of(started(&ALONE, Purpose::Faults)?.clone(), shared)
    }

    /// One node that wants a password and TLS, started once for this process.
    pub fn secured() -> Result<&'static Secured, ClusterError> {
        static SECURED: OnceLock<Result<Secured, ClusterError>> = OnceLock::new();
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
    fn of(nodes: &Nodes) -> Result<Self, ClusterError> {
        let lock = SharedLock::acquire(nodes.folder())?;
        if !nodes.are_well() {
            let folder = nodes.folder().display();
            return Err(ClusterError::Refused(format!("a node of the cluster in {folder} has ended")));
        }
        Ok(Self { contact_points: nodes.contact_points(), _lock: Some(lock) })
    }

    /// Where clients connect: `127.0.41.1:9042` and so on, the first node first.
    pub fn contact_points(&self) -> Vec<String> {
        self.contact_points.clone()
    }
}

/// Where the cluster of this process comes from.
enum Source {
    Folder(Nodes),
    Foreign(Vec<String>),
    Own,
}

impl Source {
    fn from_environment() -> Result<Self, ClusterError> {
        if let Some(folder) = variable(CLUSTER_VARIABLE) {
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

/// The cluster that this process started for a purpose. It ends with the process: a `static` is never dropped, but the leash
/// that it holds is closed by the kernel.
fn started(
    cell: &'static OnceLock<Result<Owned, ClusterError>>,
    purpose: Purpose,
) -> Result<&'static Nodes, ClusterError> {
    cell.get_or_init(|| Owned::start_for(purpose)).as_ref().map(Owned::nodes).map_err(Clone::clone)
}
