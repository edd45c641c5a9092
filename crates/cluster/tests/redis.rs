//! Servers and a Redis that others can write to, too.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use godwit_cluster::{Cluster, Options, RedisAddress, RedisTls, status};
use godwit_delivery::{Hub, HubConfig, Socket, Step};
use godwit_domain::accounts::AccountPolicy;
use godwit_domain::actions::MessagePolicy;
use godwit_domain::allowances::AddingPolicy;
use godwit_domain::model::{Concealed, Password};
use godwit_domain::ports::{
    AccessClaims, Audience, Delivery, DeviceProof, HashError, HiddenFrom, Less, OutgoingEntry,
    PasswordHasher, Peers, RefreshClaims, Seeing, TokenCodec, TokenError, VerifiedToken,
};
use godwit_domain::sessions::Lifetimes;
use godwit_domain::{App, Parts};
use godwit_protocol::messages::{Change, LogEntry};
use godwit_protocol::socket::{Event, TypingEvent};
use godwit_protocol::{ConversationId, DeviceId, Seq, Timestamp, UserId};
use godwit_testbed::{Redis, RedisCluster, RedisSentinel, redis_authority};
use godwit_testkit::{ModelStore, Scene, WallClock};
use redis::aio::MultiplexedConnection;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

const SIGNING_KEY: [u8; 32] = [7; 32];
/// What the intruder keeps of what it overhears.
const OVERHEARD_MAX: usize = 10_000;
const PATIENCE: Duration = Duration::from_secs(60);

/// A server with nobody in front of it.
struct Node {
    cluster: Arc<Cluster>,
    hub: Arc<Hub>,
    _tasks: JoinSet<()>,
}

impl Node {
    async fn start(redis: &RedisAddress, store: &Arc<ModelStore>, secret: &str) -> Self {
        let clock = Arc::new(WallClock);
        let config = HubConfig {
            heartbeat_ms: 60_000,
            sign_in_within_ms: 60_000,
            queue_frames_max: 1_024,
            answers_bytes_max: usize::MAX,
            queue_bytes_max: 1 << 20,
            per_user_max: 64,
            per_device_max: 32,
        };
        let hub = Arc::new(Hub::new(config, clock.clone()));
        let here = SocketAddr::from(([127, 0, 0, 1], 0));
        let options = Options {
            redis: redis.clone(),
            listen: here,
            advertise: None,
            secret: secret.to_owned(),
            signing_key: SIGNING_KEY,
            host: "test".into(),
            version: "1".into(),
        };
        let cluster = Cluster::bind(options, hub.clone(), &WallClock).await.unwrap();
        let app = App::new(Parts {
            store: store.clone(),
            delivery: cluster.clone(),
            peers: cluster.clone(),
            clock,
            tokens: Arc::new(Nobody),
            hasher: Arc::new(Nobody),
            lifetimes: Lifetimes { access_ms: 1_000, refresh_ms: 1_000 },
            policy: AccountPolicy {
                registration_open: true,
                passwords_enabled: true,
                reserved_handles: Vec::new(),
            },
            messages: MessagePolicy::default(),
            adding: AddingPolicy::default(),
        });
        cluster.attach(app.from_peers.clone());
        let mut tasks = JoinSet::new();
        cluster.join(here, &mut tasks).await;
        Self { cluster, hub, _tasks: tasks }
    }

    /// A socket of a user, which other nodes know of.
    async fn socket(&self, user: UserId) -> Arc<Socket> {
        let socket = self.hub.open();
        assert!(self.hub.sign_in(&socket, user, DeviceId::new(user.get()), None));
        self.cluster.arrived(user).await;
        socket
    }
}

/// Nobody signs in.
#[derive(Debug)]
struct Nobody;

impl TokenCodec for Nobody {
    fn sign_access(&self, _: AccessClaims) -> String {
        String::new()
    }

    fn sign_refresh(&self, _: RefreshClaims) -> String {
        String::new()
    }

    fn verify(&self, _: &str, _: Timestamp) -> Result<VerifiedToken, TokenError> {
        Err(TokenError::Invalid)
    }

    fn verify_refresh(&self, _: &str, _: Timestamp) -> Result<RefreshClaims, TokenError> {
        Err(TokenError::Invalid)
    }

    fn sign_device_proof(&self, _: DeviceProof) -> String {
        String::new()
    }

    fn verify_device_proof(&self, _: &str, _: Timestamp) -> Result<DeviceProof, TokenError> {
        Err(TokenError::Invalid)
    }
}

#[async_trait]
impl PasswordHasher for Nobody {
    async fn hash(&self, _: Password) -> Result<String, HashError> {
        Ok(String::new())
    }

    async fn verify(&self, _: Password, _: Option<String>) -> Result<bool, HashError> {
        Ok(false)
    }
}

/// An attacker who can read and write in Redis, but has no key.
struct Intruder {
    commands: MultiplexedConnection,
    overheard: mpsc::Receiver<(String, Vec<u8>)>,
}

impl Intruder {
    async fn at(url: &str) -> Self {
        let client = redis::Client::open(url).unwrap();
        let mut listener = client.get_async_pubsub().await.unwrap();
        listener.psubscribe("*:to:*").await.unwrap();
        let (sender, overheard) = mpsc::channel(OVERHEARD_MAX);
        tokio::spawn(async move {
            let mut messages = listener.into_on_message();
            while let Some(message) = messages.next().await {
                let channel = message.get_channel_name().to_owned();
                let _ = sender.send((channel, message.get_payload_bytes().to_vec())).await;
            }
        });
        Self { commands: client.get_multiplexed_async_connection().await.unwrap(), overheard }
    }

    /// The next frame with these words in it, and where it went.
    async fn overhear(&mut self, words: &[u8]) -> (String, Vec<u8>) {
        timeout(PATIENCE, async {
            loop {
                let (channel, frame) = self.overheard.recv().await.unwrap();
                if frame.windows(words.len()).any(|part| part == words) {
                    return (channel, frame);
                }
            }
        })
        .await
        .unwrap()
    }

    async fn publish(&mut self, channel: &str, frame: &[u8]) {
        let heard: u64 =
            redis::cmd("PUBLISH").arg(channel).arg(frame).query_async(&mut self.commands).await.unwrap();
        assert!(heard > 0, "nobody listens at {channel}");
    }

    async fn channels(&mut self) -> Vec<String> {
        redis::cmd("PUBSUB").arg("CHANNELS").arg("*:to:*").query_async(&mut self.commands).await.unwrap()
    }
}

fn typing(in_conversation: u64) -> Event {
    let conversation_id = ConversationId::new(in_conversation);
    Event::Typing(TypingEvent { conversation_id, user_id: UserId::new(1), typing: true, ttl_ms: 1 })
}

/// The conversations of the typing events that the socket receives.
async fn next_conversation(socket: &Socket) -> u64 {
    timeout(PATIENCE, async {
        loop {
            let Step::Write { frames, .. } = socket.outgoing.next().await else {
                panic!("the socket is closed")
            };
            socket.outgoing.written(frames.iter().map(bytes::Bytes::len).sum());
            let text = frames.concat();
            let text = String::from_utf8_lossy(&text);
            if let Some((_, rest)) = text.split_once("\"conversation_id\":\"") {
                assert_eq!(text.matches("conversation_id").count(), 1, "one at a time: {text}");
                return rest.split('"').next().unwrap().parse().unwrap();
            }
        }
    })
    .await
    .unwrap()
}

/// The number of the next entry that the socket is told of. It may be told to catch up before.
async fn next_entry(socket: &Socket) -> u64 {
    loop {
        let Step::Write { frames, .. } = socket.outgoing.next().await else { panic!("the socket is closed") };
        socket.outgoing.written(frames.iter().map(bytes::Bytes::len).sum());
        let text = frames.concat();
        if let Some((_, rest)) = String::from_utf8_lossy(&text).split_once("\"seq\":") {
            return rest.split(',').next().unwrap().parse().unwrap();
        }
    }
}

/// Waits until a node has heard of another one, through a user who is connected only there.
async fn knows_of(one: &Node, other: &Node) {
    let carol = UserId::new(3);
    let _socket = other.socket(carol).await;
    timeout(PATIENCE, async {
        while !one.cluster.is_online(carol).await {
            sleep(Duration::from_millis(20)).await;
        }
    })
    .await
    .unwrap();
}

fn store() -> Arc<ModelStore> {
    Arc::new(ModelStore::new(Arc::new(WallClock)))
}

async fn started<T: Send + 'static>(start: fn() -> Result<T, godwit_testbed::TestbedError>) -> T {
    tokio::task::spawn_blocking(start).await.unwrap().unwrap_or_else(|error| panic!("{error}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn write_access_to_redis_is_not_enough_to_pass_for_a_server() {
    let redis = started(Redis::start).await;
    let (address, store): (RedisAddress, _) = (redis.url().parse().unwrap(), store());
    let mut intruder = Intruder::at(&redis.url()).await;
    let one = Node::start(&address, &store, "a secret of servers").await;
    let other = Node::start(&address, &store, "a secret of servers").await;
    let bob = UserId::new(2);
    let (at_one, at_other) = (one.socket(bob).await, other.socket(bob).await);
    let nodes = async || status::nodes(&address, &SIGNING_KEY, "a secret of servers").await.unwrap();
    assert_eq!(nodes().await.known.len(), 2);
    knows_of(&one, &other).await;

    one.cluster.deliver(&[bob], &typing(11));
    assert_eq!((next_conversation(&at_one).await, next_conversation(&at_other).await), (11, 11));
    let (channel, frame) = intruder.overhear(b"\"conversation_id\":\"11\"").await;

    // Replayed, sent to another node, changed, and forged.
    intruder.publish(&channel, &frame).await;
    for elsewhere in intruder.channels().await.iter().filter(|other| **other != channel) {
        intruder.publish(elsewhere, &frame).await;
    }
    let mut changed = frame.clone();
    let place = changed.windows(4).position(|part| part == b"\"11\"").unwrap();
    changed[place + 1] = b'6';
    intruder.publish(&channel, &changed).await;
    // The format of unsigned frames, which say their version first.
    for made_up in [&b""[..], b"nonsense", &frame[..frame.len() - 16], &[1; 64]] {
        intruder.publish(&channel, made_up).await;
    }
    one.cluster.deliver(&[bob], &typing(12));
    assert_eq!((next_conversation(&at_one).await, next_conversation(&at_other).await), (12, 12));

    // A server of its own is none.
    let entry = "{\"beat\":1,\"info\":{}}";
    let prefix = channel.split(":to:").next().unwrap().to_owned();
    let mut pipeline = redis::Pipeline::new();
    pipeline.cmd("SET").arg(format!("{prefix}:node:00000000000000ff")).arg(entry).ignore();
    pipeline.cmd("SADD").arg(format!("{prefix}:nodes")).arg("00000000000000ff").ignore();
    pipeline.query_async::<()>(&mut intruder.commands).await.unwrap();
    let found = nodes().await;
    assert_eq!((found.known.len(), found.strangers), (2, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_set_that_somebody_fills_is_not_read_as_a_whole() {
    const NODES: u64 = 20_000;
    let redis = started(Redis::start).await;
    let (address, store): (RedisAddress, _) = (redis.url().parse().unwrap(), store());
    let mut intruder = Intruder::at(&redis.url()).await;
    let one = Node::start(&address, &store, "a secret of servers").await;
    let other = Node::start(&address, &store, "a secret of servers").await;
    let bob = UserId::new(2);
    let at_one = one.socket(bob).await;
    knows_of(&one, &other).await;
    let channels = intruder.channels().await;
    let prefix = channels[0].split(":to:").next().unwrap().to_owned();
    let mut add = redis::cmd("SADD");
    add.arg(format!("{prefix}:user:{bob}"));
    for node in 1..=NODES {
        add.arg(format!("{node:016x}"));
    }
    add.query_async::<()>(&mut intruder.commands).await.unwrap();
    let published = async |intruder: &mut Intruder| {
        let info: String =
            redis::cmd("INFO").arg("commandstats").query_async(&mut intruder.commands).await.unwrap();
        let line = info.lines().find_map(|line| line.strip_prefix("cmdstat_publish:calls=")).unwrap();
        line.split(',').next().unwrap().parse::<u64>().unwrap()
    };
    let before = published(&mut intruder).await;
    one.cluster.deliver(&[bob], &typing(11));
    assert_eq!(next_conversation(&at_one).await, 11);
    // The first event has been sent when the second one is overheard.
    one.cluster.deliver(&[bob], &typing(12));
    intruder.overhear(b"\"conversation_id\":\"12\"").await;
    let calls = published(&mut intruder).await - before;
    assert!(calls < NODES / 2, "{calls} frames for one user");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_with_another_secret_are_not_heard() {
    let redis = started(Redis::start).await;
    let (address, store): (RedisAddress, _) = (redis.url().parse().unwrap(), store());
    let one = Node::start(&address, &store, "a secret of servers").await;
    let other = Node::start(&address, &store, "another secret here").await;
    let bob = UserId::new(2);
    let (at_one, at_other) = (one.socket(bob).await, other.socket(bob).await);
    for secret in ["a secret of servers", "another secret here"] {
        let found = status::nodes(&address, &SIGNING_KEY, secret).await.unwrap();
        assert_eq!((found.known.len(), found.strangers), (1, 1), "{secret}");
    }
    one.cluster.deliver(&[bob], &typing(11));
    other.cluster.deliver(&[bob], &typing(12));
    assert_eq!((next_conversation(&at_one).await, next_conversation(&at_other).await), (11, 12));
}

/// A socket at another server that follows a large conversation. What its user clears is out of its sight when that is
/// answered, once the servers have found each other; until then it comes through Redis.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn followers_on_another_server_get_nothing_that_they_have_cleared() {
    let redis = started(Redis::start).await;
    let (address, store): (RedisAddress, _) = (redis.url().parse().unwrap(), store());
    let one = Node::start(&address, &store, "").await;
    let other = Node::start(&address, &store, "").await;
    let group = Scene::new(vec![store.clone()]).large_group(2).await.unwrap();
    let (bob, birds) = (group.members[1], group.id);
    let socket = other.socket(bob).await;
    other.hub.follow(&[(bob, Seq::ZERO)], birds);
    knows_of(&one, &other).await;
    let log_entry = |seq| {
        let change = Change::MemberLeft { user_id: UserId::new(9) };
        Arc::new(LogEntry { seq: Seq::new(seq), at: Timestamp::from_millis(0), change })
    };
    // Of an entry about a message those get another one who cannot see that message.
    let shown_about = async |seq| {
        let unless = Seeing { seq, hidden_from: HiddenFrom::These(Vec::new()) };
        let less = Some(Box::new(Less { entry: log_entry(2_000), unless }));
        let entry = OutgoingEntry { entry: log_entry(1_000), less };
        other.hub.deliver_entries(birds, &[entry], &Audience::Followers);
        next_entry(&socket).await
    };
    let clearing = async {
        for cleared in (1..).map(Seq::new) {
            assert_eq!(shown_about(cleared).await, 1_000, "it is in sight");
            one.cluster.concealed(birds, bob, Concealed { cleared, ..Concealed::default() }).await;
            if shown_about(cleared).await == 2_000 {
                return;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, clearing).await.unwrap();
}

/// Servers find each other at this address, if they trust who has signed for it.
async fn works_encrypted(url: &str) {
    let plain: RedisAddress = url.parse().unwrap();
    let trusting = plain.clone().with_tls(RedisTls::read(Some(&redis_authority()), None).unwrap());
    let store = store();
    let one = Node::start(&trusting, &store, "").await;
    let other = Node::start(&trusting, &store, "").await;
    let bob = UserId::new(2);
    let at_other = other.socket(bob).await;
    knows_of(&one, &other).await;
    one.cluster.deliver(&[bob], &typing(11));
    assert_eq!(next_conversation(&at_other).await, 11);
    assert!(
        status::nodes(&plain, &SIGNING_KEY, "").await.is_err(),
        "signed by nobody whom the machine trusts"
    );
    let unencrypted: RedisAddress = url.replacen("rediss", "redis", 1).parse().unwrap();
    assert!(status::nodes(&unencrypted, &SIGNING_KEY, "").await.is_err(), "it does not speak in the clear");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_and_their_master_are_reached_with_tls() {
    let redis = started(RedisSentinel::start_encrypted).await;
    works_encrypted(&redis.url()).await;
    drop(tokio::task::spawn_blocking(move || drop(redis)).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_cluster_is_reached_with_tls() {
    let redis = started(RedisCluster::start_encrypted).await;
    works_encrypted(&redis.url()).await;
    drop(tokio::task::spawn_blocking(move || drop(redis)).await);
}
