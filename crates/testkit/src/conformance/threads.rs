//! Threads: the replies to a message.

use godwit_domain::ports::StoreError;
use godwit_protocol::{ConversationId, Seq, UserId};

use super::Outcome;
use super::expected::{log_of, write};
use crate::scene::Scene;

pub(super) async fn replies_are_counted_and_found(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let (root, other) = (s.send(chat.id, chat.ada, "a").await?.seq, s.send(chat.id, chat.bob, "b").await?.seq);
    let mut log = log_of(s, chat.id).await?;
    let mut expected = Vec::new();
    for number in 0..3 {
        let batch = s.batch_on(chat.id, &[root, other]).await?.text(chat.ada, &format!("between-{number}"));
        let append = batch.reply(chat.bob, &format!("reply-{number}"), root).build();
        expected.push(append.entries[1].seq);
        write(&mut log, &append);
        s.append(append).await?;
    }
    assert_eq!(log_of(s, chat.id).await?, log);
    assert_eq!(s.item(chat.id, root).await?.state.replies, 3);
    assert_eq!(s.store().replies(chat.id, root, 0, 50).await?, expected);
    assert_eq!(s.store().replies(chat.id, other, 0, 50).await?, []);
    Ok(())
}

pub(super) async fn pages_go_through_a_thread(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let root = s.send(chat.id, chat.ada, "root").await?.seq;
    let mut expected = Vec::new();
    for number in 0..7 {
        // Replies in one batch are numbered too.
        let mut batch = s.batch_on(chat.id, &[root]).await?;
        for place in 0..=number % 3 {
            batch = batch.reply(chat.bob, &format!("{number}.{place}"), root);
        }
        let append = batch.build();
        expected.extend(append.entries.iter().map(|entry| entry.seq));
        s.append(append).await?;
    }
    for limit in 1..=expected.len() + 1 {
        let mut read = Vec::new();
        loop {
            let page = s.store().replies(chat.id, root, read.len() as u32, limit).await?;
            let is_last = page.len() < limit;
            read.extend(page);
            assert!(read.len() <= expected.len(), "the pages overlap");
            if is_last {
                break;
            }
        }
        assert_eq!(read, expected, "in pages of {limit}");
    }
    assert_eq!(s.store().replies(chat.id, root, u32::MAX, 5).await?, []);
    Ok(())
}

pub(super) async fn a_reply_to_a_reply_belongs_to_the_thread(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let root = s.send(chat.id, chat.ada, "root").await?.seq;
    let first = reply(s, chat.id, chat.bob, "first", &[root], root).await?;
    let second = reply(s, chat.id, chat.ada, "second", &[root, first], first).await?;
    assert_eq!(s.store().replies(chat.id, root, 0, 50).await?, [first, second]);
    assert_eq!(s.store().replies(chat.id, first, 0, 50).await?, []);
    let said = s.item(chat.id, second).await?.entry.into_message().and_then(|message| message.reply);
    assert_eq!(said.map(|reply| (reply.to.seq, reply.root.seq)), Some((first, root)));
    assert_eq!(s.item(chat.id, first).await?.state.replies, 0);
    Ok(())
}

pub(super) async fn a_deleted_reply_keeps_its_place_in_a_thread(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let root = s.send(chat.id, chat.ada, "root").await?.seq;
    let first = reply(s, chat.id, chat.bob, "first", &[root], root).await?;
    let second = reply(s, chat.id, chat.bob, "second", &[root], root).await?;
    let batch = s.batch_on(chat.id, &[root, first]).await?;
    s.append(batch.delete(chat.bob, first).delete(chat.ada, root).build()).await?;
    assert_eq!(s.store().replies(chat.id, root, 0, 50).await?, [first, second]);
    assert_eq!(s.item(chat.id, root).await?.state.replies, 2);
    Ok(())
}

async fn reply(
    s: &Scene,
    id: ConversationId,
    by: UserId,
    client_id: &str,
    about: &[Seq],
    to: Seq,
) -> Result<Seq, StoreError> {
    let append = s.batch_on(id, about).await?.reply(by, client_id, to).build();
    let seq = append.entries[0].seq;
    s.append(append).await?;
    Ok(seq)
}
