//! Listing, settings and positions.

use std::sync::Mutex;

use futures_util::future::BoxFuture;
use godwit_domain::model::{PinChange, Settings, SettingsChange};
use godwit_domain::ports::{ChangeSettings, StoreError};
use godwit_domain::projection::Unlisting;
use godwit_protocol::sync::GoneReason;
use godwit_protocol::{ConversationId, Seq};

use super::super::super::{Listing, Membership, PositionChange, Section};
use super::*;
use crate::cql::unavailable;

fn new_conversation() -> ConversationId {
    ConversationId::new(rand::random::<u64>() >> 1)
}

/// Records the revisions that `before` is called with.
#[derive(Debug, Default, Clone)]
struct Calls(Arc<Mutex<Vec<u64>>>);

impl Calls {
    fn hook(&self) -> impl Fn(u64) -> BoxFuture<'static, Result<(), StoreError>> + Send + Sync + 'static {
        let calls = self.0.clone();
        move |revision| {
            calls.lock().unwrap().push(revision);
            Box::pin(async { Ok(()) })
        }
    }

    fn seen(&self) -> Vec<u64> {
        self.0.lock().unwrap().clone()
    }
}

async fn membership(node: &Node, user: UserId, conversation: ConversationId) -> Option<Membership> {
    node.accounts.memberships(user, &[conversation]).await.unwrap().remove(&conversation)
}

/// The user joined with this entry, which is shown.
fn joining(conversation: ConversationId, seq: u64) -> Listing {
    let seq = Seq::new(seq);
    Listing { conversation, at: NOON, through: seq, shown: seq, apart: false, joined: true }
}

/// An entry was shown in the conversation.
fn showing(conversation: ConversationId, seq: u64) -> Listing {
    Listing { joined: false, ..joining(conversation, seq) }
}

fn removal(user_id: UserId, seq: u64) -> Unlisting {
    Unlisting { user_id, seq: Seq::new(seq), reason: GoneReason::Removed }
}

async fn pin(node: &Node, user: UserId, conversation: ConversationId, calls: &Calls) -> Settings {
    let change = SettingsChange { pin: Some(PinChange::Put(1)), ..SettingsChange::default() };
    let note = note(user, AccountChange::SettingsChanged(conversation));
    let command = AccountCommand::ChangeSettings { conversation, change: Box::new(change), note };
    let outside = Outside { write: Some(Box::new(calls.hook())), ..Outside::default() };
    match node.accounts.change(user, command, outside).await.unwrap().into() {
        ChangeSettings::Changed(settings, _) => settings,
        ChangeSettings::TooManyPinned => panic!("one pin is not too many"),
    }
}

#[tokio::test]
async fn listing_is_idempotent_and_passes_the_revision_to_before() {
    let node = Node::new().await;
    let (user, conversation, calls) = (new_id(), new_conversation(), Calls::default());
    assert_eq!(membership(&node, user, conversation).await, None);
    let entry = node.accounts.list(user, joining(conversation, 1), calls.hook()).await.unwrap().unwrap();
    assert_eq!(entry.change, AccountChange::ConversationListed(conversation));
    let listed = membership(&node, user, conversation).await.unwrap();
    assert!(listed.listed);
    assert_eq!(calls.seen(), [listed.revision]);

    assert_eq!(node.accounts.list(user, joining(conversation, 1), calls.hook()).await.unwrap(), None);
    assert_eq!(calls.seen().len(), 1, "nothing is written, so nothing is told");

    assert_eq!(pin(&node, user, conversation, &calls).await.pin, Some(1));
    let pinned = membership(&node, user, conversation).await.unwrap();
    assert_eq!(calls.seen(), [listed.revision, pinned.revision]);
    assert!(pinned.listed && pinned.settings.pin.is_some() && pinned.revision > listed.revision);
}

#[tokio::test]
async fn before_runs_for_every_attempt() {
    let (node, other) = (Node::new().await, Node::new().await);
    let (user, conversation, calls) = (new_id(), new_conversation(), Calls::default());
    let (called, disturbing) = (calls.hook(), other.accounts.clone());
    let before = move |revision| {
        let (called, disturbing) = (called(revision), disturbing.clone());
        async move {
            called.await?;
            // The first attempts fail because another process is faster.
            if revision < 3 {
                disturbing.note(user, vec![some_note(user)]).await?;
            }
            Ok(())
        }
    };
    node.accounts.list(user, joining(conversation, 1), before).await.unwrap().unwrap();
    assert_eq!(calls.seen(), [1, 2, 3]);
    assert_eq!(membership(&node, user, conversation).await.unwrap().revision, 3);
}

#[tokio::test]
async fn nothing_is_written_if_before_fails() {
    let node = Node::new().await;
    let (user, conversation) = (new_id(), new_conversation());
    let failing = |_| async { Err(unavailable("test", "no")) };
    let outcome = node.accounts.list(user, joining(conversation, 1), failing).await;
    assert!(matches!(outcome, Err(StoreError::Unavailable { .. })), "{outcome:?}");
    assert_eq!(membership(&node, user, conversation).await, None);
    assert_eq!(node.accounts.account_head(user).await.unwrap(), 0);
}

#[tokio::test]
async fn a_position_is_set_only_if_the_membership_is_unchanged() {
    let node = Node::new().await;
    let (user, calls) = (new_id(), Calls::default());
    let (still, changed, unknown) = (new_conversation(), new_conversation(), new_conversation());
    for conversation in [still, changed] {
        node.accounts.list(user, joining(conversation, 1), calls.hook()).await.unwrap();
    }
    let seen = node.accounts.memberships(user, &[still, changed, unknown]).await.unwrap();
    pin(&node, user, changed, &calls).await;
    let place = |conversation| PositionChange {
        conversation,
        seen: seen.get(&conversation).cloned().unwrap_or_default(),
        section: Section::unpinned(false),
        at: NOON,
    };
    let head = node.accounts.account_head(user).await.unwrap();
    let changes = vec![place(still), place(changed), place(unknown)];
    let (revision, placed) = node.accounts.place(user, changes).await.unwrap();
    assert_eq!(placed.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(revision, node.revision(user).await.cast_unsigned());

    let now = node.accounts.memberships(user, &[still, changed, unknown]).await.unwrap();
    assert_eq!(now[&still], Membership { place: placed[0], ..seen[&still].clone() });
    assert_eq!(now[&still].place.map(|place| place.version), Some(revision));
    assert_eq!(now[&changed].place, None);
    assert!(!now[&unknown].listed && now[&unknown].place.is_some());
    assert_eq!(node.accounts.account_head(user).await.unwrap(), head, "a place is not noted");
    // The membership is no longer the one that was seen.
    assert_eq!(node.accounts.place(user, vec![place(still)]).await.unwrap().1, [None]);
}

#[tokio::test]
async fn late_effects_change_nothing() {
    let node = Node::new().await;
    let (user, conversation, calls) = (new_id(), new_conversation(), Calls::default());
    let list = async |listing| node.accounts.list(user, listing, calls.hook()).await.unwrap();
    let unlist = async |seq| {
        let gone = node.accounts.unlist(conversation, NOON, removal(user, seq));
        gone.await.unwrap().map(|(entry, _)| entry)
    };
    assert!(list(joining(conversation, 3)).await.is_some());
    pin(&node, user, conversation, &calls).await;
    assert!(unlist(5).await.is_some());
    let gone = membership(&node, user, conversation).await.unwrap();
    assert_eq!((gone.listed, gone.settings, gone.through), (false, Settings::default(), Seq::new(5)));
    assert_eq!(list(joining(conversation, 3)).await, None, "the user has left since");
    assert_eq!(list(showing(conversation, 4)).await, None);
    assert_eq!(unlist(5).await, None, "done again");

    assert!(unlist(7).await.is_some(), "the user came back with entry 6, which is projected later");
    assert_eq!(list(joining(conversation, 6)).await, None);

    assert!(list(joining(conversation, 8)).await.is_some());
    assert_eq!(unlist(7).await, None, "the user has come back since");
    // Another process projects leaving and joining at once, and finds the conversation listed.
    assert_eq!(list(joining(conversation, 9)).await, None);
    assert_eq!(unlist(9).await, None);
    assert!(membership(&node, user, conversation).await.unwrap().listed);
}

#[tokio::test]
async fn a_cleared_conversation_returns_with_a_new_entry() {
    let node = Node::new().await;
    let (user, conversation, calls) = (new_id(), new_conversation(), Calls::default());
    let list = async |listing| node.accounts.list(user, listing, calls.hook()).await.unwrap();
    assert!(list(joining(conversation, 3)).await.is_some());
    let gone = note(user, AccountChange::ConversationGone(conversation, GoneReason::Deleted));
    node.accounts.clear(user, conversation, Seq::new(4), true, gone).await.unwrap();
    let cleared = membership(&node, user, conversation).await.unwrap();
    assert_eq!((cleared.listed, cleared.settings.cleared), (false, Seq::new(4)));
    assert_eq!(list(joining(conversation, 3)).await, None, "projected again");
    assert_eq!(list(Listing { through: Seq::new(6), ..showing(conversation, 4) }).await, None);
    assert!(list(showing(conversation, 5)).await.is_some());
    let back = membership(&node, user, conversation).await.unwrap();
    assert_eq!((back.listed, back.settings.cleared), (true, Seq::new(4)));
}

#[tokio::test]
async fn a_large_conversation_is_listed_apart_until_the_user_leaves() {
    let node = Node::new().await;
    let (user, conversation, calls) = (new_id(), new_conversation(), Calls::default());
    let grown = Seq::new(4);
    node.accounts.list(user, joining(conversation, 3), calls.hook()).await.unwrap();
    assert!(node.accounts.cross(user, conversation, grown).await.unwrap().is_some());
    assert!(node.accounts.cross(user, conversation, grown).await.unwrap().is_none(), "done again");
    assert_eq!(node.accounts.apart(user).await.unwrap(), [conversation]);
    let gone = node.accounts.unlist(conversation, NOON, removal(user, 6)).await;
    assert!(gone.unwrap().is_some());
    assert!(node.accounts.cross(user, conversation, grown).await.unwrap().is_none(), "it is late");
    assert_eq!(node.accounts.apart(user).await.unwrap(), []);
    let joined = Listing { apart: true, ..joining(conversation, 8) };
    assert!(node.accounts.list(user, joined, calls.hook()).await.unwrap().is_some());
    assert_eq!(node.accounts.apart(user).await.unwrap(), [conversation]);
}

#[tokio::test]
async fn many_memberships_are_read_at_once() {
    let node = Node::new().await;
    let user = new_id();
    let conversations: Vec<ConversationId> = (0..250).map(|_| new_conversation()).collect();
    let place = |conversation: &ConversationId| PositionChange {
        conversation: *conversation,
        seen: Membership::default(),
        section: Section::unpinned(false),
        at: NOON,
    };
    node.accounts.place(user, conversations.iter().map(place).collect()).await.unwrap();
    assert_eq!(node.accounts.memberships(user, &conversations).await.unwrap().len(), 250);
    assert!(node.accounts.memberships(user, &[]).await.unwrap().is_empty());
}
