//! States of messages: edits, deletes, expiry.

use std::slice;

use godwit_domain::model::{
    Change, ClientId, Edited, Gone, LogItem, Media, Mentions, MessageBody, MessageState,
};
use godwit_domain::ports::{HistoryEnd, SeqRange, StoreError};
use godwit_protocol::messages::MessageKind;
use godwit_protocol::{ConversationId, MessageId, Seq};

use super::Outcome;
use super::expected::{log_of, write};
use crate::batch::Batch;
use crate::reading::{Known, plain, read_everything};
use crate::scene::{Chat, Scene};

/// Text that no read may return after the deletion.
const SECRET: &str = "kingfisher";

pub(super) async fn an_edit_changes_what_a_message_says(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let sent = s.send(chat.id, chat.ada, "teh").await?;
    s.send(chat.id, chat.bob, "what?").await?;
    s.advance_ms(10);
    let edit = s.batch_on(chat.id, &[sent.seq]).await?.edit(chat.ada, sent.seq, "the").build();
    s.append(edit.clone()).await?;
    let state = MessageState {
        through: edit.entries[0].seq,
        edits: vec![edit.entries[0].seq],
        edited: Some(Edited { at: s.now(), text: "the".into(), mentions: Mentions::default() }.into()),
        ..MessageState::default()
    };
    let expected = LogItem { entry: sent, state: state.into() };
    reads_everywhere(s, chat.id, &expected).await?;
    assert_eq!(s.item(chat.id, edit.entries[0].seq).await?.entry, edit.entries[0]);
    Ok(())
}

pub(super) async fn the_last_of_several_edits_counts(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let sent = s.send(chat.id, chat.ada, "one").await?;
    let mut log = log_of(s, chat.id).await?;
    for (number, text) in ["two", "three", "four"].into_iter().enumerate() {
        s.advance_ms(10);
        let mut batch = s.batch_on(chat.id, &[sent.seq]).await?.edit(chat.ada, sent.seq, text);
        if number == 1 {
            // Two edits in one batch.
            batch = batch.text(chat.bob, "in between").edit(chat.ada, sent.seq, "three and a half");
        }
        let append = batch.build();
        write(&mut log, &append);
        s.append(append).await?;
        assert_eq!(log_of(s, chat.id).await?, log);
    }
    let state = s.item(chat.id, sent.seq).await?.state;
    assert_eq!(state.edits, [3, 4, 6, 7].map(Seq::new));
    assert_eq!(state.edited.as_ref().map(|edited| (edited.at, edited.text.clone())), Some((s.now(), "four".into())));
    Ok(())
}

pub(super) async fn the_head_follows_the_last_message(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let (first, last) = (s.send(chat.id, chat.ada, "first").await?, s.send(chat.id, chat.ada, "last").await?);
    let preview = async || {
        let head = s.load(chat.id).await?.head;
        let last = head.last_message.expect("something was said");
        Ok::<_, StoreError>((last.seq, last.preview.to_string(), last.gone))
    };
    let edit = async |seq: Seq, text: &str| {
        let append = s.batch_on(chat.id, &[seq]).await?.edit(chat.ada, seq, text).build();
        s.append(append).await.map(drop)
    };
    edit(first.seq, "not the last").await?;
    assert_eq!(preview().await?, (last.seq, "last".into(), false));
    edit(last.seq, "the very last").await?;
    assert_eq!(preview().await?, (last.seq, "the very last".into(), false));
    let delete = s.batch_on(chat.id, &[last.seq]).await?.delete(chat.ada, last.seq).build();
    s.append(delete).await?;
    assert_eq!(preview().await?, (last.seq, String::new(), true));
    Ok(())
}

pub(super) async fn a_deleted_message_keeps_only_its_place(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let sent = say_secrets(s, &chat).await?;
    s.advance_ms(10);
    let delete = s.batch_on(chat.id, &[sent]).await?.delete(chat.bob, sent).build();
    s.append(delete.clone()).await?;
    secrets_are_gone(s, &chat, &[sent]).await?;
    let item = s.item(chat.id, sent).await?;
    assert_eq!(item.state.gone, Some(Gone { at: s.now(), by: Some(chat.bob) }));
    assert_eq!(item.state.edits.len(), 2, "it is known that it was edited, and when");
    let message = item.entry.message().expect("it is still a message");
    assert_eq!(message.body, MessageBody::Erased(MessageKind::File));
    reads_everywhere(s, chat.id, &item).await?;
    let found = s.store().sent_as(chat.id, chat.ada, &message.client_id).await?;
    assert_eq!(found, Some(sent), "who sends it again is told that it was sent");
    Ok(())
}

pub(super) async fn expired_messages_are_erased(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let secrets = [say_secrets(s, &chat).await?, say_secrets(s, &chat).await?];
    let stays = s.send(chat.id, chat.ada, "stays").await?;
    s.advance_ms(10);
    s.append(s.batch_on(chat.id, &secrets).await?.expired(&secrets).build()).await?;
    secrets_are_gone(s, &chat, &secrets).await?;
    for seq in secrets {
        assert_eq!(s.item(chat.id, seq).await?.state.gone, Some(Gone { at: s.now(), by: None }));
    }
    assert_eq!(s.item(chat.id, stays.seq).await?.entry, stays);
    Ok(())
}

pub(super) async fn a_message_and_its_changes_can_be_in_one_batch(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let mut log = log_of(s, chat.id).await?;
    let (kept, gone) = (Seq::new(2), Seq::new(3));
    let batch = s.batch(chat.id).await?.text(chat.ada, "kept").body(chat.bob, "gone", secret());
    let batch = batch.edit(chat.ada, kept, "edited").edit(chat.bob, gone, &format!("{SECRET}, two"));
    let batch = batch.react(chat.bob, kept, None, Some("👍")).delete(chat.bob, gone);
    let append = batch.reply(chat.ada, "reply", kept).build();
    write(&mut log, &append);
    s.append(append).await?;
    assert_eq!(log_of(s, chat.id).await?, log);
    secrets_are_gone(s, &chat, &[gone]).await?;
    let state = s.item(chat.id, kept).await?.state;
    assert_eq!((state.edits.len(), state.reactions.len(), state.replies), (1, 1, 1));
    Ok(())
}

pub(super) async fn the_state_of_a_message_is_found_in_a_long_log(s: &Scene) -> Outcome {
    // The message and its changes lie in different partitions of any store that partitions its logs by `seq`.
    const ENTRIES: usize = 4_200;
    const BATCH: usize = 140;
    let chat = s.chat().await?;
    let (edited, gone) = (Seq::new(2), say_secrets(s, &chat).await?);
    let mut log = log_of(s, chat.id).await?;
    while log.len() < ENTRIES {
        s.advance_ms(10);
        let mut batch = Batch::after(s.ids(), &s.load(chat.id).await?);
        for _ in 0..BATCH {
            batch = batch.filler();
        }
        let append = batch.build();
        write(&mut log, &append);
        s.append(append).await?;
    }
    let batch = s.batch_on(chat.id, &[edited, gone]).await?;
    let batch = batch.edit(chat.ada, gone, SECRET).react(chat.bob, edited, None, Some("👍"));
    let append = batch.delete(chat.ada, gone).reply(chat.bob, "reply", edited).build();
    write(&mut log, &append);
    s.append(append).await?;
    assert!(log_of(s, chat.id).await? == log);
    let shown: Vec<LogItem> = log.iter().filter(|item| item.entry.shown).cloned().collect();
    for end in [HistoryEnd::Oldest, HistoryEnd::Newest] {
        let read = s.store().history(chat.id, EVERYTHING, end, 100).await?;
        assert_eq!(read.into_iter().map(plain).collect::<Vec<_>>(), shown, "{end:?}");
    }
    let replies = s.store().replies(chat.id, edited, 0, 10).await?;
    assert_eq!(replies, [Seq::new(log.len() as u64)]);
    assert!(!format!("{:?}", log_of(s, chat.id).await?).contains(SECRET));
    Ok(())
}

const EVERYTHING: SeqRange = SeqRange { after: Seq::ZERO, before: Seq::new(u64::MAX) };

fn secret() -> MessageBody {
    MessageBody::Text(format!("the secret is {SECRET}").into())
}

/// A message with a secret in every part, and in its edits. The previous message has none.
async fn say_secrets(s: &Scene, chat: &Chat) -> Result<Seq, StoreError> {
    let media = Media {
        url: format!("https://example.org/{SECRET}").into(),
        content_type: "image/png".into(),
        size_bytes: 7,
        name: Some(SECRET.into()),
        width: None,
        height: None,
        duration_ms: None,
    };
    let body = MessageBody::File { media: media.into(), caption: Some(SECRET.into()) };
    let (before, client_id) = (s.word(), s.word());
    let append = s.batch(chat.id).await?.text(chat.ada, &before).body(chat.ada, &client_id, body).build();
    let seq = append.entries[1].seq;
    s.append(append).await?;
    for text in ["the first edit", "the second"] {
        let text = format!("{text} says {SECRET}");
        s.append(s.batch_on(chat.id, &[seq]).await?.edit(chat.ada, seq, &text).build()).await?;
    }
    let found = format!("{:?}", s.item(chat.id, seq).await?);
    assert!(found.contains(SECRET), "so far everybody finds it");
    Ok(seq)
}

/// Reads the messages in every way and asserts that the secret is gone.
async fn secrets_are_gone(s: &Scene, chat: &Chat, messages: &[Seq]) -> Outcome {
    let messages = s.store().items(chat.id, messages).await?;
    let known = Known {
        users: vec![chat.ada, chat.bob],
        conversations: vec![chat.id],
        messages: messages.iter().flatten().map(|item| MessageId::new(item.entry.id)).collect(),
        client_ids: messages.iter().flatten().filter_map(client_id).collect(),
        times: vec![s.now()],
        ..Known::default()
    };
    for reading in read_everything(s.store(), &known).await? {
        assert!(!reading.answer.contains(SECRET), "{reading:?}");
    }
    for item in log_of(s, chat.id).await? {
        if let Change::Edited { target, text, .. } = item.entry.change {
            let is_gone = messages.iter().flatten().any(|item| item.entry.seq == target.seq);
            assert_eq!(text.is_none(), is_gone, "edit {}", item.entry.seq);
        }
    }
    Ok(())
}

fn client_id(item: &LogItem) -> Option<ClientId> {
    item.entry.message().map(|message| message.client_id.clone())
}

/// Asserts that every read returns the same item.
async fn reads_everywhere(s: &Scene, id: ConversationId, expected: &LogItem) -> Outcome {
    let seq = expected.entry.seq;
    let before = Seq::new(seq.get() - 1);
    assert_eq!(s.item(id, seq).await?, *expected);
    assert_eq!(s.store().entries(id, before, 1).await?, slice::from_ref(expected));
    let range = SeqRange { after: before, before: seq.next() };
    assert_eq!(s.store().history(id, range, HistoryEnd::Newest, 5).await?, slice::from_ref(expected));
    let place = s.store().locate(MessageId::new(expected.entry.id)).await?;
    assert_eq!(place, Some((id, seq)));
    Ok(())
}
