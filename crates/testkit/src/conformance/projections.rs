//! Effects of an append: the cursors of senders, listings, and the activity of inbox rows.

use godwit_domain::model::{AccountChange, ConversationState, Cursor};
use godwit_domain::ports::CursorMove;
use godwit_protocol::{MessageId, Seq};

use super::Outcome;
use super::rows::changed;
use crate::paging::account_log_after;
use crate::scene::Scene;

pub(super) async fn the_senders_cursor_moves_forward_only(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    s.send(chat.id, chat.ada, "a").await?;
    let last = s.send(chat.id, chat.ada, "b").await?;
    let cursor_of = |state: &ConversationState, user| state.member(user).map(|member| member.cursor);
    let state = s.load(chat.id).await?;
    assert_eq!(cursor_of(&state, chat.ada), Some(Cursor::at(last.seq, 2)));
    assert_eq!(cursor_of(&state, chat.bob), Some(Cursor::default()));
    let mut append = s.batch(chat.id).await?.text(chat.bob, "c").build();
    let behind = Cursor::at(Seq::new(2), 1);
    append.effects.cursors.push(CursorMove { user_id: chat.ada, cursor: behind, ..append.effects.cursors[0] });
    let notes = s.append(append).await?;
    let state = s.load(chat.id).await?;
    assert_eq!(cursor_of(&state, chat.ada), Some(Cursor::at(last.seq, 2)));
    assert_eq!(cursor_of(&state, chat.bob), Some(Cursor::at(Seq::new(4), 3)));
    assert_eq!(notes, [], "the message itself says that its sender has read it");
    Ok(())
}

pub(super) async fn listing_puts_the_conversation_into_inboxes_once(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    assert_eq!(s.append(s.batch(chat.id).await?.filler().build()).await?, []);
    assert_eq!(s.store().inbox(chat.bob, false, None, 50).await?, []);
    s.advance_ms(10);
    let listing = s.batch(chat.id).await?.text(chat.ada, "b").build();
    let at = MessageId::new(listing.effects.head.id).timestamp();
    let notes = s.append(listing).await?;
    assert_eq!(notes.len(), 1, "Ada has it already: {notes:?}");
    let (user, entry) = notes[0];
    assert_eq!((user, entry.at, entry.change), (chat.bob, at, AccountChange::ConversationListed(chat.id)));
    assert_eq!(account_log_after(s.store(), chat.bob, 0, 50).await?, Some(vec![entry]));
    s.advance_ms(10);
    assert_eq!(s.append(s.batch(chat.id).await?.text(chat.bob, "c").build()).await?, []);
    for user in [chat.ada, chat.bob] {
        let inbox = s.store().inbox(user, false, None, 50).await?;
        assert_eq!(inbox.iter().map(|row| row.conversation).collect::<Vec<_>>(), [chat.id]);
    }
    Ok(())
}

pub(super) async fn activity_follows_messages_in_every_inbox(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    for (number, sender) in [chat.ada, chat.bob, chat.ada].into_iter().enumerate() {
        s.advance_ms(60_000);
        let sent = s.send(chat.id, sender, &format!("m{number}")).await?;
        for user in [chat.ada, chat.bob] {
            let inbox = s.store().inbox(user, false, None, 50).await?;
            assert_eq!(inbox.iter().map(|row| row.activity_at).collect::<Vec<_>>(), [sent.at()]);
            assert_eq!(changed(s, user, sent.at()).await?, inbox);
        }
    }
    Ok(())
}

pub(super) async fn entries_that_are_no_messages_are_no_activity(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let made_at = s.load(chat.id).await?.conversation.created_at;
    s.advance_ms(10);
    s.append(s.batch(chat.id).await?.filler().build()).await?;
    let inbox = s.store().inbox(chat.ada, false, None, 50).await?;
    assert_eq!(inbox.iter().map(|row| row.activity_at).collect::<Vec<_>>(), [made_at]);
    assert_eq!(s.store().inbox(chat.bob, false, None, 50).await?, []);
    s.advance_ms(10);
    let sent = s.send(chat.id, chat.ada, "a").await?;
    s.advance_ms(10);
    s.append(s.batch(chat.id).await?.filler().build()).await?;
    assert_eq!(s.store().inbox(chat.bob, false, None, 50).await?[0].activity_at, sent.at());
    Ok(())
}
