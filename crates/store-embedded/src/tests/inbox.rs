//! The order of the inbox is exact at any time, and a page costs what it shows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use godwit_domain::model::{AccountChange, Settings, SettingsChange};
use godwit_domain::ports::{InboxRow, InboxStore};
use godwit_protocol::{ConversationId, Timestamp, UserId};
use godwit_testkit::Scene;
use godwit_testkit::paging::all_pages;
use proptest::prelude::*;

use super::{Site, inbox, listed, scene};
use crate::EmbeddedStore;
use crate::hot::HOT_MS_MAX;
use crate::keys::{self, Section};
use crate::order::HOT_PER_USER_MAX;
use crate::read::Read;
use crate::records::HotRecord;

const CHATS: usize = 6;

#[derive(Debug, Clone)]
enum Op {
    Send {
        chat: usize,
        is_mine: bool,
    },
    Change {
        chat: usize,
        change: SettingsChange,
    },
    /// The time of messages goes on.
    Pass {
        ms: i64,
    },
    /// The store's clock goes on, so that what is hot becomes due.
    Wait {
        ms: i64,
    },
    Reopen {
        is_closed: bool,
    },
}

fn op() -> impl Strategy<Value = Op> {
    let chat = 0..CHATS;
    let change = prop_oneof![
        any::<bool>().prop_map(|pinned| SettingsChange { pinned: Some(pinned), ..SettingsChange::default() }),
        any::<bool>()
            .prop_map(|archived| SettingsChange { archived: Some(archived), ..SettingsChange::default() }),
        proptest::option::of(Just(Timestamp::from_millis(9)))
            .prop_map(|until| SettingsChange { muted_until: Some(until), ..SettingsChange::default() }),
    ];
    prop_oneof![
        8 => (chat.clone(), any::<bool>()).prop_map(|(chat, is_mine)| Op::Send { chat, is_mine }),
        4 => (chat, change).prop_map(|(chat, change)| Op::Change { chat, change }),
        4 => prop_oneof![Just(1), Just(HOT_MS_MAX - 1), Just(HOT_MS_MAX)].prop_map(|ms| Op::Pass { ms }),
        2 => prop_oneof![Just(HOT_MS_MAX / 2), Just(HOT_MS_MAX), Just(-HOT_MS_MAX)].prop_map(|ms| Op::Wait { ms }),
        1 => any::<bool>().prop_map(|is_closed| Op::Reopen { is_closed }),
    ]
}

/// A user with some conversations, of which others opened half.
struct World {
    site: Site,
    s: Scene,
    store: Arc<EmbeddedStore>,
    me: UserId,
    chats: Vec<(ConversationId, UserId)>,
    settings: BTreeMap<ConversationId, Settings>,
    listed: BTreeSet<ConversationId>,
}

impl World {
    async fn new() -> Self {
        let site = Site::new();
        let store = site.open();
        let s = scene(&store);
        let me = s.user().await.unwrap();
        let mut world =
            Self { site, s, store, me, chats: vec![], settings: BTreeMap::new(), listed: BTreeSet::new() };
        for number in 0..CHATS {
            let other = world.s.user().await.unwrap();
            let (by, with) = if number % 2 == 0 { (me, other) } else { (other, me) };
            let id = world.s.open_direct(by, with).await.unwrap();
            world.chats.push((id, other));
            if by == me {
                world.listed.insert(id);
            }
        }
        world
    }

    async fn apply(mut self, op: Op) -> Self {
        match op {
            Op::Send { chat, is_mine } => {
                let (id, other) = self.chats[chat];
                self.s.send(id, if is_mine { self.me } else { other }, "text").await.unwrap();
                self.listed.insert(id);
            }
            Op::Change { chat, change } => {
                let (id, _) = self.chats[chat];
                let note = self.s.note(self.me, AccountChange::SettingsChanged(id));
                let (settings, _) = self.store.change_settings(self.me, id, change, note).await.unwrap();
                self.settings.insert(id, settings);
            }
            Op::Pass { ms } => self.s.advance_ms(ms),
            Op::Wait { ms } => self.site.clock.advance_ms(ms),
            Op::Reopen { is_closed } => {
                if is_closed {
                    self.store.close().await.unwrap();
                }
                // Nobody may hold the old store when the folder is opened again.
                let Self { site, s, store, me, chats, settings, listed } = self;
                drop((s, store));
                let store = site.open();
                self = Self { s: scene(&store), site, store, me, chats, settings, listed };
            }
        }
        self
    }

    /// What the inbox should be, from the conversations themselves.
    async fn rows(&self) -> Vec<InboxRow> {
        let mut rows = Vec::new();
        for conversation in self.listed.iter().copied() {
            let settings = self.settings.get(&conversation).copied().unwrap_or_default();
            let activity_at = self.s.load(conversation).await.unwrap().last_activity_at();
            rows.push(InboxRow { conversation, settings, activity_at });
        }
        rows.sort_by_key(|row| std::cmp::Reverse(row.activity()));
        rows
    }

    async fn check(&self) {
        let rows = self.rows().await;
        for limit in [1, 2, 3, 50] {
            for archived in [false, true] {
                let mut expected: Vec<_> =
                    rows.iter().filter(|row| row.settings.archived == archived).copied().collect();
                expected.sort_by_key(|row| !row.settings.pinned);
                assert_eq!(
                    inbox(&self.store, self.me, archived, limit).await,
                    expected,
                    "in pages of {limit}"
                );
            }
            for floor in rows
                .iter()
                .map(|row| row.activity_at)
                .chain([Timestamp::from_millis(0), self.s.now().plus_millis(1)])
            {
                let expected: Vec<_> = rows.iter().filter(|row| row.activity_at >= floor).copied().collect();
                let page = |after| self.store.active_since(self.me, floor, after, limit);
                let active = all_pages(limit, InboxRow::activity, page).await.unwrap();
                assert_eq!(active, expected, "since {floor} in pages of {limit}");
            }
        }
        assert_eq!(order_rows(&self.store, self.me), rows.len(), "a moved row leaves nothing behind");
    }
}

fn order_rows(store: &EmbeddedStore, user: UserId) -> usize {
    let sections = [(false, true), (false, false), (true, true), (true, false)];
    let range = |(archived, pinned)| keys::order_after(user, Section { archived, pinned }, None, None);
    sections.map(|section| store.engine.view().all(&range(section)).unwrap().len()).iter().sum()
}

fn hot_list(store: &EmbeddedStore, user: UserId) -> Vec<ConversationId> {
    store.engine.view().record::<HotRecord>(&keys::hot(user)).unwrap().unwrap_or_default().0
}

async fn wait_until_settled(site: &Site, s: &Scene) {
    site.clock.advance_ms(HOT_MS_MAX);
    // Settling goes along with other writes, some at a time.
    for _ in 0..HOT_PER_USER_MAX {
        s.user().await.unwrap();
    }
}

/// Keys that a page of ten makes the engine read.
async fn page_cost(store: &EmbeddedStore, user: UserId) -> u64 {
    let keys_read = || store.engine.keys_read.load(Ordering::Relaxed);
    let before = keys_read();
    store.inbox(user, false, None, 10).await.unwrap();
    keys_read() - before
}

#[test]
fn the_order_is_exact_whatever_happens() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let config = ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(ops in proptest::collection::vec(op(), 1..40))| {
        runtime.block_on(async {
            let mut world = World::new().await;
            for op in ops {
                world = world.apply(op).await;
                world.check().await;
            }
        });
    });
}

#[tokio::test]
async fn a_busy_conversation_becomes_hot_and_is_settled_later() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let chat = s.chat().await.unwrap();
    let other = s.open_direct(chat.ada, s.user().await.unwrap()).await.unwrap();
    s.advance_ms(5);
    s.send(chat.id, chat.ada, "busy").await.unwrap();
    assert_eq!(hot_list(&store, chat.ada), [chat.id]);
    assert_eq!(hot_list(&store, chat.bob), [chat.id]);
    assert_eq!(store.stats().hot_conversations, 1);
    assert_eq!(listed(&store, chat.ada).await, [chat.id, other]);
    wait_until_settled(&site, &s).await;
    assert_eq!((hot_list(&store, chat.ada), hot_list(&store, chat.bob)), (vec![], vec![]));
    assert_eq!(store.stats().hot_conversations, 0);
    assert_eq!(listed(&store, chat.ada).await, [chat.id, other]);
    // After a quiet time the rows are moved at once.
    s.advance_ms(HOT_MS_MAX);
    s.send(chat.id, chat.ada, "quiet").await.unwrap();
    assert_eq!(store.stats().hot_conversations, 0);
    assert_eq!(listed(&store, chat.ada).await, [chat.id, other]);
}

#[tokio::test]
async fn a_clean_stop_settles_everything_and_a_kill_nothing() {
    let site = Site::new();
    let mut chat = None;
    for is_closed in [false, true] {
        let store = site.open();
        let s = scene(&store);
        let new = s.chat().await.unwrap();
        s.advance_ms(1);
        s.send(new.id, new.ada, "busy").await.unwrap();
        if is_closed {
            store.close().await.unwrap();
        }
        chat = Some(new);
        drop((s, store));
        let hot = site.open().stats().hot_conversations;
        assert_eq!(hot, if is_closed { 0 } else { 1 });
    }
    let (store, chat) = (site.open(), chat.unwrap());
    assert_eq!((hot_list(&store, chat.ada), listed(&store, chat.ada).await), (vec![], vec![chat.id]));
}

#[tokio::test]
async fn a_user_with_many_busy_conversations_has_a_bounded_hot_list() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let me = s.user().await.unwrap();
    let mut chats = Vec::new();
    for _ in 0..HOT_PER_USER_MAX + 6 {
        chats.push(s.open_direct(me, s.user().await.unwrap()).await.unwrap());
    }
    for round in 0..2 {
        for chat in &chats {
            s.advance_ms(1);
            s.send(*chat, me, &format!("in round {round}")).await.unwrap();
        }
        let newest_first: Vec<_> = chats.iter().rev().copied().collect();
        for limit in [7, 50, 200] {
            let rows: Vec<_> =
                inbox(&store, me, false, limit).await.iter().map(|row| row.conversation).collect();
            assert_eq!(rows, newest_first, "in pages of {limit}");
        }
        assert_eq!(hot_list(&store, me).len(), HOT_PER_USER_MAX);
    }
    wait_until_settled(&site, &s).await;
    assert_eq!(hot_list(&store, me), []);
    assert_eq!(order_rows(&store, me), chats.len());
}

/// Who writes to somebody for the first time must not make their list longer than it may be.
#[tokio::test]
async fn being_listed_in_a_hot_conversation_keeps_the_bound() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let me = s.user().await.unwrap();
    for _ in 0..HOT_PER_USER_MAX {
        let chat = s.open_direct(me, s.user().await.unwrap()).await.unwrap();
        s.advance_ms(1);
        s.send(chat, me, "busy").await.unwrap();
    }
    let other = s.user().await.unwrap();
    let id = s.open_direct(other, me).await.unwrap();
    for is_listed in [false, true] {
        s.advance_ms(1);
        let members: &[UserId] = if is_listed { &[me, other] } else { &[other] };
        s.append(s.batch(id).await.unwrap().text(other, &is_listed.to_string()).listing_for(members).build())
            .await
            .unwrap();
        assert_eq!(listed(&store, other).await, [id]);
    }
    assert_eq!(hot_list(&store, me).len(), HOT_PER_USER_MAX);
    assert_eq!(listed(&store, me).await[0], id);
    assert_eq!(hot_list(&store, other), []);
}

#[tokio::test]
async fn many_messages_leave_the_cost_of_a_page_as_it_was() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let me = s.user().await.unwrap();
    let mut chats = Vec::new();
    for _ in 0..20 {
        chats.push(s.open_direct(me, s.user().await.unwrap()).await.unwrap());
    }
    let cost_before = page_cost(&store, me).await;
    for number in 0..500 {
        let mut batch = s.batch(chats[3]).await.unwrap();
        for message in 0..200 {
            batch = batch.text(me, &format!("{number}.{message}"));
        }
        s.append(batch.build()).await.unwrap();
        s.advance_ms(100);
        site.clock.advance_ms(100);
    }
    assert_eq!(s.load(chats[3]).await.unwrap().head.ordinal, 100_000);
    assert_eq!(listed(&store, me).await[0], chats[3]);
    let cost_hot = page_cost(&store, me).await;
    assert!(
        cost_hot <= cost_before + 3,
        "{cost_hot} keys, and {cost_before} before: the hot one, its head and settings"
    );
    wait_until_settled(&site, &s).await;
    assert_eq!(page_cost(&store, me).await, cost_before);
    assert_eq!(order_rows(&store, me), chats.len());
}

#[tokio::test]
async fn many_conversations_leave_the_cost_of_a_page_as_it_was() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let me = s.user().await.unwrap();
    let mut cost_of_few = None;
    for count in [20, 2_000] {
        let opened = s.at_once(count, |_, store| {
            let (pair, new) = s.new_direct(me, UserId::new(s.id()));
            async move { store.open_direct(pair, new).await }
        });
        opened.await.unwrap();
        let cost = page_cost(&store, me).await;
        assert_eq!(cost, *cost_of_few.get_or_insert(cost), "with {count} conversations");
    }
}
