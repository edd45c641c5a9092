//! Direct conversations: one for each pair.

use std::slice;

use godwit_domain::model::{Concealed, AccountChange, Cursor, Member, UserPair};
use godwit_domain::ports::{InboxRow, NewConversation};
use godwit_protocol::conversations::Role;
use godwit_protocol::{ConversationId, Seq, Timestamp};

use super::expected::{log_of, unchanged};
use super::rows::changed;
use super::{CALLERS, Outcome};
use crate::paging::account_log_after;
use crate::reading::{Known, read_everything};
use crate::scene::Scene;

pub(super) async fn an_opened_conversation_reads_back(s: &Scene) -> Outcome {
    let (ada, bob) = (s.user().await?, s.user().await?);
    // The creator has the higher id, so the creator does not come first among the members.
    let (pair, new) = s.new_direct(bob, ada);
    let NewConversation { conversation, created, effects } = new.clone();
    let opened = s.store().open_direct(pair, new).await?;
    assert_eq!(opened.id, conversation.id);
    assert_eq!(s.store().direct_of(pair).await?, Some(opened.id));
    let state = s.load(opened.id).await?;
    let joined_at = conversation.created_at;
    let member = |user_id| Member {
        user_id,
        role: Role::Member,
        joined_at,
        added_by: None,
        visible_from: Seq::ZERO,
        unlisted: user_id == ada,
        cursor: Cursor::default(),
        concealed: Concealed::default(),
        moved_at: Timestamp::default(),
        mentions: Vec::new(),
    };
    assert_eq!(state.members, [member(ada), member(bob)]);
    assert_eq!(state.conversation, conversation);
    assert_eq!(state.head, effects.head);
    assert_eq!(Some(state.details), effects.details);
    assert_eq!(log_of(s, opened.id).await?, unchanged([created]));
    Ok(())
}

pub(super) async fn unknown_conversations_are_not_found(s: &Scene) -> Outcome {
    let (pair, new) = s.new_direct(s.user().await?, s.user().await?);
    assert_eq!(s.store().direct_of(pair).await?, None);
    leaves_nothing(s, new.conversation.id).await
}

pub(super) async fn a_direct_conversation_is_listed_for_its_creator_only(s: &Scene) -> Outcome {
    let (ada, bob) = (s.user().await?, s.user().await?);
    let (pair, new) = s.new_direct(ada, bob);
    let created_at = new.conversation.created_at;
    let opened = s.store().open_direct(pair, new).await?;
    let made = opened.made.expect("it was not there before");
    assert_eq!(made.len(), 1, "{made:?}");
    let (user, entry) = made[0];
    assert_eq!(user, ada);
    assert_eq!((entry.at, entry.change), (created_at, AccountChange::ConversationListed(opened.id)));
    assert_eq!(account_log_after(s.store(), ada, 0, 50).await?, Some(vec![entry]));
    let row = InboxRow { conversation: opened.id, settings: Default::default(), activity_at: created_at };
    assert_eq!(s.store().inbox(ada, false, None, 50).await?, slice::from_ref(&row));
    assert_eq!(changed(s, ada, created_at).await?, [row]);
    assert_eq!(s.store().inbox(bob, false, None, 50).await?, []);
    assert_eq!(changed(s, bob, created_at).await?, []);
    assert_eq!(s.store().account_head(bob).await?, 0);
    Ok(())
}

pub(super) async fn opening_a_conversation_again_changes_nothing(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    s.send(chat.id, chat.ada, "hello").await?;
    let known =
        Known { users: vec![chat.ada, chat.bob], conversations: vec![chat.id], ..Known::default() };
    let before = read_everything(s.store(), &known).await?;
    for (by, other) in [(chat.ada, chat.bob), (chat.bob, chat.ada)] {
        s.advance_ms(10);
        let (pair, new) = s.new_direct(by, other);
        let offered = new.conversation.id;
        let opened = s.store().open_direct(pair, new).await?;
        assert_eq!((opened.id, opened.made), (chat.id, None));
        leaves_nothing(s, offered).await?;
    }
    assert_eq!(read_everything(s.store(), &known).await?, before);
    Ok(())
}

pub(super) async fn many_concurrent_callers_open_one_conversation(s: &Scene) -> Outcome {
    let (ada, bob) = (s.user().await?, s.user().await?);
    let offers: Vec<(UserPair, NewConversation)> =
        (0..CALLERS).map(|i| if i % 2 == 0 { s.new_direct(ada, bob) } else { s.new_direct(bob, ada) }).collect();
    let opened = s.at_once(CALLERS, |i, store| {
        let (pair, new) = offers[i].clone();
        async move { store.open_direct(pair, new).await }
    });
    let opened = opened.await?;
    let id = s.store().direct_of(offers[0].0).await?.expect("it was made");
    assert_eq!(opened.iter().filter(|opened| opened.made.is_some()).count(), 1, "{opened:?}");
    for ((_, offered), opened) in offers.iter().zip(opened) {
        assert_eq!(opened.id, id);
        if offered.conversation.id == id {
            assert!(opened.made.is_some());
            assert_eq!(s.load(id).await?.conversation, offered.conversation);
            let maker = offered.conversation.created_by;
            assert_eq!(s.store().inbox(maker, false, None, 50).await?.len(), 1);
            assert_eq!(s.store().inbox(offers[0].0.other(maker), false, None, 50).await?, []);
        } else {
            leaves_nothing(s, offered.conversation.id).await?;
        }
    }
    assert_eq!(s.store().entries(id, Seq::ZERO, 50).await?.len(), 1);
    Ok(())
}

async fn leaves_nothing(s: &Scene, id: ConversationId) -> Outcome {
    assert_eq!(s.store().load(id).await?, None);
    assert_eq!(s.store().entries(id, Seq::ZERO, 50).await?, []);
    assert_eq!(s.store().items(id, &[Seq::new(1)]).await?, [None]);
    assert_eq!(s.store().members(id, None, 50).await?, []);
    Ok(())
}
