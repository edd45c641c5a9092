//! Folding entries twice has the same result as folding them once, wherever a crash interrupted the writes.

use std::collections::BTreeMap;
use std::sync::Arc;

use godwit_protocol::conversations::{ConversationKind, HistoryVisibility, Role};
use godwit_protocol::{ConversationId, InviteId, MessageId, Seq, Timestamp, UserId};

use super::{Effects, Fold, MemberWrite};
use crate::model::details::default_permissions;
use crate::model::{
    Change, ClientId, Conversation, ConversationState, Created, Details, DetailsChange, Entry, FanOut, Head,
    Invite, InviteToken, JoiningTerms, Kind, LogItem, Member, Mentions, Message, MessageBody, MessageState,
    ReactionChange, Reply, Target,
};

const ADA: UserId = UserId::new(1);
const BOB: UserId = UserId::new(2);
const EVE: UserId = UserId::new(3);

/// The data that a store would have written.
#[derive(Debug, Clone, PartialEq)]
struct Written {
    state: ConversationState,
    log: Vec<Entry>,
    messages: BTreeMap<Seq, MessageState>,
    reactions: BTreeMap<(Seq, UserId), Box<str>>,
    replies: BTreeMap<(Seq, u32), Seq>,
    erased: Vec<Seq>,
}

impl Written {
    fn new() -> Self {
        let created_at = Timestamp::from_millis(0);
        let conversation =
            Conversation { id: ConversationId::new(9), kind: Kind::Group, created_by: ADA, created_at };
        let state = ConversationState {
            conversation,
            details: Arc::new(Details::new(created_at, default_permissions(true))),
            head: Head::empty(),
            members: Vec::new(),
        };
        Self {
            state,
            log: Vec::new(),
            messages: BTreeMap::new(),
            reactions: BTreeMap::new(),
            replies: BTreeMap::new(),
            erased: Vec::new(),
        }
    }

    /// Appends the changes as entries and writes their effects.
    fn add(&mut self, changes: Vec<Change>) {
        let mut entries = Vec::new();
        let effects = {
            let mut fold = self.fold();
            for change in changes {
                let id = fold.head().id + (1 << 22);
                let change = match change {
                    Change::Message(message) => {
                        Change::Message(Message { id: MessageId::new(id), ..message })
                    }
                    other => other,
                };
                let entry = fold.next_entry(id, change);
                fold.apply(&entry);
                let item = LogItem::unchanged(entry.clone());
                fold.know_message(item);
                entries.push(entry);
            }
            fold.finish()
        };
        self.log.extend(entries);
        self.write(&effects);
    }

    /// Folds entries again that the log already has.
    fn again(&mut self, from: usize) {
        let entries = self.log[from..].to_vec();
        let effects = {
            let mut fold = self.fold();
            entries.iter().for_each(|entry| fold.apply(entry));
            fold.finish()
        };
        self.write(&effects);
    }

    fn fold(&self) -> Fold<'_> {
        let mut fold = Fold::new(&self.state);
        for entry in self.log.iter().filter(|entry| entry.message().is_some()) {
            let state = self.messages.get(&entry.seq).cloned().unwrap_or_default();
            fold.know_message(LogItem { entry: entry.clone(), state: state.into() });
        }
        fold
    }

    fn write(&mut self, effects: &Effects) {
        effects.apply_to(&mut self.state);
        self.messages.extend(effects.messages.iter().cloned());
        self.erased.extend(&effects.erase);
        self.erased.sort_unstable();
        self.erased.dedup();
        for write in &effects.reactions {
            match &write.reaction {
                Some(reaction) => self.reactions.insert((write.seq, write.user_id), reaction.clone()),
                None => self.reactions.remove(&(write.seq, write.user_id)),
            };
        }
        self.replies.extend(effects.replies.iter().map(|reply| ((reply.root, reply.number), reply.seq)));
    }

    fn member(&self, user: UserId) -> &Member {
        self.state.member(user).unwrap()
    }
}

fn target(seq: u64) -> Target {
    Target { id: MessageId::new(seq << 22), seq: Seq::new(seq) }
}

fn message(by: UserId, mentions: &[UserId], reply: Option<u64>) -> Change {
    Change::Message(Message {
        id: MessageId::new(0),
        sender_id: by,
        client_id: ClientId::from_stored("c"),
        body: MessageBody::Text("hello".into()),
        reply: reply.map(|seq| Reply { to: target(seq), root: target(seq) }),
        forwarded_from: None,
        mentions: Mentions { users: mentions.to_vec(), all: false },
        expires_at: None,
    })
}

fn reacted(seq: u64, user_id: UserId, from: Option<&str>, to: Option<&str>) -> Change {
    let changes = vec![ReactionChange { user_id, from: from.map(Into::into), to: to.map(Into::into) }];
    Change::Reacted { target: target(seq), changes, counts: Vec::new() }
}

fn terms() -> JoiningTerms {
    JoiningTerms { visible_from: Seq::ZERO, crosses_to: None }
}

fn invite(id: u64, uses_max: u32) -> Box<Invite> {
    Box::new(Invite {
        id: InviteId::new(id),
        token: InviteToken::from_bits(id.into()),
        client_id: None,
        created_by: ADA,
        created_at: Timestamp::from_millis(0),
        expires_at: None,
        uses_max: Some(uses_max),
        uses: 0,
    })
}

/// The life of a group, with every kind of change.
fn life() -> Vec<Change> {
    let rename = DetailsChange { name: Some("Fish".into()), ..DetailsChange::default() };
    vec![
        Change::Created(Box::new(Created {
            by: ADA,
            kind: ConversationKind::Group,
            member_ids: vec![ADA, BOB],
            name: "Birds".into(),
            description: None,
            image: None,
            permissions: default_permissions(true),
            history: HistoryVisibility::All,
            fan_out: FanOut::OnWrite,
        })),
        message(ADA, &[BOB], None),
        message(BOB, &[ADA], Some(2)),
        reacted(2, BOB, None, Some("+")),
        reacted(2, BOB, Some("+"), Some("!")),
        reacted(2, ADA, None, Some("!")),
        Change::Edited {
            by: ADA,
            target: target(2),
            text: Some("hi".into()),
            mentions: Mentions { users: vec![BOB], all: true },
        },
        Change::InviteCreated { invite: invite(5, 2) },
        Change::MemberJoined { user_id: EVE, invite: Some(InviteId::new(5)), terms: terms() },
        Change::Pinned { by: ADA, target: target(2) },
        Change::RoleChanged { by: ADA, user_id: EVE, role: Role::Admin },
        message(EVE, &[], Some(2)),
        Change::DetailsChanged { by: EVE, change: Box::new(rename) },
        Change::Deleted { by: ADA, target: target(2) },
        Change::OwnershipTransferred { by: ADA, user_id: BOB },
        Change::MemberRemoved { by: BOB, user_id: EVE },
        Change::MembersAdded { by: BOB, user_ids: vec![EVE], terms: terms() },
        message(ADA, &[EVE, BOB], None),
        Change::Edited {
            by: ADA,
            target: target(18),
            text: Some("bye".into()),
            mentions: Mentions { users: vec![BOB], all: false },
        },
        message(BOB, &[EVE], None),
        Change::Edited {
            by: BOB,
            target: target(20),
            text: Some("no".into()),
            mentions: Mentions::default(),
        },
        Change::Expired { targets: vec![target(18)] },
        Change::InviteRevoked { by: BOB, invite_id: InviteId::new(5) },
        Change::MemberLeft { user_id: ADA },
        Change::MemberBanned { by: BOB, user_id: ADA, was_member: false },
        Change::MemberUnbanned { by: BOB, user_id: ADA },
        Change::MemberBanned { by: BOB, user_id: ADA, was_member: false },
    ]
}

#[test]
fn folding_every_kind_of_change_gives_the_expected_state() {
    let mut written = Written::new();
    written.add(life());
    let details = &written.state.details;
    assert_eq!((&*details.name, details.member_count, details.pins.len()), ("Fish", 2, 0));
    assert_eq!(details.staff, [(BOB, Role::Owner)]);
    assert_eq!(details.bans.iter().map(|ban| ban.user_id).collect::<Vec<_>>(), [ADA]);
    assert!(details.mentions_of_all.is_empty() && details.invites.is_empty());
    assert_eq!(written.member(EVE).role, Role::Member, "who comes back begins anew");
    assert!(written.member(BOB).mentions.is_empty() && written.member(EVE).mentions.is_empty());
    let first = &written.messages[&Seq::new(2)];
    assert_eq!((first.replies, first.edits.len(), first.reactions.len()), (2, 1, 0));
    assert!(first.gone.is_some() && first.edited.is_none());
    assert_eq!(written.erased, [2, 7, 18, 19].map(Seq::new));
    assert_eq!(written.replies.len(), 2);
    assert_eq!(written.state.head.ordinal, 5);
}

#[test]
fn folding_in_steps_equals_folding_at_once() {
    let mut at_once = Written::new();
    at_once.add(life());
    let mut in_steps = Written::new();
    life().into_iter().for_each(|change| in_steps.add(vec![change]));
    assert_eq!(at_once, in_steps);
}

#[test]
fn folding_entries_twice_changes_nothing() {
    let mut whole = Written::new();
    whole.add(life());
    for from in 0..whole.log.len() {
        let mut again = whole.clone();
        again.again(from);
        assert_eq!(again.state.details, whole.state.details, "from {from}");
        assert_eq!(again.messages, whole.messages, "from {from}");
        assert_eq!(again.reactions, whole.reactions, "from {from}");
        assert_eq!(again.erased, whole.erased, "from {from}");
        let members = |written: &Written| {
            let members = written.state.members.iter();
            members.map(|m| (m.user_id, m.role, m.mentions.clone())).collect::<Vec<_>>()
        };
        assert_eq!(members(&again), members(&whole), "from {from}");
    }
}

#[test]
fn folding_again_keeps_a_used_up_or_revoked_invite() {
    let mut written = Written::new();
    written.add(life().into_iter().take(2).collect());
    let [used_up, revoked] = [invite(70, 1), invite(71, 1)];
    let tokens = [used_up.token.clone(), revoked.token.clone()];
    let begun = written.log.len();
    written.add(vec![
        Change::InviteCreated { invite: used_up },
        Change::InviteCreated { invite: revoked },
        Change::MemberJoined { user_id: EVE, invite: Some(InviteId::new(70)), terms: terms() },
        Change::InviteRevoked { by: ADA, invite_id: InviteId::new(71) },
    ]);
    let mut fold = written.fold();
    written.log[begun..].iter().for_each(|entry| fold.apply(entry));
    let again = fold.finish().invites;
    let [used_up, revoked] = tokens;
    assert!(again.iter().all(|write| write.token != used_up || write.usable), "members see where it leads");
    assert!(again.iter().all(|write| write.token != revoked || !write.usable));
}

#[test]
fn the_entry_that_makes_a_conversation_large_names_all_members() {
    let mut written = Written::new();
    written.add(life().into_iter().take(2).collect());
    let terms = JoiningTerms { crosses_to: Some(FanOut::OnRead), ..terms() };
    let join = Change::MemberJoined { user_id: EVE, invite: None, terms };
    let effects = {
        let mut fold = written.fold();
        let entry = fold.next_entry(99 << 22, join);
        fold.apply(&entry);
        fold.finish()
    };
    assert_eq!(effects.cross, [ADA, BOB, EVE]);
    assert!(effects.follow.is_empty());
    assert_eq!(effects.list, [EVE]);
    assert!(matches!(&*effects.members, [MemberWrite::Put(member)] if member.user_id == EVE));
    written.write(&effects);
    assert!(!written.state.is_whole() && written.state.members.is_empty());
}

#[test]
fn deleting_a_large_conversation_keeps_the_rows_of_its_members() {
    let mut written = Written::new();
    written.add(life().into_iter().take(2).collect());
    let ada = written.member(ADA).clone();
    let terms = JoiningTerms { crosses_to: Some(FanOut::OnRead), ..terms() };
    written.add(vec![Change::MemberJoined { user_id: EVE, invite: None, terms }]);
    let mut fold = written.fold();
    fold.know_member(ADA, Some(ada));
    let entry = fold.next_entry(99 << 22, Change::ConversationDeleted { by: ADA });
    fold.apply(&entry);
    let effects = fold.finish();
    assert!(effects.details.is_some_and(|details| details.deleted_at.is_some()));
    assert!(effects.unlist.is_empty());
}
