use godwit_protocol::Timestamp;
use godwit_protocol::messages::Change;

use super::*;

const C: ConversationId = ConversationId::new(1);

fn entry(seq: u64) -> LogEntry {
    LogEntry { seq: Seq::new(seq), at: Timestamp::from_millis(0), change: Change::Unknown }
}

fn page(entries: impl IntoIterator<Item = u64>, head: u64) -> LogPage {
    LogPage {
        conversation_id: C,
        entries: entries.into_iter().map(entry).collect(),
        begins: Seq::new(1),
        head: Seq::new(head),
        more: false,
        truncated: false,
    }
}

/// A conversation whose entries up to `seen` were delivered.
fn seen(seen: u64) -> Logs {
    Logs::new(StartAt::Head, [(C, Seq::new(seen))], true)
}

fn offer(logs: &mut Logs, seqs: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut delivered = Vec::new();
    for seq in seqs {
        logs.offer(C, entry(seq), |entry| delivered.push(entry.seq.get()));
    }
    delivered
}

fn give(logs: &mut Logs, page: LogPage) -> (Vec<u64>, Read) {
    let mut delivered = Vec::new();
    let read = logs.page(page, |entry| delivered.push(entry.seq.get()));
    (delivered, read)
}

#[test]
fn the_next_entry_is_delivered_and_an_old_one_dropped() {
    let mut logs = seen(4);
    assert_eq!(offer(&mut logs, [5, 5, 3, 6, 6, 4]), [5, 6]);
    assert_eq!(logs.next_due(), None);
}

#[test]
fn an_early_entry_waits_until_the_gap_is_read() {
    let mut logs = seen(4);
    assert!(offer(&mut logs, [7, 8]).is_empty());
    assert_eq!(logs.next_due(), Some((C, Seq::new(4))));
    assert_eq!(logs.next_due(), None, "one page at a time");
    assert!(offer(&mut logs, [9]).is_empty());
    assert_eq!(give(&mut logs, page([5, 6], 9)), (vec![5, 6, 7, 8, 9], Read::Done));
    assert_eq!((logs.next_due(), logs.held), (None, 0));
}

#[test]
fn a_gap_that_fills_by_itself_is_not_read() {
    let mut logs = seen(4);
    assert_eq!(offer(&mut logs, [6, 5]), [5, 6]);
    assert_eq!(logs.next_due(), None);
}

#[test]
fn a_skipped_entry_is_read_again() {
    let mut logs = seen(4);
    logs.skip(C, Seq::new(6));
    assert_eq!(logs.next_due(), Some((C, Seq::new(4))));
    logs.disconnected();
    assert_eq!(logs.next_due(), Some((C, Seq::new(4))), "a failed read is due again");
    assert_eq!(give(&mut logs, page([5], 6)), (vec![5], Read::Done));
    assert_eq!(logs.next_due(), Some((C, Seq::new(5))), "only a part was read");
    assert_eq!(give(&mut logs, page([], 6)), (vec![], Read::Stuck));
}

#[test]
fn held_entries_are_bounded_and_the_rest_is_read() {
    let (mut logs, many) = (seen(0), 2 * HELD_ENTRIES_MAX as u64);
    assert!(offer(&mut logs, 2..=many).is_empty());
    assert_eq!(logs.held, HELD_ENTRIES_MAX);
    logs.next_due().unwrap();
    let (delivered, _) = give(&mut logs, page([1], many));
    let last = HELD_ENTRIES_MAX as u64 + 1;
    assert_eq!(delivered, (1..=last).collect::<Vec<_>>());
    assert_eq!(logs.next_due(), Some((C, Seq::new(last))));
}

#[test]
fn on_a_first_start_a_conversation_begins_at_its_head() {
    let mut logs = Logs::new(StartAt::Head, [], false);
    // This entry arrived before the list that says where the conversation begins, and is newer than that list.
    assert!(offer(&mut logs, [10]).is_empty());
    assert_eq!(logs.list(C, Seq::new(9), Seq::ZERO), Some(Seq::new(9)));
    logs.listed_all();
    assert_eq!(logs.next_due(), Some((C, Seq::new(9))));
    assert_eq!(give(&mut logs, page([10], 10)), (vec![10], Read::Done));
}

#[test]
fn a_later_conversation_begins_at_its_first_entry() {
    let mut logs = Logs::new(StartAt::Head, [], false);
    assert!(offer(&mut logs, [2]).is_empty());
    logs.listed_all();
    assert_eq!(logs.next_due(), Some((C, Seq::ZERO)));

    let mut logs = Logs::new(StartAt::Head, [], true);
    assert_eq!(logs.list(C, Seq::new(3), Seq::ZERO), Some(Seq::ZERO));
    assert_eq!(logs.next_due(), Some((C, Seq::ZERO)));
}

#[test]
fn invisible_entries_are_skipped() {
    let mut logs = Logs::new(StartAt::Head, [], true);
    assert_eq!(logs.list(C, Seq::new(30), Seq::new(21)), Some(Seq::new(20)), "a user joined a group");
    assert_eq!(logs.next_due(), Some((C, Seq::new(20))));

    // The same, if an entry is the first sign of the conversation.
    let mut logs = Logs::new(StartAt::Head, [], true);
    assert!(offer(&mut logs, [22]).is_empty());
    assert_eq!(logs.next_due(), Some((C, Seq::ZERO)));
    assert_eq!(logs.begins(C, Seq::new(21)), Some(Begin::New(Seq::new(20))));
    assert_eq!(give(&mut logs, page([21, 22], 22)), (vec![21, 22], Read::Done));
    assert_eq!(logs.next_due(), None);

    // The user left, and returned after others had written more.
    assert!(offer(&mut logs, [40]).is_empty());
    logs.next_due().unwrap();
    assert_eq!(logs.begins(C, Seq::new(39)), Some(Begin::Anew(Seq::new(38))));
    assert_eq!(give(&mut logs, page([39, 40], 40)), (vec![39, 40], Read::Done));
    assert_eq!(logs.begins(C, Seq::new(39)), None);
    assert_eq!(logs.held, 0);
}

#[test]
fn a_first_start_can_begin_at_the_first_entry() {
    let mut logs = Logs::new(StartAt::Beginning, [], false);
    assert_eq!(logs.list(C, Seq::new(3), Seq::ZERO), Some(Seq::ZERO));
    assert_eq!(logs.next_due(), Some((C, Seq::ZERO)));
}

#[test]
fn a_truncated_log_resets_the_conversation() {
    let mut logs = seen(4);
    offer(&mut logs, [9]);
    logs.next_due().unwrap();
    let truncated = LogPage { truncated: true, ..page([], 20) };
    assert_eq!(give(&mut logs, truncated), (vec![], Read::Reset(Seq::new(20))));
    assert_eq!(offer(&mut logs, [9, 20, 21]), [21]);
    assert_eq!(logs.held, 0);
}

#[test]
fn a_server_with_fewer_entries_is_verified_before_a_reset() {
    let mut logs = seen(4);
    assert_eq!(logs.list(C, Seq::new(2), Seq::ZERO), None);
    assert_eq!(logs.next_due(), Some((C, Seq::new(4))));
    assert_eq!(give(&mut logs, page([], 4)), (vec![], Read::Done), "the list was merely older");
    assert_eq!(logs.next_due(), None);

    logs.list(C, Seq::new(2), Seq::ZERO);
    logs.next_due().unwrap();
    assert_eq!(logs.ahead_of_server(C), Some(Seq::new(2)));
    assert_eq!(offer(&mut logs, [3]), [3]);
}
