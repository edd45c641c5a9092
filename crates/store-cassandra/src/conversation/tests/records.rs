//! Golden records: a test fails when the format that is written changes, or an older record can no longer be
//! read.

use godwit_domain::model::details::default_permissions;
use godwit_domain::model::{
    Ban, Change, ClientId, Created, Details, DetailsChange, Edited, Entry, FanOut, Forwarded, Gone, Invite,
    InviteToken, JoiningTerms, LastMessage, Media, MentionOfAll, Mentions, Message, MessageBody,
    MessageState, Pin, ReactionChange, ReactionCount, Reply, Target,
};
use godwit_protocol::conversations::{ConversationKind, EditsVisibleTo, HistoryVisibility, Role};
use godwit_protocol::messages::MessageKind;
use godwit_protocol::{ConversationId, InviteId, MessageId, Seq, Timestamp, UserId};

use super::super::rows::{Class, LogRow, body_of, erased_body_of};
use crate::records::{StoredDetails, StoredLastMessage, StoredState, from_json, to_json};

const NOON: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const ADA: UserId = UserId::new(1);
const BOB: UserId = UserId::new(2);

const fn target(id: u64, seq: u64) -> Target {
    Target { id: MessageId::new(id), seq: Seq::new(seq) }
}

fn mentions() -> Mentions {
    Mentions { users: vec![BOB], all: true }
}

fn message(body: MessageBody) -> Message {
    Message {
        id: MessageId::new(9),
        sender_id: ADA,
        client_id: ClientId::from_stored("c1"),
        body,
        reply: None,
        forwarded_from: None,
        mentions: Mentions::default(),
        expires_at: None,
    }
}

fn media() -> Box<Media> {
    Box::new(Media {
        url: "https://a/b".into(),
        content_type: "image/png".into(),
        size_bytes: 3,
        name: Some("b.png".into()),
        width: None,
        height: Some(4),
        duration_ms: None,
    })
}

fn invite() -> Invite {
    Invite {
        id: InviteId::new(3),
        token: InviteToken::from_stored("t"),
        client_id: Some(ClientId::from_stored("i1")),
        created_by: ADA,
        created_at: NOON,
        expires_at: None,
        uses_max: Some(5),
        uses: 1,
    }
}

fn check(change: Change, body: &str) {
    assert_eq!(body_of(&change), body);
    let sender = change.by().filter(|_| matches!(change, Change::Message(_)));
    let row = LogRow {
        class: Class::Shown.number(),
        seq: 5,
        id: 9,
        ordinal: 4,
        sender_id: sender.map(|sender| sender.get().cast_signed()),
        client_id: sender.map(|_| "c1".to_owned()),
        body: body.to_owned(),
    };
    let entry = Entry { seq: Seq::new(5), id: 9, ordinal: 4, shown: true, change };
    assert_eq!(row.into_entry(ConversationId::new(1)).unwrap(), entry);
}

#[test]
fn messages() {
    check(Change::Message(message(MessageBody::Text("hi".into()))), r#"{"kind":"text","text":"hi"}"#);
    let full = Message {
        reply: Some(Reply { to: target(7, 3), root: target(6, 2) }),
        forwarded_from: Some(Forwarded { message_id: MessageId::new(8), sender_id: BOB }),
        mentions: mentions(),
        expires_at: Some(NOON),
        ..message(MessageBody::Image { media: media(), caption: None })
    };
    check(
        Change::Message(full.clone()),
        r#"{"kind":"image","media":{"url":"https://a/b","content_type":"image/png","size_bytes":3,"name":"b.png","height":4},"reply":{"to":{"id":"7","seq":3},"root":{"id":"6","seq":2}},"forwarded_from":{"message_id":"8","sender_id":"2"},"mentions":{"users":["2"],"all":true},"expires_at":"2027-01-15T08:00:00.000Z"}"#,
    );
    let erased = message(MessageBody::Erased(MessageKind::Image));
    check(Change::Message(erased.clone()), r#"{"kind":"erased","was":"image"}"#);
    assert_eq!(erased_body_of(&Change::Message(erased)), None, "nothing is left");
    let left = erased_body_of(&Change::Message(full)).unwrap();
    assert!(
        left.starts_with(r#"{"kind":"erased","was":"image","reply""#) && !left.contains("https"),
        "{left}"
    );
}

#[test]
fn changes_of_messages() {
    let edited = |text: Option<&str>| Change::Edited {
        by: ADA,
        target: target(7, 3),
        text: text.map(Into::into),
        mentions: Mentions::default(),
    };
    check(
        edited(Some("new")),
        r#"{"edited":{"by":"1","target":{"id":"7","seq":3},"text":"new","mentions":{}}}"#,
    );
    check(edited(None), r#"{"edited":{"by":"1","target":{"id":"7","seq":3},"mentions":{}}}"#);
    assert_eq!(erased_body_of(&edited(Some("new"))), Some(body_of(&edited(None))));
    check(
        Change::Deleted { by: ADA, target: target(7, 3) },
        r#"{"deleted":{"by":"1","target":{"id":"7","seq":3}}}"#,
    );
    check(Change::Expired { targets: vec![target(7, 3)] }, r#"{"expired":{"targets":[{"id":"7","seq":3}]}}"#);
    let changes = vec![ReactionChange { user_id: BOB, from: None, to: Some("+".into()) }];
    let counts = vec![ReactionCount { reaction: "+".into(), count: 2 }];
    check(
        Change::Reacted { target: target(7, 3), changes, counts },
        r#"{"reacted":{"target":{"id":"7","seq":3},"changes":[{"user_id":"2","to":"+"}],"counts":[["+",2]]}}"#,
    );
    check(
        Change::Pinned { by: ADA, target: target(7, 3) },
        r#"{"pinned":{"by":"1","target":{"id":"7","seq":3}}}"#,
    );
    check(
        Change::Unpinned { by: ADA, target: target(7, 3) },
        r#"{"unpinned":{"by":"1","target":{"id":"7","seq":3}}}"#,
    );
}

#[test]
fn changes_of_conversations() {
    let created = Created {
        by: ADA,
        kind: ConversationKind::Group,
        member_ids: vec![ADA, BOB],
        name: "Birds".into(),
        description: None,
        image: None,
        permissions: default_permissions(true),
        history: HistoryVisibility::FromJoining,
        fan_out: FanOut::OnWrite,
    };
    check(
        Change::Created(Box::new(created)),
        r#"{"created":{"by":"1","kind":"group","member_ids":["1","2"],"name":"Birds","permissions":{"anyone_may_join":false,"members_may_send":true,"members_may_add_members":true,"members_may_edit":true},"history":"from_joining","fan_out":"on_write"}}"#,
    );
    let terms = JoiningTerms { visible_from: Seq::new(4), crosses_to: Some(FanOut::OnRead) };
    check(
        Change::MembersAdded { by: ADA, user_ids: vec![BOB], terms },
        r#"{"members_added":{"by":"1","user_ids":["2"],"terms":{"visible_from":4,"crosses_to":"on_read"}}}"#,
    );
    let terms = JoiningTerms { crosses_to: None, ..terms };
    check(
        Change::MemberJoined { user_id: BOB, invite: Some(InviteId::new(3)), terms },
        r#"{"member_joined":{"user_id":"2","invite":"3","terms":{"visible_from":4}}}"#,
    );
    check(Change::MemberLeft { user_id: BOB }, r#"{"member_left":{"user_id":"2"}}"#);
    check(Change::MemberRemoved { by: ADA, user_id: BOB }, r#"{"member_removed":{"by":"1","user_id":"2"}}"#);
    check(
        Change::MemberBanned { by: ADA, user_id: BOB, was_member: true },
        r#"{"member_banned":{"by":"1","user_id":"2","was_member":true}}"#,
    );
    check(
        Change::MemberUnbanned { by: ADA, user_id: BOB },
        r#"{"member_unbanned":{"by":"1","user_id":"2"}}"#,
    );
    check(
        Change::RoleChanged { by: ADA, user_id: BOB, role: Role::Admin },
        r#"{"role_changed":{"by":"1","user_id":"2","role":"admin"}}"#,
    );
    check(
        Change::OwnershipTransferred { by: ADA, user_id: BOB },
        r#"{"ownership_transferred":{"by":"1","user_id":"2"}}"#,
    );
    let change = DetailsChange {
        image: Some(None),
        edits_visible_to: Some(EditsVisibleTo::Admins),
        ..DetailsChange::default()
    };
    check(
        Change::DetailsChanged { by: ADA, change: Box::new(change) },
        r#"{"details_changed":{"by":"1","change":{"image":null,"edits_visible_to":"admins"}}}"#,
    );
    check(
        Change::InviteCreated { invite: Box::new(invite()) },
        r#"{"invite_created":{"invite":{"id":"3","token":"t","client_id":"i1","created_by":"1","created_at":"2027-01-15T08:00:00.000Z","uses_max":5,"uses":1}}}"#,
    );
    check(
        Change::InviteRevoked { by: ADA, invite_id: InviteId::new(3) },
        r#"{"invite_revoked":{"by":"1","invite_id":"3"}}"#,
    );
    check(Change::ConversationDeleted { by: ADA }, r#"{"conversation_deleted":{"by":"1"}}"#);
}

#[test]
fn details() {
    let details = Details {
        through: Seq::new(8),
        description: Some("of prey".into()),
        message_ttl_secs: Some(60),
        member_count: 2,
        staff: vec![(ADA, Role::Owner)],
        fan_out: FanOut::OnRead,
        pins: vec![Pin { message_id: MessageId::new(7), seq: Seq::new(3), by: ADA, at: NOON }],
        invites: vec![invite()],
        bans: vec![Ban { user_id: BOB, by: ADA, at: NOON }],
        mentions_of_all: vec![MentionOfAll { seq: Seq::new(3), by: ADA }],
        deleted_at: Some(NOON),
        ..Details::new(NOON, default_permissions(false))
    };
    let body = r#"{"through":8,"updated_at":"2027-01-15T08:00:00.000Z","name":"","description":"of prey","permissions":{"anyone_may_join":false,"members_may_send":false,"members_may_add_members":false,"members_may_edit":false},"history":"all","edits_visible_to":"members","message_ttl_secs":60,"member_count":2,"staff":[["1","owner"]],"fan_out":"on_read","pins":[{"message_id":"7","seq":3,"by":"1","at":"2027-01-15T08:00:00.000Z"}],"invites":[{"id":"3","token":"t","client_id":"i1","created_by":"1","created_at":"2027-01-15T08:00:00.000Z","uses_max":5,"uses":1}],"bans":[["2","1","2027-01-15T08:00:00.000Z"]],"mentions_of_all":[[3,"1"]],"deleted_at":"2027-01-15T08:00:00.000Z"}"#;
    assert_eq!(to_json(&StoredDetails::from(&details)), body);
    let read: StoredDetails = from_json("test", String::new, body).unwrap();
    assert_eq!(Details::from(read), details);
}

#[test]
fn states_and_the_newest_message() {
    let state = MessageState {
        through: Seq::new(8),
        edits: vec![Seq::new(6)],
        edited: Some(Edited { at: NOON, text: "new".into(), mentions: mentions() }.into()),
        gone: Some(Gone { at: NOON, by: Some(ADA) }),
        reactions: vec![ReactionCount { reaction: "+".into(), count: 2 }],
        replies: 3,
    };
    let body = r#"{"through":8,"edits":[6],"edited":{"at":"2027-01-15T08:00:00.000Z","text":"new","mentions":{"users":["2"],"all":true}},"gone":{"at":"2027-01-15T08:00:00.000Z","by":"1"},"reactions":[["+",2]],"replies":3}"#;
    assert_eq!(to_json(&StoredState::from(&state)), body);
    let read: StoredState = from_json("test", String::new, body).unwrap();
    assert_eq!(MessageState::from(read), state);

    let last = LastMessage {
        id: MessageId::new(9),
        seq: Seq::new(5),
        sender_id: ADA,
        kind: MessageKind::System,
        event: Some("member.left".into()),
        preview: "hi".into(),
        gone: true,
        expires_at: Some(NOON),
    };
    let body = r#"{"id":"9","seq":5,"sender_id":"1","kind":"system","event":"member.left","preview":"hi","gone":true,"expires_at":"2027-01-15T08:00:00.000Z"}"#;
    assert_eq!(to_json(&StoredLastMessage::from(&last)), body);
    let read: StoredLastMessage = from_json("test", String::new, body).unwrap();
    assert_eq!(LastMessage::from(read), last);
}
