//! The order of the inbox is always exact, whatever happens to the conversations in it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use godwit_domain::model::{AccountChange, PinChange, Settings, SettingsChange};
use godwit_domain::ports::{
    ActivityPosition, Append, CHANGE_GRAIN_MS, ChangeSettings, ChangedRow, InboxRow, InboxStore,
    UnorderedRow, change_time,
};
use godwit_protocol::sync::GoneReason;
use godwit_protocol::{ConversationId, MessageId, Timestamp, UserId};
use godwit_testkit::Scene;
use godwit_testkit::paging::all_pages;
use proptest::prelude::*;

use super::{Site, hot_list, inbox, order_rows, scene};
use crate::EmbeddedStore;
use crate::inbox::hot::HOT_MS_MAX;
use crate::keys;
use crate::read::Read;

const CHATS: usize = 4;
const GROUPS: usize = 3;

#[derive(Debug, Clone)]
enum Op {
    Send {
        chat: usize,
        is_mine: bool,
    },
    /// A change that is not activity.
    Touch {
        chat: usize,
    },
    Change {
        chat: usize,
        change: SettingsChange,
    },
    Clear {
        chat: usize,
    },
    /// The user leaves a group, or is added to it.
    ComeOrGo {
        group: usize,
    },
    /// A group becomes large.
    Cross {
        group: usize,
    },
    /// The time of messages advances.
    Pass {
        ms: i64,
    },
    /// The store's clock advances, so that hot conversations become due.
    Wait {
        ms: i64,
    },
    Reopen {
        is_closed: bool,
    },
}

fn op() -> impl Strategy<Value = Op> {
    let chat = 0..CHATS + GROUPS;
    let group = CHATS..CHATS + GROUPS;
    let unchanged = SettingsChange::default;
    let change = prop_oneof![
        proptest::option::of(0..3i64).prop_map(move |pin| {
            let pin = Some(pin.map_or(PinChange::Remove, PinChange::Put));
            SettingsChange { pin, ..unchanged() }
        }),
        any::<bool>().prop_map(move |archived| SettingsChange { archived: Some(archived), ..unchanged() }),
        proptest::option::of(Just(Timestamp::from_millis(9)))
            .prop_map(move |until| SettingsChange { muted_until: Some(until), ..unchanged() }),
    ];
    prop_oneof![
        8 => (chat.clone(), any::<bool>()).prop_map(|(chat, is_mine)| Op::Send { chat, is_mine }),
        4 => chat.clone().prop_map(|chat| Op::Touch { chat }),
        4 => (chat.clone(), change).prop_map(|(chat, change)| Op::Change { chat, change }),
        3 => chat.prop_map(|chat| Op::Clear { chat }),
        3 => group.clone().prop_map(|group| Op::ComeOrGo { group }),
        1 => group.prop_map(|group| Op::Cross { group }),
        4 => prop_oneof![Just(1), Just(HOT_MS_MAX - 1), Just(HOT_MS_MAX), Just(CHANGE_GRAIN_MS)].prop_map(|ms| Op::Pass { ms }),
        2 => prop_oneof![Just(HOT_MS_MAX / 2), Just(HOT_MS_MAX), Just(-HOT_MS_MAX)].prop_map(|ms| Op::Wait { ms }),
        1 => any::<bool>().prop_map(|is_closed| Op::Reopen { is_closed }),
    ]
}

/// A user with conversations, half of them opened by others, and with groups of others.
struct World {
    site: Site,
    s: Scene,
    store: Arc<EmbeddedStore>,
    me: UserId,
    /// Each with its other member.
    chats: Vec<(ConversationId, UserId)>,
    expected: Expected,
}

/// The expected inbox.
#[derive(Default)]
struct Expected {
    settings: BTreeMap<ConversationId, Settings>,
    listed: BTreeSet<ConversationId>,
    members_of: BTreeSet<ConversationId>,
    large: BTreeSet<ConversationId>,
    /// The times of changes that are not activity.
    changed: BTreeMap<ConversationId, Timestamp>,
}

impl World {
    async fn new() -> Self {
        let site = Site::new();
        let store = site.open();
        let s = scene(&store);
        let me = s.user().await.unwrap();
        let mut world = Self { site, s, store, me, chats: vec![], expected: Expected::default() };
        for number in 0..CHATS {
            let other = world.s.user().await.unwrap();
            let (by, with) = if number % 2 == 0 { (me, other) } else { (other, me) };
            let id = world.s.open_direct(by, with).await.unwrap();
            world.chats.push((id, other));
            world.expected.members_of.insert(id);
            if by == me {
                world.expected.listed.insert(id);
            }
        }
        for _ in 0..GROUPS {
            let group = world.s.group(3).await.unwrap();
            world.chats.push((group.id, group.owner()));
        }
        world
    }

    async fn apply(mut self, op: Op) -> Self {
        match op {
            Op::Send { chat, is_mine } => {
                let (id, other) = self.chats[chat];
                let is_member = self.expected.members_of.contains(&id);
                self.s.send(id, if is_mine && is_member { self.me } else { other }, "text").await.unwrap();
                self.expected.list(id);
            }
            Op::Touch { chat } => {
                let batch = self.s.batch(self.chats[chat].0).await.unwrap().filler();
                self.append(batch.build()).await;
            }
            Op::Change { chat, change } => {
                let (id, _) = self.chats[chat];
                let note = self.s.note(self.me, AccountChange::SettingsChanged(id));
                let changed = self.store.change_settings(self.me, id, change, note).await.unwrap();
                let ChangeSettings::Changed(settings, _) = changed else { panic!("{changed:?}") };
                self.expected.settings.insert(id, settings);
            }
            Op::Clear { chat } => self.clear(chat).await,
            Op::ComeOrGo { group } => self.come_or_go(group).await,
            Op::Cross { group } => {
                let (id, owner) = self.chats[group];
                if self.expected.large.insert(id) {
                    let new = UserId::new(self.s.id());
                    let batch = self.s.batch(id).await.unwrap().add_crossing(owner, &[new]);
                    let append = batch.build();
                    self.append(append).await;
                    self.expected.listed.remove(&id);
                }
            }
            Op::Pass { ms } => self.s.advance_ms(ms),
            Op::Wait { ms } => self.site.clock.advance_ms(ms),
            Op::Reopen { is_closed } => {
                if is_closed {
                    self.store.close().await.unwrap();
                }
                // The old store must be dropped before the folder is opened again.
                let Self { site, s, store, me, chats, expected } = self;
                drop((s, store));
                let store = site.open();
                self = Self { s: scene(&store), site, store, me, chats, expected };
            }
        }
        self
    }

    async fn append(&mut self, append: Append) {
        if !append.effects.touch.is_empty() {
            let at = change_time(MessageId::new(append.effects.head.id).timestamp());
            self.expected.changed.insert(append.conversation, at);
        }
        self.s.append(append).await.unwrap();
    }

    async fn clear(&mut self, chat: usize) {
        let (id, _) = self.chats[chat];
        if self.expected.members_of.contains(&id) {
            let head = self.s.load(id).await.unwrap().head.seq;
            let note = self.s.note(self.me, AccountChange::ConversationGone(id, GoneReason::Deleted));
            self.store.clear(self.me, id, head, 0, note).await.unwrap();
            self.expected.settings.entry(id).or_default().cleared = head;
            self.expected.listed.remove(&id);
        }
    }

    async fn come_or_go(&mut self, group: usize) {
        let (id, owner) = self.chats[group];
        let batch = self.s.batch(id).await.unwrap();
        if self.expected.members_of.remove(&id) {
            let append = batch.leave(self.me).build();
            self.append(append).await;
            self.expected.listed.remove(&id);
            self.expected.settings.remove(&id);
        } else {
            let append = batch.add(owner, &[self.me]).build();
            self.append(append).await;
            self.expected.members_of.insert(id);
            self.expected.list(id);
        }
    }

    /// The expected rows, with the activity of the conversations themselves.
    async fn rows(&self) -> Vec<InboxRow> {
        let mut rows = Vec::new();
        for conversation in self.expected.listed.iter().copied() {
            let settings = self.expected.settings(conversation);
            let activity_at = self.s.load(conversation).await.unwrap().last_activity_at();
            rows.push(InboxRow { conversation, settings, activity_at });
        }
        rows.sort_by_key(|row| std::cmp::Reverse(row.activity()));
        rows
    }

    /// The expected order of change.
    fn changed(&self, rows: &[InboxRow]) -> Vec<ActivityPosition> {
        let position = |row: &InboxRow| {
            let changed_at = self.expected.changed.get(&row.conversation).copied().unwrap_or_default();
            ActivityPosition { at: row.activity_at.max(changed_at), conversation: row.conversation }
        };
        let mut changed: Vec<_> = rows.iter().map(position).collect();
        changed.sort_by_key(|position| std::cmp::Reverse(*position));
        changed
    }

    async fn check(&self) {
        let rows = self.rows().await;
        for limit in [1, 2, 3, 50] {
            for archived in [false, true] {
                let is_there =
                    |row: &&InboxRow| row.settings.archived == archived && row.settings.pin.is_none();
                let expected: Vec<_> = rows.iter().filter(is_there).cloned().collect();
                let found = inbox(&self.store, self.me, archived, limit).await;
                assert_eq!(found, expected, "in pages of {limit}");
            }
            let changed = self.changed(&rows);
            let floors = changed.iter().map(|position| position.at);
            for floor in floors.chain([Timestamp::from_millis(0), self.s.now().plus_millis(1)]) {
                let expected: Vec<_> =
                    changed.iter().filter(|changed| changed.at >= floor).copied().collect();
                let page = |after| self.store.changed_since(self.me, floor, after, limit);
                let changed = all_pages(limit, ChangedRow::position, page).await.unwrap();
                let changed: Vec<_> = changed.iter().map(ChangedRow::position).collect();
                assert_eq!(changed, expected, "since {floor} in pages of {limit}");
            }
        }
        let mut pinned = self.store.pinned(self.me).await.unwrap();
        pinned.sort_by_key(|row| std::cmp::Reverse(row.activity()));
        assert_eq!(pinned, rows.iter().filter(|r| r.settings.pin.is_some()).cloned().collect::<Vec<_>>());
        let large = self.expected.large.intersection(&self.expected.members_of).copied();
        let large: Vec<UnorderedRow> = large
            .map(|conversation| UnorderedRow { conversation, settings: self.expected.settings(conversation) })
            .collect();
        assert_eq!(self.store.fanned_out_on_read(self.me).await.unwrap(), large);
        self.check_nothing_is_left_behind().await;
    }

    async fn check_nothing_is_left_behind(&self) {
        assert_eq!(order_rows(&self.store, self.me), self.expected.listed.len());
        let all_changes = keys::changes_after(self.me, None, Timestamp::default());
        let changes = self.store.engine.view().all(&all_changes).unwrap().len();
        assert_eq!(
            changes,
            self.expected.listed.iter().filter(|id| self.expected.changed.contains_key(id)).count()
        );
        let hot = hot_list(&self.store, self.me);
        assert!(hot.iter().all(|id| self.expected.listed.contains(id)), "{hot:?} are not in the inbox");
        let all_hot = self.store.engine.view().all(&keys::all_hot()).unwrap().len();
        assert!(hot.len() <= all_hot && all_hot <= self.store.stats().hot_conversations);
        for (id, _) in &self.chats {
            let member = self.s.store().member(*id, self.me).await.unwrap();
            assert_eq!(member.is_some(), self.expected.members_of.contains(id));
            if let Some(member) = member.filter(|_| !self.expected.large.contains(id)) {
                assert_eq!(member.unlisted, !self.expected.listed.contains(id));
            }
        }
    }
}

impl Expected {
    /// An entry that is shown puts a conversation into the inboxes of its members.
    fn list(&mut self, id: ConversationId) {
        if self.members_of.contains(&id) && !self.large.contains(&id) {
            self.listed.insert(id);
        }
    }

    fn settings(&self, id: ConversationId) -> Settings {
        self.settings.get(&id).cloned().unwrap_or_default()
    }
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
