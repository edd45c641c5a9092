//! Every entry exactly once and in order, whatever the network does.

use std::collections::HashMap;

use godwit_client::ResumeState;
use godwit_client::live::{LiveConfig, StartAt, Update};
use godwit_client::protocol::conversations::MemberCursor;
use godwit_client::protocol::messages::LogPage;
use godwit_client::protocol::people::User;
use godwit_client::protocol::socket::{CloseCode, CursorEvent, EntryOmitted, Event};
use godwit_client::protocol::sync::{AccountChange, AccountEntry, Gone, GoneReason, MovedCursors, SyncPage};
use godwit_client::protocol::{ErrorCode, Seq, UserId};

use crate::fake::{FakeServer, caught_up, eager, entries, next, nothing, soon};
use crate::sample::{C, D, PEER, conversation, log_page, now, problem, sync_page};

#[tokio::test]
async fn a_gap_is_read_from_the_log_and_duplicates_are_dropped() {
    let server = FakeServer::start().await;
    let (_live, mut updates) = server.live(eager());
    let (mut peer, _) = server.sync(sync_page("t1", &[])).await;
    peer.entries(C, [1, 2, 2, 1, 5, 6]).await;
    assert_eq!(entries(&mut updates, C, 2).await, [1, 2]);
    let (id, log) = peer.log_command().await;
    assert_eq!((log.conversation_id, log.after, log.limit), (C, Seq::new(2), Some(200)));
    // Early entries are held until the log was read.
    peer.entries(C, [7]).await;
    nothing(&mut updates).await;
    peer.ok(id, &log_page(C, [3, 4, 5], 7)).await;
    assert_eq!(entries(&mut updates, C, 5).await, [3, 4, 5, 6, 7]);
    peer.entries(C, [7, 8]).await;
    assert_eq!(entries(&mut updates, C, 1).await, [8]);
    peer.stays_quiet().await;
}

#[tokio::test]
async fn an_entry_that_the_server_omits_is_read_from_the_log() {
    let server = FakeServer::start().await;
    let (_live, mut updates) = server.live(eager());
    let (mut peer, _) = server.sync(sync_page("t1", &[])).await;
    peer.entries(C, [1]).await;
    let omitted = || Event::EntryOmitted(EntryOmitted { conversation_id: C, seq: Seq::new(2) });
    peer.event(&omitted()).await;
    let (id, log) = peer.log_command().await;
    assert_eq!((log.conversation_id, log.after), (C, Seq::new(1)));
    peer.ok(id, &log_page(C, [2], 2)).await;
    assert_eq!(entries(&mut updates, C, 2).await, [1, 2]);
    peer.event(&omitted()).await;
    peer.stays_quiet().await;
}

#[tokio::test]
async fn a_long_log_is_read_page_by_page() {
    let server = FakeServer::start().await;
    let (_live, mut updates) = server.live(eager());
    let (mut peer, since) = server.sync(sync_page("t1", &[(C, 450)])).await;
    assert_eq!(since, None);
    for after in [0, 200, 400] {
        let (id, log) = peer.log_command().await;
        assert_eq!(log.after.get(), after);
        peer.ok(id, &log_page(C, after + 1..=(after + 200).min(450), 450)).await;
    }
    assert_eq!(caught_up(&mut updates).await, (1..=450).collect::<Vec<_>>());
    peer.stays_quiet().await;
}

#[tokio::test]
async fn a_disconnect_in_mid_stream_is_resumed() {
    let server = FakeServer::start().await;
    let (_live, mut updates) = server.live(eager());
    let (mut peer, _) = server.sync(sync_page("t1", &[])).await;
    peer.entries(C, [1, 2]).await;
    assert_eq!(entries(&mut updates, C, 2).await, [1, 2]);
    drop(peer);

    // C has new entries since the disconnect; D is listed although it has none.
    let (mut peer, since) = server.sync(sync_page("t2", &[(C, 4)])).await;
    assert_eq!(since.as_deref(), Some("t1"));
    let (id, log) = peer.log_command().await;
    assert_eq!(log.after, Seq::new(2));
    // An event overtakes the page, and the page repeats it.
    peer.entries(C, [5]).await;
    peer.ok(id, &log_page(C, [3, 4, 5], 5)).await;
    assert_eq!(entries(&mut updates, C, 3).await, [3, 4, 5]);
    drop(peer);

    let (mut peer, since) = server.sync(sync_page("t3", &[(C, 5)])).await;
    assert_eq!(since.as_deref(), Some("t2"));
    peer.stays_quiet().await;
    nothing_new(&mut updates).await;
}

/// Checks that the round ends without an entry.
async fn nothing_new(updates: &mut godwit_client::Updates) {
    assert!(caught_up(updates).await.is_empty());
}

#[tokio::test]
async fn a_token_is_adopted_only_after_its_changes_were_delivered() {
    let server = FakeServer::start().await;
    let (_live, mut updates) = server.live(eager());
    let (mut peer, _) = server.sync(sync_page("t1", &[(C, 3)])).await;
    peer.log_command().await;
    drop(peer);
    // The log was not read: resuming from t1 would lose the entries.
    let (mut peer, since) = server.sync(sync_page("t2", &[(C, 3)])).await;
    assert_eq!(since, None);
    assert_eq!(updates.state().token, None);
    let (id, _) = peer.log_command().await;
    peer.ok(id, &log_page(C, 1..=3, 3)).await;
    assert_eq!(caught_up(&mut updates).await, [1, 2, 3]);
    assert_eq!(updates.state().token.as_deref(), Some("t2"));
}

#[tokio::test]
async fn sync_continues_while_there_are_more_pages() {
    let server = FakeServer::start().await;
    let (_live, mut updates) = server.live(eager());
    let first = SyncPage { more: true, ..sync_page("t1", &[(C, 1)]) };
    let (mut peer, _) = server.sync(first).await;
    // The client requests the next page and the log concurrently.
    for _ in 0..2 {
        let frame = peer.command().await;
        match frame.command.name() {
            "sync" => peer.ok(frame.id, &sync_page("t2", &[])).await,
            "log" => peer.ok(frame.id, &log_page(C, [1], 1)).await,
            other => panic!("{other} came unexpectedly"),
        }
    }
    assert_eq!(caught_up(&mut updates).await, [1]);
    assert_eq!(updates.state().token.as_deref(), Some("t2"));
}

#[tokio::test]
async fn a_failed_sync_is_retried() {
    let server = FakeServer::start().await;
    let config = LiveConfig {
        resume: Some(ResumeState { token: Some("t0".into()), ..ResumeState::default() }),
        ..eager()
    };
    let (_live, mut updates) = server.live(config);
    let mut peer = server.sign_in().await;
    let passing = || Err(problem(ErrorCode::Unavailable, 503, true));
    let answers = [
        ("t0", passing()),
        ("t0", Ok(SyncPage { more: true, ..sync_page("middle", &[]) })),
        ("middle", passing()),
        // The tokens of the round have expired. The client must not load everything again.
        ("middle", Err(problem(ErrorCode::InvalidCursor, 400, false))),
        ("t0", Ok(sync_page("t1", &[]))),
    ];
    for (since, answer) in answers {
        let (id, sync) = peer.sync_command().await;
        assert_eq!(sync.since.as_deref(), Some(since));
        match answer {
            Ok(page) => peer.ok(id, &page).await,
            Err(problem) => peer.error(id, problem).await,
        }
    }
    nothing_new(&mut updates).await;
}

#[tokio::test]
async fn a_truncated_log_resets_the_conversation() {
    let server = FakeServer::start().await;
    let mut config = eager();
    config.resume =
        Some(ResumeState { token: Some("t0".into()), account_seq: 0, seen: [(C, Seq::new(10))].into() });
    let (_live, mut updates) = server.live(config);
    let (mut peer, since) = server.sync(sync_page("t1", &[(C, 9_000)])).await;
    assert_eq!(since.as_deref(), Some("t0"));
    let (id, _) = peer.log_command().await;
    peer.ok(id, &LogPage { truncated: true, ..log_page(C, [], 9_000) }).await;
    assert!(matches!(next(&mut updates).await, Update::Conversation(_)));
    let reset = next(&mut updates).await;
    assert!(
        matches!(reset, Update::Reset { conversation_id: C, seq } if seq == Seq::new(9_000)),
        "{reset:?}"
    );
    nothing_new(&mut updates).await;
    peer.entries(C, [9_001]).await;
    assert_eq!(entries(&mut updates, C, 1).await, [9_001]);
    assert_eq!(updates.state().seen[&C], Seq::new(9_001));
}

#[tokio::test]
async fn a_truncated_sync_resets_everything() {
    for refused in [false, true] {
        let server = FakeServer::start().await;
        let mut config = eager();
        config.start = StartAt::Head;
        config.resume = Some(ResumeState {
            token: Some("old".into()),
            account_seq: 0,
            seen: [(C, Seq::new(10)), (D, Seq::new(2))].into(),
        });
        let (_live, mut updates) = server.live(config);
        let mut peer = server.sign_in().await;
        let (id, sync) = peer.sync_command().await;
        assert_eq!(sync.since.as_deref(), Some("old"));
        if refused {
            peer.error(id, problem(ErrorCode::InvalidCursor, 400, false)).await;
        } else {
            peer.ok(id, &SyncPage { truncated: true, ..sync_page("t1", &[]) }).await;
        }
        let update = next(&mut updates).await;
        assert!(matches!(update, Update::ResetAll), "{update:?}");
        assert_eq!(*updates.state(), ResumeState::default());
        // The updates of a first start follow.
        let (id, sync) = peer.sync_command().await;
        assert_eq!(sync.since, None);
        peer.ok(id, &sync_page("t2", &[(C, 12)])).await;
        nothing_new(&mut updates).await;
        assert_eq!(updates.state().seen, [(C, Seq::new(12))].into());
        peer.entries(C, [13]).await;
        assert_eq!(entries(&mut updates, C, 1).await, [13]);
    }
}

#[tokio::test]
async fn a_server_with_fewer_entries_resets_the_conversation() {
    let server = FakeServer::start().await;
    let mut config = eager();
    config.resume =
        Some(ResumeState { token: Some("t0".into()), account_seq: 0, seen: [(C, Seq::new(10))].into() });
    let (_live, mut updates) = server.live(config);
    let (mut peer, _) = server.sync(sync_page("t1", &[(C, 7)])).await;
    let (id, _) = peer.log_command().await;
    peer.error(id, problem(ErrorCode::SeqAheadOfLog, 400, false)).await;
    loop {
        match next(&mut updates).await {
            Update::Reset { conversation_id: C, seq } => break assert_eq!(seq, Seq::new(7)),
            Update::Conversation(_) | Update::CaughtUp => {}
            other => panic!("{other:?} came unexpectedly"),
        }
    }
    peer.entries(C, [8]).await;
    assert_eq!(entries(&mut updates, C, 1).await, [8]);
}

#[tokio::test]
async fn a_first_start_begins_at_the_head() {
    let server = FakeServer::start().await;
    let mut config = eager();
    config.start = StartAt::Head;
    let (_live, mut updates) = server.live(config);
    let mut peer = server.sign_in().await;
    let (id, _) = peer.sync_command().await;
    // Happens after the server has built the page, and arrives before it.
    peer.entries(C, [41]).await;
    peer.ok(id, &sync_page("t1", &[(C, 40)])).await;
    let (id, log) = peer.log_command().await;
    assert_eq!(log.after, Seq::new(40));
    peer.ok(id, &log_page(C, [41], 41)).await;
    assert_eq!(entries(&mut updates, C, 1).await, [41]);
    // A later conversation begins at its first entry.
    peer.entries(D, [1, 2]).await;
    assert_eq!(entries(&mut updates, D, 2).await, [1, 2]);
    peer.stays_quiet().await;
}

#[tokio::test]
async fn another_process_resumes_at_the_same_position() {
    let server = FakeServer::start().await;
    let (live, mut updates) = server.live(eager());
    let (mut peer, _) = server.sync(sync_page("t1", &[])).await;
    peer.entries(C, [1, 2, 3]).await;
    // The third entry is in the queue, but was not taken.
    assert_eq!(entries(&mut updates, C, 2).await, [1, 2]);
    let kept = serde_json::to_string(updates.state()).unwrap();
    live.close().await;
    drop(updates);

    let mut config = eager();
    config.resume = Some(serde_json::from_str(&kept).unwrap());
    let (_live, mut updates) = server.live(config);
    let (mut peer, since) = server.sync(sync_page("t2", &[(C, 3)])).await;
    assert_eq!(since.as_deref(), Some("t1"));
    let (id, log) = peer.log_command().await;
    assert_eq!(log.after, Seq::new(2));
    peer.ok(id, &log_page(C, [3], 3)).await;
    assert_eq!(caught_up(&mut updates).await, [3]);
}

#[tokio::test]
async fn a_slow_application_uses_bounded_memory_and_loses_nothing() {
    const MANY: u64 = 5_000;
    const LIMIT: usize = 50;
    let server = FakeServer::start().await;
    let mut config = eager();
    config.updates_buffered_max = LIMIT;
    let (live, mut updates) = server.live(config);
    let (mut peer, _) = server.sync(sync_page("t1", &[])).await;
    // The client reads the socket although the application takes nothing.
    soon("all events to be read", peer.entries(C, 1..=MANY)).await;
    // A message can be sent in the meantime.
    let sending = tokio::spawn(async move { live.send(D, godwit_client::Draft::text("x")).await });
    let (id, sent) = peer.send_command().await;
    peer.ok(id, &crate::sample::message(D, 1, PEER, &sent)).await;
    soon("the acknowledgement", sending).await.unwrap().unwrap();
    peer.stays_quiet().await;

    // Dropped entries are read again once there is room.
    let (mut taken, mut first_read) = (Vec::new(), None);
    while taken.len() < MANY as usize {
        tokio::select! {
            biased;
            frame = peer.log_command() => {
                let (id, log) = frame;
                first_read.get_or_insert(log.after.get());
                let last = (log.after.get() + 200).min(MANY);
                peer.ok(id, &log_page(C, log.after.get() + 1..=last, MANY)).await;
            }
            more = entries(&mut updates, C, 1) => taken.extend(more),
        }
    }
    assert_eq!(taken, (1..=MANY).collect::<Vec<_>>());
    let kept = first_read.unwrap();
    assert!(kept <= LIMIT as u64, "{kept} were kept");
}

#[tokio::test]
async fn a_slow_application_gets_the_latest_cursors_and_names() {
    const LIMIT: u64 = 50;
    const LATE_MAX: u64 = 1_000;
    let server = FakeServer::start().await;
    let mut config = eager();
    config.updates_buffered_max = LIMIT as usize;
    let (_live, mut updates) = server.live(config);
    let (mut peer, _) = server.sync(sync_page("t1", &[])).await;
    caught_up(&mut updates).await;
    peer.entries(C, 1..=LIMIT).await;
    let user = |name: &str| User { id: PEER, handle: "peer".into(), display_name: name.into(), avatar: None };
    for name in ["first", "second"] {
        peer.event(&Event::UserUpdated(user(name))).await;
    }
    let cursor = |user: u64, read: u64| CursorEvent {
        conversation_id: C,
        cursor: MemberCursor { user_id: UserId::new(user), delivered: Seq::new(read), read: Seq::new(read) },
    };
    for user in 1..LATE_MAX {
        peer.event(&Event::Cursor(cursor(user, 1))).await;
    }
    peer.event(&Event::Cursor(cursor(1, 2))).await;
    peer.stays_quiet().await;
    // There is no room for this cursor.
    peer.event(&Event::Cursor(cursor(LATE_MAX, 1))).await;
    peer.stays_quiet().await;

    let (mut names, mut cursors) = (Vec::new(), HashMap::new());
    while names.is_empty() || (cursors.len() as u64) < LATE_MAX - 1 {
        match next(&mut updates).await {
            Update::UserUpdated(user) => names.push(user.display_name),
            Update::Cursor(event) => {
                let before = cursors.insert(event.cursor.user_id, event.cursor.read.get());
                assert_eq!(before, None, "only the latest is given");
            }
            _ => {}
        }
    }
    assert_eq!(names, ["second"]);
    assert_eq!(cursors[&UserId::new(1)], 2);
    let (id, sync) = peer.sync_command().await;
    assert_eq!(sync.since.as_deref(), Some("t1"));
    let moved = MovedCursors { conversation_id: C, cursors: vec![cursor(LATE_MAX, 1).cursor] };
    peer.ok(id, &SyncPage { cursors: vec![moved], ..sync_page("t2", &[]) }).await;
    assert!(
        matches!(next(&mut updates).await, Update::Cursor(event) if event.cursor.user_id.get() == LATE_MAX)
    );
    caught_up(&mut updates).await;
}

#[tokio::test]
async fn a_failed_log_read_is_retried() {
    let server = FakeServer::start().await;
    let (_live, mut updates) = server.live(eager());
    let (mut peer, _) = server.sync(sync_page("t1", &[(C, 2)])).await;
    let (id, _) = peer.log_command().await;
    peer.error(id, problem(ErrorCode::Unavailable, 503, true)).await;
    let (id, _) = peer.log_command().await;
    // An unexpectedly empty page: the client retries later.
    peer.ok(id, &log_page(C, [], 2)).await;
    let (id, _) = peer.log_command().await;
    peer.ok(id, &log_page(C, [1, 2], 2)).await;
    assert_eq!(caught_up(&mut updates).await, [1, 2]);
}

#[tokio::test]
async fn a_gone_conversation_is_forgotten() {
    let server = FakeServer::start().await;
    let (_live, mut updates) = server.live(eager());
    let (mut peer, _) = server.sync(sync_page("t1", &[])).await;
    peer.entries(C, [1]).await;
    assert_eq!(entries(&mut updates, C, 1).await, [1]);
    drop(peer);
    let gone = Gone { conversation_id: C, reason: GoneReason::Deleted, at: now() };
    let (mut peer, _) = server.sync(SyncPage { gone: vec![gone], ..sync_page("t2", &[(D, 1)]) }).await;
    // D is gone too, before it could be read.
    let (id, _) = peer.log_command().await;
    peer.error(id, problem(ErrorCode::NotFound, 404, false)).await;
    assert!(matches!(next(&mut updates).await, Update::Gone(gone) if gone.conversation_id == C));
    nothing_new(&mut updates).await;
    assert!(!updates.state().seen.contains_key(&C));
    peer.stays_quiet().await;
}

fn account(seq: u64) -> AccountEntry {
    AccountEntry { seq, at: now(), change: AccountChange::ProfileUpdated }
}

#[tokio::test]
async fn account_entries_arrive_once_and_in_order() {
    let server = FakeServer::start().await;
    let (_live, mut updates) = server.live(eager());
    let mut peer = server.sign_in().await;
    let (id, _) = peer.sync_command().await;
    // These two arrive live before the page with the earlier ones.
    peer.event(&Event::Account(account(5))).await;
    peer.event(&Event::Account(account(6))).await;
    peer.ok(id, &SyncPage { account: vec![account(5), account(3)], ..sync_page("t1", &[]) }).await;
    peer.event(&Event::Account(account(6))).await;
    peer.event(&Event::Account(account(7))).await;
    let mut seqs = Vec::new();
    while seqs.len() < 4 {
        match next(&mut updates).await {
            Update::Account(entry) => seqs.push(entry.seq),
            Update::CaughtUp => {}
            other => panic!("{other:?} came unexpectedly"),
        }
    }
    assert_eq!(seqs, [3, 5, 6, 7]);
    assert_eq!(updates.state().account_seq, 7);
}

#[tokio::test]
async fn account_entries_without_room_are_synced_again() {
    let server = FakeServer::start().await;
    let mut config = eager();
    config.updates_buffered_max = 4;
    let (_live, mut updates) = server.live(config);
    let (mut peer, _) = server.sync(sync_page("t1", &[])).await;
    for seq in 1..=10 {
        peer.event(&Event::Account(account(seq))).await;
    }
    peer.stays_quiet().await;
    let mut seqs = Vec::new();
    while seqs.len() < 10 {
        tokio::select! {
            sync = peer.sync_command() => {
                assert_eq!(sync.1.since.as_deref(), Some("t1"));
                let all = (1..=10).map(account).collect();
                peer.ok(sync.0, &SyncPage { account: all, ..sync_page("t2", &[]) }).await;
            }
            update = next(&mut updates) => match update {
                Update::Account(entry) => seqs.push(entry.seq),
                Update::CaughtUp => {}
                other => panic!("{other:?} came unexpectedly"),
            },
        }
    }
    assert_eq!(seqs, (1..=10).collect::<Vec<_>>());
}

#[tokio::test]
async fn cursors_without_room_are_merged() {
    let server = FakeServer::start().await;
    let mut config = eager();
    config.updates_buffered_max = 4;
    let (_live, mut updates) = server.live(config);
    let (mut peer, _) = server.sync(sync_page("t1", &[])).await;
    for seq in 1..=100 {
        let cursor = MemberCursor { user_id: PEER, delivered: Seq::new(seq), read: Seq::ZERO };
        peer.event(&Event::Cursor(CursorEvent { conversation_id: C, cursor })).await;
    }
    peer.stays_quiet().await;
    let (mut last, mut count) = (Seq::ZERO, 0);
    while last < Seq::new(100) {
        match next(&mut updates).await {
            Update::Cursor(event) => {
                assert!(event.cursor.delivered > last, "cursors go forward");
                last = event.cursor.delivered;
                count += 1;
            }
            Update::CaughtUp => {}
            other => panic!("{other:?} came unexpectedly"),
        }
    }
    assert!(count <= 5, "{count} were kept");
}

#[tokio::test]
async fn cursors_that_moved_in_the_meantime_come_with_the_sync() {
    let server = FakeServer::start().await;
    let (_live, mut updates) = server.live(eager());
    let cursor = MemberCursor { user_id: PEER, delivered: Seq::new(3), read: Seq::new(2) };
    let moved = MovedCursors { conversation_id: C, cursors: vec![cursor] };
    let (mut peer, _) = server.sync(SyncPage { cursors: vec![moved], ..sync_page("t1", &[]) }).await;
    let mut told = Vec::new();
    loop {
        match next(&mut updates).await {
            Update::Cursor(event) => told.push((event.conversation_id, event.cursor)),
            Update::CaughtUp => break,
            _ => {}
        }
    }
    assert_eq!(told, [(C, cursor)]);
    peer.stays_quiet().await;
}

#[tokio::test]
async fn the_page_size_shrinks_down_to_one_after_pages_that_were_too_large() {
    let server = FakeServer::start().await;
    let (_live, mut updates) = server.live(eager());
    for limit in [200, 50, 12, 3, 1, 1] {
        let mut peer = server.sign_in().await;
        let (id, sync) = peer.sync_command().await;
        assert_eq!(sync.limit, Some(limit));
        peer.ok(id, &sync_page("t1", &[(C, 1)])).await;
        let (_, log) = peer.log_command().await;
        assert_eq!(log.limit, Some(limit));
        peer.close(CloseCode::TooSlow).await;
    }
    let (mut peer, _) = server.sync(sync_page("t1", &[(C, 1)])).await;
    let (id, _) = peer.log_command().await;
    peer.ok(id, &log_page(C, [1], 1)).await;
    assert_eq!(caught_up(&mut updates).await, [1]);
}

#[tokio::test]
async fn the_session_syncs_periodically_to_find_lost_events() {
    let server = FakeServer::start().await;
    let mut config = eager();
    config.sync_every = Some(std::time::Duration::from_millis(20));
    let (_live, mut updates) = server.live(config);
    let (mut peer, _) = server.sync(sync_page("t1", &[])).await;
    assert!(caught_up(&mut updates).await.is_empty());
    let (id, sync) = peer.sync_command().await;
    assert_eq!(sync.since.as_deref(), Some("t1"));
    // The event of this entry was lost, although the connection is intact.
    let page = SyncPage { conversations: vec![conversation(C, 1, 0)], ..sync_page("t2", &[]) };
    peer.ok(id, &page).await;
    let (id, _) = peer.log_command().await;
    peer.ok(id, &log_page(C, [1], 1)).await;
    assert_eq!(caught_up(&mut updates).await, [1]);
}
