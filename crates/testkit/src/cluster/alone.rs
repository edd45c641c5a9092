//! A cluster for one test, which may disturb it.

use super::error::ClusterError;
use super::locks::LoneLock;
use super::nodes::Nodes;
use super::progress::say;

/// A cluster that nobody else uses meanwhile. Nodes are counted from 1. When it is dropped, every node is brought back
/// first.
#[derive(Debug)]
pub struct Alone {
    nodes: Nodes,
    _lock: LoneLock,
    /// That nobody uses the shared cluster.
    _shared: Option<LoneLock>,
}

impl Alone {
    pub(super) fn of(nodes: Nodes, shared: Option<LoneLock>) -> Result<Self, ClusterError> {
        let lock = LoneLock::acquire(nodes.folder())?;
        if !nodes.are_well() {
            say("bringing back the nodes that a test left killed or paused, or that crashed");
            nodes.repair()?;
        }
        Ok(Self { nodes, _lock: lock, _shared: shared })
    }

    /// Where clients connect, the first node first.
    pub fn contact_points(&self) -> Vec<String> {
        self.nodes.contact_points()
    }

    /// Ends the node at once, as by a power failure. Its ports are closed when this returns; the others need some
    /// seconds to notice.
    pub fn kill(&self, node: u8) -> Result<(), ClusterError> {
        self.nodes.note_disturbance()?;
        self.nodes.node(node).kill()
    }

    /// Stops the node without ending it: its connections stay open, and nothing answers.
    pub fn pause(&self, node: u8) -> Result<(), ClusterError> {
        self.nodes.note_disturbance()?;
        self.nodes.node(node).pause()
    }

    /// Lets a paused node go on. Does not wait until the others know.
    pub fn resume(&self, node: u8) -> Result<(), ClusterError> {
        self.nodes.node(node).resume()
    }

    /// Starts a killed node with the data that it has, and waits until it is up and those that run see each other so.
    /// No other node may be paused meanwhile: it would be waited for.
    pub fn start(&self, node: u8) -> Result<(), ClusterError> {
        self.nodes.start(node)
    }

    /// Waits until the other nodes that run count a killed or paused one as down.
    pub fn wait_until_down(&self, node: u8) -> Result<(), ClusterError> {
        self.nodes.wait_until_down(node)
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        if self.nodes.are_well() {
            return;
        }
        // Whoever comes next tries again.
        if let Err(error) = self.nodes.repair() {
            say(&format!("the cluster could not be repaired: {error}"));
        }
    }
}
