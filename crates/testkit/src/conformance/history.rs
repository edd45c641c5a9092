//! Reading the log.

use godwit_domain::model::{ClientId, LogItem};
use godwit_domain::ports::{HistoryEnd, SeqRange, StoreError};
use godwit_protocol::{ConversationId, MessageId, Seq};

use super::Outcome;
use super::expected::{at_end, log_of, write};
use crate::batch::Batch;
use crate::scene::{Chat, Scene};

const EVERYTHING: SeqRange = SeqRange { after: Seq::ZERO, before: Seq::new(u64::MAX) };

pub(super) async fn entries_begin_after_and_end_at_the_limit(s: &Scene) -> Outcome {
    let (chat, log) = mixed_log(s).await?;
    for after in 0..=log.len() + 1 {
        for limit in 0..=log.len() + 1 {
            let expected = &log[after.min(log.len())..(after + limit).min(log.len()).max(after.min(log.len()))];
            let entries = s.store().entries(chat.id, Seq::new(after as u64), limit).await?;
            assert_eq!(entries, expected, "{limit} after {after}");
        }
    }
    Ok(())
}

pub(super) async fn items_are_in_the_requested_order(s: &Scene) -> Outcome {
    let (chat, log) = mixed_log(s).await?;
    for item in &log {
        assert_eq!(s.store().items(chat.id, &[item.entry.seq]).await?, [Some(item.clone())]);
    }
    let end = log.len() as u64;
    let asked = [end, 0, 2, end + 1, 1, u64::MAX, 3].map(Seq::new);
    let expected = [Some(log.len() - 1), None, Some(1), None, Some(0), None, Some(2)];
    let items = s.store().items(chat.id, &asked).await?;
    assert_eq!(items, expected.map(|place| place.map(|place| log[place].clone())));
    assert_eq!(s.store().items(chat.id, &[]).await?, []);
    Ok(())
}

pub(super) async fn shown_entries_are_read_from_both_ends_of_every_range(s: &Scene) -> Outcome {
    let (chat, log) = mixed_log(s).await?;
    let end = log.len() as u64 + 2;
    for after in (0..=end).map(Seq::new) {
        for before in (0..=end).chain([u64::MAX]).map(Seq::new) {
            let within = |item: &&LogItem| {
                item.entry.shown && item.entry.seq > after && item.entry.seq < before
            };
            let all: Vec<LogItem> = log.iter().filter(within).cloned().collect();
            for end in [HistoryEnd::Oldest, HistoryEnd::Newest] {
                for limit in [0, 1, 2, 100] {
                    let shown = s.store().history(chat.id, SeqRange { after, before }, end, limit).await?;
                    let expected = at_end(&all, end, limit);
                    assert_eq!(shown, expected, "{limit} between {after} and {before}, {end:?}");
                }
            }
        }
    }
    Ok(())
}

pub(super) async fn a_long_log_reads_like_a_short_one(s: &Scene) -> Outcome {
    // Longer than a partition of any store that partitions its logs by `seq`.
    const ENTRIES: usize = 4_300;
    const BATCH: usize = 100;
    let chat = s.chat().await?;
    let mut log = log_of(s, chat.id).await?;
    while log.len() < ENTRIES {
        s.advance_ms(10);
        let mut batch = Batch::after(s.ids(), &s.load(chat.id).await?);
        for number in log.len()..log.len() + BATCH {
            batch = if number % 10 == 0 { batch.filler() } else { batch.text(chat.ada, &format!("m{number}")) };
        }
        let append = batch.build();
        write(&mut log, &append);
        s.append(append).await?;
    }

    let mut read = Vec::new();
    loop {
        let page = s.store().entries(chat.id, Seq::new(read.len() as u64), 150).await?;
        if page.is_empty() {
            break;
        }
        read.extend(page);
    }
    assert!(read == log, "all entries, in pages");
    let messages: Vec<&LogItem> = log.iter().filter(|item| item.entry.shown).collect();
    for end in [HistoryEnd::Oldest, HistoryEnd::Newest] {
        let all = s.store().history(chat.id, EVERYTHING, end, ENTRIES * 2).await?;
        assert!(all.iter().eq(messages.iter().copied()), "all messages, {end:?}");
    }
    for seq in [4_090, 4_095, 4_096, 4_097, 4_100].map(Seq::new) {
        let place = seq.get() as usize - 1;
        assert_eq!(s.item(chat.id, seq).await?, log[place]);
        assert_eq!(s.store().entries(chat.id, seq, 10).await?, log[place + 1..place + 11]);
        let before = SeqRange { after: Seq::ZERO, before: seq };
        let newest = s.store().history(chat.id, before, HistoryEnd::Newest, 10).await?;
        let older = messages.iter().filter(|item| item.entry.seq < seq);
        let older: Vec<LogItem> = older.map(|item| (*item).clone()).collect();
        let expected = at_end(&older, HistoryEnd::Newest, 10);
        assert_eq!(newest, expected, "before {seq}");
    }
    for place in [500, 4_050, 4_099, 4_250] {
        let at = log[place].entry.at();
        let first = log.iter().find(|item| item.entry.at() == at).map(|item| item.entry.seq);
        assert_eq!(Some(s.store().seq_at(chat.id, at).await?), first);
    }
    for LogItem { entry, .. } in [messages[0], messages[messages.len() / 2], messages[messages.len() - 1]] {
        assert_eq!(s.store().locate(MessageId::new(entry.id)).await?, Some((chat.id, entry.seq)));
    }
    Ok(())
}

pub(super) async fn a_reader_sees_no_gap_while_others_append(s: &Scene) -> Outcome {
    const APPENDS: usize = 40;
    let chat = s.chat().await?;
    let last = Seq::new(1 + 3 * APPENDS as u64);
    s.at_once(2, |i, store| {
        let s = s.clone();
        async move {
            if i == 0 {
                for number in 0..APPENDS {
                    let batch = s.batch(chat.id).await?;
                    let (a, b) = (format!("{number}a"), format!("{number}b"));
                    s.append(batch.text(chat.ada, &a).filler().text(chat.bob, &b).build()).await?;
                }
                return Ok(());
            }
            let mut seen = Seq::ZERO;
            while seen < last {
                let head = store.load(chat.id).await?.expect("the conversation was made").head.seq;
                assert!(head >= seen, "the head went back from {seen} to {head}");
                while seen < head {
                    let page = store.entries(chat.id, seen, 7).await?;
                    assert!(!page.is_empty(), "the head is {head}, but nothing follows {seen}");
                    for item in page {
                        assert_eq!(item.entry.seq, seen.next());
                        seen = item.entry.seq;
                    }
                }
                tokio::task::yield_now().await;
            }
            Ok(())
        }
    })
    .await?;
    Ok(())
}

pub(super) async fn only_shown_entries_are_located(s: &Scene) -> Outcome {
    let (chat, log) = mixed_log(s).await?;
    for LogItem { entry, .. } in &log {
        let place = entry.shown.then_some((chat.id, entry.seq));
        assert_eq!(s.store().locate(MessageId::new(entry.id)).await?, place);
    }
    assert_eq!(s.store().locate(MessageId::new(s.id())).await?, None);
    Ok(())
}

pub(super) async fn a_message_is_found_by_the_client_id_of_its_sender(s: &Scene) -> Outcome {
    let (chat, other) = (s.chat().await?, s.chat().await?);
    let by_ada = s.send(chat.id, chat.ada, "the-same").await?;
    let by_bob = s.send(chat.id, chat.bob, "the-same").await?;
    let sent_as = async |id: ConversationId, sender, client_id: &str| {
        s.store().sent_as(id, sender, &ClientId::from_stored(client_id)).await
    };
    assert_eq!(sent_as(chat.id, chat.ada, "the-same").await?, Some(by_ada.seq));
    assert_eq!(sent_as(chat.id, chat.bob, "the-same").await?, Some(by_bob.seq));
    assert_eq!(sent_as(chat.id, chat.ada, "the-sam").await?, None);
    assert_eq!(sent_as(chat.id, chat.ada, "the-same!").await?, None);
    assert_eq!(sent_as(chat.id, other.ada, "the-same").await?, None);
    assert_eq!(sent_as(other.id, chat.ada, "the-same").await?, None);
    for number in 0..20 {
        s.send(chat.id, chat.bob, &format!("m{number}")).await?;
    }
    assert_eq!(sent_as(chat.id, chat.ada, "the-same").await?, Some(by_ada.seq), "also when it is long ago");
    Ok(())
}

pub(super) async fn seq_at_is_the_first_entry_that_is_not_older(s: &Scene) -> Outcome {
    let (chat, log) = mixed_log(s).await?;
    let entries = || log.iter().map(|item| &item.entry);
    let expected =
        |time| entries().find(|e| e.at() >= time).map_or(Seq::new(log.len() as u64 + 1), |e| e.seq);
    for entry in entries() {
        for shift_ms in [-1, 0, 1] {
            let time = entry.at().plus_millis(shift_ms);
            assert_eq!(s.store().seq_at(chat.id, time).await?, expected(time), "{shift_ms} ms from {}", entry.seq);
        }
    }
    let (long_before, long_after) = (log[0].entry.at().plus_millis(-1_000_000), s.now().plus_millis(1_000_000));
    assert_eq!(s.store().seq_at(chat.id, long_before).await?, Seq::new(1));
    assert_eq!(s.store().seq_at(chat.id, long_after).await?, Seq::new(log.len() as u64 + 1));
    Ok(())
}

/// A chat with messages, shown entries and other entries at several times, some of them equal.
async fn mixed_log(s: &Scene) -> Result<(Chat, Vec<LogItem>), StoreError> {
    let chat = s.chat().await?;
    let mut log = log_of(s, chat.id).await?;
    for number in 0..3 {
        s.advance_ms(number * 10);
        let (a, b) = (format!("{number}a"), format!("{number}b"));
        let batch = s.batch(chat.id).await?.text(chat.ada, &a).filler();
        let batch = if number == 1 { batch.filler().rename(chat.bob, "Ada and Bob") } else { batch };
        let append = batch.text(chat.bob, &b).build();
        write(&mut log, &append);
        s.append(append).await?;
    }
    Ok((chat, log))
}
