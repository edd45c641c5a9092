//! A Cassandra cluster for a single test, which may kill and pause its nodes.

use crate::error::TestbedError;
use crate::locks::LoneLock;
use crate::nodes::Nodes;
use crate::progress::say;

/// A cluster that only one test uses at a time. Nodes are numbered from 1. Dropping it first repairs every
/// node.
#[derive(Debug)]
pub struct Alone {
    nodes: Nodes,
    _lock: LoneLock,
    /// Keeps other tests off the shared cluster.
    _shared: Option<LoneLock>,
}

impl Alone {
    pub(super) fn of(nodes: Nodes, shared: Option<LoneLock>) -> Result<Self, TestbedError> {
        let lock = LoneLock::acquire(nodes.folder())?;
        if !nodes.are_well() {
            say("bringing back the nodes that a test left killed or paused, or that crashed");
            nodes.repair()?;
        }
        Ok(Self { nodes, _lock: lock, _shared: shared })
    }

    /// The addresses for clients, the first node first.
    pub fn contact_points(&self) -> Vec<String> {
        self.nodes.contact_points()
    }

    /// Kills the node at once, as in a power failure. Its ports are closed when this returns. The other nodes
    /// need some seconds to notice.
    pub fn kill(&self, node: u8) -> Result<(), TestbedError> {
        self.nodes.note_disturbance()?;
        self.nodes.node(node).kill()
    }

    /// Stops the node without ending it: its connections stay open, and it does not answer.
    pub fn pause(&self, node: u8) -> Result<(), TestbedError> {
        self.nodes.note_disturbance()?;
        self.nodes.node(node).pause()
    }

    /// Resumes a paused node. Does not wait until the others notice.
    pub fn resume(&self, node: u8) -> Result<(), TestbedError> {
        self.nodes.node(node).resume()
    }

    /// Starts a killed node with its data, and waits until it is up and the running nodes see each other as up.
    /// No other node may be paused meanwhile, because this would wait for it.
    pub fn start(&self, node: u8) -> Result<(), TestbedError> {
        self.nodes.start(node)
    }

    /// Waits until the other running nodes see a killed or paused node as down.
    pub fn wait_until_down(&self, node: u8) -> Result<(), TestbedError> {
        self.nodes.wait_until_down(node)
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        if self.nodes.are_well() {
            return;
        }
        // The next test tries the repair again.
        if let Err(error) = self.nodes.repair() {
            say(&format!("the cluster could not be repaired: {error}"));
        }
    }
}
