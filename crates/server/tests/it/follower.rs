//! A device that resumes on its own, and checks everything that it receives.

use std::collections::HashMap;
use std::time::Duration;

use godwit_client::live::{Backoff, Connection, StartAt};
use godwit_client::protocol::conversations::MemberCursor;
use godwit_client::protocol::messages::LogEntry;
use godwit_client::protocol::socket::CursorEvent;
use godwit_client::protocol::{ConversationId, Seq, UserId};
use godwit_client::{Http, Live, LiveConfig, ResumeState, SocketConfig, Update, Updates};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::logs::LogChecker;
use crate::people::{patience, soon};

pub(crate) struct Follower {
    pub(crate) name: String,
    pub(crate) live: Live,
    progress: watch::Receiver<Progress>,
    task: JoinHandle<Followed>,
}

/// The progress of a follower.
#[derive(Default)]
struct Progress {
    seen: HashMap<ConversationId, Seq>,
    cursors: HashMap<(ConversationId, UserId), MemberCursor>,
    caught_up: usize,
    resets: usize,
}

/// Everything that a follower received.
pub(crate) struct Followed {
    logs: HashMap<ConversationId, LogChecker>,
    /// Conversations that were reset, with the last entry before the reset.
    pub(crate) resets: Vec<(ConversationId, Seq)>,
    pub(crate) all_reset: usize,
    /// The number of connections.
    pub(crate) connections: usize,
    /// The latest known cursors of members.
    pub(crate) cursors: HashMap<(ConversationId, UserId), MemberCursor>,
    /// The state for a successor.
    pub(crate) state: ResumeState,
}

impl Follower {
    /// Follows all conversations of the user from their beginning.
    pub(crate) fn start(name: &str, http: Http) -> Self {
        Self::start_with(name, http, config())
    }

    /// Continues from the state of another follower.
    pub(crate) fn resume(name: &str, http: Http, state: ResumeState) -> Self {
        Self::start_with(name, http, LiveConfig { resume: Some(state), ..config() })
    }

    /// For servers that may be suspended: uses short timeouts.
    pub(crate) fn restless(name: &str, http: Http) -> Self {
        let (connect_timeout, command_timeout) = (Duration::from_secs(3), Duration::from_secs(12));
        let socket = SocketConfig { connect_timeout, command_timeout, ..SocketConfig::default() };
        Self::start_with(name, http, LiveConfig { socket, ..config() })
    }

    fn start_with(name: &str, http: Http, config: LiveConfig) -> Self {
        let (live, updates) = Live::start(http, config);
        let (told, progress) = watch::channel(Progress::default());
        let task = tokio::spawn(follow(name.to_owned(), updates, told));
        Self { name: name.to_owned(), live, progress, task }
    }

    /// Waits for this entry.
    pub(crate) async fn reaches(&self, conversation: ConversationId, seq: Seq) {
        let mut progress = self.progress.clone();
        let reached = |p: &Progress| p.seen.get(&conversation).is_some_and(|seen| *seen >= seq);
        let outcome = soon(&format!("{} to reach {seq}", self.name), progress.wait_for(reached)).await;
        assert!(outcome.is_ok(), "{} ended before {seq}", self.name);
    }

    /// Waits for this cursor.
    pub(crate) async fn is_told_of(&self, conversation: ConversationId, mark: MemberCursor) {
        let mut progress = self.progress.clone();
        let told = |p: &Progress| p.cursors.get(&(conversation, mark.user_id)) == Some(&mark);
        let outcome = soon(&format!("{} to be told of {mark:?}", self.name), progress.wait_for(told)).await;
        assert!(outcome.is_ok(), "{} ended before {mark:?}", self.name);
    }

    /// True if this entry has arrived.
    pub(crate) fn has_reached(&self, conversation: ConversationId, seq: Seq) -> bool {
        self.progress.borrow().seen.get(&conversation).is_some_and(|seen| *seen >= seq)
    }

    /// Waits until the follower has caught up.
    pub(crate) async fn catches_up(&self) {
        let mut progress = self.progress.clone();
        let outcome =
            soon(&format!("{} to catch up", self.name), progress.wait_for(|p| p.caught_up > 0)).await;
        assert!(outcome.is_ok(), "{} ended before it caught up", self.name);
    }

    /// Waits for a reset.
    pub(crate) async fn is_reset(&self) {
        let mut progress = self.progress.clone();
        let outcome = soon(&format!("{} to be reset", self.name), progress.wait_for(|p| p.resets > 0)).await;
        assert!(outcome.is_ok(), "{} ended before it was reset", self.name);
    }

    /// Closes the session, and returns everything that it received.
    pub(crate) async fn finish(self) -> Followed {
        self.live.close().await;
        soon(&format!("{} to end", self.name), self.task).await.unwrap()
    }
}

impl Followed {
    pub(crate) fn log(&mut self, conversation: ConversationId) -> Vec<LogEntry> {
        self.logs.remove(&conversation).map(LogChecker::into_entries).unwrap_or_default()
    }
}

/// Everything from the beginning, with short waits before reconnecting.
fn config() -> LiveConfig {
    LiveConfig {
        start: StartAt::Beginning,
        backoff: Backoff {
            first: Duration::from_millis(5),
            max: Duration::from_millis(100),
            stable_after: Duration::from_secs(1),
        },
        acknowledge_after: Some(Duration::from_millis(20)),
        socket: SocketConfig {
            connect_timeout: patience(),
            command_timeout: patience(),
            ..SocketConfig::default()
        },
        ..LiveConfig::default()
    }
}

async fn follow(name: String, mut updates: Updates, told: watch::Sender<Progress>) -> Followed {
    let mut begins = updates.state().seen.clone();
    let mut logs = HashMap::<ConversationId, LogChecker>::new();
    let (mut resets, mut all_reset, mut connections) = (Vec::new(), 0, 0);
    while let Some(update) = updates.next().await {
        match update {
            Update::Entry(event) => {
                let id = event.conversation_id;
                let begin = begins.get(&id).copied().unwrap_or_default();
                let log = logs.entry(id).or_insert_with(|| LogChecker::after(&name, begin));
                log.take(event.entry);
                let seen = log.seen();
                told.send_modify(|progress| {
                    progress.seen.insert(id, seen);
                });
            }
            Update::Reset { conversation_id, seq } => {
                resets.push((conversation_id, seq));
                logs.insert(conversation_id, LogChecker::after(&name, seq));
                told.send_modify(|progress| {
                    progress.resets += 1;
                    progress.seen.insert(conversation_id, seq);
                });
            }
            Update::ResetAll => {
                all_reset += 1;
                logs.clear();
                begins.clear();
                told.send_modify(|progress| {
                    progress.resets += 1;
                    progress.seen.clear();
                });
            }
            Update::Cursor(CursorEvent { conversation_id, cursor }) => {
                told.send_modify(|progress| {
                    progress.cursors.insert((conversation_id, cursor.user_id), cursor);
                });
            }
            Update::Connection(Connection::Online) => connections += 1,
            Update::CaughtUp => told.send_modify(|progress| progress.caught_up += 1),
            _ => {}
        }
    }
    let cursors = told.borrow().cursors.clone();
    Followed { logs, resets, all_reset, connections, cursors, state: updates.state().clone() }
}
