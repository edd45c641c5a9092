//! What nodes tell each other through Redis.
//!
//! It is a hint, never the truth. Every frame from one node to another has a number, so that the other one sees when
//! something is missing; every second each node sends a frame to all and to itself, so that it is seen soon. Whoever
//! misses something trusts nothing that it has in memory until it has compared it with the store, and lets its clients ask
//! for what they may have missed.
//!
//! - [`frame`]: what is sent
//! - [`outgoing`]: finds out where to, and sends it
//! - [`incoming`]: takes what comes
//! - [`refusals`]: what comes and is not from a server
//! - [`newcomers`]: who is said to have come, and is looked up first
//! - [`trust`]: whether everything comes
//! - [`lost`]: users of nodes that have gone
//! - [`recheck`]: what was taken away while nobody could say so
//!
//! Every frame is signed (see [`seal`](crate::seal)). Even so nothing that is heard makes anybody a member or gives them a
//! right: for that the store is asked. What is taken away takes effect at once.
//!
//! Nothing waits for Redis: while it is away what would be sent is dropped, and counted as lost.

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
use redis::{Pipeline, RedisError, RedisResult, cmd};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{Instant, interval, sleep, timeout};

use self::incoming::{Incoming, Senders};
use self::lost::Lost;
use self::newcomers::Newcomers;
pub(crate) use self::outgoing::Item;
use self::outgoing::Numbers;
use self::refusals::Refusals;
use self::trust::Trust;
use crate::keys::Keys;
use crate::node::{NodeId, NodeInfo};
use crate::redis::{Connections, RedisAddress};
use crate::registry::{self, BEAT_INTERVAL, Registry};
use crate::seal::Seal;

/// What waits to be sent. What comes when there is no room is lost.
const QUEUE_ITEMS_MAX: usize = 16_384;
const QUEUE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// A route that is not refreshed for so long is forgotten.
const ROUTE_TTL: Duration = Duration::from_secs(300);
/// Each beat refreshes the routes of one part of the users.
const ROUTE_PARTS: u64 = 100;
/// Routes written with one request.
const ROUTES_AT_ONCE: usize = 1_000;
/// How long a new socket waits until other nodes deliver to it. If it takes longer, its client will be told to catch up.
const ARRIVE_TIMEOUT: Duration = Duration::from_secs(1);
/// Between attempts to reach Redis.
const RECONNECT_INTERVAL: Duration = Duration::from_millis(250);
/// How long what is in memory is taken for new after a beat at which everything was heard.
const TRUST: Duration = Duration::from_secs(3);
/// Clients that are told to catch up do so within a time in which each second has so many of them.
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
    /// Something that should have been sent was not.
    dropped: AtomicBool,
    /// Something that was sent has not come.
    missed: AtomicBool,
    trust: Trust,
    lost: Lost,
    senders: Senders,
    refusals: Refusals,
    newcomers: Arc<Newcomers>,
    next_newcomers: AtomicU64,
    /// How often this node has said that it is there.
    beats: AtomicU64,
    /// For questions beside the queue, while Redis is there.
    commands: Mutex<Option<MultiplexedConnection>>,
    /// Those who wait for what they sent to themselves.
    echoes: Mutex<Vec<(u64, oneshot::Sender<()>)>>,
    next_echo: AtomicU64,
    /// The nodes have changed: look now.
    look: Notify,
    /// What other nodes have taken away may not have been heard of.
    look_again: Notify,
    /// This one has: the others should.
    announce: AtomicBool,
    /// This node goes as soon as all that waits is sent.
    leaving: Notify,
    left: Notify,
}

/// What is told of this node, and who is told of the others.
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

    /// Who is told what other nodes say.
    pub(crate) fn attach(&self, app: Arc<FromPeers>) {
        // Nobody is heard yet.
        app.trust_for(Duration::ZERO);
        // Once, when the server is put together.
        let _ = self.app.set(app);
    }

    /// Puts something into the queue. If there is no room it is lost, and the others will see that.
    pub(crate) fn offer(&self, item: Item) {
        let bytes = item.size_bytes();
        let before = self.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        if before + bytes > QUEUE_BYTES_MAX || self.queue.try_send(item).is_err() {
            self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.dropped.store(true, Ordering::Relaxed);
            counter!("godwit_cluster_dropped_total").increment(1);
        }
    }

    /// Writes down whether the user is here. When it returns, the other nodes see it, and what they told before has come;
    /// or Redis is not there.
    pub(crate) async fn set_route(&self, user: UserId) {
        if !self.trust.is_connected() {
            // All routes are written when it is.
            return;
        }
        let (done, wait) = oneshot::channel();
        self.offer(Item::Route { user, done });
        let _ = timeout(ARRIVE_TIMEOUT, wait).await;
    }

    /// Whether everything that other nodes tell comes here.
    pub(crate) fn is_trusted(&self) -> bool {
        self.trust.is_certain(&self.registry.others()) && !self.registry.has_strangers()
    }

    pub(crate) fn lag(&self) -> Duration {
        self.trust.lag()
    }

    /// Whether the user is at another node.
    pub(crate) async fn is_elsewhere(&self, user: UserId) -> bool {
        let Some(mut redis) = lock(&self.commands).clone() else { return false };
        let nodes: RedisResult<Vec<String>> =
            cmd("SMEMBERS").arg(self.keys.user(user)).query_async(&mut redis).await;
        let others = self.registry.others();
        let is_there = |id: NodeId| others.iter().any(|other| other.id == id);
        nodes.is_ok_and(|nodes| nodes.iter().filter_map(|id| id.parse().ok()).any(is_there))
    }

    /// Nothing in memory is trusted until it has been compared with the store.
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
                    tracing::info!(redis = %self.redis, "Redis is there");
                    is_away = false;
                    let serving =
                        self.serve(connections, &mut items, &mut numbers, &*neighbourhood, is_first);
                    let Err(error) = serving.await else { break };
                    error
                }
                Err(error) => error,
            };
            is_first = false;
            // What was about to be sent is not; what this node does meanwhile it tells nobody, and nobody finds its clients.
            numbers.lose();
            lock(&self.commands).take();
            lock(&self.echoes).clear();
            self.trust.disconnected();
            if !std::mem::replace(&mut is_away, true) {
                tracing::warn!(redis = %self.redis, %error, "Redis is away; everything goes on, but what other nodes do is seen later");
            }
            gauge!("godwit_cluster_redis_up").set(0.0);
            self.doubt();
            self.drop_all(&mut items, &mut numbers);
            sleep(RECONNECT_INTERVAL).await;
            self.drop_all(&mut items, &mut numbers);
        }
        self.left.notify_one();
    }

    /// What cannot be sent is lost. Those who wait are let go.
    fn drop_all(&self, items: &mut mpsc::Receiver<Item>, numbers: &mut Numbers) {
        while let Ok(item) = items.try_recv() {
            self.queued_bytes.fetch_sub(item.size_bytes(), Ordering::Relaxed);
            numbers.lose();
            counter!("godwit_cluster_dropped_total").increment(1);
        }
    }

    /// Until this node has left, or Redis is away.
    async fn serve(
        &self,
        Connections { mut commands, mut messages }: Connections,
        items: &mut mpsc::Receiver<Item>,
        numbers: &mut Numbers,
        neighbourhood: &dyn Neighbourhood,
        is_first: bool,
    ) -> RedisResult<()> {
        messages.subscribe(self.keys.channel(self.me)).await?;
        // What other nodes told before now has not come.
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
            Err::<Infallible, _>(RedisError::from((
                redis::ErrorKind::Io,
                "the connection for messages has ended",
            )))
        };
        tokio::select! {
            Err(error) = receiving => return Err(error),
            Err(error) = self.beat(commands.clone(), neighbourhood) => return Err(error),
            sent = self.send(commands.clone(), items, numbers) => sent?,
        }
        // Only now that no beat follows, which would say that this node is there.
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
            // Redis that has forgotten everything has let nodes miss those who were forgotten.
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
                return Err(RedisError::from((redis::ErrorKind::Io, "what was published has not come")));
            }
            self.measure();
            self.refusals.tell();
        }
    }

    /// Says that this node is there, and looks who else is. False when Redis did not know this node any more.
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

    /// Whether the user is here is looked at now, so that the last one to write is right.
    fn add_route(&self, pipeline: &mut Pipeline, user: UserId) {
        let key = self.keys.user(user);
        if self.hub.has(user) {
            pipeline.cmd("SADD").arg(&key).arg(self.me.to_string()).ignore();
            pipeline.cmd("EXPIRE").arg(&key).arg(ROUTE_TTL.as_secs()).ignore();
        } else {
            pipeline.cmd("SREM").arg(&key).arg(self.me.to_string()).ignore();
        }
    }

    /// Something that other nodes sent has not come.
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

    /// Waits until every other node that is there has been heard, or does not answer.
    pub(crate) async fn is_heard(&self, within: Duration) {
        let until = Instant::now() + within;
        while Instant::now() < until && !self.is_trusted() {
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Tells the others soon what has changed of this node.
    pub(crate) fn announce(&self) {
        self.announce.store(true, Ordering::Relaxed);
        self.look.notify_one();
    }

    /// This node goes as soon as all that it has to tell is told; then nothing more is sent to it.
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
