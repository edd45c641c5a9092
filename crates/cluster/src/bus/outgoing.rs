//! Sends items to the nodes that need them.
//!
//! All waiting items are sent as one batch, in two steps. Step 1 publishes the new heads to every other node, and asks Redis at
//! which nodes the users are. Step 2 publishes one frame to each node, with everything for that node.
//!
//! A user who comes online between the two steps is missing from the routes that step 1 has read. The user misses no entry:
//! their node has received the new head in step 1, so the user's `sync` finds it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use godwit_domain::conversations::StateChange;
use godwit_protocol::{ConversationId, Seq, UserId};
use metrics::counter;
use redis::aio::MultiplexedConnection;
use redis::{Pipeline, RedisResult};
use tokio::sync::{mpsc, oneshot};

use super::frame::{Frame, Told};
use super::{Bus, lock};
use crate::keys::read_nodes;
use crate::node::NodeId;
use crate::seal::Seal;

/// Items per batch.
const BATCH_MAX: usize = 1_024;
/// The approximate size above which the items for one node are split into several frames.
const FRAME_BYTES_MAX: usize = 256 * 1024;

#[derive(Debug)]
pub(crate) enum Item {
    /// For all other nodes.
    All(Told),
    /// For one node.
    To(NodeId, Told),
    Head(ConversationId, Seq),
    /// For the nodes that get the entries of this append.
    Appended(Arc<StateChange>),
    /// Entries of a conversation, with the frames that each group of users gets.
    Entries {
        conversation: ConversationId,
        shares: Vec<(Vec<Bytes>, Vec<UserId>)>,
    },
    /// For every socket of these users.
    Event {
        frame: Bytes,
        to: Vec<UserId>,
    },
    Follow {
        users: Vec<(UserId, Seq)>,
        conversation: ConversationId,
    },
    /// The first socket of a user has opened, or the last one has closed.
    Route {
        user: UserId,
        done: oneshot::Sender<()>,
    },
    /// For all other nodes and this one. `lost` skips a number, so that the others see a gap.
    Beat {
        echo: u64,
        lost: bool,
    },
}

impl Item {
    pub(super) fn size_bytes(&self) -> usize {
        const EACH: usize = 64;
        EACH + match self {
            Self::All(told) | Self::To(_, told) => told.size_bytes(),
            Self::Entries { shares, .. } => {
                let of_share = |(frames, to): &(Vec<Bytes>, Vec<UserId>)| {
                    frames.iter().map(Bytes::len).sum::<usize>() + to.len() * 8
                };
                shares.iter().map(of_share).sum()
            }
            Self::Event { frame, to } => frame.len() + to.len() * 8,
            Self::Follow { users, .. } => users.len() * 16,
            Self::Appended(change) => 512 + change.members.len() * 64,
            Self::Head(..) | Self::Route { .. } | Self::Beat { .. } => 0,
        }
    }
}

/// The numbers of the frames that this node sends.
#[derive(Debug)]
pub(super) struct Numbers {
    me: NodeId,
    next: HashMap<NodeId, u64>,
    /// The number of the first frame to a node: 0 if no frame was lost before, and otherwise 1, which shows a gap.
    first: u64,
    /// The serial number of the last frame to any node.
    serial: u64,
    seal: Seal,
}

impl Numbers {
    pub(super) fn new(me: NodeId, seal: Seal) -> Self {
        Self { me, next: HashMap::new(), first: 0, serial: 0, seal }
    }

    /// Skips a number for every node, so that the nodes detect the loss of a frame.
    pub(super) fn lose(&mut self) {
        self.first = 1;
        self.next.values_mut().for_each(|number| *number += 1);
    }

    fn frame(&mut self, to: NodeId, told: Vec<Told>) -> Vec<u8> {
        let next = self.next.entry(to).or_insert(self.first);
        self.serial += 1;
        let frame = Frame { from: self.me, number: *next, serial: self.serial, told };
        *next += 1;
        frame.encode(to, &self.seal)
    }

    /// Drops the numbers of nodes that have left, so that the map stays bounded.
    fn forget_all_but(&mut self, there: &HashSet<NodeId>) {
        if self.next.len() > 2 * there.len() + 16 {
            self.next.retain(|node, _| *node == self.me || there.contains(node));
        }
    }
}

impl Bus {
    /// Runs until this node leaves and the queue is sent.
    pub(super) async fn send(
        &self,
        mut redis: MultiplexedConnection,
        items: &mut mpsc::Receiver<Item>,
        numbers: &mut Numbers,
    ) -> RedisResult<()> {
        let mut batch = Vec::new();
        loop {
            let received = tokio::select! {
                received = items.recv_many(&mut batch, BATCH_MAX) => received,
                () = self.leaving.notified() => {
                    // Items that are already in the queue are still sent.
                    items.close();
                    continue;
                }
            };
            if received == 0 {
                return Ok(());
            }
            let bytes = batch.iter().map(Item::size_bytes).sum();
            self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
            let sent = self.send_batch(&mut redis, numbers, std::mem::take(&mut batch)).await;
            if sent.is_err() {
                numbers.lose();
                return sent;
            }
        }
    }

    async fn send_batch(
        &self,
        redis: &mut MultiplexedConnection,
        numbers: &mut Numbers,
        items: Vec<Item>,
    ) -> RedisResult<()> {
        let others: HashSet<NodeId> = self.registry.others().iter().map(|node| node.id).collect();
        numbers.forget_all_but(&others);
        let routes = self.tell_heads_and_look(redis, numbers, &others, &items).await?;
        let mut letters = Letters::default();
        for item in items {
            letters.add(item, self.me, &others, &routes, numbers);
        }
        self.publish(redis, numbers, letters, &others, &routes).await
    }

    /// Step 1: publishes heads, writes routes, and reads at which nodes the users of this batch are.
    async fn tell_heads_and_look(
        &self,
        redis: &mut MultiplexedConnection,
        numbers: &mut Numbers,
        others: &HashSet<NodeId>,
        items: &[Item],
    ) -> RedisResult<Routes> {
        let mut pipeline = Pipeline::new();
        let mut heads = BTreeMap::<ConversationId, Seq>::new();
        for item in items {
            if let Item::Head(conversation, seq) = item {
                let newest = heads.entry(*conversation).or_default();
                *newest = (*seq).max(*newest);
            }
        }
        if !heads.is_empty() {
            let told: Vec<Told> = heads.into_iter().map(|(id, seq)| Told::Head(id, seq)).collect();
            for node in others {
                let frame = numbers.frame(*node, told.clone());
                pipeline.cmd("PUBLISH").arg(self.keys.channel(*node)).arg(frame).ignore();
            }
        }
        for item in items {
            if let Item::Route { user, .. } = item {
                self.add_route(&mut pipeline, *user);
            }
        }
        let mut users: Vec<UserId> = Vec::new();
        if !others.is_empty() {
            for item in items {
                match item {
                    Item::Entries { shares, .. } => users.extend(shares.iter().flat_map(|(_, to)| to)),
                    Item::Event { to, .. } => users.extend(to),
                    Item::Follow { users: to, .. } => users.extend(to.iter().map(|(user, _)| *user)),
                    _ => {}
                }
            }
            users.sort_unstable();
            users.dedup();
            for user in &users {
                pipeline.add_command(read_nodes(self.keys.user(*user)));
            }
        }
        if pipeline.is_empty() {
            return Ok(Routes::new());
        }
        let found: Vec<Vec<String>> = pipeline.query_async(redis).await?;
        let elsewhere = |ids: Vec<String>| -> Vec<NodeId> {
            ids.iter().filter_map(|id| id.parse().ok()).filter(|id| *id != self.me).collect()
        };
        let found = users.into_iter().zip(found.into_iter().map(elsewhere));
        Ok(found.filter(|(_, nodes)| !nodes.is_empty()).collect())
    }

    async fn publish(
        &self,
        redis: &mut MultiplexedConnection,
        numbers: &mut Numbers,
        letters: Letters,
        others: &HashSet<NodeId>,
        routes: &Routes,
    ) -> RedisResult<()> {
        let mut pipeline = Pipeline::new();
        let mut nodes = Vec::new();
        for (node, frames) in letters.frames {
            for told in frames {
                let frame = numbers.frame(node, told);
                counter!("godwit_cluster_published_total").increment(1);
                counter!("godwit_cluster_published_bytes_total").increment(frame.len() as u64);
                pipeline.cmd("PUBLISH").arg(self.keys.channel(node)).arg(frame);
                nodes.push(node);
            }
        }
        if !letters.waiting.is_empty() {
            // Redis executes commands in order: when the echo comes back, the routes are written, and everything that was
            // published before them has arrived.
            let echo = self.next_echo.fetch_add(1, Ordering::Relaxed);
            lock(&self.echoes).extend(letters.waiting.into_iter().map(|done| (echo, done)));
            let frame = numbers.frame(self.me, vec![Told::Echo(echo)]);
            pipeline.cmd("PUBLISH").arg(self.keys.channel(self.me)).arg(frame);
            nodes.push(self.me);
        }
        if pipeline.is_empty() {
            return Ok(());
        }
        let received: Vec<u64> = pipeline.query_async(redis).await?;
        let is_gone = |(node, received): &(NodeId, u64)| *received == 0 && !others.contains(node);
        let gone: HashSet<NodeId> =
            nodes.into_iter().zip(received).filter(is_gone).map(|(node, _)| node).collect();
        if gone.is_empty() { Ok(()) } else { self.remove_routes(redis, &gone, routes).await }
    }

    /// Removes the routes to nodes that have left, which are the nodes without a subscriber on their channel.
    async fn remove_routes(
        &self,
        redis: &mut MultiplexedConnection,
        gone: &HashSet<NodeId>,
        routes: &Routes,
    ) -> RedisResult<()> {
        let mut pipeline = Pipeline::new();
        for (user, nodes) in routes {
            for node in nodes.iter().filter(|node| gone.contains(node)) {
                pipeline.cmd("SREM").arg(self.keys.user(*user)).arg(node.to_string()).ignore();
            }
        }
        pipeline.query_async(redis).await
    }
}

/// For each user, the other nodes at which they have sockets.
type Routes = HashMap<UserId, Vec<NodeId>>;

/// The frames of a batch, by receiving node.
#[derive(Debug, Default)]
struct Letters {
    frames: BTreeMap<NodeId, Vec<Vec<Told>>>,
    sizes: HashMap<NodeId, usize>,
    /// Changes whose entries follow later in this batch.
    changes: HashMap<ConversationId, Vec<Arc<StateChange>>>,
    waiting: Vec<oneshot::Sender<()>>,
}

impl Letters {
    fn add(
        &mut self,
        item: Item,
        me: NodeId,
        others: &HashSet<NodeId>,
        routes: &Routes,
        numbers: &mut Numbers,
    ) {
        match item {
            Item::All(told) => others.iter().for_each(|node| self.push(*node, told.clone())),
            Item::To(node, told) => self.push(node, told),
            Item::Head(..) => {}
            Item::Appended(change) => self.changes.entry(change.conversation).or_default().push(change),
            Item::Entries { conversation, shares } => self.entries(conversation, shares, routes),
            Item::Event { frame, to } => {
                for (node, to) in by_node(to, routes, |user| *user) {
                    self.push(node, Told::Frames { to, frames: vec![frame.clone()] });
                }
            }
            Item::Follow { users, conversation } => {
                for (node, users) in by_node(users, routes, |(user, _)| *user) {
                    self.push(node, Told::Follow { users, conversation });
                }
            }
            Item::Route { done, .. } => self.waiting.push(done),
            Item::Beat { echo, lost } => {
                if lost {
                    numbers.lose();
                }
                // An empty frame has a number too.
                others.iter().for_each(|node| {
                    self.frames.entry(*node).or_default().push(Vec::new());
                });
                self.push(me, Told::Echo(echo));
            }
        }
    }

    fn entries(
        &mut self,
        conversation: ConversationId,
        shares: Vec<(Vec<Bytes>, Vec<UserId>)>,
        routes: &Routes,
    ) {
        let changes = self.changes.remove(&conversation).unwrap_or_default();
        let mut told = HashSet::new();
        for (frames, users) in shares {
            for (node, to) in by_node(users, routes, |user| *user) {
                if told.insert(node) {
                    changes.iter().for_each(|change| self.push(node, Told::Appended(change.clone())));
                }
                self.push(node, Told::Frames { to, frames: frames.clone() });
            }
        }
    }

    fn push(&mut self, node: NodeId, told: Told) {
        let size = self.sizes.entry(node).or_default();
        let frames = self.frames.entry(node).or_default();
        if *size + told.size_bytes() > FRAME_BYTES_MAX || frames.is_empty() {
            *size = 0;
            frames.push(Vec::new());
        }
        *size += told.size_bytes();
        if let Some(frame) = frames.last_mut() {
            frame.push(told);
        }
    }
}

/// Groups values about users by the nodes at which the users are.
fn by_node<T: Copy>(users: Vec<T>, routes: &Routes, id: impl Fn(&T) -> UserId) -> BTreeMap<NodeId, Vec<T>> {
    let mut by_node = BTreeMap::<NodeId, Vec<T>>::new();
    for user in users {
        for node in routes.get(&id(&user)).into_iter().flatten() {
            by_node.entry(*node).or_default().push(user);
        }
    }
    by_node
}
