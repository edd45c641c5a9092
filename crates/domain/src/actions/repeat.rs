//! Answers retries: messages that were sent before with the same client id.

use std::collections::HashMap;
use std::sync::Arc;

use godwit_protocol::{Seq, UserId};

use super::action::Done;
use super::job::Batch;
use super::prepare::Known;
use super::refusal::Refusal;
use crate::conversations::{Conversations, Live};
use crate::model::LogItem;
use crate::ports::{Clock, Store, StoreError};
use crate::show::{View, about};
use crate::sight::{Discretion, Sight};

#[derive(Debug)]
pub(super) struct Repeats {
    pub(super) store: Arc<dyn Store>,
    pub(super) conversations: Arc<Conversations>,
    pub(super) clock: Arc<dyn Clock>,
}

impl Repeats {
    /// Answers the jobs that have an original, as their senders see it now. The other jobs stay in the batch.
    pub(super) async fn answer(
        &self,
        live: &Live,
        batch: &mut Batch,
        originals: Vec<Option<LogItem>>,
        known: &Known,
    ) {
        if originals.iter().all(Option::is_none) {
            return;
        }
        let mut outcomes = Vec::with_capacity(originals.len());
        for (job, original) in batch.jobs().iter().zip(originals) {
            outcomes.push(match original {
                Some(item) => Some(self.shown_again(live, job.actor, item, &known.messages).await),
                None => None,
            });
        }
        batch.answer(outcomes);
    }

    /// The message as its sender sees it now: the same as in the history.
    async fn shown_again(
        &self,
        live: &Live,
        sender: UserId,
        item: LogItem,
        known: &HashMap<Seq, LogItem>,
    ) -> Result<Done, Refusal> {
        let member = self.conversations.member(live, sender).await?.ok_or(Refusal::NotFound)?;
        let asked = about(&item.entry).into_iter().chain([item.entry.seq]);
        let (kind, members) = live.read(|state| (state.conversation.kind, state.member_ids()));
        let (sight, discretion, referred, own_reactions) = tokio::try_join!(
            Sight::of(&*self.store, live.id(), &member, asked),
            Discretion::of(&*self.store, sender, kind, members),
            self.referred(live, &item, known),
            self.own_reactions(live, sender, &item)
        )?;
        let entry = Arc::new(item.entry.clone());
        let shown = live.read(|state| {
            let of_many = View::of_many(state, self.clock.now(), &referred, &sight);
            View { own_reactions: &own_reactions, discretion: &discretion, ..of_many }.sent_again(item)
        });
        let shown = shown.map(Arc::new).into_iter().collect();
        Ok(Done { entries: vec![entry], shown, repeated: true })
    }

    /// The message that the original replies to. The batch may not know it, because the retry may not name it.
    async fn referred(
        &self,
        live: &Live,
        item: &LogItem,
        known: &HashMap<Seq, LogItem>,
    ) -> Result<HashMap<Seq, LogItem>, StoreError> {
        let Some(seq) = about(&item.entry) else { return Ok(HashMap::new()) };
        let referred = match known.get(&seq) {
            Some(known) => Some(known.clone()),
            None => self.store.items(live.id(), &[seq]).await?.pop().flatten(),
        };
        Ok(referred.into_iter().map(|item| (seq, item)).collect())
    }

    async fn own_reactions(
        &self,
        live: &Live,
        sender: UserId,
        item: &LogItem,
    ) -> Result<HashMap<Seq, Box<str>>, StoreError> {
        if item.state.reactions.is_empty() {
            return Ok(HashMap::new());
        }
        let seq = item.entry.seq;
        let own = self.store.reactions_by(live.id(), &[(seq, sender)]).await?.pop().flatten();
        Ok(own.into_iter().map(|own| (seq, own)).collect())
    }
}
