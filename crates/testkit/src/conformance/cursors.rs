//! Cursors, receipts, and the notes that moves write.

use godwit_domain::model::{AccountChange, AccountEntry, Cursor};
use godwit_domain::ports::{CursorMove, ReceiptTimes, StoreError};
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};

use super::{CALLERS, Outcome};
use crate::paging::account_log_after;
use crate::scene::{Chat, Scene};

pub(super) async fn cursors_move_forward_only(s: &Scene) -> Outcome {
    let chat = chat_with_messages(s, 8).await?;
    let mut expected = Cursor::default();
    for (delivered, read) in [(3, 2), (2, 3), (6, 0), (0, 5), (5, 4), (9, 9), (1, 1), (0, 0)] {
        expected = expected.advanced_by(marks(delivered, read));
        move_to(s, chat.id, chat.bob, marks(delivered, read)).await?;
        assert_eq!(cursor(s, chat.id, chat.bob).await?, expected, "after a move to {delivered} and {read}");
    }
    assert_eq!(cursor(s, chat.id, chat.ada).await?, Cursor::at(Seq::new(9), 8), "the other's stays");
    Ok(())
}

pub(super) async fn a_read_mark_implies_delivery(s: &Scene) -> Outcome {
    let chat = chat_with_messages(s, 3).await?;
    move_to(s, chat.id, chat.bob, marks(0, 3)).await?;
    assert_eq!(cursor(s, chat.id, chat.bob).await?, marks(3, 3));
    let receipts = s.store().receipts(chat.id, Seq::new(3), &[chat.bob]).await?;
    assert_eq!(receipts, [times(chat.bob, Some(s.now()), Some(s.now()))]);
    Ok(())
}

pub(super) async fn moved_read_marks_are_noted(s: &Scene) -> Outcome {
    let chat = chat_with_messages(s, 3).await?;
    let listed = account_log_after(s.store(), chat.bob, 0, 50).await?.unwrap_or_default();
    assert_eq!(move_to(s, chat.id, chat.bob, marks(4, 0)).await?, [], "delivery is not noted");
    s.advance_ms(10);
    let notes = move_to(s, chat.id, chat.bob, marks(0, 2)).await?;
    assert_eq!(notes.len(), 1, "{notes:?}");
    let (user, first) = notes[0];
    assert_eq!((user, first.at, first.change), (chat.bob, s.now(), AccountChange::ReadMoved(chat.id)));
    s.advance_ms(10);
    let notes = move_to(s, chat.id, chat.bob, marks(0, 4)).await?;
    let mut log = listed;
    log.extend(notes.iter().map(|(_, entry)| *entry));
    assert_eq!(account_log_after(s.store(), chat.bob, 0, 50).await?, Some(log), "the later one replaces the first");
    let listed = account_log_after(s.store(), chat.ada, 0, 50).await?.unwrap_or_default();
    assert_eq!(listed.len(), 1, "who sent and was read has no note of it: {listed:?}");
    Ok(())
}

pub(super) async fn several_cursors_move_in_one_call(s: &Scene) -> Outcome {
    let (one, two) = (chat_with_messages(s, 3).await?, chat_with_messages(s, 3).await?);
    s.send(one.id, one.bob, "from-bob").await?;
    let moves = [
        at_now(s, one.id, one.ada, marks(5, 5)),
        at_now(s, one.id, one.bob, marks(2, 2)),
        at_now(s, two.id, two.bob, marks(4, 3)),
        at_now(s, two.id, two.ada, marks(2, 0)),
    ];
    let mut notes: Vec<(UserId, AccountChange)> =
        s.store().move_cursors(&moves).await?.into_iter().map(|(user, entry)| (user, entry.change)).collect();
    notes.sort_by_key(|(user, _)| *user);
    let mut expected = vec![(one.ada, AccountChange::ReadMoved(one.id)), (two.bob, AccountChange::ReadMoved(two.id))];
    expected.sort_by_key(|(user, _)| *user);
    assert_eq!(notes, expected, "Bob of the first sent last, Ada of the second reads nothing");
    assert_eq!(cursor(s, one.id, one.ada).await?, marks(5, 5));
    assert_eq!(cursor(s, one.id, one.bob).await?, marks(5, 5));
    assert_eq!(cursor(s, two.id, two.bob).await?, marks(4, 3));
    assert_eq!(s.store().move_cursors(&[]).await?, []);
    Ok(())
}

pub(super) async fn moving_again_changes_nothing(s: &Scene) -> Outcome {
    let chat = chat_with_messages(s, 3).await?;
    move_to(s, chat.id, chat.bob, marks(4, 3)).await?;
    let moved_at = s.now();
    let head = s.store().account_head(chat.bob).await?;
    for (delivered, read) in [(4, 3), (2, 2), (0, 3)] {
        s.advance_ms(10);
        assert_eq!(move_to(s, chat.id, chat.bob, marks(delivered, read)).await?, []);
        let receipts = s.store().receipts(chat.id, Seq::new(2), &[chat.bob]).await?;
        assert_eq!(receipts, [times(chat.bob, Some(moved_at), Some(moved_at))]);
    }
    assert_eq!(cursor(s, chat.id, chat.bob).await?, marks(4, 3));
    assert_eq!(s.store().account_head(chat.bob).await?, head);
    Ok(())
}

pub(super) async fn concurrent_moves_end_at_the_furthest(s: &Scene) -> Outcome {
    let chat = chat_with_messages(s, CALLERS).await?;
    let moves: Vec<CursorMove> = (0..CALLERS as u64)
        .map(|i| {
            s.advance_ms(10);
            // Delivered and read run in opposite directions, so that no single move is the furthest in both.
            at_now(s, chat.id, chat.bob, marks(CALLERS as u64 + 1 - i, i + 1))
        })
        .collect();
    let notes = s.at_once(CALLERS, |i, store| {
        let moved = moves[i];
        async move { store.move_cursors(&[moved]).await }
    });
    let mut noted: Vec<u64> = notes.await?.into_iter().flatten().map(|(_, entry)| entry.seq).collect();
    noted.sort_unstable();
    assert!(!noted.is_empty() && noted.is_sorted_by(|a, b| a < b), "{noted:?}");
    assert_eq!(s.store().account_head(chat.bob).await?, noted[noted.len() - 1]);
    let last = CALLERS as u64;
    assert_eq!(cursor(s, chat.id, chat.bob).await?, marks(last + 1, last));
    let receipts = s.store().receipts(chat.id, Seq::new(last), &[chat.bob]).await?;
    assert_eq!(receipts[0].read_at, Some(moves[CALLERS - 1].at), "one move alone read it");
    Ok(())
}

pub(super) async fn receipts_are_the_first_moves_that_reached_the_entry(s: &Scene) -> Outcome {
    let chat = chat_with_messages(s, 5).await?;
    let sent_at = s.load(chat.id).await?.last_activity_at();
    let mut moved_at = Vec::new();
    for (delivered, read) in [(3, 0), (5, 4), (0, 6)] {
        s.advance_ms(10);
        move_to(s, chat.id, chat.bob, marks(delivered, read)).await?;
        moved_at.push(Some(s.now()));
    }
    let stranger = s.new_user().id;
    for (seq, delivered, read) in [(2, 0, 1), (3, 0, 1), (4, 1, 1), (5, 1, 2), (6, 2, 2)] {
        let receipts = s.store().receipts(chat.id, Seq::new(seq), &[chat.bob, stranger, chat.ada]).await?;
        let of_bob = times(chat.bob, moved_at[delivered], moved_at[read]);
        let of_ada = times(chat.ada, Some(sent_at), Some(sent_at));
        assert_eq!(receipts, [of_bob, times(stranger, None, None), of_ada], "of entry {seq}");
    }
    s.send(chat.id, chat.ada, "one-more").await?;
    let receipts = s.store().receipts(chat.id, Seq::new(7), &[chat.bob]).await?;
    assert_eq!(receipts, [times(chat.bob, None, None)], "not reached yet");
    Ok(())
}

pub(super) async fn a_receipt_stays_when_the_cursor_moves_on(s: &Scene) -> Outcome {
    let chat = chat_with_messages(s, 20).await?;
    let mut moved_at = Vec::new();
    for seq in 2..=21 {
        s.advance_ms(10);
        move_to(s, chat.id, chat.bob, marks(seq, seq)).await?;
        moved_at.push(Some(s.now()));
    }
    for (seq, at) in (2..=21).zip(moved_at) {
        let receipts = s.store().receipts(chat.id, Seq::new(seq), &[chat.bob]).await?;
        assert_eq!(receipts, [times(chat.bob, at, at)], "of entry {seq}");
    }
    Ok(())
}

pub(super) async fn sending_leaves_a_receipt_for_earlier_entries(s: &Scene) -> Outcome {
    let chat = chat_with_messages(s, 3).await?;
    s.advance_ms(10);
    let answer = s.send(chat.id, chat.bob, "an-answer").await?;
    let at = Some(answer.at());
    for seq in 2..=answer.seq.get() {
        let receipts = s.store().receipts(chat.id, Seq::new(seq), &[chat.bob]).await?;
        assert_eq!(receipts, [times(chat.bob, at, at)], "of entry {seq}");
    }
    Ok(())
}

pub(super) async fn an_own_message_counts_as_read_when_it_was_sent(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let mut sent_at = Vec::new();
    for (number, sender) in [chat.ada, chat.ada, chat.bob, chat.bob, chat.ada].into_iter().enumerate() {
        s.advance_ms(10);
        sent_at.push(Some(s.send(chat.id, sender, &format!("m{number}")).await?.at()));
    }
    // Ada had received Bob's messages when she sent the last one, and Bob had received hers when he answered.
    for (seq, by_ada, by_bob) in [(2, Some(0), Some(2)), (3, Some(1), Some(2)), (4, Some(4), Some(2)), (5, Some(4), Some(3)), (6, Some(4), None)] {
        let receipts = s.store().receipts(chat.id, Seq::new(seq), &[chat.ada, chat.bob]).await?;
        let had = |user, by: Option<usize>| times(user, by.and_then(|i| sent_at[i]), by.and_then(|i| sent_at[i]));
        assert_eq!(receipts, [had(chat.ada, by_ada), had(chat.bob, by_bob)], "of entry {seq}");
    }
    Ok(())
}

pub(super) async fn the_cursor_of_a_new_member_is_at_their_joining(s: &Scene) -> Outcome {
    let group = s.group(2).await?;
    let owner = group.owner();
    let sent = s.send(group.id, owner, "before").await?;
    s.advance_ms(10);
    let people = s.people(2);
    let append = s.batch(group.id).await?.join(people[0], None).add(owner, &people[1..]).build();
    let joined = [append.entries[0].clone(), append.entries[1].clone()];
    assert_eq!(s.append(append).await?.len(), 2, "they are told of the conversation, not of having read it");
    for (user, entry) in people.iter().zip(&joined) {
        assert_eq!(s.member(group.id, *user).await?.cursor, Cursor::at(entry.seq, entry.ordinal));
    }
    let at = Some(s.now());
    let receipts = s.store().receipts(group.id, sent.seq, &[people[0], group.members[1], people[1]]).await?;
    let [first, second] = [people[0], people[1]].map(|user| times(user, at, at));
    assert_eq!(receipts, [first, times(group.members[1], None, None), second]);
    let after = s.send(group.id, owner, "after").await?;
    let receipts = s.store().receipts(group.id, after.seq, &people).await?;
    assert_eq!(receipts, people.iter().map(|user| times(*user, None, None)).collect::<Vec<_>>());
    Ok(())
}

pub(super) async fn the_cursor_of_a_returning_member_is_at_their_return(s: &Scene) -> Outcome {
    let group = s.group(2).await?;
    let (owner, bob) = (group.owner(), group.members[1]);
    let first = s.send(group.id, owner, "first").await?;
    s.advance_ms(10);
    move_to(s, group.id, bob, Cursor::at(first.seq, first.ordinal)).await?;
    let read_at = Some(s.now());
    s.append(s.batch(group.id).await?.leave(bob).build()).await?;
    let missed = s.send(group.id, owner, "missed").await?;
    s.advance_ms(10);
    let back = s.batch(group.id).await?.join(bob, None).build();
    let entry = back.entries[0].clone();
    s.append(back).await?;
    let back_at = Some(s.now());
    let here = Cursor::at(entry.seq, entry.ordinal);
    assert_eq!(cursor(s, group.id, bob).await?, here);
    s.advance_ms(10);
    move_to(s, group.id, bob, Cursor::at(missed.seq, missed.ordinal)).await?;
    assert_eq!(cursor(s, group.id, bob).await?, here, "a mark from before does not take it back");
    let receipts = s.store().receipts(group.id, first.seq, &[bob]).await?;
    assert_eq!(receipts, [times(bob, read_at, read_at)], "what was read stays read");
    let receipts = s.store().receipts(group.id, missed.seq, &[bob]).await?;
    assert_eq!(receipts, [times(bob, back_at, back_at)]);
    Ok(())
}

pub(super) async fn cursors_of_a_group_are_the_members_own(s: &Scene) -> Outcome {
    const MEMBERS: usize = 12;
    let group = s.group(MEMBERS).await?;
    let mut batch = s.batch(group.id).await?;
    for number in 0..MEMBERS {
        batch = batch.text(group.owner(), &format!("m{number}"));
    }
    s.append(batch.build()).await?;
    let moves: Vec<CursorMove> = (1..MEMBERS)
        .map(|place| at_now(s, group.id, group.members[place], marks(place as u64 + 2, place as u64 + 1)))
        .collect();
    s.at_once(moves.len(), |i, store| {
        let moved = moves[i];
        async move { store.move_cursors(&[moved]).await }
    })
    .await?;
    for moved in &moves {
        assert_eq!(cursor(s, group.id, moved.user_id).await?, moved.cursor);
        assert_eq!(s.member(group.id, moved.user_id).await?.cursor, moved.cursor);
    }
    let receipts = s.store().receipts(group.id, Seq::new(6), &group.members).await?;
    let read = receipts.iter().filter(|times| times.read_at.is_some()).count();
    assert_eq!(read, MEMBERS - 4, "those who have come so far, and the one who sent it");
    Ok(())
}

/// A chat in which Ada has sent `messages` in one batch: they have the seqs from 2 on, and Bob has read none.
async fn chat_with_messages(s: &Scene, messages: usize) -> Result<Chat, StoreError> {
    let chat = s.chat().await?;
    let mut batch = s.batch(chat.id).await?;
    for number in 0..messages {
        batch = batch.text(chat.ada, &format!("m{number}"));
    }
    s.append(batch.build()).await?;
    Ok(chat)
}

/// A cursor in a log in which every entry except the first is a message.
fn marks(delivered: u64, read: u64) -> Cursor {
    Cursor { delivered: Seq::new(delivered), read: Seq::new(read), read_ordinal: read.saturating_sub(1) }
}

fn at_now(s: &Scene, conversation: ConversationId, user_id: UserId, cursor: Cursor) -> CursorMove {
    CursorMove { conversation, user_id, cursor, at: s.now() }
}

fn times(user_id: UserId, delivered_at: Option<Timestamp>, read_at: Option<Timestamp>) -> ReceiptTimes {
    ReceiptTimes { user_id, delivered_at, read_at }
}

async fn move_to(
    s: &Scene,
    id: ConversationId,
    user: UserId,
    cursor: Cursor,
) -> Result<Vec<(UserId, AccountEntry)>, StoreError> {
    s.store().move_cursors(&[at_now(s, id, user, cursor)]).await
}

async fn cursor(s: &Scene, id: ConversationId, user: UserId) -> Result<Cursor, StoreError> {
    Ok(s.load(id).await?.member(user).expect("they are a member").cursor)
}
