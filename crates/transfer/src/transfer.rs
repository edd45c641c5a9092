//! A transfer, from the first pass to the switch.
//!
//! 1. The source begins to record which parts change ([`TransferState::Out`]). The target is marked as
//!    incomplete ([`TransferState::In`]), so that no server starts on it.
//! 2. First pass: every conversation, then every account, while servers run. Each part is compared on both
//!    sides right after it was copied. From then on it is the same unless it changes, and changes are recorded.
//! 3. Changed parts are copied again, until few of them change.
//! 4. Switch: writes are held, the last changed parts are copied and compared, and then the source is retired
//!    for good and the target is complete.
//!
//! A transfer may be interrupted at any point, and resumes there.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use godwit_domain::model::{Member, User};
use godwit_domain::ports::{Creation, Part, StoreError, TransferState, TransferStore};
use godwit_protocol::{ConversationId, Seq, UserId};
use tokio::sync::watch;

use crate::accounts::Account;
use crate::error::TransferError;
use crate::paging::{PAGE, all, count};
use crate::progress::{Checkpoint, Phase, Progress};
use crate::{check, conversations, memberships};

/// Parts copied concurrently.
const AT_ONCE: usize = 16;
/// Parts of the first pass per checkpoint.
const STEP: usize = 64;
/// Changed parts read at once.
const CHANGED_AT_ONCE: usize = 2_000;
/// With fewer changed parts than this left, the switch begins: copying them takes a moment.
const FEW: usize = 200;
/// Rounds after which the switch begins anyway, because servers write faster than the transfer copies.
const ROUNDS_MAX: usize = 50;

/// Failures to answer without any progress in between, and the pause after each.
const FAILURES_MAX: usize = 20;
const PAUSE: Duration = Duration::from_secs(3);

/// Transfers all data from one store to another.
#[derive(Debug)]
pub struct Transfer {
    source: Arc<dyn TransferStore>,
    target: Arc<dyn TransferStore>,
    from: String,
    to: String,
    control: Arc<Control>,
    /// Conversations whose whole log has been compared.
    checked: Mutex<HashSet<ConversationId>>,
}

/// Shows the progress of a transfer to others, and lets them stop it.
#[derive(Debug, Default)]
pub struct Control {
    progress: watch::Sender<Progress>,
    is_stopping: AtomicBool,
}

/// The result of copying a part.
#[derive(Debug, Default)]
struct Outcome {
    is_same: bool,
    entries: u64,
    /// Parts that this copy has written to, and that must be copied after it.
    also: Vec<Part>,
}

/// Abandons a transfer: the source continues as if nothing had happened. The target keeps the copied data,
/// which is of no use.
pub async fn abandon(source: &dyn TransferStore, name: &str) -> Result<TransferState, TransferError> {
    let transfer = source.transfer_state().await?;
    match &transfer {
        TransferState::Out { .. } | TransferState::Held { .. } => {
            become_of(source, &transfer, TransferState::Not).await?;
            Ok(transfer)
        }
        _ => Err(TransferError::NotHere { from: name.to_owned(), transfer }),
    }
}

impl Control {
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// Shows progress at once. It is counted for good when its step is done.
    pub(crate) fn show(&self, change: impl FnOnce(&mut Progress)) {
        self.progress.send_modify(change);
    }

    /// Stops the transfer at a point from which it can be resumed.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }
}

impl Transfer {
    /// `from` and `to` say where the stores are, and are stored with the state of the transfer.
    pub fn new(
        source: Arc<dyn TransferStore>,
        target: Arc<dyn TransferStore>,
        from: String,
        to: String,
        control: Arc<Control>,
    ) -> Self {
        Self { source, target, from, to, control, checked: Mutex::default() }
    }

    /// Begins or resumes the transfer. When it returns `Ok`, all data is in the target.
    pub async fn run(&self) -> Result<Progress, TransferError> {
        let mut failures = 0;
        loop {
            let before = *self.control.progress.borrow();
            match self.attempt().await {
                Err(TransferError::Store(error @ StoreError::Unavailable { .. })) => {
                    // As long as there is progress, any number of attempts is allowed.
                    failures = if *self.control.progress.borrow() == before { failures + 1 } else { 1 };
                    if failures == FAILURES_MAX {
                        return Err(error.into());
                    }
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "retrying the transfer in a moment"
                    );
                    tokio::time::sleep(PAUSE).await;
                    self.refuse_to_go_on_when_stopped()?;
                }
                outcome => return outcome,
            }
        }
    }

    async fn attempt(&self) -> Result<Progress, TransferError> {
        if self.begin().await? {
            let mut checkpoint = self.checkpoint().await?;
            self.first_pass(&mut checkpoint).await?;
            self.catch_up(&mut checkpoint).await?;
            self.switch(&mut checkpoint).await?;
        }
        self.arrive().await?;
        self.control.progress.send_modify(|progress| progress.phase = Phase::Done);
        Ok(*self.control.progress.borrow())
    }

    /// Marks both stores. Returns whether anything is left to copy.
    async fn begin(&self) -> Result<bool, TransferError> {
        let (source, target) = (&*self.source, &*self.target);
        let (leaving, arriving) = tokio::try_join!(source.transfer_state(), target.transfer_state())?;
        let is_from_here = matches!(&arriving, TransferState::In { from, .. } if *from == self.from);
        match &leaving {
            TransferState::Not => {}
            TransferState::Out { to } | TransferState::Held { to } if *to == self.to => {}
            // Interrupted between the last two steps.
            TransferState::Gone { to } if *to == self.to && is_from_here => return Ok(false),
            _ => return Err(TransferError::NotHere { from: self.from.clone(), transfer: leaving }),
        }
        if arriving == TransferState::Not {
            self.refuse_what_is_not_empty().await?;
            let transfer = TransferState::In { from: self.from.clone(), progress: String::new() };
            become_of(target, &arriving, transfer).await?;
        } else if !is_from_here {
            return Err(TransferError::NotFree { to: self.to.clone(), transfer: arriving });
        }
        let key = source.signing_key(rand::random()).await?;
        if target.signing_key(key).await? != key {
            return Err(TransferError::OtherKey(self.to.clone()));
        }
        // Even if the state is already set: the process that set it may have crashed before every server knew.
        become_of(source, &leaving, TransferState::Out { to: self.to.clone() }).await?;
        Ok(true)
    }

    async fn refuse_what_is_not_empty(&self) -> Result<(), TransferError> {
        let (users, conversations) =
            tokio::try_join!(self.target.list_users(None, 1), self.target.all_conversations(None, 1))?;
        if users.is_empty() && conversations.is_empty() {
            return Ok(());
        }
        Err(TransferError::NotEmpty(self.to.clone()))
    }

    /// The checkpoint of the first pass, or a new one.
    async fn checkpoint(&self) -> Result<Checkpoint, TransferError> {
        let kept = match self.target.transfer_state().await? {
            TransferState::In { progress, .. } => serde_json::from_str(&progress).ok(),
            _ => None,
        };
        let mut checkpoint: Checkpoint = kept.unwrap_or_default();
        if checkpoint.progress.phase == Phase::Counting {
            self.count(&mut checkpoint.progress).await?;
            checkpoint.progress.phase = Phase::Conversations;
            self.control.progress.send_replace(checkpoint.progress);
        }
        Ok(checkpoint)
    }

    /// Counts the work, for display only. It need not be exact.
    async fn count(&self, progress: &mut Progress) -> Result<(), TransferError> {
        let conversations =
            count(|id: &ConversationId| *id, |after| self.source.all_conversations(after, PAGE));
        let accounts = count(|user: &User| user.id, |after| self.source.list_users(after, PAGE));
        (progress.conversations_total, progress.accounts_total) = tokio::try_join!(conversations, accounts)?;
        self.control.progress.send_replace(*progress);
        Ok(())
    }

    async fn first_pass(&self, checkpoint: &mut Checkpoint) -> Result<(), TransferError> {
        while checkpoint.progress.phase == Phase::Conversations {
            let ids = self.source.all_conversations(checkpoint.conversation, STEP).await?;
            let copying = stream::iter(ids.clone()).map(|id| self.copy_with_members(id));
            let done = copying.buffer_unordered(AT_ONCE);
            for (entries, suspects) in done.try_collect::<Vec<_>>().await? {
                checkpoint.progress.entries += entries;
                checkpoint.suspects.extend(suspects);
            }
            checkpoint.progress.conversations += ids.len() as u64;
            checkpoint.conversation = ids.last().copied().or(checkpoint.conversation);
            self.keep(checkpoint, ids.len() < STEP).await?;
        }
        while checkpoint.progress.phase == Phase::Creations {
            let creations = self.source.all_creations(checkpoint.creation.as_ref(), STEP).await?;
            let is_end = creations.len() < STEP;
            let last = creations.last().cloned();
            for creation in creations {
                self.copy_creation(creation).await?;
            }
            checkpoint.creation = last.or(checkpoint.creation.take());
            self.keep(checkpoint, is_end).await?;
        }
        while checkpoint.progress.phase == Phase::Accounts {
            let users = self.source.list_users(checkpoint.account, STEP).await?;
            let parts = users.iter().map(|user| Part::Account(user.id)).collect();
            let suspects = self.copy_each(parts).await?.suspects;
            checkpoint.suspects.extend(suspects);
            checkpoint.progress.accounts += users.len() as u64;
            checkpoint.account = users.last().map(|user| user.id).or(checkpoint.account);
            self.keep(checkpoint, users.len() < STEP).await?;
        }
        Ok(())
    }

    /// Stores the checkpoint, and enters the next phase at the end of one.
    async fn keep(&self, checkpoint: &mut Checkpoint, is_end: bool) -> Result<(), TransferError> {
        if is_end {
            checkpoint.progress.phase = match checkpoint.progress.phase {
                Phase::Conversations => Phase::Creations,
                Phase::Creations => Phase::Accounts,
                _ => Phase::CatchingUp,
            };
        }
        self.control.progress.send_replace(checkpoint.progress);
        let known = self.target.transfer_state().await?;
        let progress = serde_json::to_string(checkpoint).expect("a checkpoint can be written down");
        become_of(&*self.target, &known, TransferState::In { from: self.from.clone(), progress }).await?;
        self.refuse_to_go_on_when_stopped()
    }

    fn refuse_to_go_on_when_stopped(&self) -> Result<(), TransferError> {
        if self.control.is_stopping.load(Ordering::Relaxed) { Err(TransferError::Stopped) } else { Ok(()) }
    }

    /// Copies changed parts until few of them change.
    async fn catch_up(&self, checkpoint: &mut Checkpoint) -> Result<(), TransferError> {
        for _ in 0..ROUNDS_MAX {
            self.refuse_to_go_on_when_stopped()?;
            let copied = self.copy_changed(checkpoint).await?;
            if copied < FEW {
                break;
            }
        }
        Ok(())
    }

    /// Holds writes, copies the rest, and retires the source.
    async fn switch(&self, checkpoint: &mut Checkpoint) -> Result<(), TransferError> {
        checkpoint.progress.phase = Phase::Switching;
        self.control.progress.send_replace(checkpoint.progress);
        let (out, held) =
            (TransferState::Out { to: self.to.clone() }, TransferState::Held { to: self.to.clone() });
        become_of(&*self.source, &out, held.clone()).await?;
        match self.copy_the_rest(checkpoint).await {
            Ok(()) => {
                become_of(&*self.source, &held, TransferState::Gone { to: self.to.clone() }).await?;
                Ok(())
            }
            Err(error) => {
                // Servers continue, and the switch can be tried again.
                if let Err(error) = become_of(&*self.source, &held, out).await {
                    tracing::error!(%error, "writes are still held");
                }
                Err(error)
            }
        }
    }

    async fn copy_the_rest(&self, checkpoint: &mut Checkpoint) -> Result<(), TransferError> {
        loop {
            let changed = self.source.changed(CHANGED_AT_ONCE).await?;
            if changed.parts.is_empty() {
                break;
            }
            self.copy_for_good(changed.parts.iter().cloned().collect(), checkpoint).await?;
            self.source.settled(changed).await?;
        }
        let suspects = checkpoint.suspects.drain(..).collect();
        self.copy_for_good(suspects, checkpoint).await?;
        self.target.begin_ids_after(self.source.highest_id().await?).await?;
        Ok(())
    }

    /// Copies parts while writes are held, so they must be the same afterwards. One part may need the copy of
    /// another one, so each gets a second attempt.
    async fn copy_for_good(
        &self,
        parts: BTreeSet<Part>,
        checkpoint: &mut Checkpoint,
    ) -> Result<(), TransferError> {
        let first = self.copy_each(parts).await?;
        checkpoint.progress.entries += first.entries;
        let second = self.copy_each(first.suspects.into_iter().collect()).await?;
        self.control.progress.send_replace(checkpoint.progress);
        second.suspects.into_iter().next().map_or(Ok(()), |part| Err(TransferError::Different(part)))
    }

    async fn arrive(&self) -> Result<(), TransferError> {
        let known = self.target.transfer_state().await?;
        become_of(&*self.target, &known, TransferState::Not).await
    }

    /// Copies changed parts, and returns their number. A part that changes while it is copied is left for the
    /// next round.
    async fn copy_changed(&self, checkpoint: &mut Checkpoint) -> Result<usize, TransferError> {
        let mut changed = self.source.changed(CHANGED_AT_ONCE).await?;
        let parts: BTreeSet<Part> = changed.parts.iter().cloned().collect();
        let count = parts.len();
        let copied = self.copy_each(parts.clone()).await?;
        checkpoint.progress.entries += copied.entries;
        checkpoint.progress.again += count as u64;
        self.control.progress.send_replace(checkpoint.progress);
        let (again, others): (BTreeSet<Part>, BTreeSet<Part>) =
            copied.suspects.into_iter().partition(|part| parts.contains(part));
        if !others.is_empty() {
            // The store does not list these parts as changed, so the checkpoint must.
            checkpoint.suspects.extend(others);
            self.keep(checkpoint, false).await?;
        }
        changed.parts.retain(|part| !again.contains(part));
        self.source.settled(changed).await?;
        Ok(count)
    }

    /// Copies parts in the order of their dependencies, and then the parts that these copies have written to.
    async fn copy_each(&self, parts: BTreeSet<Part>) -> Result<Copied, TransferError> {
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
                Ok::<_, TransferError>((part, outcome))
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

    async fn copy_part(&self, part: &Part) -> Result<Outcome, TransferError> {
        let (source, target) = (&*self.source, &*self.target);
        match part {
            Part::Conversation(id) => self.copy_conversation(*id).await,
            Part::Creation(by, key) => {
                if let Some(creation) = source.creation(*by, key).await? {
                    self.copy_creation(creation).await?;
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

    async fn copy_conversation(&self, id: ConversationId) -> Result<Outcome, TransferError> {
        let (source, target) = (&*self.source, &*self.target);
        // The part was marked before the conversation was made, which then failed.
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
            // The next comparison covers the whole log, because the difference may not be among the entries
            // copied then.
            self.checked().remove(&id);
        }
        let also = copied.noted.iter().flat_map(|user| [Part::Membership(*user, id), Part::Account(*user)]);
        Ok(Outcome { is_same, entries: copied.entries, also: also.collect() })
    }

    /// Copies a conversation with the memberships of its members. Accounts follow later.
    async fn copy_with_members(&self, id: ConversationId) -> Result<(u64, Vec<Part>), TransferError> {
        let outcome = self.copy_conversation(id).await?;
        let mut suspects = if outcome.is_same { Vec::new() } else { vec![Part::Conversation(id)] };
        let copying = stream::iter(self.everybody_in(id).await?).map(|user| async move {
            let part = Part::Membership(user, id);
            Ok::<_, TransferError>((self.copy_part(&part).await?.is_same, part))
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

    /// Present and former members, because messages that a former member has hidden stay hidden when they come
    /// back. In a direct conversation nobody leaves, so the present members are all.
    async fn everybody_in(&self, id: ConversationId) -> Result<BTreeSet<UserId>, StoreError> {
        let members = all(|member: &Member| member.user_id, |after| self.source.members(id, after, PAGE));
        let mut users: BTreeSet<UserId> = members.await?.iter().map(|member| member.user_id).collect();
        let state = self.source.load(id).await?;
        if state.is_some_and(|state| state.conversation.kind.pair().is_none()) {
            users.extend(conversations::all_who_came(&*self.source, id).await?);
        }
        Ok(users)
    }

    async fn copy_creation(&self, creation: Creation) -> Result<(), StoreError> {
        if self.target.creation(creation.by, &creation.key).await?.as_ref() == Some(&creation) {
            return Ok(());
        }
        self.target.put_creation(creation).await
    }

    fn checked(&self) -> std::sync::MutexGuard<'_, HashSet<ConversationId>> {
        self.checked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The result of copying several parts.
#[derive(Debug, Default)]
struct Copied {
    entries: u64,
    suspects: Vec<Part>,
}

async fn become_of(
    store: &dyn TransferStore,
    from: &TransferState,
    to: TransferState,
) -> Result<(), TransferError> {
    let now = store.set_transfer_state(from, to.clone()).await?;
    if now == to { Ok(()) } else { Err(TransferError::Changed(now)) }
}
