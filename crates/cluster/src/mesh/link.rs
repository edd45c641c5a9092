//! The connection on which this node sends requests to another one.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use godwit_domain::actions::Action;
use godwit_domain::ports::{ForwardedAction, Unanswered};
use godwit_protocol::{ConversationId, UserId};
use metrics::counter;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, interval, sleep, timeout};

use super::message::{Answered, Asked, Reply, Request};
use super::noise::{self, SharedKey};
use crate::node::{NodeId, NodeInfo};
use crate::notice::Notice;

/// Requests that wait to be written. Further ones are refused.
const WAITING_MAX: usize = 8_192;
/// Requests written as one batch.
const BATCH_MAX: usize = 256;
/// The interval of pings to the other node.
const PING_INTERVAL: Duration = Duration::from_millis(500);
/// A node that is silent for this long counts as unreachable, and this node executes the actions itself.
const SILENCE_MAX: Duration = Duration::from_secs(2);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
const RECONNECT_INTERVAL: Duration = Duration::from_millis(250);

/// The connection to one node. Dropping it closes the connection.
#[derive(Debug)]
pub(super) struct Link {
    state: Arc<State>,
    questions: mpsc::Sender<Request>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct State {
    node: NodeId,
    is_up: AtomicBool,
    next_id: AtomicU64,
    /// The callers that wait for a reply, by the id of the request.
    waiting: Mutex<HashMap<u64, Waiting>>,
}

#[derive(Debug)]
struct Waiting {
    answer: oneshot::Sender<Result<Answered, Unanswered>>,
    /// Whether the request may have been written.
    asked: bool,
}

impl Link {
    pub(super) fn open(other: &NodeInfo, me: NodeId, key: SharedKey) -> Self {
        let state = Arc::new(State {
            node: other.id,
            is_up: AtomicBool::new(false),
            next_id: AtomicU64::new(1),
            waiting: Mutex::default(),
        });
        let (questions, asked) = mpsc::channel(WAITING_MAX);
        let task = tokio::spawn(run(state.clone(), asked, other.internal, me, key));
        Self { state, questions, task }
    }

    pub(super) fn is_up(&self) -> bool {
        self.state.is_up.load(Ordering::Relaxed)
    }

    /// `None` when the request cannot be sent.
    pub(super) fn forward(
        &self,
        actor: UserId,
        conversation: ConversationId,
        action: Action,
    ) -> Option<ForwardedAction> {
        let answer = self.ask(Asked::Act { actor, conversation, action })?;
        Some(Box::pin(async move {
            let answered = answer.await.unwrap_or(Err(Unanswered::Unknown))?;
            answered.outcome().ok_or(Unanswered::Unknown)
        }))
    }

    /// Returns `false` unless the other node confirms the notice.
    pub(super) async fn tell(&self, notice: Notice) -> bool {
        match self.ask(Asked::Obey(notice)) {
            Some(answer) => matches!(timeout(SILENCE_MAX, answer).await, Ok(Ok(Ok(Answered::Yes)))),
            None => false,
        }
    }

    fn ask(&self, body: Asked) -> Option<oneshot::Receiver<Result<Answered, Unanswered>>> {
        if !self.is_up() {
            return None;
        }
        let id = self.state.next_id.fetch_add(1, Ordering::Relaxed);
        let (answer, wait) = oneshot::channel();
        self.state.lock().insert(id, Waiting { answer, asked: false });
        if self.questions.try_send(Request { id, body }).is_err() {
            self.state.lock().remove(&id);
            return None;
        }
        Some(wait)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
        self.state.is_up.store(false, Ordering::Relaxed);
        self.state.give_up();
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails all waiting callers after the connection was lost.
    fn give_up(&self) {
        for (_, waiting) in std::mem::take(&mut *self.lock()) {
            let unanswered = if waiting.asked { Unanswered::Unknown } else { Unanswered::NotAsked };
            // The caller may have gone.
            let _ = waiting.answer.send(Err(unanswered));
        }
    }
}

async fn run(
    state: Arc<State>,
    mut questions: mpsc::Receiver<Request>,
    address: std::net::SocketAddr,
    me: NodeId,
    key: SharedKey,
) {
    loop {
        let connecting = timeout(CONNECT_TIMEOUT, TcpStream::connect(address));
        let ended = match connecting.await {
            Ok(Ok(stream)) => ask_all(&state, &mut questions, stream, me, &key).await,
            Ok(Err(error)) => error,
            Err(_) => io::ErrorKind::TimedOut.into(),
        };
        if state.is_up.swap(false, Ordering::Relaxed) {
            tracing::info!(node = %state.node, error = %ended, "lost the connection to another server");
            counter!("godwit_cluster_links_lost_total").increment(1);
        }
        // In this order: a request added to the queue from here on either was refused because of `is_up`, or
        // fails below.
        while questions.try_recv().is_ok() {}
        state.give_up();
        sleep(RECONNECT_INTERVAL).await;
        while questions.try_recv().is_ok() {}
        state.give_up();
    }
}

/// Sends requests and reads replies. Returns why the connection ended.
async fn ask_all(
    state: &State,
    questions: &mut mpsc::Receiver<Request>,
    stream: TcpStream,
    me: NodeId,
    key: &SharedKey,
) -> io::Error {
    if let Err(error) = stream.set_nodelay(true) {
        return error;
    }
    let (mut reader, mut writer) = match noise::connect(stream, key, me, state.node).await {
        Ok(connected) => connected,
        Err(error) => return error,
    };
    tracing::debug!(node = %state.node, "connected to another server");
    let heard_at = Mutex::new(Instant::now());
    let reading = async {
        loop {
            let message = reader.receive().await?;
            *heard_at.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            let reply: Reply = postcard::from_bytes(&message).map_err(io::Error::other)?;
            if let Some(waiting) = state.lock().remove(&reply.id) {
                // The caller may have gone.
                let _ = waiting.answer.send(Ok(reply.body));
            }
        }
    };
    let writing = async {
        let mut pings = interval(PING_INTERVAL);
        let mut batch = Vec::with_capacity(BATCH_MAX);
        loop {
            let is_ping = tokio::select! {
                biased;
                _ = pings.tick() => true,
                _ = questions.recv_many(&mut batch, BATCH_MAX) => false,
            };
            if is_ping {
                if heard_at.lock().unwrap_or_else(PoisonError::into_inner).elapsed() > SILENCE_MAX {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                batch.push(Request { id: 0, body: Asked::Ping });
            }
            {
                let mut waiting = state.lock();
                for request in &batch {
                    if let Some(waiting) = waiting.get_mut(&request.id) {
                        waiting.asked = true;
                    }
                }
            }
            let encode = |request: Request| postcard::to_stdvec(&request).map_err(io::Error::other);
            let messages = batch.drain(..).map(encode).collect::<io::Result<Vec<_>>>()?;
            timeout(SILENCE_MAX, writer.send(&messages)).await??;
        }
    };
    state.is_up.store(true, Ordering::Relaxed);
    let ended: io::Result<()> = tokio::select! {
        ended = reading => ended,
        ended = writing => ended,
    };
    ended.err().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
