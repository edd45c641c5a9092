//! Checks whether a conversation is the same on both sides, by counting and hashing what the ports return.
//!
//! Differences that two stores may have do not count: mentions that were read, and cursor moves of senders.

use godwit_domain::model::{Concealed, ConversationState, LogItem, Member};
use godwit_domain::ports::{StoreError, StoredReaction, TransferStore};
use godwit_protocol::{ConversationId, Seq, UserId};
use serde::Serialize;
use xxhash_rust::xxh3::Xxh3;

use crate::conversations::{Copied, TRAILS_AT_ONCE, missing, trails_until};
use crate::paging::{PAGE, all};

/// The counts and the hash of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Digest {
    entries: u64,
    members: u64,
    reactions: u64,
    hash: u128,
}

#[derive(Default)]
struct Hashing {
    hash: Xxh3,
    buffer: Vec<u8>,
    digest: Digest,
}

impl Hashing {
    fn add(&mut self, value: &impl Serialize) {
        self.buffer.clear();
        let buffer = std::mem::take(&mut self.buffer);
        self.buffer = postcard::to_extend(value, buffer).expect("values of the model can be serialised");
        self.hash.update(&self.buffer);
    }
}

/// Compares the copied entries, the messages that they changed, and the state of the conversation.
pub(crate) async fn conversation(
    source: &dyn TransferStore,
    target: &dyn TransferStore,
    id: ConversationId,
    copied: &Copied,
) -> Result<bool, StoreError> {
    let (wanted, there) = tokio::try_join!(digest(source, id, copied), digest(target, id, copied))?;
    if wanted != there {
        tracing::warn!(%id, ?wanted, ?there, "a conversation differs between the two stores");
        return Ok(false);
    }
    trails_are_there(source, target, id).await
}

async fn digest(
    store: &dyn TransferStore,
    id: ConversationId,
    copied: &Copied,
) -> Result<Digest, StoreError> {
    let mut hashing = Hashing::default();
    let Some(state) = store.load(id).await? else { return Ok(Digest::default()) };
    let end = state.head.seq;
    hash_state(&mut hashing, store, state).await?;
    let touched: Vec<Seq> = copied.touched.iter().copied().filter(|seq| *seq <= copied.after).collect();
    for page in touched.chunks(PAGE) {
        for item in store.items(id, page).await?.into_iter().flatten() {
            hash_item(&mut hashing, store, id, item).await?;
        }
    }
    let mut after = copied.after;
    while after < end {
        let page = store.entries(id, after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = last.entry.seq;
        for item in page {
            hash_item(&mut hashing, store, id, item).await?;
        }
    }
    Ok(Digest { hash: hashing.hash.digest128(), ..hashing.digest })
}

async fn hash_state(
    hashing: &mut Hashing,
    store: &dyn TransferStore,
    state: ConversationState,
) -> Result<(), StoreError> {
    let is_whole = state.is_whole();
    let ConversationState { conversation, details, head, members } = state;
    hashing.add(&(conversation.id, conversation.created_by, conversation.created_at));
    hashing.add(&conversation.kind.pair().map(|pair| (pair.low(), pair.high())));
    hashing.add(&*details);
    hashing.add(&head);
    let id = conversation.id;
    let members = if is_whole {
        members
    } else {
        all(|member: &Member| member.user_id, |after| store.members(id, after, PAGE)).await?
    };
    for mut member in members {
        member.mentions.retain(|seq| *seq > member.cursor.read);
        // Compared with the membership.
        member.unlisted = false;
        member.concealed = Concealed::default();
        hashing.add(&member);
        hashing.digest.members += 1;
    }
    Ok(())
}

async fn hash_item(
    hashing: &mut Hashing,
    store: &dyn TransferStore,
    id: ConversationId,
    item: LogItem,
) -> Result<(), StoreError> {
    let seq = item.entry.seq;
    let has_reactions = !item.state.reactions.is_empty();
    let replies = item.state.replies;
    hashing.add(&plain(item));
    hashing.digest.entries += 1;
    if has_reactions {
        let reactions =
            all(|reaction: &StoredReaction| reaction.user_id, |after| store.reactions(id, seq, after, PAGE));
        for StoredReaction { user_id, reaction, at } in reactions.await? {
            hashing.add(&(user_id, reaction, at));
            hashing.digest.reactions += 1;
        }
    }
    let mut after = 0;
    while after < replies {
        let page = store.replies(id, seq, after, PAGE).await?;
        if page.is_empty() {
            break;
        }
        after += page.len() as u32;
        hashing.add(&page);
    }
    Ok(())
}

fn plain(item: LogItem) -> LogItem {
    if item.state.is_default() { LogItem::unchanged(item.entry) } else { item }
}

/// Whether the target has every move of the source, and no cursor that is behind.
async fn trails_are_there(
    source: &dyn TransferStore,
    target: &dyn TransferStore,
    id: ConversationId,
) -> Result<bool, StoreError> {
    let mut after: Option<UserId> = None;
    loop {
        let trails = source.trails(id, after, TRAILS_AT_ONCE).await?;
        let Some(last) = trails.last().map(|trail| trail.user_id) else { return Ok(true) };
        let there = trails_until(target, id, after, last).await?;
        let is_last = trails.len() < TRAILS_AT_ONCE;
        for trail in trails {
            let user = trail.user_id;
            if there.get(&user).is_none_or(|there| missing(trail, there).is_some()) {
                tracing::warn!(%id, %user, "a member's cursor is past the copied log");
                return Ok(false);
            }
        }
        if is_last {
            return Ok(true);
        }
        after = Some(last);
    }
}
