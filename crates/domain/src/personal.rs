//! Starred and scheduled messages, which only their user sees.

use std::sync::Arc;

use godwit_protocol::limits::{
    PAGE_BYTES_MAX, SCHEDULED_DAYS_MAX, SCHEDULED_PER_USER_MAX, SCHEDULED_SENT_KEPT_HOURS,
    SCHEDULED_SENT_KEPT_MAX, STARS_PER_USER_MAX,
};
use godwit_protocol::messages::{Message as WireMessage, SendMessage};
use godwit_protocol::personal::{ScheduleMessage, Scheduled as WireScheduled, Scheduling, UpdateScheduled};
use godwit_protocol::{ConversationId, ErrorCode, MessageId, ScheduledId, Timestamp, UserId};
use thiserror::Error;

use crate::account_log::AccountLog;
use crate::actions::Refusal;
use crate::bounds::{Budget, cut, message_bytes};
use crate::conversations::{AccessError, Conversations};
use crate::messages::{ReadError, Reading, Sent, Writing};
use crate::model::message::BodyParts;
use crate::model::{
    AccountChange, AccountNote, ClientId, Draft, InvalidField, MessageBody, Scheduled, ScheduledStage, Star,
    field,
};
use crate::own_writes::{NotWritten, OwnWrites};
use crate::ports::{Clock, Listed, ReplaceScheduled, ScheduleOutcome, Store, StoreError};

const HOUR_MS: i64 = 60 * 60 * 1_000;
const DAY_MS: i64 = 24 * HOUR_MS;
/// Attempts to replace a scheduled message before the caller gets an error about concurrent changes.
const REPLACES_MAX: usize = 8;

#[derive(Debug)]
pub struct Personal {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) reading: Arc<Reading>,
    pub(crate) writing: Arc<Writing>,
    pub(crate) own_writes: Arc<OwnWrites>,
    pub(crate) account_log: Arc<AccountLog>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// The outcome of scheduling a message.
#[derive(Debug, Clone)]
pub struct Kept {
    pub scheduling: Scheduling,
    /// A message with the same client id was scheduled or sent before.
    pub repeated: bool,
}

#[derive(Debug, Error)]
pub enum PersonalError {
    #[error("no such conversation, message or scheduled message")]
    NotFound,
    #[error("the message was deleted or has expired")]
    Gone,
    #[error("the list is full")]
    Full,
    #[error("the scheduled message is being sent or has been sent")]
    TooLate,
    #[error(transparent)]
    Invalid(#[from] InvalidField),
    #[error(transparent)]
    Refused(Refusal),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<NotWritten> for PersonalError {
    fn from(error: NotWritten) -> Self {
        match error {
            NotWritten::Disabled => Self::Refused(Refusal::Disabled),
            NotWritten::Store(error) => Self::Store(error),
        }
    }
}

impl From<AccessError> for PersonalError {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::NotFound => Self::NotFound,
            AccessError::Store(error) => Self::Store(error),
        }
    }
}

impl From<ReadError> for PersonalError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::NotFound | ReadError::Forbidden => Self::NotFound,
            ReadError::Gone => Self::Gone,
            ReadError::Store(error) => Self::Store(error),
        }
    }
}

impl Kept {
    fn scheduled(scheduled: &Scheduled, repeated: bool) -> Self {
        Self { scheduling: Scheduling { scheduled: Some(to_wire(scheduled)), message: None }, repeated }
    }

    fn sent(message: WireMessage) -> Self {
        let scheduling = Scheduling { scheduled: None, message: Some(Box::new(message)) };
        Self { scheduling, repeated: true }
    }
}

impl Personal {
    pub async fn star(&self, by: UserId, message: MessageId) -> Result<(), PersonalError> {
        let found = self.reading.message(by, message).await?;
        if found.deleted_at.is_some() {
            return Err(PersonalError::Gone);
        }
        let at = self.clock.now();
        let star = Star { message_id: message, conversation: found.conversation_id, seq: found.seq, at };
        let note = AccountNote { user_id: by, at, change: AccountChange::MessageStarred(message) };
        match self.store.star(by, star, STARS_PER_USER_MAX, note).await? {
            Listed::Added(entry) => self.account_log.announce(&[(by, entry)]).await,
            Listed::Unchanged => {}
            Listed::Full => return Err(PersonalError::Full),
        }
        Ok(())
    }

    pub async fn unstar(&self, by: UserId, message: MessageId) -> Result<(), PersonalError> {
        let change = AccountChange::MessageUnstarred(message);
        let note = AccountNote { user_id: by, at: self.clock.now(), change };
        if let Some(entry) = self.store.unstar(by, message, note).await? {
            self.account_log.announce(&[(by, entry)]).await;
        }
        Ok(())
    }

    /// Starred messages, the latest message first, and the cursor of the next page. Leaves out messages that the user can no
    /// longer see.
    pub async fn stars(
        &self,
        by: UserId,
        before: Option<MessageId>,
        limit: usize,
    ) -> Result<(Vec<WireMessage>, Option<MessageId>), PersonalError> {
        let stars = self.store.stars(by, before, limit).await?;
        let next = if stars.len() == limit { stars.last().map(|star| star.message_id) } else { None };
        let (mut messages, mut budget) = (Vec::with_capacity(stars.len()), Budget::new(PAGE_BYTES_MAX));
        let mut last = None;
        for star in stars {
            match self.reading.message(by, star.message_id).await {
                Ok(message) => {
                    if !budget.take_bytes(message_bytes(&message)) && last.is_some() {
                        return Ok((messages, last));
                    }
                    messages.push(message);
                }
                Err(ReadError::NotFound | ReadError::Forbidden | ReadError::Gone) => {}
                Err(ReadError::Store(error)) => return Err(error.into()),
            }
            last = Some(star.message_id);
        }
        Ok((messages, next))
    }

    /// Stores a message to send later. A retry with the same client id returns the stored one, or the message that was sent.
    pub async fn schedule(&self, by: UserId, request: ScheduleMessage) -> Result<Kept, PersonalError> {
        let ScheduleMessage { conversation_id, send_at, message } = request;
        self.conversations.of_member(by, conversation_id).await?;
        if message.conversation_id.is_some_and(|id| id != conversation_id) {
            return Err(InvalidField::new("message.conversation_id", "must name this conversation").into());
        }
        let draft = Draft::parse(message)?;
        let client_id = draft.client_id.clone();
        if let Some(message) = self.sent_as(by, conversation_id, &client_id).await? {
            return Ok(Kept::sent(message));
        }
        match self.keep(by, conversation_id, send_at, draft).await {
            // A retry may be invalid by now: its time is over, or the forwarded message is gone. The first attempt may still
            // have been accepted.
            Err(refused @ (PersonalError::Invalid(_) | PersonalError::Refused(_))) => {
                let is_same = |other: &Scheduled| {
                    (other.conversation, &other.draft.client_id) == (conversation_id, &client_id)
                };
                match self.store.scheduled(by).await?.into_iter().find(is_same) {
                    Some(earlier) => self.kept_before(by, &earlier).await,
                    None => Err(refused),
                }
            }
            kept => kept,
        }
    }

    async fn keep(
        &self,
        by: UserId,
        conversation: ConversationId,
        send_at: Timestamp,
        mut draft: Draft,
    ) -> Result<Kept, PersonalError> {
        let send_at = check_time(send_at, self.clock.now())?;
        if draft.forwarded_from.is_some() {
            self.writing.check_forward(by, &draft).await.map_err(PersonalError::Refused)?;
            draft.body = None;
        }
        let id = ScheduledId::new(self.store.ids().next()?);
        let stage = ScheduledStage::Waiting;
        let scheduled = Scheduled { id, user_id: by, conversation, send_at, draft, stage };
        let note = self.note(by, AccountChange::ScheduledUpdated(id));
        let write = {
            let scheduled = scheduled.clone();
            move |store: Arc<dyn Store>| async move {
                store.schedule(scheduled, SCHEDULED_PER_USER_MAX, note).await
            }
        };
        match self.own_writes.write(by, write).await? {
            ScheduleOutcome::Scheduled(entry) => {
                self.account_log.announce(&[(by, entry)]).await;
                Ok(Kept::scheduled(&scheduled, false))
            }
            ScheduleOutcome::Repeated(earlier) => self.kept_before(by, &earlier).await,
            ScheduleOutcome::Full => Err(PersonalError::Full),
        }
    }

    async fn kept_before(&self, by: UserId, earlier: &Scheduled) -> Result<Kept, PersonalError> {
        match earlier.stage {
            ScheduledStage::Sent(_) => {
                let sent = self.sent_message(by, earlier.conversation, &earlier.draft.client_id).await?;
                Ok(Kept::sent(sent))
            }
            _ => Ok(Kept::scheduled(earlier, true)),
        }
    }

    /// The message that the user has sent with a client id.
    async fn sent_as(
        &self,
        by: UserId,
        conversation: ConversationId,
        client_id: &ClientId,
    ) -> Result<Option<WireMessage>, PersonalError> {
        let found = self.store.sent_as_each(conversation, &[(by, client_id)]).await?;
        match found.into_iter().next().flatten() {
            Some(_) => self.sent_message(by, conversation, client_id).await.map(Some),
            None => Ok(None),
        }
    }

    /// A sent message, as the answer to a retry.
    async fn sent_message(
        &self,
        by: UserId,
        conversation: ConversationId,
        client_id: &ClientId,
    ) -> Result<WireMessage, PersonalError> {
        match self.writing.sent_before(by, conversation, client_id.clone()).await {
            Ok(sent) => Ok(sent.message),
            Err(refusal) if refusal.is_failure() => Err(PersonalError::Refused(refusal)),
            // A user who is no longer a member sees nothing of it.
            Err(_) => Err(PersonalError::TooLate),
        }
    }

    /// Scheduled messages, the next one due first. Returns a page after `after`, and the cursor of the next page.
    pub async fn scheduled(
        &self,
        by: UserId,
        after: Option<(Timestamp, ScheduledId)>,
    ) -> Result<(Vec<WireScheduled>, Option<(Timestamp, ScheduledId)>), StoreError> {
        let mut scheduled = self.store.scheduled(by).await?;
        scheduled.retain(|scheduled| scheduled.stage.is_listed());
        scheduled.retain(|scheduled| after.is_none_or(|after| (scheduled.send_at, scheduled.id) > after));
        scheduled.sort_unstable_by_key(|scheduled| (scheduled.send_at, scheduled.id));
        let mut shown: Vec<WireScheduled> = scheduled.iter().map(to_wire).collect();
        let is_cut = cut(&mut shown);
        let last = scheduled.get(shown.len().saturating_sub(1)).map(|last| (last.send_at, last.id));
        Ok((shown, last.filter(|_| is_cut)))
    }

    /// Changes the time or the text and keeps concurrent changes of the other. Schedules a failed message again.
    pub async fn update_scheduled(
        &self,
        by: UserId,
        id: ScheduledId,
        update: UpdateScheduled,
    ) -> Result<WireScheduled, PersonalError> {
        for _ in 0..REPLACES_MAX {
            let current = self.changeable(by, id).await?;
            let changed = updated(&current, &update, self.clock.now())?;
            let change = AccountChange::ScheduledUpdated(id);
            if self.replace(current, Some(changed.clone()), change).await? {
                return Ok(to_wire(&changed));
            }
        }
        Err(PersonalError::TooLate)
    }

    /// Cancels a scheduled message, whatever concurrent changes happen.
    pub async fn cancel_scheduled(&self, by: UserId, id: ScheduledId) -> Result<(), PersonalError> {
        for _ in 0..REPLACES_MAX {
            let current = self.changeable(by, id).await?;
            if self.replace(current, None, AccountChange::ScheduledGone(id)).await? {
                return Ok(());
            }
        }
        Err(PersonalError::TooLate)
    }

    /// A scheduled message that no node has begun to send.
    async fn changeable(&self, by: UserId, id: ScheduledId) -> Result<Scheduled, PersonalError> {
        let current = self.store.scheduled_one(by, id).await?.ok_or(PersonalError::NotFound)?;
        match current.stage {
            ScheduledStage::Waiting | ScheduledStage::Failed(_) => Ok(current),
            ScheduledStage::Sending | ScheduledStage::Sent(_) => Err(PersonalError::TooLate),
        }
    }

    /// Sends a scheduled or failed message now. Idempotent. If this server crashes before the message is sent, the message
    /// is due and a sweeper sends it.
    pub async fn send_scheduled_now(
        &self,
        by: UserId,
        id: ScheduledId,
    ) -> Result<WireMessage, PersonalError> {
        for _ in 0..REPLACES_MAX {
            let current = self.store.scheduled_one(by, id).await?.ok_or(PersonalError::NotFound)?;
            let claimed = match current.stage {
                ScheduledStage::Sent(_) => {
                    return self.sent_message(by, current.conversation, &current.draft.client_id).await;
                }
                // Another attempt has begun and may have crashed. The client id makes the send idempotent.
                ScheduledStage::Sending => current,
                ScheduledStage::Waiting | ScheduledStage::Failed(_) => {
                    let now = self.clock.now();
                    let claimed =
                        Scheduled { stage: ScheduledStage::Sending, send_at: now, ..current.clone() };
                    let change = AccountChange::ScheduledUpdated(id);
                    if !self.replace(current, Some(claimed.clone()), change).await? {
                        // A concurrent call has claimed, changed or cancelled it.
                        continue;
                    }
                    claimed
                }
            };
            let sent = self.send_claimed(by, claimed).await?;
            return sent.map(|sent| sent.message).map_err(PersonalError::Refused);
        }
        Err(PersonalError::TooLate)
    }

    /// Handles a due scheduled message: sends it, or removes the record of one that was sent. Concurrent calls and crashes
    /// do not send it twice.
    pub(crate) async fn send_scheduled(&self, by: UserId, id: ScheduledId) -> Result<(), StoreError> {
        let Some(mut scheduled) = self.store.scheduled_one(by, id).await? else { return Ok(()) };
        // It was postponed after it was found to be due.
        if scheduled.send_at > self.clock.now() {
            return Ok(());
        }
        match scheduled.stage {
            ScheduledStage::Failed(_) => return Ok(()),
            ScheduledStage::Sent(_) => return self.forget(scheduled).await,
            // Another attempt has begun and may have crashed. The client id makes the send idempotent.
            ScheduledStage::Sending => {}
            ScheduledStage::Waiting => {
                let claimed = Scheduled { stage: ScheduledStage::Sending, ..scheduled.clone() };
                let claim = self.store.replace_scheduled(scheduled, Some(claimed.clone()), None);
                match claim.await? {
                    ReplaceScheduled::Replaced(_) => scheduled = claimed,
                    // A concurrent call has changed, cancelled or claimed it. If it is still due, the next sweep finds it.
                    ReplaceScheduled::Changed | ReplaceScheduled::NotFound => return Ok(()),
                }
            }
        }
        // The scheduled message itself stores the reason of a refusal.
        self.send_claimed(by, scheduled).await.map(drop)
    }

    /// Sends a scheduled message that this call has claimed.
    async fn send_claimed(
        &self,
        by: UserId,
        scheduled: Scheduled,
    ) -> Result<Result<Sent, Refusal>, StoreError> {
        let id = scheduled.id;
        let outcome = self.writing.send(by, scheduled.conversation, scheduled.draft.clone()).await;
        let (left, change) = match &outcome {
            Ok(sent) => {
                let forgotten_at =
                    self.clock.now().plus_millis(i64::from(SCHEDULED_SENT_KEPT_HOURS) * HOUR_MS);
                let left = scheduled.clone().remembered_as(sent.message.id, forgotten_at);
                (left, AccountChange::ScheduledGone(id))
            }
            // A failure of the server, not a refusal: the next sweep tries again.
            Err(refusal) if refusal.is_failure() => return Ok(outcome),
            Err(refusal) => {
                let stage = ScheduledStage::Failed(refusal.code());
                (Scheduled { stage, ..scheduled.clone() }, AccountChange::ScheduledUpdated(id))
            }
        };
        if self.replace(scheduled, Some(left), change).await? {
            self.forget_oldest(by).await?;
        }
        Ok(outcome)
    }

    /// Removes the oldest records of sent messages above the limit.
    async fn forget_oldest(&self, by: UserId) -> Result<(), StoreError> {
        let mut sent = self.store.scheduled(by).await?;
        sent.retain(|scheduled| !scheduled.stage.is_listed());
        sent.sort_unstable_by_key(|scheduled| scheduled.send_at);
        let too_many = sent.len().saturating_sub(SCHEDULED_SENT_KEPT_MAX);
        for scheduled in sent.into_iter().take(too_many) {
            self.forget(scheduled).await?;
        }
        Ok(())
    }

    async fn forget(&self, sent: Scheduled) -> Result<(), StoreError> {
        self.store.replace_scheduled(sent, None, None).await.map(drop)
    }

    /// Replaces the scheduled message and tells the user's devices. False if a concurrent call has changed or removed it.
    async fn replace(
        &self,
        read: Scheduled,
        with: Option<Scheduled>,
        change: AccountChange,
    ) -> Result<bool, StoreError> {
        let by = read.user_id;
        let note = self.note(by, change);
        let replaced = self.store.replace_scheduled(read, with, Some(note)).await?;
        let ReplaceScheduled::Replaced(entry) = replaced else { return Ok(false) };
        if let Some(entry) = entry {
            self.account_log.announce(&[(by, entry)]).await;
        }
        Ok(true)
    }

    fn note(&self, user_id: UserId, change: AccountChange) -> AccountNote {
        AccountNote { user_id, at: self.clock.now(), change }
    }
}

/// A scheduled message with the changes of a request applied.
fn updated(current: &Scheduled, update: &UpdateScheduled, now: Timestamp) -> Result<Scheduled, InvalidField> {
    let mut changed = Scheduled { stage: ScheduledStage::Waiting, ..current.clone() };
    if let Some(send_at) = update.send_at {
        changed.send_at = send_at;
    }
    check_time(changed.send_at, now)?;
    if let Some(text) = &update.text {
        if changed.draft.forwarded_from.is_some() {
            return Err(InvalidField::new("text", "is not allowed for a forward"));
        }
        let mut message = request_of(&changed.draft);
        message.text = Some(text.clone());
        changed.draft = Draft::parse(message)?;
    }
    Ok(changed)
}

fn check_time(send_at: Timestamp, now: Timestamp) -> Result<Timestamp, InvalidField> {
    field::future("send_at", send_at, now)?;
    if send_at > now.plus_millis(i64::from(SCHEDULED_DAYS_MAX) * DAY_MS) {
        let reason = format!("must lie within {SCHEDULED_DAYS_MAX} days");
        return Err(InvalidField::new("send_at", reason));
    }
    Ok(send_at)
}

fn to_wire(scheduled: &Scheduled) -> WireScheduled {
    WireScheduled {
        id: scheduled.id,
        conversation_id: scheduled.conversation,
        send_at: scheduled.send_at,
        message: request_of(&scheduled.draft),
        failed: match scheduled.stage {
            ScheduledStage::Failed(code) => Some(code),
            ScheduledStage::Waiting | ScheduledStage::Sending | ScheduledStage::Sent(_) => None::<ErrorCode>,
        },
    }
}

/// The request that corresponds to a draft.
fn request_of(draft: &Draft) -> SendMessage {
    let BodyParts { text, media, event, data } =
        draft.body.clone().map(MessageBody::into_parts).unwrap_or_default();
    SendMessage {
        conversation_id: None,
        client_id: draft.client_id.as_str().to_owned(),
        kind: draft.body.as_ref().map(MessageBody::kind),
        text: text.map(String::from),
        media: media.map(|media| Box::new(media.into_wire())),
        event: event.map(String::from),
        data,
        reply_to: draft.reply_to,
        forwarded_from: draft.forwarded_from,
    }
}
