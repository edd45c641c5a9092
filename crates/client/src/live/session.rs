//! The task of a live session: connects, waits, reconnects.

use std::sync::Arc;
use std::time::Duration;

use godwit_protocol::UserId;
use godwit_protocol::limits::PAGE_MAX;
use godwit_protocol::socket::CloseCode;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use super::catch_up::CatchUp;
use super::control::Control;
use super::cursors::{CursorMoves, due_after};
use super::logs::Logs;
use super::online::{Link, Online};
use super::outbox::{Outbox, Queued};
use super::queue::Queue;
use super::{Connection, LiveConfig, ResumeState, StopReason, Update};
use crate::socket::Closed;
use crate::{Error, Http};

/// The state that outlives a connection.
pub(super) struct Session {
    pub(super) http: Http,
    pub(super) config: LiveConfig,
    pub(super) queue: Arc<Queue>,
    pub(super) controls: mpsc::Receiver<Control>,
    pub(super) sends: mpsc::Receiver<Queued>,
    connection: watch::Sender<Connection>,
    pub(super) logs: Logs,
    pub(super) outbox: Outbox,
    pub(super) cursors: CursorMoves,
    pub(super) catch_up: CatchUp,
    pub(super) watched: Vec<UserId>,
    /// Consecutive connections that failed or were short.
    failures: u32,
    /// The largest page that this client requests. It shrinks after a page was too large for a connection.
    pub(super) page_max: u16,
}

/// Why a connection, or the attempt to open one, ended.
#[derive(Debug)]
pub(super) enum Ended {
    Stop(StopReason),
    /// The server said when to reconnect.
    RetryAt(Instant),
    Retry {
        cause: String,
        at_least: Duration,
        /// More frames waited for this client than the server buffers.
        too_much: bool,
    },
}

impl Session {
    pub(super) fn new(
        http: Http,
        config: LiveConfig,
        state: ResumeState,
        queue: Arc<Queue>,
        controls: mpsc::Receiver<Control>,
        sends: mpsc::Receiver<Queued>,
        connection: watch::Sender<Connection>,
    ) -> Self {
        Self {
            logs: Logs::new(config.start, state.seen, state.token.is_some()),
            outbox: Outbox::new(config.sends_queued_max, config.sends_in_flight_max),
            cursors: CursorMoves::default(),
            catch_up: CatchUp::new(state.token, state.account_seq),
            watched: Vec::new(),
            failures: 0,
            page_max: PAGE_MAX,
            http,
            config,
            queue,
            controls,
            sends,
            connection,
        }
    }

    pub(super) async fn run(mut self) {
        let reason = self.keep_connected().await;
        self.tell(Connection::Stopped(reason));
        self.queue.finish();
        // Sets the reason before closing the channel: a caller that finds it closed looks for the reason.
        self.sends.close();
        while let Ok(queued) = self.sends.try_recv() {
            let _ = queued.reply.send(Err(Error::Stopped(reason)));
        }
        self.outbox.fail_all(|| Error::Stopped(reason));
    }

    async fn keep_connected(&mut self) -> StopReason {
        loop {
            let step = match self.connect_once().await {
                Ok(ended) => self.wait(ended).await,
                Err(stopped) => Err(stopped),
            };
            if let Err(reason) = step {
                return reason;
            }
        }
    }

    async fn connect_once(&mut self) -> Result<Ended, StopReason> {
        self.tell(Connection::Connecting);
        let open = Box::pin(Link::open(self.http.clone(), self.config.socket.clone()));
        let link = match self.meanwhile(open).await? {
            Ok(link) => link,
            Err(error) => return Ok(Ended::by_error(&error)),
        };
        // A session has one user for its whole life.
        let _ = self.queue.me.set(link.signed_in.user_id);
        self.tell(Connection::Online);
        let opened_at = Instant::now();
        let ended = Box::pin(Online::new(self, &link).run(link.events)).await;
        self.disconnected();
        let is_stable = opened_at.elapsed() >= self.config.backoff.stable_after;
        if is_stable {
            self.failures = 0;
        }
        if matches!(ended, Ended::Retry { too_much: true, .. }) {
            // The same page would fail again.
            self.page_max = (self.page_max / 4).max(1);
        } else if is_stable {
            self.page_max = PAGE_MAX;
        }
        Ok(ended)
    }

    async fn wait(&mut self, ended: Ended) -> Result<(), StopReason> {
        let (cause, at) = match ended {
            Ended::Stop(reason) => return Err(reason),
            Ended::RetryAt(at) => (CloseCode::ServiceRestart.reason().to_owned(), at),
            Ended::Retry { cause, at_least, .. } => {
                self.failures += 1;
                let delay = self.config.backoff.random_delay(self.failures).max(at_least);
                (cause, Instant::now() + delay)
            }
        };
        let retry_in = at.saturating_duration_since(Instant::now());
        tracing::debug!(%cause, ?retry_in, "not connected");
        self.tell(Connection::Offline { retry_in, cause });
        self.meanwhile(sleep_until(at)).await
    }

    /// Runs `work` while listening to the application.
    async fn meanwhile<T>(&mut self, work: impl Future<Output = T>) -> Result<T, StopReason> {
        tokio::pin!(work);
        loop {
            tokio::select! {
                outcome = &mut work => return Ok(outcome),
                control = self.controls.recv() => match control {
                    Some(Control::Close) | None => return Err(StopReason::ByApplication),
                    Some(control) => self.keep(control),
                },
            }
        }
    }

    /// Stores a request until there is a connection.
    pub(super) fn keep(&mut self, control: Control) {
        let due_at = due_after(self.config.acknowledge_after);
        match control {
            Control::Read(id, seq) => self.cursors.read(id, seq, due_at),
            Control::Delivered(id, seq) => self.cursors.delivered(id, seq, due_at),
            Control::WatchPresence(users) => self.watched = users,
            // A typing notice is useless later.
            Control::Typing(_) | Control::Close => {}
        }
    }

    fn disconnected(&mut self) {
        self.logs.disconnected();
        self.outbox.disconnected();
        self.cursors.disconnected();
    }

    fn tell(&self, connection: Connection) {
        self.connection.send_replace(connection.clone());
        self.queue.update(Update::Connection(connection));
    }
}

impl Ended {
    pub(super) fn by_error(error: &Error) -> Self {
        if let Error::Closed(closed) = error {
            return Self::by_close(closed);
        }
        if error.ends_session() {
            return Self::Stop(StopReason::SignedOut(error.code()));
        }
        Self::Retry { cause: error.to_string(), at_least: retry_after(error), too_much: false }
    }

    pub(super) fn by_close(closed: &Closed) -> Self {
        match closed.code() {
            Some(CloseCode::SignedOut) => Self::Stop(StopReason::SignedOut(None)),
            Some(code) if !code.reconnect() => Self::Stop(StopReason::Refused(code)),
            _ => Self::retry(closed),
        }
    }

    fn retry(closed: &Closed) -> Self {
        let too_much = closed.code() == Some(CloseCode::TooSlow);
        Self::Retry { cause: closed.to_string(), at_least: Duration::ZERO, too_much }
    }
}

/// How long the server wants the client to wait.
pub(super) fn retry_after(error: &Error) -> Duration {
    let seconds = error.problem().and_then(|problem| problem.retry_after).unwrap_or_default();
    Duration::from_secs(seconds.into())
}
