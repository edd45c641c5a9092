//! Entries other than messages: notices in the history, and entries that are not shown.

use godwit_domain::model::LogItem;
use godwit_domain::ports::{HistoryEnd, SeqRange, StoreError};
use godwit_protocol::conversations::Role;
use godwit_protocol::messages::MessageKind;
use godwit_protocol::{MessageId, Seq};

use super::Outcome;
use super::expected::{at_end, log_of, unchanged, write};
use super::rows::rows;
use crate::reading::plain;
use crate::scene::{Group, Scene};

pub(super) async fn notices_are_between_the_messages(s: &Scene) -> Outcome {
    let (group, log) = eventful(s).await?;
    let shown: Vec<LogItem> = log.into_iter().filter(|item| item.entry.shown).collect();
    let events = shown.iter().map(|item| item.entry.change.event());
    let expected = [
        Some("conversation.created"),
        None,
        Some("members.added"),
        Some("member.joined"),
        Some("role.changed"),
        None,
        Some("details.changed"),
        Some("message.pinned"),
        Some("ownership.transferred"),
        Some("member.left"),
        Some("member.removed"),
        Some("member.banned"),
        Some("member.unbanned"),
        None,
    ];
    assert_eq!(events.collect::<Vec<_>>(), expected);
    assert_eq!(history(s, &group, 0, u64::MAX, HistoryEnd::Oldest, 100).await?, shown);
    Ok(())
}

pub(super) async fn other_entries_take_no_place_on_a_page(s: &Scene) -> Outcome {
    let (group, log) = eventful(s).await?;
    let end = log.len() as u64;
    for (after, before) in [(0, end + 1), (2, end), (5, u64::MAX), (1, 6)] {
        let within = |item: &&LogItem| {
            item.entry.shown && item.entry.seq.get() > after && item.entry.seq.get() < before
        };
        let all: Vec<LogItem> = log.iter().filter(within).cloned().collect();
        for end in [HistoryEnd::Oldest, HistoryEnd::Newest] {
            for limit in 1..=all.len() {
                let page = history(s, &group, after, before, end, limit).await?;
                let expected = at_end(&all, end, limit);
                assert_eq!(page, expected, "{limit} between {after} and {before}, {end:?}");
            }
        }
    }
    Ok(())
}

pub(super) async fn many_other_entries_hide_no_message(s: &Scene) -> Outcome {
    const BETWEEN: usize = 300;
    let chat = s.chat().await?;
    let first = s.send(chat.id, chat.ada, "first").await?;
    let mut batch = s.batch(chat.id).await?;
    for _ in 0..BETWEEN {
        batch = batch.filler();
    }
    s.append(batch.build()).await?;
    let last = s.send(chat.id, chat.bob, "last").await?;
    let page = async |range, end| s.store().history(chat.id, range, end, 2).await;
    let all = SeqRange { after: Seq::ZERO, before: Seq::new(u64::MAX) };
    assert_eq!(page(all, HistoryEnd::Oldest).await?, unchanged([first.clone(), last.clone()]));
    assert_eq!(page(all, HistoryEnd::Newest).await?, unchanged([first.clone(), last.clone()]));
    let before_last = SeqRange { before: last.seq, ..all };
    assert_eq!(page(before_last, HistoryEnd::Newest).await?, unchanged([first.clone()]));
    let after_first = SeqRange { after: first.seq, ..all };
    assert_eq!(page(after_first, HistoryEnd::Oldest).await?, unchanged([last.clone()]));

    // Also for entries of the same append.
    let mut batch = s.batch(chat.id).await?.text(chat.ada, "begins");
    for _ in 0..BETWEEN {
        batch = batch.filler();
    }
    let append = batch.text(chat.ada, "ends").build();
    s.append(append.clone()).await?;
    let [begins, .., ends] = &append.entries[..] else { panic!("it has two ends") };
    assert_eq!(page(all, HistoryEnd::Newest).await?, unchanged([begins.clone(), ends.clone()]));
    let within = SeqRange { before: Seq::new(begins.seq.get() + 100), ..all };
    assert_eq!(page(within, HistoryEnd::Newest).await?, unchanged([last, begins.clone()]));
    Ok(())
}

pub(super) async fn notices_are_located_and_not_counted(s: &Scene) -> Outcome {
    let (group, log) = eventful(s).await?;
    let mut messages = 0;
    for item in &log {
        messages += u64::from(item.entry.message().is_some());
        assert_eq!(item.entry.ordinal, messages);
        let place = item.entry.shown.then_some((group.id, item.entry.seq));
        assert_eq!(s.store().locate(MessageId::new(item.entry.id)).await?, place);
    }
    assert_eq!(s.load(group.id).await?.head.ordinal, 3);
    Ok(())
}

pub(super) async fn the_head_and_the_inbox_follow_notices(s: &Scene) -> Outcome {
    let group = s.group(3).await?;
    s.send(group.id, group.owner(), "m").await?;
    s.advance_ms(10);
    let notice = s.batch(group.id).await?.rename(group.members[1], "Waders").build();
    s.append(notice.clone()).await?;
    let renamed_at = s.now();
    s.advance_ms(10);
    s.append(s.batch(group.id).await?.filler().build()).await?;
    let last = s.load(group.id).await?.head.last_message.expect("something was said");
    assert_eq!((last.seq, last.sender_id, last.kind), (Seq::new(3), group.members[1], MessageKind::System));
    assert_eq!((last.event.as_deref(), last.id.get()), (Some("details.changed"), notice.entries[0].id));
    for user in &group.members {
        assert_eq!(rows(s, *user).await?[0].activity_at, renamed_at);
    }
    Ok(())
}

/// A group with every kind of shown entry, and others.
async fn eventful(s: &Scene) -> Result<(Group, Vec<LogItem>), StoreError> {
    let group = s.group(3).await?;
    let [ada, bob, eve] = [0, 1, 2].map(|i| group.members[i]);
    let people = s.people(3);
    let mut log = log_of(s, group.id).await?;
    let first = Seq::new(2);
    let append = s.batch(group.id).await?.text(ada, "one").invite(ada, &s.token()).build();
    write(&mut log, &append);
    s.append(append).await?;
    let batch = s.batch_on(group.id, &[first]).await?.add(ada, &people[..2]).edit(ada, first, "One");
    let append = batch.join(people[2], None).role(ada, bob, Role::Admin).filler().text(bob, "two").build();
    write(&mut log, &append);
    s.append(append).await?;
    s.advance_ms(10);
    let batch = s.batch_on(group.id, &[first]).await?.rename(bob, "Waders").react(eve, first, None, Some("👍"));
    let batch = batch.pin(bob, first).transfer(ada, bob).unpin(bob, first).leave(people[0]);
    let batch = batch.remove(bob, eve).ban(bob, people[2]).unban(bob, people[2]);
    let append = batch.text(people[1], "three").delete(ada, first).build();
    write(&mut log, &append);
    s.append(append).await?;
    Ok((group, log))
}

async fn history(
    s: &Scene,
    group: &Group,
    after: u64,
    before: u64,
    end: HistoryEnd,
    limit: usize,
) -> Result<Vec<LogItem>, StoreError> {
    let range = SeqRange { after: Seq::new(after), before: Seq::new(before) };
    Ok(s.store().history(group.id, range, end, limit).await?.into_iter().map(plain).collect())
}
