//! The nodes of a Cassandra cluster, in a state folder:
//!
//! ```text
//! STATE/
//!   cluster             the net and the number of nodes: "41 3" is 127.0.41.1 to 127.0.41.3
//!   leash               held open by the owner; absent if the nodes are meant to stay
//!   gate.lock use.lock  locks on the cluster
//!   disturbed           a test has killed or paused a node, and not repaired it yet
//!   node1/
//!     command           the program and its arguments
//!     cassandra.yaml rackdc.properties logback.xml
//!     pid out.log       of the last start; the log is locked while the node runs
//!     data/ tmp/
//! ```
//!
//! All state is in files, so any process that knows the folder can use the cluster.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::{NodeConfig, Security};
use crate::error::{Doing as _, TestbedError};
use crate::leash::Leash;
use crate::locks::LoneLock;
use crate::net::{Net, Reservation};
use crate::node::{LogMark, Node};
use crate::progress::{Ticker, say};
use crate::software::{self, Software};

/// Nodes per Cassandra cluster. With fewer than three, none can fail without losing the quorum.
pub const NODES: u8 = 3;

const CLUSTER: &str = "cluster";
const DISTURBED: &str = "disturbed";

/// How long the nodes must agree, because a resumed node may be declared down in the same second.
const AGREEMENT: Duration = Duration::from_millis(1200);

/// The purpose of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Starts quickly, because code is compiled with little optimisation. Schema changes stay in memory, so
    /// creating a keyspace takes four seconds instead of twenty, but a killed node loses them.
    Test,
    /// Starts as quickly, and a killed node loses nothing.
    Faults,
    /// Runs for long, and is fast enough for measurements.
    Development,
}

/// The nodes of a cluster, running or not.
#[derive(Debug, Clone)]
pub struct Nodes {
    folder: PathBuf,
    nodes: Vec<Node>,
}

/// The properties of a new cluster.
pub(super) struct Plan<'a> {
    pub(super) size: u8,
    pub(super) purpose: Purpose,
    pub(super) security: Option<Security<'a>>,
    pub(super) software: Software,
}

impl Nodes {
    /// Opens a cluster that this or another process has created.
    pub fn open(folder: &Path) -> Result<Self, TestbedError> {
        let not_there = || TestbedError::NotThere { folder: folder.to_owned() };
        let text = fs::read_to_string(folder.join(CLUSTER)).map_err(|_| not_there())?;
        let (net, size) = text.trim().split_once(' ').ok_or_else(not_there)?;
        let (net, size) = (net.parse().map_err(|_| not_there())?, size.parse().map_err(|_| not_there())?);
        Ok(Self::at(folder, Net(net), size))
    }

    /// Starts three nodes that stay when this process ends, on 127.0.0.1 to 127.0.0.3 if these are free. An
    /// existing cluster in the folder is started again with its data.
    pub fn start_to_stay(folder: &Path) -> Result<Self, TestbedError> {
        fs::create_dir_all(folder).doing(|| format!("create {}", folder.display()))?;
        let folder = folder.canonicalize().doing(|| format!("find {}", folder.display()))?;
        let _lock = LoneLock::acquire(&folder)?;
        if let Ok(nodes) = Self::open(&folder) {
            return nodes.all_started();
        }
        let software = Software::get()?;
        let reservation = Reservation::familiar_or_any()?;
        let plan = Plan { size: NODES, purpose: Purpose::Development, security: None, software };
        Self::prepare(&folder, reservation.net, &plan)?.all_started()
    }

    /// Starts all nodes. If one fails, none stays running.
    fn all_started(self) -> Result<Self, TestbedError> {
        if let Err(error) = self.start_all() {
            self.stop_all()?;
            return Err(error);
        }
        Ok(self)
    }

    fn at(folder: &Path, net: Net, size: u8) -> Self {
        let nodes = (1..=size).map(|number| Node::at(folder, net, number)).collect();
        Self { folder: folder.to_owned(), nodes }
    }

    /// Writes all files, and starts nothing.
    pub(super) fn prepare(folder: &Path, net: Net, plan: &Plan<'_>) -> Result<Self, TestbedError> {
        let nodes = Self::at(folder, net, plan.size);
        for node in &nodes.nodes {
            let config = NodeConfig {
                folder: &Node::folder(folder, node.number),
                net,
                number: node.number,
                size: plan.size,
                purpose: plan.purpose,
                security: plan.security,
            };
            node.prepare(&plan.software.java, &config.arguments(&plan.software.jars), &config)?;
        }
        let path = folder.join(CLUSTER);
        fs::write(&path, format!("{} {}", net.0, plan.size)).doing(|| format!("write {}", path.display()))?;
        Ok(nodes)
    }

    /// Starts all nodes at the same time, which is faster than one after the other even on two cores.
    pub(super) fn start_all(&self) -> Result<(), TestbedError> {
        let count = self.nodes.len();
        say(&format!(
            "starting {count} node(s) of Cassandra {} in {}",
            software::VERSION,
            self.folder.display()
        ));
        let mut ticker = Ticker::start();
        self.nodes.iter().try_for_each(Node::launch)?;
        for node in &self.nodes {
            node.wait_until_up(|| ticker.tick(|| format!("waiting for node {}", node.number)))?;
            say(&format!("node {} of {count} up after {} s", node.number, ticker.seconds()));
        }
        self.wait_until_all_see_each_other()
    }

    pub fn contact_points(&self) -> Vec<String> {
        self.nodes.iter().map(Node::contact_point).collect()
    }

    /// The addresses without ports.
    pub fn addresses(&self) -> Vec<String> {
        self.nodes.iter().map(|node| node.address.to_string()).collect()
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The process ids of the running nodes. A paused node counts as running.
    pub fn pids(&self) -> Vec<(u8, Option<i32>)> {
        self.nodes.iter().map(|node| (node.number, node.pid().filter(|_| node.is_running()))).collect()
    }

    /// Kills all nodes, which loses no data.
    pub fn stop_all(&self) -> Result<(), TestbedError> {
        self.nodes.iter().try_for_each(Node::kill)
    }

    /// Removes the folder with all data. The nodes must not run.
    pub fn remove(&self) -> Result<(), TestbedError> {
        fs::remove_dir_all(&self.folder).doing(|| format!("remove {}", self.folder.display()))
    }

    /// The default folder of a cluster that stays.
    pub fn usual_folder() -> Result<PathBuf, TestbedError> {
        Ok(software::cache_folder()?.join("dev-cassandra"))
    }

    pub(super) fn node(&self, number: u8) -> &Node {
        let found = self.nodes.iter().find(|node| node.number == number);
        found.unwrap_or_else(|| panic!("there are nodes 1 to {}, and no node {number}", self.nodes.len()))
    }

    /// Starts a node, and waits until it is up and the running nodes see each other as up.
    pub(super) fn start(&self, number: u8) -> Result<(), TestbedError> {
        let node = self.node(number);
        if node.is_running() {
            return Ok(());
        }
        let peers: Vec<(&Node, LogMark)> = self.peers(node).map(|peer| (peer, peer.log_mark())).collect();
        node.launch()?;
        node.wait_until_up(|| ())?;
        for (peer, mark) in peers {
            peer.wait_until_it_sees(node, true, mark)?;
            node.wait_until_it_sees(peer, true, LogMark::default())?;
        }
        Ok(())
    }

    /// Waits until all other running nodes see the node as down.
    pub(super) fn wait_until_down(&self, number: u8) -> Result<(), TestbedError> {
        let node = self.node(number);
        self.peers(node).try_for_each(|peer| peer.wait_until_it_sees(node, false, LogMark::default()))
    }

    fn peers(&self, node: &Node) -> impl Iterator<Item = &Node> {
        let number = node.number;
        self.nodes.iter().filter(move |peer| peer.number != number && peer.is_running())
    }

    /// Whether a test can use the nodes as they are.
    pub(super) fn are_well(&self) -> bool {
        !self.folder.join(DISTURBED).exists() && self.nodes.iter().all(Node::is_running)
    }

    /// Recorded before a node is killed or paused, so that the next test repairs it if this one does not.
    pub(super) fn note_disturbance(&self) -> Result<(), TestbedError> {
        let path = self.folder.join(DISTURBED);
        fs::write(&path, "").doing(|| format!("write {}", path.display()))
    }

    /// Makes all nodes run, unpaused, and waits until they agree that all are up.
    pub(super) fn repair(&self) -> Result<(), TestbedError> {
        self.nodes.iter().try_for_each(Node::resume)?;
        for node in self.nodes.iter().filter(|node| !node.is_running()) {
            self.start(node.number)?;
        }
        self.wait_until_all_see_each_other()?;
        let path = self.folder.join(DISTURBED);
        if path.exists() {
            fs::remove_file(&path).doing(|| format!("remove {}", path.display()))?;
        }
        Ok(())
    }

    fn wait_until_all_see_each_other(&self) -> Result<(), TestbedError> {
        loop {
            for node in &self.nodes {
                for peer in self.nodes.iter().filter(|peer| peer.number != node.number) {
                    node.wait_until_it_sees(peer, true, LogMark::default())?;
                }
            }
            if self.nodes.len() == 1 {
                return Ok(());
            }
            std::thread::sleep(AGREEMENT);
            if self.agree() {
                return Ok(());
            }
        }
    }

    fn agree(&self) -> bool {
        let pairs = self.nodes.iter().flat_map(|node| self.nodes.iter().map(move |peer| (node, peer)));
        pairs
            .filter(|(node, peer)| node.number != peer.number)
            .all(|(node, peer)| node.sees(peer) == Some(true))
    }
}

/// A cluster that ends when this is dropped or the process ends.
#[derive(Debug)]
pub struct Owned {
    nodes: Nodes,
    _leash: Leash,
    _reservation: Reservation,
}

impl Owned {
    /// Three nodes for tests that do not disturb them.
    pub fn start() -> Result<Self, TestbedError> {
        Self::start_for(Purpose::Test)
    }

    pub(super) fn start_for(purpose: Purpose) -> Result<Self, TestbedError> {
        let software = Software::get()?;
        let leash = Leash::on_new_folder("godwit-testbed-")?;
        let reservation = Reservation::any()?;
        let plan = Plan { size: NODES, purpose, security: None, software };
        let nodes = Nodes::prepare(leash.folder(), reservation.net, &plan)?;
        nodes.start_all()?;
        Ok(Self { nodes, _leash: leash, _reservation: reservation })
    }

    pub fn nodes(&self) -> &Nodes {
        &self.nodes
    }
}
