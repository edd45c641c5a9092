//! Compares the account log with a simple model.

use std::collections::{BTreeMap, HashMap};

use godwit_domain::model::{AccountChange, AccountEntry, AccountNote};
use godwit_domain::ports::AccountLog;
use godwit_protocol::limits::ACCOUNT_LOG_ENTRIES_MAX;
use godwit_protocol::{ConversationId, Timestamp, UserId};

use super::super::log::{self, whole};
use super::super::rows::{CHUNK, CHUNK_SEQS, EntryBody, Head};
use super::memory::{MemoryAccount, USER};

fn note(change: AccountChange) -> AccountNote {
    AccountNote { user_id: USER, at: Timestamp::from_millis(1_800_000_000_000), change }
}

fn write(account: &mut MemoryAccount, change: AccountChange) -> AccountEntry {
    account.write(|txn| log::write(txn, &note(change))).unwrap()
}

fn stored(account: &MemoryAccount) -> Vec<AccountEntry> {
    let chunks = account.rows.iter().filter(|(key, _)| key.kind == CHUNK);
    let entries = chunks.flat_map(|(_, body)| serde_json::from_str::<Vec<EntryBody>>(body).unwrap());
    entries.map(AccountEntry::from).collect()
}

#[test]
fn the_log_keeps_the_newest_entry_per_subject_and_drops_the_oldest() {
    let mut account = MemoryAccount::default();
    let mut expected = BTreeMap::<u64, AccountEntry>::new();
    let mut newest = HashMap::new();
    let mut floor = 0;
    for number in 3..ACCOUNT_LOG_ENTRIES_MAX as u64 * 3 / 2 {
        let change = match number % 8 {
            0 => AccountChange::ProfileUpdated,
            // Repeatedly about subjects whose entries are old or have been dropped.
            1 => AccountChange::UserBlocked(UserId::new(number / 3)),
            _ => AccountChange::UserBlocked(UserId::new(number)),
        };
        let entry = write(&mut account, change);
        if let Some(replaced) = newest.insert(change.subject(), entry.seq) {
            expected.remove(&replaced);
        }
        expected.insert(entry.seq, entry);
        if expected.len() > ACCOUNT_LOG_ENTRIES_MAX {
            floor = expected.pop_first().map_or(0, |(seq, _)| seq);
        }
    }
    assert!(floor > 0, "the test is about a log that is full");
    assert!(stored(&account).into_iter().eq(expected.into_values()));
    assert_eq!((account.head.log_count, account.head.log_floor), (ACCOUNT_LOG_ENTRIES_MAX as u64, floor));
    let pointers = account.rows.keys().filter(|key| key.kind > CHUNK).count();
    assert_eq!(pointers, ACCOUNT_LOG_ENTRIES_MAX, "nothing is left of what was dropped");
}

#[test]
fn replaced_entries_leave_no_rows() {
    let mut account = MemoryAccount::default();
    let conversation = |id| AccountChange::ReadMoved(ConversationId::new(id));
    let removed = (0..1_000).filter(|number| {
        let before = account.rows.len();
        write(&mut account, conversation(1 + number % 3));
        account.rows.len() < before
    });
    assert!(removed.count() as u64 <= 1_000 / CHUNK_SEQS, "each row that goes is a tombstone");
    assert_eq!(stored(&account).iter().map(|entry| entry.seq).collect::<Vec<_>>(), [998, 999, 1_000]);
    // One query each for the entry to replace and for the chunks of both. The first one finds that the account
    // exists.
    assert_eq!(account.reads, 3);
}

/// A log with one entry per row, about subjects from `first` on.
fn sparse(entries: u64, first: u64) -> AccountLog {
    let entry = |number: u64| {
        let change = AccountChange::UserBlocked(UserId::new(first + number));
        AccountEntry { seq: (number + 1) * CHUNK_SEQS, ..write(&mut MemoryAccount::default(), change) }
    };
    AccountLog { last: (entries + 1) * CHUNK_SEQS, floor: 5, entries: (0..entries).map(entry).collect() }
}

/// Takes one step, and returns whether the log is complete.
fn replace(account: &mut MemoryAccount, log: &AccountLog) -> bool {
    let rows = whole::rows_of(log);
    let replace = |txn: &mut super::super::txn::Txn<'_>| {
        let log_count = log.entries.len() as u64;
        let head = Head { log_last: log.last, log_floor: log.floor, log_count, ..txn.head() };
        whole::replace(txn, &rows, head)
    };
    account.write(replace).unwrap()
}

#[test]
fn notes_can_be_written_to_a_log_that_is_half_replaced() {
    let mut account = MemoryAccount::default();
    // A longer log, one about other subjects, a shorter one, and an empty one.
    for log in [sparse(1_500, 1), sparse(2_000, 1_000), sparse(600, 1), AccountLog::default()] {
        let mut steps = 0;
        while !replace(&mut account, &log) {
            steps += 1;
            for id in (1..3_000).step_by(7) {
                write(&mut account, AccountChange::UserBlocked(UserId::new(id)));
            }
            let newest = account.rows.keys().filter(|key| key.kind > CHUNK).count();
            assert!(account.head.log_count >= newest as u64);
            assert!(steps < 100, "it comes to an end");
        }
        assert_eq!(stored(&account), log.entries);
        assert_eq!((account.head.log_last, account.head.log_floor), (log.last, log.floor));
        assert_eq!(account.head.log_count, log.entries.len() as u64);
    }
    assert!(account.rows.is_empty(), "{:?}", account.rows.keys().next());
}
