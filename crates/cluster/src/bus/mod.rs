//! The bus: hints between nodes through Redis pub/sub. Every node has a channel.
//!
//! Frames may be lost, late or repeated, and correctness does not depend on them: the store decides what is true.
//!
//! ```text
//!  node A                                   Redis                              node B
//!  offer(item) ─▶ bounded queue
//!        batch ─▶ 1 PUBLISH new heads  ───▶ channel of B ───────────────────▶ cached conversations become outdated
//!                   nodes of users     ───▶ route of each user: {nodes}
//!                 2 PUBLISH one frame  ───▶ channel of B ───────────────────▶ check signature, serial, number;
//!                                                                             deliver to sockets, update the cache
//!  beat, each second:
//!        register A in Redis, read the other nodes, refresh some routes
//!        PUBLISH an empty frame to every node, and an echo to A itself
//! ```
//!
//! **Loss detection.** Frames from A to B are numbered without gaps:
//!
//! ```text
//!  A sends     7        8 (dropped: queue full)     9 (empty frame of the next beat)
//!  B receives  7 ────────────────────────────────▶ 9    gap: doubt, catch up, recheck
//! ```
//!
//! A frame that A cannot send uses up a number (`Numbers::lose`), so B sees the gap at the latest with the next beat, within a
//! second. After a gap, B *doubts*: it compares each cached conversation with the store before its next use. B also tells its
//! clients to catch up, and reads sessions and memberships again that other nodes may have ended ([`recheck`]).
//!
//! **Trust.** A node trusts its cache for [`TRUST`] after each beat, if it has recently heard its own echo and every other node
//! ([`trust`]). While Redis is unreachable, no node trusts its cache, and every frame is dropped and counts as lost.
//!
//! **Forgery.** A signature for one receiver authenticates each frame (see [`seal`](crate::seal)), and a serial number over all
//! frames of a sender prevents replays ([`incoming`]). Even an authentic frame grants nothing: a receiver reads memberships and
//! rights from the store. A frame that takes something away takes effect at once.
//!
//! - [`frame`]: the encoding of a frame
//! - [`outgoing`]: finds the nodes of the users, and sends
//! - [`incoming`]: checks received frames, and passes on their content
//! - [`refusals`]: counts frames without a valid signature, and replays
//! - [`newcomers`]: users whom a hint names as new members of a large conversation, until the store confirms it
//! - [`trust`]: whether everything that other nodes send arrives here
//! - [`lost`]: users of nodes that crashed
//! - [`recheck`]: reads sessions and rights again, which other nodes may have revoked without this node hearing of it

pub(crate) mod frame;
mod incoming;
mod lost;
mod newcomers;
mod outgoing;
mod recheck;
mod refusals;
mod trust;

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use godwit_delivery::Hub;
use godwit_domain::peers::FromPeers;
use godwit_protocol::UserId;
use metrics::{counter, gauge};
use redis::aio::MultiplexedConnection;
use redis::{Pipeline, RedisError, RedisResult};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{Instant, interval, sleep, timeout};

use self::incoming::{Incoming, Senders};
use self::lost::Lost;
use self::newcomers::Newcomers;
pub(crate) use self::outgoing::Item;
use self::outgoing::Numbers;
use self::refusals::Refusals;
use self::trust::Trust;
use crate::keys::{Keys, read_nodes};
use crate::node::{NodeId, NodeInfo};
use crate::redis::{Connections, RedisAddress};
use crate::registry::{self, BEAT_INTERVAL, Registry};
use crate::seal::Seal;

/// Bounds of the queue of items to send. Further items are lost.
const QUEUE_ITEMS_MAX: usize = 16_384;
const QUEUE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Time to live of a route in Redis.
const ROUTE_TTL: Duration = Duration::from_secs(300);
/// Each beat refreshes the routes of one user in this many.
const ROUTE_PARTS: u64 = 100;
/// Routes written with one request.
const ROUTES_AT_ONCE: usize = 1_000;
/// How long a sign-in waits for the echo that proves that other nodes deliver to the new socket.
const ARRIVE_TIMEOUT: Duration = Duration::from_secs(1);
/// The pause between attempts to connect to Redis.
const RECONNECT_INTERVAL: Duration = Duration::from_millis(250);
/// How long a node trusts its cache after a beat at which it had heard every node.
const TRUST: Duration = Duration::from_secs(3);
/// Clients that are told to catch up do so at random times, at this rate.
const CATCH_UPS_PER_SECOND: u64 = 1_000;
const CATCH_UP_SPREAD_MAX: Duration = Duration::from_secs(60);

pub(crate) struct Bus {
    pub(crate) me: NodeId,
    pub(crate) registry: Arc<Registry>,
    redis: RedisAddress,
    keys: Keys,
    seal: Seal,
    hub: Arc<Hub>,
    app: OnceLock<Arc<FromPeers>>,
    queue: mpsc::Sender<Item>,
    queued_bytes: AtomicUsize,
    /// Whether an item was dropped since the last beat.
    dropped: AtomicBool,
    /// Whether frames of another node were missing since the last beat.
    missed: AtomicBool,
    trust: Trust,
    lost: Lost,
    senders: Senders,
    refusals: Refusals,
    newcomers: Arc<Newcomers>,
    next_newcomers: AtomicU64,
    /// How many times this node has registered itself.
    beats: AtomicU64,
    /// For queries outside the queue, while Redis can be reached.
    commands: Mutex<Option<MultiplexedConnection>>,
    /// Callers that wait for an echo of this node to come back.
    echoes: Mutex<Vec<(u64, oneshot::Sender<()>)>>,
    next_echo: AtomicU64,
    /// Starts a beat at once, which reads the registry.
    look: Notify,
    /// Starts a [`recheck`].
    look_again: Notify,
    /// Whether the next beat tells the other nodes to read the registry, because the entry of this node has changed.
    announce: AtomicBool,
    /// Requests that this node leaves as soon as the queue has been sent.
    leaving: Notify,
    left: Notify,
}

/// Describes this node for the registry, and receives the list of the other nodes.
pub(crate) trait Neighbourhood: Send + Sync {
    fn me(&self, lag: Duration) -> NodeInfo;

    fn others_are(&self, others: &[NodeInfo]);
}

impl Bus {
    pub(crate) fn new(
        me: NodeId,
        redis: RedisAddress,
        keys: Keys,
        seal: Seal,
        hub: Arc<Hub>,
    ) -> (Arc<Self>, mpsc::Receiver<Item>) {
        let (queue, items) = mpsc::channel(QUEUE_ITEMS_MAX);
        let bus = Self {
            me,
            registry: Arc::default(),
            redis,
            keys,
            seal,
            hub,
            app: OnceLock::new(),
            queue,
            queued_bytes: AtomicUsize::new(0),
            dropped: AtomicBool::new(false),
            missed: AtomicBool::new(false),
            trust: Trust::new(),
            lost: Lost::default(),
            senders: Senders::default(),
            refusals: Refusals::default(),
            newcomers: Arc::default(),
            next_newcomers: AtomicU64::new(0),
            beats: AtomicU64::new(0),
            commands: Mutex::default(),
            echoes: Mutex::default(),
            next_echo: AtomicU64::new(1),
            look: Notify::new(),
            look_again: Notify::new(),
            announce: AtomicBool::new(false),
            leaving: Notify::new(),
            left: Notify::new(),
        };
        (Arc::new(bus), items)
    }

    /// Sets the application that handles the hints of other nodes.
    pub(crate) fn attach(&self, app: Arc<FromPeers>) {
        // No other node has been heard yet.
        app.trust_for(Duration::ZERO);
        // Set only once, when the server is assembled.
        let _ = self.app.set(app);
    }

    /// Puts an item into the queue. If the queue is full, the item is lost, and the other nodes detect the loss.
    pub(crate) fn offer(&self, item: Item) {
        let bytes = item.size_bytes();
        let before = self.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        if before + bytes > QUEUE_BYTES_MAX || self.queue.try_send(item).is_err() {
            self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.dropped.store(true, Ordering::Relaxed);
            counter!("godwit_cluster_dropped_total").increment(1);
        }
    }

    /// Writes the route of a user: whether the user has a socket at this node. When this returns, other nodes see the route, and
    /// everything that they published before has arrived here, unless Redis does not answer.
    pub(crate) async fn set_route(&self, user: UserId) {
        if !self.trust.is_connected() {
            // A new connection writes all routes.
            return;
        }
        let (done, wait) = oneshot::channel();
        self.offer(Item::Route { user, done });
        let _ = timeout(ARRIVE_TIMEOUT, wait).await;
    }

    /// Whether everything that other nodes send arrives here.
    pub(crate) fn is_trusted(&self) -> bool {
        self.trust.is_certain(&self.registry.others()) && !self.registry.has_strangers()
    }

    pub(crate) fn lag(&self) -> Duration {
        self.trust.lag()
    }

    /// Whether the user has a socket at another node.
    pub(crate) async fn is_elsewhere(&self, user: UserId) -> bool {
        let Some(mut redis) = lock(&self.commands).clone() else { return false };
        let nodes: RedisResult<Vec<String>> = read_nodes(self.keys.user(user)).query_async(&mut redis).await;
        let others = self.registry.others();
        let is_there = |id: NodeId| others.iter().any(|other| other.id == id);
        nodes.is_ok_and(|nodes| nodes.iter().filter_map(|id| id.parse().ok()).any(is_there))
    }

    /// Makes this node compare each cached conversation with the store before its next use.
    pub(crate) fn doubt(&self) {
        if let Some(app) = self.app.get() {
            app.doubt();
        }
    }

    /// Runs until this node has left, or the future is dropped.
    pub(crate) async fn run(&self, mut items: mpsc::Receiver<Item>, neighbourhood: Arc<dyn Neighbourhood>) {
        let mut numbers = Numbers::new(self.me, self.seal.clone());
        let mut is_first = true;
        let mut is_away = false;
        loop {
            let error = match self.redis.connect(&self.keys.nodes()).await {
                Ok(connections) => {
                    tracing::info!(redis = %self.redis, "connected to Redis");
                    is_away = false;
                    let serving =
                        self.serve(connections, &mut items, &mut numbers, &*neighbourhood, is_first);
                    let Err(error) = serving.await else { break };
                    error
                }
                Err(error) => error,
            };
            is_first = false;
            // Items in flight are lost, and so are all items until the connection is back.
            numbers.lose();
            lock(&self.commands).take();
            lock(&self.echoes).clear();
            self.trust.disconnected();
            if !std::mem::replace(&mut is_away, true) {
                tracing::warn!(redis = %self.redis, %error, "lost the connection to Redis; clients see changes of other servers later");
            }
            gauge!("godwit_cluster_redis_up").set(0.0);
            self.doubt();
            self.drop_all(&mut items, &mut numbers);
            sleep(RECONNECT_INTERVAL).await;
            self.drop_all(&mut items, &mut numbers);
        }
        self.left.notify_one();
    }

    /// Drops the items in the queue, and counts them as lost. Callers that wait for one stop waiting.
    fn drop_all(&self, items: &mut mpsc::Receiver<Item>, numbers: &mut Numbers) {
        while let Ok(item) = items.try_recv() {
            self.queued_bytes.fetch_sub(item.size_bytes(), Ordering::Relaxed);
            numbers.lose();
            counter!("godwit_cluster_dropped_total").increment(1);
        }
    }

    /// Runs until this node has left, or the connection to Redis fails.
    async fn serve(
        &self,
        Connections { mut commands, mut messages }: Connections,
        items: &mut mpsc::Receiver<Item>,
        numbers: &mut Numbers,
        neighbourhood: &dyn Neighbourhood,
        is_first: bool,
    ) -> RedisResult<()> {
        messages.subscribe(self.keys.channel(self.me)).await?;
        // Frames that other nodes published before the subscription were lost.
        self.doubt();
        self.trust.connected();
        self.look_around(&mut commands, neighbourhood).await?;
        self.write_routes(&mut commands, &self.hub.users()).await?;
        if !is_first {
            self.catch_up();
        }
        *lock(&self.commands) = Some(commands.clone());
        gauge!("godwit_cluster_redis_up").set(1.0);
        let mut incoming = Incoming::new(self);
        let receiving = async {
            let mut messages = messages.into_on_message();
            while let Some(message) = messages.next().await {
                incoming.take(message.get_payload_bytes());
            }
            Err::<Infallible, _>(RedisError::from((redis::ErrorKind::Io, "the subscription has ended")))
        };
        tokio::select! {
            Err(error) = receiving => return Err(error),
            Err(error) = self.beat(commands.clone(), neighbourhood) => return Err(error),
            sent = self.send(commands.clone(), items, numbers) => sent?,
        }
        // Last, because a beat would register this node again.
        registry::leave(&mut commands, &self.keys, self.me).await
    }

    async fn beat(
        &self,
        mut redis: MultiplexedConnection,
        neighbourhood: &dyn Neighbourhood,
    ) -> RedisResult<Infallible> {
        let mut ticks = interval(BEAT_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut beats = 0_u64;
        loop {
            tokio::select! {
                _ = ticks.tick() => beats += 1,
                () = self.look.notified() => {}
            }
            let was_known = self.look_around(&mut redis, neighbourhood).await?;
            if self.announce.swap(false, Ordering::Relaxed) {
                self.offer(Item::All(frame::Told::Look));
            }
            let dropped = self.dropped.swap(false, Ordering::Relaxed);
            if !was_known || dropped {
                self.write_routes(&mut redis, &self.hub.users()).await?;
            } else {
                let part = |user: &UserId| user.get().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
                let mut users = self.hub.users();
                users.retain(|user| part(user) % ROUTE_PARTS == beats % ROUTE_PARTS);
                self.write_routes(&mut redis, &users).await?;
            }
            self.look_after_the_lost(&mut redis).await?;
            // Without its entry in Redis, other nodes may not have sent to this one.
            if self.missed.swap(false, Ordering::Relaxed) || !was_known {
                self.catch_up();
            }
            let echo = self.next_echo.fetch_add(1, Ordering::Relaxed);
            self.trust.sent(echo);
            self.offer(Item::Beat { echo, lost: !was_known || dropped });
            if let Some(app) = self.app.get()
                && self.is_trusted()
            {
                app.trust_for(TRUST);
            }
            if self.trust.is_silent() {
                return Err(RedisError::from((redis::ErrorKind::Io, "published frames do not come back")));
            }
            self.measure();
            self.refusals.tell();
        }
    }

    /// Registers this node, and reads the other nodes. False if Redis had no entry of this node any more.
    async fn look_around(
        &self,
        redis: &mut MultiplexedConnection,
        neighbourhood: &dyn Neighbourhood,
    ) -> RedisResult<bool> {
        let beat = self.beats.fetch_add(1, Ordering::Relaxed);
        let me = neighbourhood.me(self.lag());
        let was_known = registry::beat(redis, &self.keys, &self.seal, beat, &me).await?;
        let found = registry::nodes(redis, &self.keys, &self.seal).await?;
        let mut others = self.registry.alive(found);
        others.retain(|node| node.id != self.me);
        self.trust.others_are(&others);
        neighbourhood.others_are(&others);
        self.lost.others_are(&self.registry.others(), &others);
        self.registry.set(others);
        Ok(was_known)
    }

    async fn write_routes(&self, redis: &mut MultiplexedConnection, users: &[UserId]) -> RedisResult<()> {
        for users in users.chunks(ROUTES_AT_ONCE) {
            let mut pipeline = Pipeline::new();
            users.iter().for_each(|user| self.add_route(&mut pipeline, *user));
            pipeline.query_async::<()>(redis).await?;
        }
        Ok(())
    }

    /// Checks for a socket when the command is built and not when it is queued, so that the last write of a route is right.
    fn add_route(&self, pipeline: &mut Pipeline, user: UserId) {
        let key = self.keys.user(user);
        if self.hub.has(user) {
            pipeline.cmd("SADD").arg(&key).arg(self.me.to_string()).ignore();
            pipeline.cmd("EXPIRE").arg(&key).arg(ROUTE_TTL.as_secs()).ignore();
        } else {
            pipeline.cmd("SREM").arg(&key).arg(self.me.to_string()).ignore();
        }
    }

    /// A frame of another node did not arrive.
    fn missed_something(&self) {
        self.doubt();
        self.missed.store(true, Ordering::Relaxed);
        counter!("godwit_cluster_missed_total").increment(1);
    }

    fn catch_up(&self) {
        self.doubt();
        let sockets = self.hub.open_sockets() as u64;
        let spread = Duration::from_millis(sockets.saturating_mul(1_000) / CATCH_UPS_PER_SECOND);
        self.hub.catch_up(spread.min(CATCH_UP_SPREAD_MAX));
        counter!("godwit_cluster_catch_ups_total").increment(sockets);
        self.look_again.notify_one();
    }

    /// Waits until this node has heard every other registered node, for at most `within`.
    pub(crate) async fn is_heard(&self, within: Duration) {
        let until = Instant::now() + within;
        while Instant::now() < until && !self.is_trusted() {
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Tells the other nodes, with a beat at once, that the registry entry of this node has changed.
    pub(crate) fn announce(&self) {
        self.announce.store(true, Ordering::Relaxed);
        self.look.notify_one();
    }

    /// Sends the items in the queue, and then removes this node from the registry.
    pub(crate) async fn leave(&self) {
        if self.trust.is_connected() {
            self.leaving.notify_one();
            self.left.notified().await;
        }
    }

    fn measure(&self) {
        gauge!("godwit_cluster_nodes").set((self.registry.others().len() + 1) as f64);
        gauge!("godwit_cluster_queue_bytes").set(self.queued_bytes.load(Ordering::Relaxed) as f64);
        gauge!("godwit_cluster_lag_seconds").set(self.lag().as_secs_f64());
        gauge!("godwit_cluster_trusted").set(f64::from(u8::from(self.is_trusted())));
    }
}

impl std::fmt::Debug for Bus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bus").field("me", &self.me).field("redis", &self.redis).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
