//! The commands of a live session: when to send them, and how to handle their replies.

use std::pin::Pin;
use std::time::Duration;

use godwit_protocol::conversations::MemberCursor;
use godwit_protocol::messages::{LogPage, Message};
use godwit_protocol::socket::{EntryEvent, PresenceEvent, SignedInSocket, Typing};
use godwit_protocol::sync::SyncPage;
use godwit_protocol::{ConversationId, ErrorCode};
use tokio::time::{Instant, timeout};

use super::Update;
use super::logs::{Begin, Read};
use super::online::{Online, sign_in_again};
use super::queue::Item;
use super::session::{Ended, Session, retry_after};
use crate::Error;

/// Pages of logs in flight.
const LOG_READS_MAX: usize = 4;
/// Commands in flight above which a typing notice is dropped.
const WORK_BUSY: usize = 32;

pub(super) type Work = Pin<Box<dyn Future<Output = Done> + Send>>;

/// A reply, or its absence.
pub(super) enum Done {
    Synced(Result<SyncPage, Error>),
    LogRead(ConversationId, Result<LogPage, Error>),
    Sent(ConversationId, Box<Result<Message, Error>>),
    CursorMoved(ConversationId, Result<MemberCursor, Error>),
    Watched(Result<Vec<PresenceEvent>, Error>),
    SignedIn(Result<Option<(String, SignedInSocket)>, Error>),
    Typed,
}

impl Online<'_> {
    /// Starts everything that can start now.
    pub(super) fn begin_work(&mut self) {
        let now = Instant::now();
        if self.is_leaving() {
            return self.begin_cursor_moves(now);
        }
        // Missed changes come before outgoing commands.
        if self.sync_at.take_if(|at| *at <= now).is_some() {
            self.session.catch_up.begin_or_repeat();
        }
        self.reads_paused_until.take_if(|until| *until <= now);
        if self.reads_paused_until.is_none() {
            self.begin_sync();
            self.begin_log_reads();
        }
        self.begin_sends(now);
        self.begin_cursor_moves(now);
        if self.watch_at.take_if(|at| *at <= now).is_some() {
            let (socket, users) = (self.socket.clone(), self.session.watched.clone());
            self.work.push(Box::pin(async move { Done::Watched(socket.watch_presence(users).await) }));
        }
        if self.renew_at.take_if(|at| *at <= now).is_some() {
            let renewal =
                sign_in_again(self.session.http.clone(), self.socket.clone(), self.access_token.clone());
            self.work.push(Box::pin(async { Done::SignedIn(renewal.await) }));
        }
    }

    fn begin_sync(&mut self) {
        let Session { catch_up, queue, .. } = &mut *self.session;
        if catch_up.wants_page()
            && queue.has_room()
            && let Some(since) = catch_up.next_page()
        {
            let (socket, limit) = (self.socket.clone(), self.page_limit());
            self.work.push(Box::pin(async move { Done::Synced(socket.sync(since, limit).await) }));
        }
    }

    fn begin_log_reads(&mut self) {
        while self.log_reads < LOG_READS_MAX
            && self.session.queue.has_room()
            && let Some((id, after)) = self.session.logs.next_due()
        {
            let (socket, limit) = (self.socket.clone(), self.page_limit());
            self.work.push(Box::pin(async move { Done::LogRead(id, socket.log(id, after, limit).await) }));
            self.log_reads += 1;
        }
    }

    fn begin_sends(&mut self, now: Instant) {
        while let Some((id, message)) = self.session.outbox.next(now) {
            let (socket, within) = (self.socket.clone(), self.session.config.send_timeout);
            self.work.push(Box::pin(async move {
                let sent = timeout(within, socket.send(id, message)).await;
                let late = |_| Err(Error::Timeout { operation: "send".to_owned() });
                Done::Sent(id, Box::new(sent.unwrap_or_else(late)))
            }));
        }
    }

    fn begin_cursor_moves(&mut self, now: Instant) {
        while let Some((id, cursor)) = self.session.cursors.next(now) {
            let socket = self.socket.clone();
            self.work
                .push(Box::pin(async move { Done::CursorMoved(id, socket.move_cursor(id, cursor).await) }));
        }
    }

    pub(super) fn begin_typing(&mut self, typing: Typing) {
        if self.work.len() < WORK_BUSY && !self.is_leaving() {
            let socket = self.socket.clone();
            self.work.push(Box::pin(async move {
                // May be refused or lost: the next keystroke causes another one.
                let _ = socket.typing(typing.conversation_id, typing.typing).await;
                Done::Typed
            }));
        }
    }

    /// Handles a reply. An error ends the connection.
    pub(super) fn done(&mut self, done: Done) -> Result<(), Ended> {
        match done {
            Done::Synced(outcome) => self.synced(outcome),
            Done::LogRead(id, outcome) => self.log_read(id, outcome),
            Done::Sent(id, outcome) => self.sent(id, *outcome),
            Done::CursorMoved(id, outcome) => self.cursor_moved(id, outcome),
            Done::Watched(outcome) => self.presence_watched(outcome),
            Done::SignedIn(outcome) => return self.signed_in_again(outcome),
            Done::Typed => {}
        }
        Ok(())
    }

    fn synced(&mut self, outcome: Result<SyncPage, Error>) {
        let Session { catch_up, logs, queue, config, .. } = &mut *self.session;
        match outcome {
            Ok(page) => {
                self.read_failures = 0;
                catch_up.page(page, logs, queue);
                let next_at = config.sync_every.map(|every| Instant::now() + every);
                self.sync_at = [self.sync_at, next_at].into_iter().flatten().min();
            }
            Err(error) if error.code() == Some(ErrorCode::InvalidCursor) => {
                catch_up.page_refused(logs, queue);
                self.pause_reads(&error);
            }
            Err(error) => {
                catch_up.page_failed();
                self.pause_reads(&error);
            }
        }
    }

    fn log_read(&mut self, id: ConversationId, outcome: Result<LogPage, Error>) {
        self.log_reads -= 1;
        let Session { catch_up, logs, queue, .. } = &mut *self.session;
        let read = match outcome {
            // The state is kept under the requested id.
            Ok(page) => {
                match logs.begins(id, page.begins) {
                    Some(Begin::New(seq)) => queue.push(Item::Begin(id, seq)),
                    Some(Begin::Anew(seq)) => queue.update(Update::Reset { conversation_id: id, seq }),
                    None => {}
                }
                logs.page(LogPage { conversation_id: id, ..page }, |entry| {
                    queue.update(Update::Entry(EntryEvent { conversation_id: id, entry }));
                })
            }
            Err(error) => return self.log_read_failed(id, &error),
        };
        match read {
            Read::Done => self.read_failures = 0,
            Read::Stuck => self.pause_reads(&Error::Timeout { operation: "log".to_owned() }),
            Read::Reset(seq) => {
                queue.update(Update::Reset { conversation_id: id, seq });
                catch_up.give_up(id, queue);
            }
        }
        let Session { catch_up, logs, queue, .. } = &mut *self.session;
        catch_up.progress(id, logs, queue);
    }

    fn log_read_failed(&mut self, id: ConversationId, error: &Error) {
        let Session { catch_up, logs, queue, .. } = &mut *self.session;
        match error.code() {
            // The conversation is gone, or the user may no longer see it; the account log tells the application.
            Some(ErrorCode::NotFound) => {
                logs.forget(id);
                catch_up.give_up(id, queue);
            }
            Some(ErrorCode::SeqAheadOfLog) => {
                if let Some(seq) = logs.ahead_of_server(id) {
                    queue.update(Update::Reset { conversation_id: id, seq });
                }
                catch_up.give_up(id, queue);
            }
            _ => {
                logs.read_failed(id);
                self.pause_reads(error);
            }
        }
    }

    fn sent(&mut self, id: ConversationId, outcome: Result<Message, Error>) {
        let backoff = self.session.config.backoff;
        match outcome {
            // The next connection retries it: it keeps its place in the outbox.
            Err(Error::Closed(_)) => {}
            Err(error) if is_passing(&error) => self.session.outbox.retry(id, |failures| {
                Instant::now() + backoff.random_delay(failures).max(retry_after(&error))
            }),
            outcome => self.session.outbox.settle(id, outcome),
        }
    }

    fn cursor_moved(&mut self, id: ConversationId, outcome: Result<MemberCursor, Error>) {
        match outcome {
            Err(Error::Closed(_)) => {}
            Err(error) if is_passing(&error) => {
                self.session.cursors.retry(id, Instant::now() + self.pause(1, &error));
            }
            Err(error) => {
                tracing::debug!(%error, "could not move a cursor");
                self.session.cursors.settle(id);
            }
            Ok(_) => self.session.cursors.settle(id),
        }
    }

    fn presence_watched(&mut self, outcome: Result<Vec<PresenceEvent>, Error>) {
        match outcome {
            Ok(list) => {
                list.into_iter().for_each(|event| self.session.queue.update_if_room(Update::Presence(event)));
            }
            Err(error) if is_passing(&error) => self.watch_at = Some(Instant::now() + self.pause(1, &error)),
            Err(error) => tracing::warn!(%error, "presence is not watched"),
        }
    }

    fn signed_in_again(
        &mut self,
        outcome: Result<Option<(String, SignedInSocket)>, Error>,
    ) -> Result<(), Ended> {
        match outcome {
            Ok(Some((token, signed_in))) => {
                self.access_token = token;
                self.signed_in(&signed_in);
            }
            // The application will set another token, or the server will close the socket.
            Ok(None) => {}
            Err(Error::Closed(_)) => {}
            Err(error) if error.ends_session() => return Err(Ended::by_error(&error)),
            Err(error) => self.renew_at = Some(Instant::now() + self.pause(1, &error)),
        }
        Ok(())
    }

    fn pause_reads(&mut self, error: &Error) {
        self.read_failures += 1;
        self.reads_paused_until = Some(Instant::now() + self.pause(self.read_failures, error));
        if !matches!(error, Error::Closed(_)) {
            tracing::debug!(%error, "catching up later");
        }
    }

    fn pause(&self, failures: u32, error: &Error) -> Duration {
        self.session.config.backoff.random_delay(failures).max(retry_after(error))
    }

    fn page_limit(&self) -> Option<u16> {
        Some(self.session.page_max.min(self.socket.hello().limits.page_max).max(1))
    }
}

/// True if a retry of the command may succeed, on this connection or the next one.
fn is_passing(error: &Error) -> bool {
    error.is_temporary() || error.ends_session() || error.code() == Some(ErrorCode::SignInFirst)
}
