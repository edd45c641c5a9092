//! Measures durable sends: how many a second, how long the acknowledgement takes, what they cost on disk, and how long the
//! next start takes.
//!
//! ```sh
//! cargo run --release -p godwit-store-embedded --example sends -- [messages] [conversations] [producers]
//! ```

use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use godwit_domain::model::{
    Change, ClientId, Conversation, Cursor, Entry, Head, Kind, Message, MessageBody, UserPair,
};
use godwit_domain::ports::{Append, AppendOutcome, Clock, ConversationStore, CursorMove, NewDirect, Store};
use godwit_protocol::conversations::ConversationKind;
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};
use godwit_store_embedded::{EmbeddedStore, Options};

const TEXT_BYTES: usize = 200;

#[derive(Debug)]
struct SystemClock(Instant);

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // 2027-01-15, and as much later as the measurement has taken.
        Timestamp::from_millis(1_800_000_000_000 + self.0.elapsed().as_millis() as i64)
    }
}

struct Chat {
    id: ConversationId,
    pair: UserPair,
    head: Head,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<usize>());
    let mut argument = |default| arguments.next().unwrap_or(Ok(default));
    let (messages, conversations, producers) = (argument(200_000)?, argument(10_000)?, argument(64)?);
    let folder = tempfile::tempdir()?;

    let store = Arc::new(open(folder.path())?);
    let mut chats: Vec<Vec<Chat>> = (0..producers).map(|_| Vec::new()).collect();
    for number in 0..conversations.max(producers) {
        chats[number % producers].push(open_chat(&store).await?);
    }
    let before = store.stats();
    let began = Instant::now();
    let tasks: Vec<_> = chats
        .into_iter()
        .map(|chats| tokio::spawn(produce(Arc::clone(&store), chats, messages / producers)))
        .collect();
    let mut waits = Vec::with_capacity(messages);
    for task in tasks {
        waits.extend(task.await??);
    }
    let took = began.elapsed();
    waits.sort_unstable();
    let fsyncs = store.stats().fsyncs - before.fsyncs;
    say("sends/s", format_args!("{:.0}", waits.len() as f64 / took.as_secs_f64()));
    say("sends per fsync", format_args!("{:.1}", waits.len() as f64 / fsyncs as f64));
    for (name, share) in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)] {
        let index = ((waits.len() - 1) as f64 * share) as usize;
        say(&format!("acknowledged, {name}"), format_args!("{:.2} ms", waits[index].as_secs_f64() * 1e3));
    }
    drop(store);
    let began = Instant::now();
    let store = open(folder.path())?;
    say("start without a clean stop", format_args!("{:.3} s", began.elapsed().as_secs_f64()));
    let began = Instant::now();
    store.close().await?;
    say("clean stop", format_args!("{:.3} s", began.elapsed().as_secs_f64()));
    let tables = store.stats().table_bytes;
    drop(store);
    say("tables, per message", format_args!("{:.0} bytes", tables as f64 / waits.len() as f64));
    let began = Instant::now();
    drop(open(folder.path())?);
    say("start after a clean stop", format_args!("{:.3} s", began.elapsed().as_secs_f64()));
    Ok(())
}

fn open(path: &Path) -> Result<EmbeddedStore, godwit_store_embedded::OpenError> {
    EmbeddedStore::open(path, Arc::new(SystemClock(Instant::now())), Options::default())
}

/// Two new users and their conversation.
async fn open_chat(store: &EmbeddedStore) -> Result<Chat, Box<dyn std::error::Error>> {
    let (by, other) = (UserId::new(store.ids().next()?), UserId::new(store.ids().next()?));
    let pair = UserPair::new(by, other).ok_or("two users are not one")?;
    let id = ConversationId::new(store.ids().next()?);
    let member_ids = vec![pair.low(), pair.high()];
    let change = Change::Created { by, kind: ConversationKind::Direct, member_ids };
    let created = Entry { seq: Seq::new(1), id: store.ids().next()?, ordinal: 0, change };
    let conversation =
        Conversation { id, kind: Kind::Direct(pair), created_by: by, created_at: created.at() };
    let head = Head::empty().after(&created);
    store.open_direct(pair, NewDirect { conversation, created }).await?;
    Ok(Chat { id, pair, head })
}

/// Sends one message after the other, to one conversation after the other, from both sides in turn.
async fn produce(
    store: Arc<EmbeddedStore>,
    mut chats: Vec<Chat>,
    messages: usize,
) -> Result<Vec<Duration>, godwit_domain::ports::StoreError> {
    let mut waits = Vec::with_capacity(messages);
    let count = chats.len();
    for number in 0..messages {
        let chat = &mut chats[number % count];
        let sender = if (number / count).is_multiple_of(2) { chat.pair.low() } else { chat.pair.high() };
        let append = next_append(&store, chat, sender, number)?;
        chat.head = append.head.clone();
        let began = Instant::now();
        let outcome = store.append(append).await?;
        waits.push(began.elapsed());
        assert!(matches!(outcome, AppendOutcome::Appended(_)), "nobody else appends here");
    }
    Ok(waits)
}

fn next_append(
    store: &EmbeddedStore,
    chat: &Chat,
    sender: UserId,
    number: usize,
) -> Result<Append, godwit_domain::ports::StoreError> {
    let id = store.ids().next_after(chat.head.id)?;
    let message = Message {
        id: MessageId::new(id),
        sender_id: sender,
        client_id: ClientId::from_stored(format!("{id:016x}-8000-4000-{number:013x}")),
        // Words rather than one letter, so that compression has no easier task than with real texts.
        body: MessageBody::Text(words(id, TEXT_BYTES).into()),
        reply_to: None,
        forwarded_from: None,
    };
    let (seq, ordinal) = (chat.head.seq.next(), chat.head.ordinal + 1);
    let entry = Entry { seq, id, ordinal, change: Change::Message(message) };
    let head = chat.head.after(&entry);
    let members = vec![chat.pair.low(), chat.pair.high()];
    let list_for = if chat.head.ordinal == 0 { members.clone() } else { Vec::new() };
    let cursor = Cursor::at(seq, ordinal);
    Ok(Append {
        conversation: chat.id,
        expected_head: chat.head.seq,
        cursors: vec![CursorMove { conversation: chat.id, user_id: sender, cursor, at: entry.at() }],
        entries: vec![entry],
        head,
        members,
        list_for,
    })
}

fn words(seed: u64, bytes: usize) -> String {
    let mut state = seed;
    let mut text = String::with_capacity(bytes + 8);
    while text.len() < bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push_str(&format!("{:x} ", state >> 40));
    }
    text.truncate(bytes);
    text
}

fn say(what: &str, value: impl Display) {
    println!("{what:<28}{value}");
}
