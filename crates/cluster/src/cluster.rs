//! Implements the ports of the domain for one server of a cluster.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use godwit_delivery::{EntryFrames, EntryRun, Hub, Share, frame};
use godwit_domain::actions::Action;
use godwit_domain::conversations::StateChange;
use godwit_domain::model::Concealed;
use godwit_domain::peers::FromPeers;
use godwit_domain::ports::{
    Append, Audience, Clock, CursorMove, Delivery, ForwardedAction, OutgoingEntry, Peers,
};
use godwit_protocol::socket::{CloseCode, Event, PresenceEvent};
use godwit_protocol::{ConversationId, DeviceId, Seq, Timestamp, UserId};
use metrics::counter;
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::bus::frame::Told;
use crate::bus::{Bus, Item, Neighbourhood};
use crate::keys::Keys;
use crate::mesh::{Listener, Mesh, Servant, SharedKey};
use crate::node::{NodeId, NodeInfo, PROTOCOL};
use crate::notice::Notice;
use crate::redis::RedisAddress;
use crate::seal::Seal;

/// How long a starting server waits until the others know it.
const JOIN_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a stopping server waits for actions that others have forwarded to it.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(2);
/// How long it then waits until its last messages and its departure have reached Redis.
const FAREWELL_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone)]
pub struct Options {
    pub redis: RedisAddress,
    /// The address on which other nodes connect.
    pub listen: SocketAddr,
    /// The IP address that other nodes use, if it is not that of `listen`.
    pub advertise: Option<IpAddr>,
    /// A secret that all nodes share, besides the installation's signing key.
    pub secret: String,
    /// The signing key of the installation.
    pub signing_key: [u8; 32],
    /// The name of the machine.
    pub host: String,
    pub version: String,
}

#[derive(Debug, Error)]
pub enum StartError {
    #[error("cannot listen for other servers on {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
}

#[derive(Debug)]
pub struct Cluster {
    hub: Arc<Hub>,
    bus: Arc<Bus>,
    mesh: Mesh,
    servant: Servant,
    host: String,
    version: String,
    internal: SocketAddr,
    serves: OnceLock<SocketAddr>,
    started_at: Timestamp,
    draining: AtomicBool,
    /// Entries appended by this node, and the number of them announced by the last heartbeat.
    appended: AtomicU64,
    told_appended: AtomicU64,
    starting: std::sync::Mutex<Option<Starting>>,
}

/// The parts that [`Cluster::join`] starts.
#[derive(Debug)]
struct Starting {
    listener: Listener,
    items: mpsc::Receiver<Item>,
}

impl Cluster {
    /// Binds the port for other nodes. Sends and answers nothing before [`Cluster::join`].
    pub async fn bind(options: Options, hub: Arc<Hub>, clock: &dyn Clock) -> Result<Arc<Self>, StartError> {
        let me = NodeId::random();
        let key = SharedKey::new(&options.signing_key, &options.secret);
        let cannot = |source| StartError::Listen { address: options.listen, source };
        let listener = Listener::bind(options.listen, key.clone(), me).await.map_err(cannot)?;
        let mut internal = listener.address().map_err(cannot)?;
        if let Some(address) = options.advertise {
            internal.set_ip(address);
        }
        let keys = Keys::new(&options.signing_key);
        let seal = Seal::new(&options.signing_key, &options.secret);
        let (bus, items) = Bus::new(me, options.redis, keys, seal, hub.clone());
        Ok(Arc::new(Self {
            servant: Servant::new(hub.clone()),
            hub,
            bus,
            mesh: Mesh::new(me, key),
            host: options.host,
            version: options.version,
            internal,
            serves: OnceLock::new(),
            started_at: clock.now(),
            draining: AtomicBool::new(false),
            appended: AtomicU64::new(0),
            told_appended: AtomicU64::new(0),
            starting: std::sync::Mutex::new(Some(Starting { listener, items })),
        }))
    }

    pub fn id(&self) -> NodeId {
        self.bus.me
    }

    /// The address at which other nodes find this one.
    pub const fn internal_address(&self) -> SocketAddr {
        self.internal
    }

    /// Sets the application that handles requests of other nodes.
    pub fn attach(&self, app: Arc<FromPeers>) {
        self.bus.attach(app.clone());
        self.servant.attach(app);
    }

    /// Joins the other nodes. Returns when they know this node or Redis does not answer in time. The tasks
    /// added to `tasks` keep the membership.
    pub async fn join(self: &Arc<Self>, serves: SocketAddr, tasks: &mut JoinSet<()>) {
        let starting = self.starting.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        let Some(Starting { listener, items }) = starting else { return };
        // Set only once, because `starting` is taken only once.
        let _ = self.serves.set(serves);
        tasks.spawn(listener.run(self.servant.clone()));
        let (bus, this) = (self.bus.clone(), self.clone());
        tasks.spawn(async move { bus.run(items, this).await });
        let bus = self.bus.clone();
        tasks.spawn(async move { bus.recheck().await });
        self.bus.is_heard(JOIN_TIMEOUT).await;
    }

    /// Tells other nodes to forward no more actions to this one.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
        self.bus.announce();
    }

    /// Leaves the other nodes, after the actions that they have forwarded are done.
    pub async fn leave(&self) {
        let until = Instant::now() + LEAVE_TIMEOUT;
        while self.servant.is_busy() && Instant::now() < until {
            sleep(Duration::from_millis(10)).await;
        }
        if timeout(FAREWELL_TIMEOUT, self.bus.leave()).await.is_err() {
            tracing::debug!("could not announce this server's departure to Redis in time");
        }
    }

    /// Returns when every reachable node has acted on the notice.
    async fn tell_all(&self, notice: Notice) {
        for node in self.mesh.tell(&notice).await {
            // The node may be running nevertheless, and gets the notice through Redis.
            tracing::debug!(%node, "another server did not answer in time");
            counter!("godwit_cluster_untold_total").increment(1);
            self.bus.offer(Item::To(node, Told::Notice(notice.clone())));
        }
    }

    fn has_others(&self) -> bool {
        !self.bus.registry.others().is_empty()
    }
}

impl Neighbourhood for Cluster {
    fn me(&self, lag: Duration) -> NodeInfo {
        let appended = self.appended.load(Ordering::Relaxed);
        NodeInfo {
            id: self.bus.me,
            host: self.host.clone(),
            version: self.version.clone(),
            protocol: PROTOCOL,
            serves: self.serves.get().copied().unwrap_or(self.internal),
            internal: self.internal,
            started_at: self.started_at,
            sockets: self.hub.open_sockets(),
            appends: appended - self.told_appended.swap(appended, Ordering::Relaxed),
            lag_ms: u64::try_from(lag.as_millis()).unwrap_or(u64::MAX),
            draining: self.draining.load(Ordering::Relaxed),
        }
    }

    fn others_are(&self, others: &[NodeInfo]) {
        self.mesh.others_are(others);
    }
}

#[async_trait]
impl Peers for Cluster {
    fn forward(
        &self,
        actor: UserId,
        conversation: ConversationId,
        action: &Action,
    ) -> Option<ForwardedAction> {
        self.mesh.forward(self.draining.load(Ordering::Relaxed), actor, conversation, action)
    }

    fn appended(&self, append: &Append) {
        self.appended.fetch_add(append.entries.len() as u64, Ordering::Relaxed);
        if self.has_others() {
            self.bus.offer(Item::Head(append.conversation, append.effects.head.seq));
            self.bus.offer(Item::Appended(Arc::new(StateChange::of(append))));
        }
    }

    async fn withdrawn(&self, append: &Append) {
        self.tell_all(Notice::Withdrawn(append.conversation, append.effects.head.seq)).await;
    }

    fn cursors_moved(&self, moves: &[CursorMove]) {
        if self.has_others() {
            moves.iter().for_each(|moved| self.bus.offer(Item::All(Told::CursorMoved(*moved))));
        }
    }

    async fn concealed(&self, conversation: ConversationId, user: UserId, concealed: Concealed) {
        self.tell_all(Notice::Concealed { conversation, user, concealed }).await;
    }

    async fn settle(&self, conversation: ConversationId) {
        self.tell_all(Notice::Settle(conversation)).await;
    }

    async fn settle_all(&self) {
        self.tell_all(Notice::SettleAll).await;
    }
}

#[async_trait]
impl Delivery for Cluster {
    fn deliver(&self, to: &[UserId], event: &Event) {
        let has_others = self.has_others();
        if !has_others && !to.iter().any(|user| self.hub.has(*user)) {
            return;
        }
        let Some(frame) = frame::text(event) else { return };
        self.hub.send(to, &frame);
        if has_others {
            self.bus.offer(Item::Event { frame, to: to.to_vec() });
        }
    }

    fn deliver_entries(&self, conversation: ConversationId, entries: &[OutgoingEntry], to: &Audience) {
        let entries = EntryFrames::new(conversation, entries);
        self.hub.send_entries(&entries, to);
        if !self.has_others() {
            return;
        }
        self.bus.offer(match to {
            Audience::Members(members) => {
                // Usually all members get the same share.
                let mut shares = BTreeMap::<Share, Vec<UserId>>::new();
                for (user, from) in members {
                    shares.entry(entries.share_of(*user, *from)).or_default().push(*user);
                }
                let shares = shares.into_iter().map(|(share, to)| (entries.of(&share).into_owned(), to));
                Item::Entries { conversation, shares: shares.collect() }
            }
            Audience::Followers => {
                let EntryRun { first, frames, less } = entries.run();
                let (frames, less) = (frames.to_vec(), less.to_vec());
                Item::All(Told::Followed { conversation, first, frames, less })
            }
        });
    }

    fn follow(&self, users: &[(UserId, Seq)], conversation: ConversationId) {
        self.hub.follow(users, conversation);
        if self.has_others() {
            self.bus.offer(Item::Follow { users: users.to_vec(), conversation });
        }
    }

    fn conceal(&self, users: &[(UserId, Seq)], conversation: ConversationId) {
        self.hub.conceal(users, conversation);
    }

    async fn unfollow(&self, users: Vec<UserId>, conversation: ConversationId) {
        self.hub.unfollow(&users, conversation);
        self.tell_all(Notice::Unfollow { users, conversation }).await;
    }

    fn deliver_presence(&self, event: PresenceEvent) {
        if let Some(frame) = frame::text(&Event::Presence(event)) {
            self.hub.send_to_watchers(event.user_id, &frame);
            if self.has_others() {
                self.bus.offer(Item::All(Told::Presence { user: event.user_id, frame }));
            }
        }
    }

    async fn stop_watching(&self, watcher: UserId, watched: UserId) {
        self.hub.stop_watching(watcher, watched);
        self.tell_all(Notice::StopWatching { watcher, watched }).await;
    }

    async fn close_device(&self, user: UserId, device: DeviceId, code: CloseCode) {
        self.hub.close_device(user, device, code);
        self.tell_all(Notice::CloseDevice { user, device, code: code.code() }).await;
    }

    async fn close_user(&self, user: UserId, code: CloseCode) {
        self.hub.close_user(user, code);
        self.tell_all(Notice::CloseUser { user, code: code.code() }).await;
    }

    async fn is_online(&self, user: UserId) -> bool {
        self.hub.has(user) || self.bus.is_elsewhere(user).await
    }

    async fn arrived(&self, user: UserId) {
        self.bus.set_route(user).await;
        if !self.bus.is_trusted() {
            // Another node may have appended without this node hearing of it.
            self.bus.doubt();
        }
    }

    async fn left(&self, user: UserId) {
        if !self.hub.has(user) {
            self.bus.set_route(user).await;
        }
    }
}
