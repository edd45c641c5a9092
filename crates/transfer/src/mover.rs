//! From the first pass to the switch.
//!
//! 1. The store that is left begins to keep which parts change ([`Moving::Out`]); the other one is marked as incomplete
//!    ([`Moving::In`]), so that no server starts on it.
//! 2. First pass: every conversation, then every account, while servers go on. Each part is compared on both sides right
//!    after it was copied. From then on it is the same unless it changes, and what changes is kept.
//! 3. Parts that have changed are copied again, until few do.
//! 4. Switch: writes are held, the last changed parts are copied and compared, and then the one store is gone for good and
//!    the other one complete.
//!
//! All of it may be interrupted everywhere, and goes on where it was.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use godwit_domain::model::{Member, User};
use godwit_domain::ports::{Creation, Moving, Part, StoreError, TransferStore};
use godwit_protocol::{ConversationId, Seq, UserId};
use tokio::sync::watch;

use crate::accounts::Account;
use crate::error::MoveError;
use crate::paging::{PAGE, all, count};
use crate::progress::{Phase, Place, Progress};
use crate::{check, conversations, memberships};

/// Parts that are copied at once.
const AT_ONCE: usize = 16;
/// Parts of the first pass after which its place is kept.
const STEP: usize = 64;
/// Changed parts that are asked for at once.
const CHANGED_AT_ONCE: usize = 2_000;
/// With so few changed parts left it is time to switch: copying them takes a moment.
const FEW: usize = 200;
/// Rounds after which it is tried all the same: somebody writes faster than it is copied.
const ROUNDS_MAX: usize = 50;

/// Times that a store may not answer without anything having been copied since, and what is waited after each.
const FAILURES_MAX: usize = 20;
const PAUSE: Duration = Duration::from_secs(3);

/// Moves everything from one store to another.
#[derive(Debug)]
pub struct Mover {
    source: Arc<dyn TransferStore>,
    target: Arc<dyn TransferStore>,
    from: String,
    to: String,
    control: Arc<Control>,
    /// Conversations whose whole log was compared.
    checked: Mutex<HashSet<ConversationId>>,
}

/// How others see what a mover does, and ask it to stop.
#[derive(Debug, Default)]
pub struct Control {
    progress: watch::Sender<Progress>,
    is_stopping: AtomicBool,
}

/// What came of copying a part.
#[derive(Debug, Default)]
struct Outcome {
    is_same: bool,
    entries: u64,
    /// Parts that were written to on the way, and have to be copied after it.
    also: Vec<Part>,
}

/// Ends a move that is under way: the store that was to be left goes on as if nothing had been. What was copied stays
/// where it is, and is of no use.
pub async fn abandon(source: &dyn TransferStore, name: &str) -> Result<Moving, MoveError> {
    let moving = source.moving().await?;
    match &moving {
        Moving::Out { .. } | Moving::Held { .. } => {
            become_of(source, &moving, Moving::Not).await?;
            Ok(moving)
        }
        _ => Err(MoveError::NotHere { from: name.to_owned(), moving }),
    }
}

impl Control {
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// Shows at once what is counted for good when its step is done.
    pub(crate) fn show(&self, change: impl FnOnce(&mut Progress)) {
        self.progress.send_modify(change);
    }

    /// Where it can go on later.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }
}

impl Mover {
    /// The names say where the stores are; they are kept with them.
    pub fn new(
        source: Arc<dyn TransferStore>,
        target: Arc<dyn TransferStore>,
        from: String,
        to: String,
        control: Arc<Control>,
    ) -> Self {
        Self { source, target, from, to, control, checked: Mutex::default() }
    }

    /// Begins, or goes on. When it returns `Ok` everything is in the other store.
    pub async fn run(&self) -> Result<Progress, MoveError> {
        let mut failures = 0;
        loop {
            let before = *self.control.progress.borrow();
            match self.attempt().await {
                Err(MoveError::Store(error @ StoreError::Unavailable { .. })) => {
                    // One that comes further each time may take as many as it needs.
                    failures = if *self.control.progress.borrow() == before { failures + 1 } else { 1 };
                    if failures == FAILURES_MAX {
                        return Err(error.into());
                    }
                    tracing::warn!(error = &error as &dyn std::error::Error, "the move goes on in a moment");
                    tokio::time::sleep(PAUSE).await;
                    self.refuse_to_go_on_when_stopped()?;
                }
                outcome => return outcome,
            }
        }
    }

    async fn attempt(&self) -> Result<Progress, MoveError> {
        if self.begin().await? {
            let mut place = self.place().await?;
            self.first_pass(&mut place).await?;
            self.catch_up(&mut place).await?;
            self.switch(&mut place).await?;
        }
        self.arrive().await?;
        self.control.progress.send_modify(|progress| progress.phase = Phase::Done);
        Ok(*self.control.progress.borrow())
    }

    /// Marks both stores. Whether there is something left to copy.
    async fn begin(&self) -> Result<bool, MoveError> {
        let (source, target) = (&*self.source, &*self.target);
        let (leaving, arriving) = tokio::try_join!(source.moving(), target.moving())?;
        let is_from_here = matches!(&arriving, Moving::In { from, .. } if *from == self.from);
        match &leaving {
            Moving::Not => {}
            Moving::Out { to } | Moving::Held { to } if *to == self.to => {}
            // It was interrupted between its last two steps.
            Moving::Gone { to } if *to == self.to && is_from_here => return Ok(false),
            _ => return Err(MoveError::NotHere { from: self.from.clone(), moving: leaving }),
        }
        if arriving == Moving::Not {
            self.refuse_what_is_not_empty().await?;
            let moving = Moving::In { from: self.from.clone(), progress: String::new() };
            become_of(target, &arriving, moving).await?;
        } else if !is_from_here {
            return Err(MoveError::NotFree { to: self.to.clone(), moving: arriving });
        }
        let key = source.signing_key(rand::random()).await?;
        if target.signing_key(key).await? != key {
            return Err(MoveError::OtherKey(self.to.clone()));
        }
        // Also when it is so already: whoever began may have gone before every server knew.
        become_of(source, &leaving, Moving::Out { to: self.to.clone() }).await?;
        Ok(true)
    }

    async fn refuse_what_is_not_empty(&self) -> Result<(), MoveError> {
        let (users, conversations) =
            tokio::try_join!(self.target.list_users(None, 1), self.target.all_conversations(None, 1))?;
        if users.is_empty() && conversations.is_empty() {
            return Ok(());
        }
        Err(MoveError::NotEmpty(self.to.clone()))
    }

    /// Where the first pass was, if there was one.
    async fn place(&self) -> Result<Place, MoveError> {
        let kept = match self.target.moving().await? {
            Moving::In { progress, .. } => serde_json::from_str(&progress).ok(),
            _ => None,
        };
        let mut place: Place = kept.unwrap_or_default();
        if place.progress.phase == Phase::Counting {
            self.count(&mut place.progress).await?;
            place.progress.phase = Phase::Conversations;
            self.control.progress.send_replace(place.progress);
        }
        Ok(place)
    }

    /// For people to see how much is left; it does not matter if it is not exact.
    async fn count(&self, progress: &mut Progress) -> Result<(), MoveError> {
        let conversations =
            count(|id: &ConversationId| *id, |after| self.source.all_conversations(after, PAGE));
        let accounts = count(|user: &User| user.id, |after| self.source.list_users(after, PAGE));
        (progress.conversations_total, progress.accounts_total) = tokio::try_join!(conversations, accounts)?;
        self.control.progress.send_replace(*progress);
        Ok(())
    }

    async fn first_pass(&self, place: &mut Place) -> Result<(), MoveError> {
        while place.progress.phase == Phase::Conversations {
            let ids = self.source.all_conversations(place.conversation, STEP).await?;
            let copying = stream::iter(ids.clone()).map(|id| self.copy_with_members(id));
            let done = copying.buffer_unordered(AT_ONCE);
            for (entries, suspects) in done.try_collect::<Vec<_>>().await? {
                place.progress.entries += entries;
                place.suspects.extend(suspects);
            }
            place.progress.conversations += ids.len() as u64;
            place.conversation = ids.last().copied().or(place.conversation);
            self.keep(place, ids.len() < STEP).await?;
        }
        while place.progress.phase == Phase::Creations {
            let creations = self.source.all_creations(place.creation.as_ref(), STEP).await?;
            for creation in &creations {
                self.copy_creation(creation).await?;
            }
            let is_end = creations.len() < STEP;
            place.creation = creations.into_iter().last().or(place.creation.take());
            self.keep(place, is_end).await?;
        }
        while place.progress.phase == Phase::Accounts {
            let users = self.source.list_users(place.account, STEP).await?;
            let parts = users.iter().map(|user| Part::Account(user.id)).collect();
            let suspects = self.copy_each(parts).await?.suspects;
            place.suspects.extend(suspects);
            place.progress.accounts += users.len() as u64;
            place.account = users.last().map(|user| user.id).or(place.account);
            self.keep(place, users.len() < STEP).await?;
        }
        Ok(())
    }

    /// Remembers where the first pass is, and goes to the next phase at the end of one.
    async fn keep(&self, place: &mut Place, is_end: bool) -> Result<(), MoveError> {
        if is_end {
            place.progress.phase = match place.progress.phase {
                Phase::Conversations => Phase::Creations,
                Phase::Creations => Phase::Accounts,
                _ => Phase::CatchingUp,
            };
        }
        self.control.progress.send_replace(place.progress);
        let known = self.target.moving().await?;
        let progress = serde_json::to_string(place).expect("a place can be written down");
        become_of(&*self.target, &known, Moving::In { from: self.from.clone(), progress }).await?;
        self.refuse_to_go_on_when_stopped()
    }

    fn refuse_to_go_on_when_stopped(&self) -> Result<(), MoveError> {
        if self.control.is_stopping.load(Ordering::Relaxed) { Err(MoveError::Stopped) } else { Ok(()) }
    }

    /// Copies what has changed until few parts do.
    async fn catch_up(&self, place: &mut Place) -> Result<(), MoveError> {
        for _ in 0..ROUNDS_MAX {
            self.refuse_to_go_on_when_stopped()?;
            let copied = self.copy_changed(place).await?;
            if copied < FEW {
                break;
            }
        }
        Ok(())
    }

    /// Holds writes for as long as it takes to copy what is left.
    async fn switch(&self, place: &mut Place) -> Result<(), MoveError> {
        place.progress.phase = Phase::Switching;
        self.control.progress.send_replace(place.progress);
        let (out, held) = (Moving::Out { to: self.to.clone() }, Moving::Held { to: self.to.clone() });
        become_of(&*self.source, &out, held.clone()).await?;
        match self.copy_the_rest(place).await {
            Ok(()) => {
                become_of(&*self.source, &held, Moving::Gone { to: self.to.clone() }).await?;
                Ok(())
            }
            Err(error) => {
                // Servers go on, and it can be tried again.
                if let Err(error) = become_of(&*self.source, &held, out).await {
                    tracing::error!(%error, "writes are still held");
                }
                Err(error)
            }
        }
    }

    async fn copy_the_rest(&self, place: &mut Place) -> Result<(), MoveError> {
        loop {
            let changed = self.source.changed(CHANGED_AT_ONCE).await?;
            if changed.parts.is_empty() {
                break;
            }
            self.copy_for_good(changed.parts.iter().cloned().collect(), place).await?;
            self.source.settled(changed).await?;
        }
        let suspects = place.suspects.drain(..).collect();
        self.copy_for_good(suspects, place).await?;
        self.target.begin_ids_after(self.source.highest_id().await?).await?;
        Ok(())
    }

    /// Copies parts while nothing changes, so that they have to be the same afterwards. What is copied for one may be needed
    /// by another, so each gets a second chance.
    async fn copy_for_good(&self, parts: BTreeSet<Part>, place: &mut Place) -> Result<(), MoveError> {
        let first = self.copy_each(parts).await?;
        place.progress.entries += first.entries;
        let second = self.copy_each(first.suspects.into_iter().collect()).await?;
        self.control.progress.send_replace(place.progress);
        second.suspects.into_iter().next().map_or(Ok(()), |part| Err(MoveError::Different(part)))
    }

    async fn arrive(&self) -> Result<(), MoveError> {
        let known = self.target.moving().await?;
        become_of(&*self.target, &known, Moving::Not).await
    }

    /// Copies parts that have changed; how many they were. Those that change while they are copied are left for the next time.
    async fn copy_changed(&self, place: &mut Place) -> Result<usize, MoveError> {
        let mut changed = self.source.changed(CHANGED_AT_ONCE).await?;
        let parts: BTreeSet<Part> = changed.parts.iter().cloned().collect();
        let count = parts.len();
        let copied = self.copy_each(parts.clone()).await?;
        place.progress.entries += copied.entries;
        place.progress.again += count as u64;
        self.control.progress.send_replace(place.progress);
        let (again, others): (BTreeSet<Part>, BTreeSet<Part>) =
            copied.suspects.into_iter().partition(|part| parts.contains(part));
        if !others.is_empty() {
            // They are not among those that are kept as changed, so nobody else would know.
            place.suspects.extend(others);
            self.keep(place, false).await?;
        }
        changed.parts.retain(|part| !again.contains(part));
        self.source.settled(changed).await?;
        Ok(count)
    }

    /// Copies parts in the order in which they need each other, and those that were written to on the way.
    async fn copy_each(&self, parts: BTreeSet<Part>) -> Result<Copied, MoveError> {
        let mut copied = Copied::default();
        let mut waiting = parts;
        for is_next in [
            |part: &Part| matches!(part, Part::Conversation(_)),
            |part: &Part| matches!(part, Part::Creation(..)),
            |part: &Part| matches!(part, Part::Membership(..)),
            |part: &Part| matches!(part, Part::Account(_)),
        ] {
            let now: Vec<Part> = waiting.extract_if(.., is_next).collect();
            let outcomes = stream::iter(now).map(|part| async move {
                let outcome = self.copy_part(&part).await?;
                Ok::<_, MoveError>((part, outcome))
            });
            let mut outcomes = outcomes.buffer_unordered(AT_ONCE);
            while let Some((part, outcome)) = outcomes.try_next().await? {
                copied.entries += outcome.entries;
                waiting.extend(outcome.also);
                if !outcome.is_same {
                    copied.suspects.push(part);
                }
            }
        }
        Ok(copied)
    }

    async fn copy_part(&self, part: &Part) -> Result<Outcome, MoveError> {
        let (source, target) = (&*self.source, &*self.target);
        match part {
            Part::Conversation(id) => self.copy_conversation(*id).await,
            Part::Creation(by, key) => {
                if let Some(creation) = source.creation(*by, key).await? {
                    self.copy_creation(&creation).await?;
                }
                Ok(Outcome { is_same: true, ..Outcome::default() })
            }
            Part::Membership(user, id) => {
                memberships::copy(source, target, *user, *id).await?;
                let is_same = memberships::are_same(source, target, *user, *id).await?;
                Ok(Outcome { is_same, also: vec![Part::Account(*user)], ..Outcome::default() })
            }
            Part::Account(user) => {
                let account = Account { source, target, user: *user };
                if source.user(*user).await?.is_none() {
                    return Ok(Outcome { is_same: true, ..Outcome::default() });
                }
                account.copy().await?;
                Ok(Outcome { is_same: account.is_same().await?, ..Outcome::default() })
            }
        }
    }

    async fn copy_conversation(&self, id: ConversationId) -> Result<Outcome, MoveError> {
        let (source, target) = (&*self.source, &*self.target);
        // What is marked before it is made may never have come to be.
        if source.load(id).await?.is_none() {
            return Ok(Outcome { is_same: true, ..Outcome::default() });
        }
        let mut copied = conversations::copy(source, target, id, &self.control).await?;
        if !self.checked().contains(&id) {
            copied.after = Seq::ZERO;
        }
        let is_same = check::conversation(source, target, id, &copied).await?;
        if is_same {
            self.checked().insert(id);
        } else {
            // Next time all of it is compared: what differs now may not be among what is copied then.
            self.checked().remove(&id);
        }
        let also = copied.noted.iter().flat_map(|user| [Part::Membership(*user, id), Part::Account(*user)]);
        Ok(Outcome { is_same, entries: copied.entries, also: also.collect() })
    }

    /// A conversation with what its members have set in it. Accounts follow later.
    async fn copy_with_members(&self, id: ConversationId) -> Result<(u64, Vec<Part>), MoveError> {
        let outcome = self.copy_conversation(id).await?;
        let mut suspects = if outcome.is_same { Vec::new() } else { vec![Part::Conversation(id)] };
        let copying = stream::iter(self.everybody_in(id).await?).map(|user| async move {
            let part = Part::Membership(user, id);
            Ok::<_, MoveError>((self.copy_part(&part).await?.is_same, part))
        });
        let mut copying = copying.buffer_unordered(AT_ONCE);
        while let Some((is_same, part)) = copying.try_next().await? {
            if !is_same {
                suspects.push(part);
            }
        }
        self.control.show(|progress| progress.conversations += 1);
        Ok((outcome.entries, suspects))
    }

    /// Members, and those who were: what they have hidden is hidden when they come back. Where nobody can leave, those are
    /// the same.
    async fn everybody_in(&self, id: ConversationId) -> Result<BTreeSet<UserId>, StoreError> {
        let members = all(|member: &Member| member.user_id, |after| self.source.members(id, after, PAGE));
        let mut users: BTreeSet<UserId> = members.await?.iter().map(|member| member.user_id).collect();
        let state = self.source.load(id).await?;
        if state.is_some_and(|state| state.conversation.kind.pair().is_none()) {
            users.extend(conversations::all_who_came(&*self.source, id).await?);
        }
        Ok(users)
    }

    async fn copy_creation(&self, creation: &Creation) -> Result<(), StoreError> {
        if self.target.creation(creation.by, &creation.key).await?.as_ref() == Some(creation) {
            return Ok(());
        }
        self.target.put_creation(creation).await
    }

    fn checked(&self) -> std::sync::MutexGuard<'_, HashSet<ConversationId>> {
        self.checked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was copied of several parts.
#[derive(Debug, Default)]
struct Copied {
    entries: u64,
    suspects: Vec<Part>,
}

async fn become_of(store: &dyn TransferStore, from: &Moving, to: Moving) -> Result<(), MoveError> {
    let now = store.set_moving(from, to.clone()).await?;
    if now == to { Ok(()) } else { Err(MoveError::Changed(now)) }
}
