//! Reads the facts that a decision needs, besides the conversation itself.

mod wanted;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};
use godwit_protocol::{Seq, UserId};

use super::job::Job;
use crate::consent::Consent;
use crate::conversations::{Conversations, Live};
use crate::model::{Concealed, ConversationState, Kind, LogItem, Member};
use crate::ports::{HiddenFrom, Store, StoreError};
use crate::projection::Needs;
use wanted::Wanted;

/// Users who are listed as having hidden one message. Above this, entries about the message are not delivered; clients read
/// them.
const HIDDEN_FROM_NAMED_MAX: usize = 1_000;

/// Concurrent reads for one batch.
const READS_AT_ONCE_MAX: usize = 16;

#[derive(Debug)]
pub(super) struct Preparing {
    pub(super) store: Arc<dyn Store>,
    pub(super) conversations: Arc<Conversations>,
    pub(super) consent: Consent,
}

/// A batch with the data that was read for it.
pub(super) struct Prepared {
    /// For each job, in order: the message that was sent before with the same client id.
    pub(super) originals: Vec<Option<LogItem>>,
    pub(super) known: Known,
    /// The users who have hidden the messages that the jobs refer to.
    pub(super) hidden_from: HashMap<Seq, HiddenFrom>,
}

/// The facts that a decision needs.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// In a direct conversation: whether one of the two has blocked the other.
    pub(super) blocked: bool,
    /// Disabled accounts among the actors, and among the creators of the invites that they use.
    pub(super) disabled: HashSet<UserId>,
    /// Users who cannot be added: (who adds, who is added).
    pub(super) unwilling: HashSet<(UserId, UserId)>,
    /// Members, if the state does not have them all. `None` for a user who is not a member.
    pub(super) members: HashMap<UserId, Option<Member>>,
    pub(super) messages: HashMap<Seq, LogItem>,
    /// The current reactions of the actors.
    pub(super) reactions: HashMap<(Seq, UserId), Box<str>>,
    /// Entries that joining users have concealed.
    pub(super) concealed: Vec<(UserId, Concealed)>,
}

impl Preparing {
    pub(super) async fn prepare(&self, live: &Live, jobs: &[Job]) -> Result<Prepared, StoreError> {
        let (kind, wanted) = live.read(|state| (state.conversation.kind, Wanted::of(jobs, &state.details)));
        let Wanted { people, users, messages, reactions, shown, joining, adding } = wanted;
        let (originals, disabled, blocked, messages, reactions, hidden_from, concealed, unwilling) = tokio::try_join!(
            self.originals(live, jobs),
            self.disabled(&people),
            self.blocked(kind),
            self.messages(live, &messages),
            self.reactions(live, reactions),
            self.hidden_from(live, shown),
            self.concealed(live, joining),
            self.unwilling(live, adding)
        )?;
        let members = self.members(live, users, &messages).await?;
        let known = Known { blocked, disabled, unwilling, members, messages, reactions, concealed };
        Ok(Prepared { originals, known, hidden_from })
    }

    async fn originals(&self, live: &Live, jobs: &[Job]) -> Result<Vec<Option<LogItem>>, StoreError> {
        let mut originals = vec![None; jobs.len()];
        let sends = jobs.iter().enumerate();
        let sends = sends.filter_map(|(place, job)| Some((place, (job.actor, job.client_id()?))));
        let (places, sent): (Vec<usize>, Vec<_>) = sends.unzip();
        if sent.is_empty() {
            return Ok(originals);
        }
        let seqs = self.store.sent_as_each(live.id(), &sent).await?;
        let found: Vec<(usize, Seq)> =
            places.into_iter().zip(seqs).filter_map(|(place, seq)| Some((place, seq?))).collect();
        if !found.is_empty() {
            let seqs: Vec<Seq> = found.iter().map(|(_, seq)| *seq).collect();
            let items = self.store.items(live.id(), &seqs).await?;
            for ((place, _), item) in found.into_iter().zip(items) {
                originals[place] = item;
            }
        }
        Ok(originals)
    }

    async fn disabled(&self, people: &[UserId]) -> Result<HashSet<UserId>, StoreError> {
        if people.is_empty() {
            return Ok(HashSet::new());
        }
        Ok(self.store.disabled_among(people).await?.into_iter().collect())
    }

    async fn blocked(&self, kind: Kind) -> Result<bool, StoreError> {
        match kind.pair() {
            Some(pair) => self.store.is_blocked(pair.low(), pair.high()).await,
            None => Ok(false),
        }
    }

    async fn messages(&self, live: &Live, seqs: &[Seq]) -> Result<HashMap<Seq, LogItem>, StoreError> {
        if seqs.is_empty() {
            return Ok(HashMap::new());
        }
        let found = self.store.items(live.id(), seqs).await?.into_iter().flatten();
        Ok(found.map(|item| (item.entry.seq, item)).collect())
    }

    async fn reactions(
        &self,
        live: &Live,
        asked: Vec<(Seq, UserId)>,
    ) -> Result<HashMap<(Seq, UserId), Box<str>>, StoreError> {
        if asked.is_empty() {
            return Ok(HashMap::new());
        }
        let found = self.store.reactions_by(live.id(), &asked).await?;
        Ok(asked.into_iter().zip(found).filter_map(|(key, reaction)| Some((key, reaction?))).collect())
    }

    /// Loads members, unless the state has all of them. A change of a message needs the members that it mentions.
    async fn members(
        &self,
        live: &Live,
        mut users: Vec<UserId>,
        messages: &HashMap<Seq, LogItem>,
    ) -> Result<HashMap<UserId, Option<Member>>, StoreError> {
        if live.read(ConversationState::is_whole) {
            return Ok(HashMap::new());
        }
        users.extend(messages.values().flat_map(Needs::of_mentioned));
        users.sort_unstable();
        users.dedup();
        let looked_up = stream::iter(users).map(|user| async move {
            Ok::<_, StoreError>((user, self.conversations.stored_member(live.id(), user).await?))
        });
        looked_up.buffer_unordered(READS_AT_ONCE_MAX).try_collect().await
    }

    /// The users who have hidden each of these messages. If all members are in memory, their marks tell whether anybody can
    /// have hidden one.
    async fn hidden_from(
        &self,
        live: &Live,
        mut shown: Vec<Seq>,
    ) -> Result<HashMap<Seq, HiddenFrom>, StoreError> {
        let hidden_to = live.read(|state| {
            let hidden = state.members.iter().map(|member| member.concealed.hidden_to);
            state.is_whole().then(|| hidden.max().unwrap_or_default())
        });
        shown.retain(|seq| hidden_to.is_none_or(|hidden_to| *seq <= hidden_to));
        if shown.is_empty() {
            return Ok(HashMap::new());
        }
        let looked_up = stream::iter(shown).map(|seq| async move {
            let users = self.store.hidden_from(live.id(), seq, HIDDEN_FROM_NAMED_MAX + 1).await?;
            Ok::<_, StoreError>((seq, users))
        });
        let looked_up = looked_up.buffer_unordered(READS_AT_ONCE_MAX);
        let named = looked_up.try_filter_map(async |(seq, users)| {
            Ok(match users.len() {
                0 => None,
                1..=HIDDEN_FROM_NAMED_MAX => Some((seq, HiddenFrom::These(users))),
                _ => Some((seq, HiddenFrom::TooMany)),
            })
        });
        named.try_collect().await
    }

    async fn concealed(
        &self,
        live: &Live,
        joining: Vec<UserId>,
    ) -> Result<Vec<(UserId, Concealed)>, StoreError> {
        if joining.is_empty() {
            return Ok(Vec::new());
        }
        let concealed = self.store.concealed(live.id(), &joining).await?;
        Ok(joining.into_iter().zip(concealed).collect())
    }

    /// Users who have become impossible to add since the use case checked them.
    async fn unwilling(
        &self,
        live: &Live,
        adding: Vec<(UserId, Vec<UserId>)>,
    ) -> Result<HashSet<(UserId, UserId)>, StoreError> {
        let mut unwilling = HashSet::new();
        for (by, users) in adding {
            let refused = self.consent.of(by, Some(live.id()), &users).await?.refused;
            unwilling.extend(refused.into_keys().map(|user| (by, user)));
        }
        Ok(unwilling)
    }
}
