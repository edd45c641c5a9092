//! Operations on stars, scheduled messages and expiries.

use godwit_domain::model::{AccountChange, ClientId, Draft, MessageBody, Scheduled, ScheduledStage, Star};
use godwit_protocol::{ErrorCode, MessageId, ScheduledId, Seq};

use super::Difference;
use super::ops::{Op, Stage};
use super::world::{World, both, wrapping};
use crate::due::due_expiries_in;

/// Small, so that sequences reach the limit.
const HIDDEN_MAX: usize = 2;
const STARS_MAX: usize = 3;
const SCHEDULED_MAX: usize = 3;
/// Later than anything that operations schedule or expire.
const LATER_MS: i64 = 1_000_000;

impl World {
    pub(super) async fn apply_to_personal(&mut self, op: &Op) -> Result<(), Difference> {
        match op {
            Op::Hide { user, conversation, seq } => {
                let user = self.user(*user);
                let Some(id) = wrapping(&self.known.conversations, *conversation) else { return Ok(()) };
                // A user cannot hide a message that they do not see.
                if self.scene.store().member(id, user).await?.is_none() {
                    return Ok(());
                }
                let seq = Seq::new(u64::from(*seq) + 1);
                let Some(item) = self.scene.store().items(id, &[seq]).await?.remove(0) else { return Ok(()) };
                let message = MessageId::new(item.entry.id);
                let note = self.scene.note(user, AccountChange::MessageHidden(message));
                both!(self, op, |store| store.hide(user, id, seq, HIDDEN_MAX, note))
            }
            Op::Star { user, message } => {
                let user = self.user(*user);
                let Some(message_id) = wrapping(&self.known.messages, *message) else { return Ok(()) };
                let place = self.scene.store().locate(message_id).await?;
                let Some((conversation, seq)) = place else { return Ok(()) };
                let star = Star { message_id, conversation, seq, at: self.scene.now() };
                let note = self.scene.note(user, AccountChange::MessageStarred(message_id));
                both!(self, op, |store| store.star(user, star, STARS_MAX, note))
            }
            Op::Unstar { user, message } => {
                let user = self.user(*user);
                let Some(message) = wrapping(&self.known.messages, *message) else { return Ok(()) };
                let note = self.scene.note(user, AccountChange::MessageUnstarred(message));
                both!(self, op, |store| store.unstar(user, message, note))
            }
            Op::Schedule { user, conversation, client_id, in_ms } => {
                let Some(conversation) = wrapping(&self.known.conversations, *conversation) else {
                    return Ok(());
                };
                let scheduled = Scheduled {
                    id: ScheduledId::new(self.scene.id()),
                    user_id: self.user(*user),
                    conversation,
                    send_at: self.scene.now().plus_millis(i64::from(*in_ms)),
                    draft: Draft {
                        client_id: ClientId::from_stored(format!("later {client_id}")),
                        body: Some(MessageBody::Text("later".into())),
                        reply_to: None,
                        forwarded_from: None,
                    },
                    stage: ScheduledStage::Waiting,
                };
                self.known.scheduled.push(scheduled.id);
                let note = self.scene.note(scheduled.user_id, AccountChange::ScheduledUpdated(scheduled.id));
                both!(self, op, |store| store.schedule(scheduled.clone(), SCHEDULED_MAX, note))
            }
            Op::ReplaceScheduled { scheduled, expected, with, noted } => {
                let Some(current) = self.scheduled(*scheduled).await? else { return Ok(()) };
                let expected = Scheduled { stage: stage_of(*expected), ..current.clone() };
                let with = with.map(|(stage, in_ms)| Scheduled {
                    stage: stage_of(stage),
                    send_at: self.scene.now().plus_millis(i64::from(in_ms)),
                    ..current.clone()
                });
                let change = AccountChange::ScheduledUpdated(current.id);
                let note = noted.then(|| self.scene.note(current.user_id, change));
                both!(self, op, |store| store.replace_scheduled(expected.clone(), with.clone(), note))
            }
            other => unreachable!("{other:?} is not about what users keep"),
        }
    }

    /// Removes the items that would become due, so that they do not accumulate on a shared store.
    pub(super) async fn tidy_up(&self) -> Result<(), Difference> {
        let later = self.scene.now().plus_millis(LATER_MS);
        let due = due_expiries_in(self.scene.store(), later, &self.known.conversations).await?;
        self.store.forget_expiries(due).await?;
        for &user in &self.known.users {
            for scheduled in self.store.scheduled(user).await? {
                self.store.replace_scheduled(scheduled, None, None).await?;
            }
        }
        Ok(())
    }

    /// The current value of a scheduled message. `None` once it is gone.
    async fn scheduled(&self, number: u8) -> Result<Option<Scheduled>, Difference> {
        let mut all: Vec<Scheduled> = Vec::new();
        for &user in &self.known.users {
            all.extend(self.scene.store().scheduled(user).await?);
        }
        let place = usize::from(number) % all.len().max(1);
        Ok((!all.is_empty()).then(|| all.swap_remove(place)))
    }
}

fn stage_of(stage: Stage) -> ScheduledStage {
    match stage {
        Stage::Waiting => ScheduledStage::Waiting,
        Stage::Sending => ScheduledStage::Sending,
        Stage::Failed => ScheduledStage::Failed(ErrorCode::NotFound),
        Stage::Sent => ScheduledStage::Sent(MessageId::new(7)),
    }
}
