//! A live session while it has a connection.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use godwit_protocol::socket::{EntryEvent, Event, SignedInSocket};
use godwit_protocol::{ErrorCode, Timestamp};
use tokio::time::{Instant, sleep_until};

use super::control::Control;
use super::cursors::due_after;
use super::session::{Ended, Session};
use super::work::Work;
use super::{StopReason, Update};
use crate::socket::{Closed, Events};
use crate::{Error, Http, Socket, SocketConfig};

/// The time that closing may take for commands in flight.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);
/// A token is replaced this long before it expires, or after four fifths of its lifetime if that is later.
const RENEW_BEFORE_MAX: Duration = Duration::from_secs(60);
/// The minimum time between two renewals, whatever lifetime the server announces.
const RENEW_EVERY_MIN: Duration = Duration::from_secs(1);

/// A connection with a signed-in user.
pub(super) struct Link {
    socket: Socket,
    pub(super) events: Events,
    pub(super) signed_in: SignedInSocket,
    access_token: String,
}

impl Link {
    pub(super) async fn open(http: Http, config: SocketConfig) -> Result<Self, Error> {
        let access_token = http.access_token().ok_or(Error::NotSignedIn)?;
        let config = SocketConfig { access_token: None, ..config };
        let (socket, events) = Socket::connect(http.base_url(), config).await?;
        let (access_token, signed_in) = sign_in(&http, &socket, access_token).await?;
        Ok(Self { socket, events, signed_in, access_token })
    }
}

/// Signs in, with a fresh token if this one has expired. Returns the token that was used.
async fn sign_in(http: &Http, socket: &Socket, token: String) -> Result<(String, SignedInSocket), Error> {
    match socket.sign_in(token.clone()).await {
        Ok(signed_in) => Ok((token, signed_in)),
        Err(expired) if expired.code() == Some(ErrorCode::TokenExpired) => {
            let fresh = http.renew(&token).await?.ok_or(expired)?;
            socket.sign_in(fresh.clone()).await.map(|signed_in| (fresh, signed_in))
        }
        Err(error) => Err(error),
    }
}

pub(super) struct Online<'a> {
    pub(super) session: &'a mut Session,
    pub(super) socket: Socket,
    /// Commands that wait for their replies. Each kind has its own limit.
    pub(super) work: FuturesUnordered<Work>,
    pub(super) log_reads: usize,
    /// The server could not answer. No `sync` and no `log` before this time.
    pub(super) reads_paused_until: Option<Instant>,
    pub(super) read_failures: u32,
    pub(super) sync_at: Option<Instant>,
    pub(super) watch_at: Option<Instant>,
    /// The token with which the socket is signed in.
    pub(super) access_token: String,
    pub(super) renew_at: Option<Instant>,
    clock: ServerClock,
    leaving: Option<Leaving>,
}

/// No new commands start, and the connection ends when those in flight are done.
struct Leaving {
    at: Instant,
    ended: Ended,
}

impl<'a> Online<'a> {
    pub(super) fn new(session: &'a mut Session, link: &Link) -> Self {
        let now = Instant::now();
        session.catch_up.begin_anew();
        let mut online = Self {
            socket: link.socket.clone(),
            work: FuturesUnordered::new(),
            log_reads: 0,
            reads_paused_until: None,
            read_failures: 0,
            sync_at: None,
            watch_at: (!session.watched.is_empty()).then_some(now),
            access_token: link.access_token.clone(),
            renew_at: None,
            clock: ServerClock { told: link.socket.hello().server_time, at: now },
            leaving: None,
            session,
        };
        online.signed_in(&link.signed_in);
        online
    }

    pub(super) async fn run(mut self, mut events: Events) -> Ended {
        self.collect_taken();
        loop {
            if let Some(ended) = self.has_left() {
                return ended;
            }
            self.begin_work();
            let wake_at = self.wake_at();
            let takes_sends = self.leaving.is_none() && self.session.outbox.has_room();
            tokio::select! {
                event = events.next() => match event {
                    Some(event) => self.event(event),
                    None => return self.closed(events.closed()),
                },
                Some(done) = self.work.next() => if let Err(ended) = self.done(done) {
                    return ended;
                },
                Some(queued) = self.session.sends.recv(), if takes_sends => self.session.outbox.push(queued),
                control = self.session.controls.recv(), if !self.is_stopping() => self.control(control),
                () = self.session.queue.progress() => self.collect_taken(),
                () = sleep_until(wake_at.unwrap_or_else(Instant::now)), if wake_at.is_some() => {}
            }
        }
    }

    fn event(&mut self, event: Event) {
        let Session { queue, logs, catch_up, .. } = &mut *self.session;
        match event {
            Event::Entry(event) => self.entry(event),
            Event::EntryOmitted(omitted) => logs.skip(omitted.conversation_id, omitted.seq),
            Event::Account(entry) => catch_up.account(entry, logs, queue),
            Event::Cursor(event) => {
                if !queue.cursor(event) {
                    catch_up.begin_or_repeat();
                }
            }
            Event::Typing(event) => queue.update_if_room(Update::Typing(event)),
            Event::Presence(event) => queue.update_if_room(Update::Presence(event)),
            Event::UserUpdated(user) => {
                // A round does not include profiles. After a round the application loads names again.
                if !queue.user(user) {
                    catch_up.begin_or_repeat();
                }
            }
            Event::Reconnect(hint) => {
                let at = Instant::now() + Duration::from_millis(hint.after_ms.into());
                self.leave(at, Ended::RetryAt(at));
            }
            Event::CatchUp(hint) => {
                let at = Instant::now() + Duration::from_millis(hint.after_ms.into());
                self.sync_at = Some(self.sync_at.map_or(at, |sooner| sooner.min(at)));
            }
            Event::Hello(_) => {}
        }
    }

    fn entry(&mut self, event: EntryEvent) {
        let Session { queue, logs, catch_up, .. } = &mut *self.session;
        let conversation_id = event.conversation_id;
        if queue.has_room() {
            logs.offer(conversation_id, event.entry, |entry| {
                queue.update(Update::Entry(EntryEvent { conversation_id, entry }));
            });
            catch_up.progress(conversation_id, logs, queue);
        } else {
            logs.skip(conversation_id, event.entry.seq);
        }
    }

    fn control(&mut self, control: Option<Control>) {
        match control {
            Some(Control::Close) | None => {
                let at = Instant::now() + CLOSE_WITHIN;
                self.leave(at, Ended::Stop(StopReason::ByApplication));
            }
            Some(Control::Typing(typing)) => self.begin_typing(typing),
            Some(control) => {
                if matches!(control, Control::WatchPresence(_)) {
                    self.watch_at = Some(Instant::now());
                }
                self.session.keep(control);
            }
        }
    }

    fn collect_taken(&mut self) {
        let due_at = due_after(self.session.config.acknowledge_after);
        for (id, seq) in self.session.queue.take_taken() {
            self.session.cursors.delivered(id, seq, due_at);
        }
    }

    /// Computes when the token of the socket must be replaced.
    pub(super) fn signed_in(&mut self, signed_in: &SignedInSocket) {
        let left = self.clock.until(signed_in.expires_at);
        let early = (left / 5).min(RENEW_BEFORE_MAX);
        self.renew_at = Some(Instant::now() + (left - early).max(RENEW_EVERY_MIN));
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.leaving.is_some()
    }

    fn is_stopping(&self) -> bool {
        matches!(&self.leaving, Some(Leaving { ended: Ended::Stop(_), .. }))
    }

    fn leave(&mut self, at: Instant, ended: Ended) {
        self.session.cursors.hurry(Instant::now());
        // A request of the application to stop takes precedence over one of the server.
        if !self.is_stopping() {
            self.leaving = Some(Leaving { at, ended });
        }
    }

    fn has_left(&mut self) -> Option<Ended> {
        let idle = self.session.outbox.in_flight() == 0 && self.session.cursors.is_idle();
        self.leaving.take_if(|leaving| idle || leaving.at <= Instant::now()).map(|leaving| leaving.ended)
    }

    fn closed(&mut self, closed: Option<&Closed>) -> Ended {
        match (self.leaving.take(), closed) {
            (Some(leaving), _) => leaving.ended,
            (None, Some(closed)) => Ended::by_close(closed),
            (None, None) => Ended::by_close(&Closed::ByClient),
        }
    }

    /// When the task must wake up without an event.
    fn wake_at(&self) -> Option<Instant> {
        let cursors = self.session.cursors.next_at();
        let times = match &self.leaving {
            Some(leaving) => [cursors, Some(leaving.at), None, None, None, None],
            None => [
                cursors,
                self.session.outbox.next_at(),
                self.reads_paused_until,
                self.sync_at,
                self.watch_at,
                self.renew_at,
            ],
        };
        times.into_iter().flatten().min()
    }
}

/// The time of the server's clock, because the local one may be wrong.
struct ServerClock {
    told: Timestamp,
    at: Instant,
}

impl ServerClock {
    fn until(&self, time: Timestamp) -> Duration {
        let from_then = u64::try_from(time.millis_since(self.told)).unwrap_or_default();
        Duration::from_millis(from_then).saturating_sub(self.at.elapsed())
    }
}

pub(super) async fn sign_in_again(
    http: Http,
    socket: Socket,
    used: String,
) -> Result<Option<(String, SignedInSocket)>, Error> {
    // Another caller may have refreshed the token; `renew` takes that into account.
    match http.renew(&used).await? {
        Some(token) => sign_in(&http, &socket, token).await.map(Some),
        None => Ok(None),
    }
}
