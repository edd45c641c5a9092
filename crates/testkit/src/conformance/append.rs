//! `append`: the compare-and-set on the head of a log.

use godwit_domain::model::{
    ClientId, ConversationState, Cursor, Entry, Forwarded, LogItem, Media, Mentions, Message, MessageBody,
    Reply, Target,
};
use godwit_domain::ports::{Append, AppendOutcome, Store, StoreError};
use godwit_protocol::{ConversationId, MessageId, Seq, UserId};

use super::expected::{log_of, unchanged, write};
use super::{CALLERS, Outcome};
use crate::batch::Batch;
use crate::paging::account_log_after;
use crate::reading::{Known, read_everything};
use crate::scene::{Chat, Scene};

pub(super) async fn appended_entries_read_back(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let mut log = log_of(s, chat.id).await?;
    let first = s.batch(chat.id).await?.text(chat.ada, "a").text(chat.bob, "b").filler().build();
    write(&mut log, &first);
    s.append(first).await?;
    s.advance_ms(10);
    let target = |item: &LogItem| Target { id: MessageId::new(item.entry.id), seq: item.entry.seq };
    let reply = |id| Message {
        id,
        sender_id: chat.bob,
        client_id: ClientId::from_stored("~!c1@".repeat(12)),
        body: MessageBody::Text("two\nlines, and 👩‍💻".into()),
        reply: Some(Reply { to: target(&log[2]), root: target(&log[1]) }),
        forwarded_from: Some(Forwarded { message_id: MessageId::new(log[2].entry.id), sender_id: chat.ada }),
        mentions: Mentions { users: vec![chat.ada], all: true },
        expires_at: Some(s.now().plus_millis(5_000)),
    };
    let second = s.batch_on(chat.id, &[Seq::new(2)]).await?.message(reply).build();
    write(&mut log, &second);
    s.append(second).await?;
    assert_eq!(log_of(s, chat.id).await?, log);
    Ok(())
}

pub(super) async fn every_kind_of_body_reads_back(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let plain = Media {
        url: "https://example.org/m".into(),
        content_type: "image/png".into(),
        size_bytes: u64::from(u32::MAX) + 1,
        name: None,
        width: None,
        height: None,
        duration_ms: None,
    };
    let full = Media {
        name: Some("señal.png".into()),
        width: Some(640),
        height: Some(480),
        duration_ms: Some(1_500),
        ..plain.clone()
    };
    let bodies = [
        MessageBody::Image { media: plain.clone().into(), caption: None },
        MessageBody::Image { media: full.clone().into(), caption: Some("a signal".into()) },
        MessageBody::File { media: full.clone().into(), caption: Some("a file".into()) },
        MessageBody::File { media: plain.into(), caption: None },
        MessageBody::Voice { media: full.into() },
        MessageBody::System { event: "app.call.ended".into(), data: None, text: None },
        MessageBody::System {
            event: "app.call.ended".into(),
            data: Some(r#"{"secs":[3600,{"ä":null}]}"#.into()),
            text: Some("after an hour".into()),
        },
        MessageBody::Text("x".repeat(godwit_protocol::limits::TEXT_CHARS_MAX).into()),
    ];
    for (number, body) in bodies.into_iter().enumerate() {
        let append = s.batch(chat.id).await?.body(chat.ada, &format!("m{number}"), body).build();
        let (entry, head) = (append.entries[0].clone(), append.effects.head.clone());
        s.append(append).await?;
        assert_eq!(s.item(chat.id, entry.seq).await?.entry, entry);
        assert_eq!(s.load(chat.id).await?.head, head);
    }
    Ok(())
}

pub(super) async fn the_head_says_where_the_log_ends(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let message = s.batch(chat.id).await?.text(chat.ada, "a").text(chat.bob, "b").build();
    s.append(message.clone()).await?;
    assert_eq!(s.load(chat.id).await?.head, message.effects.head);
    let filler = s.batch(chat.id).await?.filler().build();
    s.append(filler.clone()).await?;
    let head = s.load(chat.id).await?.head;
    assert_eq!(head, filler.effects.head);
    assert_eq!((head.seq, head.ordinal), (Seq::new(4), 2));
    assert_eq!(head.last_message, message.effects.head.last_message);
    Ok(())
}

pub(super) async fn a_wrong_head_is_refused_and_nothing_is_written(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let behind = s.load(chat.id).await?;
    // Bob's inbox does not list the conversation yet, so a refused append could wrongly list it.
    s.append(s.batch(chat.id).await?.filler().build()).await?;
    let now = s.load(chat.id).await?;
    let mut ahead = now.clone();
    ahead.head.seq = now.head.seq.next();
    let mut nowhere = now;
    nowhere.head.seq = Seq::ZERO;
    s.advance_ms(10);
    let refused = [&behind, &ahead, &nowhere].map(|state| two_messages(s, &chat, state, "refused"));
    let known = known_of(&chat, &refused);
    let before = read_everything(s.store(), &known).await?;
    for append in refused {
        assert_eq!(s.store().append(&append).await?, AppendOutcome::HeadMoved);
        assert_eq!(read_everything(s.store(), &known).await?, before);
    }
    Ok(())
}

pub(super) async fn one_of_many_concurrent_appends_wins_and_the_others_write_nothing(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let state = s.load(chat.id).await?;
    let rival = |i: usize| {
        s.advance_ms(10);
        two_messages(s, &chat, &state, &format!("rival-{i}"))
    };
    let rivals: Vec<Append> = (0..CALLERS).map(rival).collect();
    let outcomes = s.at_once(CALLERS, |i, store| {
        let append = rivals[i].clone();
        async move { store.append(&append).await }
    });
    let outcomes = outcomes.await?;
    let won = |outcome: &AppendOutcome| matches!(outcome, AppendOutcome::Appended(_));
    assert_eq!(outcomes.iter().filter(|o| won(o)).count(), 1, "{outcomes:?}");

    // A replay of the same chat without rivals.
    let winner = &rivals[outcomes.iter().position(won).unwrap_or_default()];
    let after = s.load(chat.id).await?;
    assert_eq!(after.head, winner.effects.head);
    let written = s.store().entries(chat.id, state.head.seq, 50).await?;
    assert_eq!(written, unchanged(winner.entries.clone()));
    assert_eq!(after.member(chat.bob).map(|m| m.cursor), Some(winner.effects.cursors[0].cursor));
    assert_eq!(after.member(chat.ada).map(|m| m.cursor), Some(Cursor::default()));
    for (append, outcome) in rivals.iter().zip(&outcomes) {
        for entry in &append.entries {
            let place = won(outcome).then_some((chat.id, entry.seq));
            assert_eq!(s.store().locate(MessageId::new(entry.id)).await?, place);
            assert_eq!(sent_as(s.store(), chat.id, entry).await?, place.map(|(_, seq)| seq));
        }
    }
    for user in [chat.ada, chat.bob] {
        let log = account_log_after(s.store(), user, 0, 50).await?.unwrap_or_default();
        assert_eq!(log.len(), 1, "listed once: {log:?}");
        let inbox = s.store().inbox(user, false, None, 50).await?;
        assert_eq!(inbox.len(), 1);
        assert_eq!(Some(inbox[0].activity_at), winner.effects.head.activity_at());
    }
    Ok(())
}

pub(super) async fn retrying_appenders_make_a_log_without_gaps(s: &Scene) -> Outcome {
    const APPENDERS: usize = 8;
    const MESSAGES: usize = 6;
    let chat = s.chat().await?;
    s.at_once(APPENDERS, |i, store| {
        let s = s.clone();
        let sender = if i % 2 == 0 { chat.ada } else { chat.bob };
        async move {
            for number in 0..MESSAGES {
                append_until_it_wins(&s, &*store, chat.id, sender, &format!("{i}.{number}")).await?;
            }
            Ok(())
        }
    })
    .await?;
    let log: Vec<Entry> = log_of(s, chat.id).await?.into_iter().map(|item| item.entry).collect();
    let seqs: Vec<u64> = log.iter().map(|entry| entry.seq.get()).collect();
    assert_eq!(seqs, (1..=1 + (APPENDERS * MESSAGES) as u64).collect::<Vec<_>>());
    assert!(log.iter().all(|entry| entry.ordinal == entry.seq.get() - 1), "{log:?}");
    assert!(log.is_sorted_by(|a, b| a.id < b.id), "ids rise with seq");
    let said: Vec<&str> = log.iter().filter_map(|e| e.message()).map(|m| m.client_id.as_str()).collect();
    for i in 0..APPENDERS {
        let own: Vec<&str> = said.iter().copied().filter(|id| id.starts_with(&format!("{i}."))).collect();
        let sent: Vec<String> = (0..MESSAGES).map(|number| format!("{i}.{number}")).collect();
        assert_eq!(own, sent, "each once, in the order in which they were sent");
    }
    Ok(())
}

pub(super) async fn appends_to_different_conversations_do_not_interfere(s: &Scene) -> Outcome {
    const CHATS: usize = 16;
    let ada = s.user().await?;
    let mut appends = Vec::new();
    for _ in 0..CHATS {
        let id = s.open_direct(ada, s.new_user().id).await?;
        appends.push(s.batch(id).await?.text(ada, "the-same").build());
    }
    let outcomes = s.at_once(CHATS, |i, store| {
        let append = appends[i].clone();
        async move { store.append(&append).await }
    });
    for (append, outcome) in appends.iter().zip(outcomes.await?) {
        assert!(matches!(outcome, AppendOutcome::Appended(_)), "{outcome:?}");
        assert_eq!(sent_as(s.store(), append.conversation, &append.entries[0]).await?, Some(Seq::new(2)));
    }
    Ok(())
}

/// Two messages from Bob that list the conversation for both.
fn two_messages(s: &Scene, chat: &Chat, state: &ConversationState, name: &str) -> Append {
    let (first, second) = (format!("{name}-first"), format!("{name}-second"));
    Batch::after(s.ids(), state).text(chat.bob, &first).text(chat.bob, &second).build()
}

fn known_of(chat: &Chat, appends: &[Append]) -> Known {
    let messages = || appends.iter().flat_map(|append| &append.entries).filter_map(Entry::message);
    Known {
        users: vec![chat.ada, chat.bob],
        conversations: vec![chat.id],
        messages: messages().map(|message| message.id).collect(),
        client_ids: messages().map(|message| message.client_id.clone()).collect(),
        ..Known::default()
    }
}

async fn sent_as(store: &dyn Store, id: ConversationId, entry: &Entry) -> Result<Option<Seq>, StoreError> {
    let message = entry.message().expect("only messages have a client id");
    store.sent_as(id, message.sender_id, &message.client_id).await
}

/// A send: load, look for the own client id, append, and try again if another caller was faster.
async fn append_until_it_wins(
    s: &Scene,
    store: &dyn Store,
    id: ConversationId,
    sender: UserId,
    client_id: &str,
) -> Outcome {
    loop {
        let state = store.load(id).await?.expect("the conversation was made");
        let sent = store.sent_as(id, sender, &ClientId::from_stored(client_id)).await?;
        assert_eq!(sent, None, "a refused append left its client id");
        let append = Batch::after(s.ids(), &state).text(sender, client_id).build();
        if let AppendOutcome::Appended(_) = store.append(&append).await? {
            return Ok(());
        }
    }
}
