//! Copies memberships: settings, hidden messages, and whether a conversation is in the inbox.

use godwit_domain::model::{AccountChange, AccountNote, Concealed, PinChange, Settings, SettingsChange};
use godwit_domain::ports::{SeqRange, StoreError, TransferStore};
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};

/// The whole log.
const EVERYWHERE: SeqRange = SeqRange { after: Seq::ZERO, before: Seq::new(u64::MAX) };

/// Makes a membership the same. The notes that this writes are replaced when the account is copied.
pub(crate) async fn copy(
    source: &dyn TransferStore,
    target: &dyn TransferStore,
    user: UserId,
    conversation: ConversationId,
) -> Result<(), StoreError> {
    let (wanted, there) = both(source, target, user, conversation).await?;
    let note = |change| AccountNote { user_id: user, at: Timestamp::from_millis(0), change };
    let changed = AccountChange::SettingsChanged(conversation);
    let is_further = wanted.settings.cleared > there.settings.cleared;
    if is_further || (wanted.is_unlisted && !there.is_unlisted) {
        let (cleared, ordinal) = (wanted.settings.cleared, wanted.concealed.cleared_ordinal);
        target.clear(user, conversation, cleared, ordinal, note(changed)).await?;
    }
    if wanted.concealed != there.concealed {
        target.put_concealed(conversation, user, wanted.concealed).await?;
    }
    if let Some(change) = difference(&there.settings, &wanted.settings) {
        target.change_settings(user, conversation, change, note(changed)).await?;
    }
    let missing = wanted.hidden.into_iter().filter(|seq| there.hidden.binary_search(seq).is_err());
    let missing: Vec<Seq> = missing.collect();
    if missing.is_empty() {
        return Ok(());
    }
    for item in source.items(conversation, &missing).await?.into_iter().flatten() {
        // Notes are read again before they are replaced, so this one must name the message.
        let change = AccountChange::MessageHidden(MessageId::new(item.entry.id));
        target.hide(user, conversation, item.entry.seq, usize::MAX, note(change)).await?;
    }
    Ok(())
}

/// Whether a membership is the same on both sides.
pub(crate) async fn are_same(
    source: &dyn TransferStore,
    target: &dyn TransferStore,
    user: UserId,
    conversation: ConversationId,
) -> Result<bool, StoreError> {
    let (wanted, there) = both(source, target, user, conversation).await?;
    Ok(wanted == there)
}

/// The parts of a membership that are compared and copied.
#[derive(Debug, PartialEq, Eq)]
struct Membership {
    settings: Settings,
    concealed: Concealed,
    hidden: Vec<Seq>,
    is_unlisted: bool,
}

async fn both(
    source: &dyn TransferStore,
    target: &dyn TransferStore,
    user: UserId,
    conversation: ConversationId,
) -> Result<(Membership, Membership), StoreError> {
    let (wanted, mut there) =
        tokio::try_join!(read(source, user, conversation), read(target, user, conversation))?;
    if wanted.is_unlisted != there.is_unlisted && !is_listed_one_by_one(source, conversation).await? {
        there.is_unlisted = wanted.is_unlisted;
    }
    Ok((wanted, there))
}

/// Whether each member decides if the conversation is in their inbox. A deleted conversation is in no inbox,
/// and one that is fanned out on read is in the inbox of every member.
async fn is_listed_one_by_one(
    store: &dyn TransferStore,
    conversation: ConversationId,
) -> Result<bool, StoreError> {
    let state = store.load(conversation).await?;
    Ok(state.is_some_and(|state| state.is_whole() && state.details.deleted_at.is_none()))
}

async fn read(
    store: &dyn TransferStore,
    user: UserId,
    conversation: ConversationId,
) -> Result<Membership, StoreError> {
    let asked = [user];
    let (settings, concealed, hidden, member) = tokio::try_join!(
        store.settings(user, conversation),
        store.concealed(conversation, &asked),
        store.hidden(user, conversation, EVERYWHERE),
        store.member(conversation, user),
    )?;
    let concealed = concealed.into_iter().next().unwrap_or_default();
    let is_unlisted = member.is_some_and(|member| member.unlisted);
    Ok(Membership { settings, concealed, hidden, is_unlisted })
}

/// The change that makes `there` equal to `wanted`, except for `cleared`, which is copied in another way.
fn difference(there: &Settings, wanted: &Settings) -> Option<SettingsChange> {
    fn changed<T: Clone + PartialEq>(there: &T, wanted: &T) -> Option<T> {
        (there != wanted).then(|| wanted.clone())
    }
    let change = SettingsChange {
        pin: changed(&there.pin, &wanted.pin).map(|pin| pin.map_or(PinChange::Remove, PinChange::Put)),
        archived: changed(&there.archived, &wanted.archived),
        muted_until: changed(&there.muted_until, &wanted.muted_until),
        marked_unread: changed(&there.marked_unread, &wanted.marked_unread),
        draft: changed(&there.draft, &wanted.draft),
    };
    (change != SettingsChange::default()).then_some(change)
}
