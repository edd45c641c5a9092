//! Handles requests of other nodes.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use godwit_delivery::Hub;
use godwit_domain::actions::{Action, Answer};
use godwit_domain::peers::FromPeers;
use godwit_protocol::{ConversationId, UserId};
use metrics::counter;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use super::message::{Answered, Asked, Reply, Request};
use super::noise::{self, Reader, SharedKey, Writer};
use crate::node::NodeId;

/// Incoming connections, including those that have not authenticated yet.
const CONNECTIONS_MAX: usize = 1_024;
/// The number of tasks that put forwarded actions into the queues of their conversations. A conversation always
/// uses the same lane, so a conversation that must be loaded first delays few others.
const LANES: usize = 64;
/// Actions that wait in one lane. When it is full, nothing more is read from that connection.
const LANE_MAX: usize = 1_024;
/// Replies that wait to be written.
const ANSWERS_MAX: usize = 65_536;
/// Replies written as one batch.
const BATCH_MAX: usize = 256;

#[derive(Debug)]
pub(crate) struct Listener {
    listener: TcpListener,
    key: SharedKey,
    me: NodeId,
}

/// Executes the requests of other nodes.
#[derive(Debug, Clone)]
pub(crate) struct Servant {
    hub: Arc<Hub>,
    app: Arc<OnceLock<Arc<FromPeers>>>,
    /// The number of actions without a reply yet.
    under_way: Arc<AtomicUsize>,
}

impl Servant {
    pub(crate) fn new(hub: Arc<Hub>) -> Self {
        Self { hub, app: Arc::default(), under_way: Arc::default() }
    }

    pub(crate) fn attach(&self, app: Arc<FromPeers>) {
        // Set only once, when the server is assembled.
        let _ = self.app.set(app);
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.under_way.load(Ordering::Relaxed) > 0
    }
}

impl Listener {
    pub(crate) async fn bind(address: SocketAddr, key: SharedKey, me: NodeId) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(address).await?, key, me })
    }

    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Accepts connections until the future is dropped.
    pub(crate) async fn run(self, servant: Servant) {
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => {
                    let Ok((stream, from)) = accepted else {
                        // Too many open files. Existing connections continue.
                        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                        continue;
                    };
                    let Ok(place) = places.clone().try_acquire_owned() else { continue };
                    let (key, me, servant) = (self.key.clone(), self.me, servant.clone());
                    connections.spawn(async move {
                        let _place = place;
                        if let Err(error) = serve(stream, &key, me, servant).await {
                            tracing::debug!(%from, %error, "an incoming server connection ended");
                        }
                    });
                }
                Some(_) = connections.join_next() => {}
            }
        }
    }
}

async fn serve(stream: TcpStream, key: &SharedKey, me: NodeId, servant: Servant) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (reader, writer, _) = noise::accept(stream, key, me).await.inspect_err(|_| {
        counter!("godwit_cluster_refused_total").increment(1);
    })?;
    let (answers, to_write) = mpsc::channel(ANSWERS_MAX);
    tokio::select! {
        ended = read(reader, &servant, &answers) => ended,
        ended = write(writer, to_write) => ended,
    }
}

struct Forwarded {
    id: u64,
    actor: UserId,
    conversation: ConversationId,
    action: Action,
}

async fn read(mut reader: Reader, servant: &Servant, answers: &mpsc::Sender<Reply>) -> io::Result<()> {
    let hasher = RandomState::new();
    // Dropped with the connection. An action that is already in a conversation's queue is completed
    // nevertheless.
    let mut tasks = JoinSet::new();
    let lanes: Vec<mpsc::Sender<Forwarded>> = (0..LANES)
        .map(|_| {
            let (lane, actions) = mpsc::channel(LANE_MAX);
            tasks.spawn(run_lane(actions, servant.clone(), answers.clone()));
            lane
        })
        .collect();
    loop {
        let message = reader.receive().await?;
        let Request { id, body } = postcard::from_bytes(&message).map_err(io::Error::other)?;
        match body {
            Asked::Ping => answer(answers, Reply { id, body: Answered::Yes }),
            Asked::Act { actor, conversation, action } => {
                let lane = hasher.hash_one(conversation) as usize % LANES;
                let forwarded = Forwarded { id, actor, conversation, action };
                lanes[lane].send(forwarded).await.map_err(io::Error::other)?;
            }
            Asked::Obey(notice) => {
                let (servant, answers) = (servant.clone(), answers.clone());
                tasks.spawn(async move {
                    if let Some(app) = servant.app.get() {
                        notice.obey(&servant.hub, app).await;
                        answer(&answers, Reply { id, body: Answered::Yes });
                    }
                });
                while tasks.try_join_next().is_some() {}
            }
        }
    }
}

async fn run_lane(mut actions: mpsc::Receiver<Forwarded>, servant: Servant, answers: mpsc::Sender<Reply>) {
    while let Some(Forwarded { id, actor, conversation, action }) = actions.recv().await {
        let (answers, under_way) = (answers.clone(), servant.under_way.clone());
        under_way.fetch_add(1, Ordering::Relaxed);
        let done = Answer::new(move |outcome| {
            answer(&answers, Reply { id, body: Answered::of(outcome) });
            under_way.fetch_sub(1, Ordering::Relaxed);
        });
        // Always set here: other nodes do not know this one before the server is assembled.
        if let Some(app) = servant.app.get() {
            app.act(actor, conversation, action, done).await;
        }
        counter!("godwit_cluster_served_total").increment(1);
    }
}

/// Queues a reply. If the queue is full the reply is lost, and the other node's caller times out.
fn answer(answers: &mpsc::Sender<Reply>, reply: Reply) {
    if answers.try_send(reply).is_err() {
        tracing::debug!("could not send an answer to another server");
    }
}

async fn write(mut writer: Writer, mut answers: mpsc::Receiver<Reply>) -> io::Result<()> {
    let mut batch = Vec::with_capacity(BATCH_MAX);
    while answers.recv_many(&mut batch, BATCH_MAX).await > 0 {
        let encode = |reply: Reply| postcard::to_stdvec(&reply).map_err(io::Error::other);
        let messages = batch.drain(..).map(encode).collect::<io::Result<Vec<_>>>()?;
        writer.send(&messages).await?;
    }
    Ok(())
}
