//! What is between a user and the server: starred and scheduled messages.

use std::sync::Arc;

use godwit_protocol::limits::{SCHEDULED_DAYS_MAX, SCHEDULED_PER_USER_MAX, STARS_PER_USER_MAX};
use godwit_protocol::messages::{Message as WireMessage, SendMessage};
use godwit_protocol::personal::{ScheduleMessage, Scheduled as WireScheduled, UpdateScheduled};
use godwit_protocol::{ErrorCode, MessageId, ScheduledId, Timestamp, UserId};
use thiserror::Error;

use crate::account_log::AccountLog;
use crate::actions::Refusal;
use crate::conversations::{AccessError, Conversations};
use crate::messages::{ReadError, Reading, Sent, Writing};
use crate::model::{
    AccountChange, AccountNote, ClientId, Draft, InvalidField, Scheduled, ScheduledStage, Star, field,
};
use crate::ports::{Clock, Listed, ReplaceScheduled, ScheduleOutcome, Store, StoreError};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

#[derive(Debug)]
pub struct Personal {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) reading: Arc<Reading>,
    pub(crate) writing: Arc<Writing>,
    pub(crate) account_log: Arc<AccountLog>,
    pub(crate) clock: Arc<dyn Clock>,
}

#[derive(Debug, Error)]
pub enum PersonalError {
    #[error("no such conversation, message or scheduled message")]
    NotFound,
    #[error("the message has been deleted or has disappeared")]
    Gone,
    #[error("the list is full")]
    Full,
    #[error("the scheduled message is being sent, or has been")]
    TooLate,
    #[error(transparent)]
    Invalid(#[from] InvalidField),
    #[error(transparent)]
    Refused(Refusal),
    #[error(transparent)]
    Store(#[from] StoreError),
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

    /// Starred messages, the latest message first, and where to go on. Those that the user cannot see any more are left
    /// out.
    pub async fn stars(
        &self,
        by: UserId,
        before: Option<MessageId>,
        limit: usize,
    ) -> Result<(Vec<WireMessage>, Option<MessageId>), PersonalError> {
        let stars = self.store.stars(by, before, limit).await?;
        let next = if stars.len() == limit { stars.last().map(|star| star.message_id) } else { None };
        let mut messages = Vec::with_capacity(stars.len());
        for star in stars {
            match self.reading.message(by, star.message_id).await {
                Ok(message) => messages.push(message),
                Err(ReadError::NotFound | ReadError::Forbidden | ReadError::Gone) => {}
                Err(ReadError::Store(error)) => return Err(error.into()),
            }
        }
        Ok((messages, next))
    }

    /// Keeps a message to be sent later. The same client id again gives back what is there.
    pub async fn schedule(
        &self,
        by: UserId,
        request: ScheduleMessage,
    ) -> Result<WireScheduled, PersonalError> {
        let now = self.clock.now();
        self.conversations.of_member(by, request.conversation_id).await?;
        if request.message.conversation_id.is_some_and(|id| id != request.conversation_id) {
            return Err(InvalidField::new("message.conversation_id", "names another conversation").into());
        }
        let scheduled = Scheduled {
            id: ScheduledId::new(self.store.ids().next()?),
            user_id: by,
            conversation: request.conversation_id,
            send_at: check_time(request.send_at, now)?,
            draft: Draft::parse(request.message)?,
            stage: ScheduledStage::Waiting,
        };
        let note = self.note(by, AccountChange::ScheduledUpdated(scheduled.id));
        match self.store.schedule(scheduled.clone(), SCHEDULED_PER_USER_MAX, note).await? {
            ScheduleOutcome::Scheduled(entry) => {
                self.account_log.announce(&[(by, entry)]).await;
                Ok(to_wire(&scheduled))
            }
            ScheduleOutcome::Repeated(earlier) => Ok(to_wire(&earlier)),
            ScheduleOutcome::Full => Err(PersonalError::Full),
        }
    }

    /// What is to be sent, the next one first.
    pub async fn scheduled(&self, by: UserId) -> Result<Vec<WireScheduled>, StoreError> {
        let mut scheduled = self.store.scheduled(by).await?;
        scheduled.sort_unstable_by_key(|scheduled| (scheduled.send_at, scheduled.id));
        Ok(scheduled.iter().map(to_wire).collect())
    }

    /// Changes time or text. One that has failed waits again.
    pub async fn update_scheduled(
        &self,
        by: UserId,
        id: ScheduledId,
        update: UpdateScheduled,
    ) -> Result<WireScheduled, PersonalError> {
        let current = self.store.scheduled_one(by, id).await?.ok_or(PersonalError::NotFound)?;
        let mut changed = Scheduled { stage: ScheduledStage::Waiting, ..current.clone() };
        if let Some(send_at) = update.send_at {
            changed.send_at = send_at;
        }
        check_time(changed.send_at, self.clock.now())?;
        if let Some(text) = update.text {
            let mut message = request_of(&changed.draft);
            message.text = Some(text);
            changed.draft = Draft::parse(message)?;
        }
        let note = self.note(by, AccountChange::ScheduledUpdated(id));
        self.replace(by, &current, Some(changed.clone()), note).await?;
        Ok(to_wire(&changed))
    }

    pub async fn cancel_scheduled(&self, by: UserId, id: ScheduledId) -> Result<(), PersonalError> {
        let current = self.store.scheduled_one(by, id).await?.ok_or(PersonalError::NotFound)?;
        let note = self.note(by, AccountChange::ScheduledGone(id));
        self.replace(by, &current, None, note).await
    }

    /// Sends it now, as if its time had come; also one that has failed. If this server dies over it, it is due.
    pub async fn send_scheduled_now(
        &self,
        by: UserId,
        id: ScheduledId,
    ) -> Result<WireMessage, PersonalError> {
        let current = self.store.scheduled_one(by, id).await?.ok_or(PersonalError::NotFound)?;
        let claimed =
            Scheduled { stage: ScheduledStage::Sending, send_at: self.clock.now(), ..current.clone() };
        let note = self.note(by, AccountChange::ScheduledUpdated(id));
        self.replace(by, &current, Some(claimed.clone()), note).await?;
        let sent = self.send_claimed(by, claimed).await?;
        sent.map(|sent| sent.message).map_err(PersonalError::Refused)
    }

    /// Sends a scheduled message whose time has come: once, whoever else tries, and however often one of them dies.
    pub(crate) async fn send_scheduled(&self, by: UserId, id: ScheduledId) -> Result<(), StoreError> {
        let Some(mut scheduled) = self.store.scheduled_one(by, id).await? else { return Ok(()) };
        match scheduled.stage {
            ScheduledStage::Failed(_) => return Ok(()),
            // Somebody began and may be gone. The client id makes it the same message.
            ScheduledStage::Sending => {}
            ScheduledStage::Waiting => {
                let claimed = Scheduled { stage: ScheduledStage::Sending, ..scheduled.clone() };
                let claim =
                    self.store.replace_scheduled(by, id, ScheduledStage::Waiting, Some(claimed), None);
                match claim.await? {
                    ReplaceScheduled::Replaced(_) => scheduled.stage = ScheduledStage::Sending,
                    // It was changed, cancelled or claimed at this moment.
                    ReplaceScheduled::TooLate | ReplaceScheduled::NotFound => return Ok(()),
                }
            }
        }
        // Why it was refused is kept with it.
        self.send_claimed(by, scheduled).await.map(drop)
    }

    /// One that this server is to send.
    async fn send_claimed(
        &self,
        by: UserId,
        scheduled: Scheduled,
    ) -> Result<Result<Sent, Refusal>, StoreError> {
        let id = scheduled.id;
        let draft = Draft { client_id: ClientId::of_scheduled(id), ..scheduled.draft.clone() };
        let outcome = self.writing.send(by, scheduled.conversation, draft).await;
        let (left, change) = match &outcome {
            Ok(_) => (None, AccountChange::ScheduledGone(id)),
            // The server could not: it is tried again.
            Err(refusal) if refusal.is_failure() => return Ok(outcome),
            Err(refusal) => {
                let stage = ScheduledStage::Failed(refusal.code());
                (Some(Scheduled { stage, ..scheduled }), AccountChange::ScheduledUpdated(id))
            }
        };
        let note = Some(self.note(by, change));
        let replaced = self.store.replace_scheduled(by, id, ScheduledStage::Sending, left, note).await?;
        if let ReplaceScheduled::Replaced(Some(entry)) = replaced {
            self.account_log.announce(&[(by, entry)]).await;
        }
        Ok(outcome)
    }

    async fn replace(
        &self,
        by: UserId,
        current: &Scheduled,
        with: Option<Scheduled>,
        note: AccountNote,
    ) -> Result<(), PersonalError> {
        if current.stage == ScheduledStage::Sending {
            return Err(PersonalError::TooLate);
        }
        let replaced = self.store.replace_scheduled(by, current.id, current.stage, with, Some(note));
        match replaced.await? {
            ReplaceScheduled::Replaced(entry) => {
                if let Some(entry) = entry {
                    self.account_log.announce(&[(by, entry)]).await;
                }
                Ok(())
            }
            ReplaceScheduled::TooLate => Err(PersonalError::TooLate),
            ReplaceScheduled::NotFound => Err(PersonalError::NotFound),
        }
    }

    fn note(&self, user_id: UserId, change: AccountChange) -> AccountNote {
        AccountNote { user_id, at: self.clock.now(), change }
    }
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
            ScheduledStage::Waiting | ScheduledStage::Sending => None::<ErrorCode>,
        },
    }
}

/// The request that a draft was read from.
fn request_of(draft: &Draft) -> SendMessage {
    SendMessage {
        conversation_id: None,
        client_id: draft.client_id.as_str().to_owned(),
        kind: draft.body.kind(),
        text: draft.body.text().map(str::to_owned),
        media: draft.body.media().map(|media| Box::new(media.clone().into_wire())),
        event: draft.body.event().map(str::to_owned),
        reply_to: draft.reply_to,
        forwarded_from: draft.forwarded_from,
    }
}
