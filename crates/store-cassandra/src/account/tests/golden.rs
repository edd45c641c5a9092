//! Golden rows: a test fails when the format that is written changes, or an older row can no longer be read.

use std::collections::BTreeMap;
use std::fmt::Debug;

use godwit_domain::model::{
    AccountChange, AccountEntry, Avatar, ClientId, Device, DeviceName, DisplayName, Draft, Handle,
    MessageBody, Phone, SavedDraft, Scheduled, ScheduledStage, Session, Settings, Star, Subject, User,
};
use godwit_protocol::sync::GoneReason;
use godwit_protocol::{ConversationId, DeviceId, ErrorCode, MessageId, ScheduledId, Seq, Timestamp, UserId};

use super::super::rows::{DeviceBody, EntryBody, MembershipBody, ProfileBody, ScheduledBody, StarBody};
use super::super::txn::{decode, encode};
use super::super::{InboxPosition, Membership, Section, rows::Key};
use super::memory::USER;

const NOON: Timestamp = Timestamp::from_millis(1_800_000_000_000);

fn read<R: serde::de::DeserializeOwned>(body: &str) -> R {
    decode(USER, Key::PROFILE, body).unwrap()
}

fn check<T: PartialEq + Debug>(value: &T, written: &str, body: &str, read: &T) {
    assert_eq!(written, body);
    assert_eq!(read, value);
}

#[test]
fn profiles() {
    let plain = User::new(USER, Handle::from_stored("ada"), NOON);
    let full = User {
        display_name: DisplayName::from_stored("Ada \"L\""),
        avatar: Some(Avatar::from_stored("https://example.org/a")),
        phone: Some(Phone::from_stored("+34600111222")),
        subject: Some(Subject::from_stored("s-1")),
        password_hash: Some("$argon2id$".to_owned()),
        presence_visible: false,
        read_receipts: false,
        last_seen_at: Some(NOON.plus_millis(1)),
        disabled_at: Some(NOON.plus_millis(2)),
        ..plain.clone()
    };
    for (user, body) in [
        (plain, r#"{"handle":"ada","name":"ada","visible":true,"created":"2027-01-15T08:00:00.000Z"}"#),
        (
            full,
            r#"{"handle":"ada","name":"Ada \"L\"","avatar":"https://example.org/a","phone":"+34600111222","subject":"s-1","password":"$argon2id$","visible":false,"no_receipts":true,"seen":"2027-01-15T08:00:00.001Z","disabled":"2027-01-15T08:00:00.002Z","created":"2027-01-15T08:00:00.000Z"}"#,
        ),
    ] {
        check(&user, &encode(&ProfileBody::from(&user)), body, &read::<ProfileBody>(body).into_user(USER));
    }
}

#[test]
fn devices() {
    let id = DeviceId::new(3);
    let device = |session| Device {
        id,
        user_id: USER,
        name: DeviceName::from_stored("laptop"),
        created_at: NOON,
        last_active_at: NOON.plus_millis(5),
        session,
    };
    let begin = r#"{"name":"laptop","created":"2027-01-15T08:00:00.000Z","active":"2027-01-15T08:00:00.005Z","session":"#;
    for (session, of_session) in [
        (
            Session::Own { generation: 4, refresh_expires_at: NOON },
            r#"{"own":{"generation":4,"expires":"2027-01-15T08:00:00.000Z"}}}"#,
        ),
        (
            Session::Application { key: "phone".into(), tokens_after: None, revoked_at: Some(NOON) },
            r#"{"application":{"key":"phone","revoked":"2027-01-15T08:00:00.000Z"}}}"#,
        ),
    ] {
        let (device, body) = (device(session), format!("{begin}{of_session}"));
        let read = read::<DeviceBody>(&body).into_device(id, USER);
        check(&device, &encode(&DeviceBody::from(&device)), &body, &read);
    }
}

#[test]
fn memberships() {
    let draft = SavedDraft { text: "hm".into(), reply_to: Some(MessageId::new(6)), updated_at: NOON };
    let settings = Settings {
        pin: Some(-2),
        archived: true,
        muted_until: Some(NOON),
        marked_unread: true,
        cleared: Seq::new(4),
        draft: Some(Box::new(draft)),
    };
    let place = Some(InboxPosition { section: Section::of(&settings), at: NOON, version: 8 });
    let full = Membership { listed: true, apart: true, settings, place, revision: 9, through: Seq::new(5) };
    let plain = Membership { listed: true, revision: 9, ..Membership::default() };
    for (membership, body) in [
        (plain, r#"{"revision":9,"listed":true,"through":0,"cleared":0}"#),
        (
            full,
            r#"{"revision":9,"listed":true,"apart":true,"through":5,"pin":-2,"archived":true,"muted":"2027-01-15T08:00:00.000Z","unread":true,"cleared":4,"draft":{"text":"hm","reply_to":"6","updated":"2027-01-15T08:00:00.000Z"},"place":{"section":3,"at":1800000000000,"version":8}}"#,
        ),
    ] {
        let read = read::<MembershipBody>(body).into();
        check(&membership, &encode(&MembershipBody::from(&membership)), body, &read);
    }
    let (pins, body) = (BTreeMap::from([(ConversationId::new(7), -2_i64)]), r#"{"7":-2}"#);
    check(&pins, &encode(&pins), body, &read(body));
}

#[test]
fn stars() {
    let star = Star {
        message_id: MessageId::new(7),
        conversation: ConversationId::new(1),
        seq: Seq::new(3),
        at: NOON,
    };
    let body = r#"{"c":"1","s":3,"t":1800000000000}"#;
    let read = read::<StarBody>(body).into_star(star.message_id);
    check(&star, &encode(&StarBody::from(&star)), body, &read);
}

#[test]
fn scheduled() {
    let id = ScheduledId::new(5);
    let scheduled = |stage| Scheduled {
        id,
        user_id: USER,
        conversation: ConversationId::new(1),
        send_at: NOON,
        draft: Draft {
            client_id: ClientId::from_stored("c"),
            body: Some(MessageBody::Text("later".into())),
            reply_to: Some(MessageId::new(2)),
            forwarded_from: None,
        },
        stage,
    };
    let begin = r#"{"conversation":"1","send_at":"2027-01-15T08:00:00.000Z","draft":{"client_id":"c","body":{"kind":"text","text":"later"},"reply_to":"2"},"stage":"#;
    for (stage, of_stage) in [
        (ScheduledStage::Waiting, r#""waiting"}"#),
        (ScheduledStage::Sending, r#""sending"}"#),
        (ScheduledStage::Failed(ErrorCode::Forbidden), r#"{"failed":"forbidden"}}"#),
        (ScheduledStage::Sent(MessageId::new(9)), r#"{"sent":"9"}}"#),
    ] {
        let (scheduled, body) = (scheduled(stage), format!("{begin}{of_stage}"));
        let read = read::<ScheduledBody>(&body).into_scheduled(id, USER);
        check(&scheduled, &encode(&ScheduledBody::from(&scheduled)), &body, &read);
    }
}

#[test]
fn entries() {
    let (conversation, user, device) = (ConversationId::new(1), UserId::new(2), DeviceId::new(3));
    let (message, scheduled) = (MessageId::new(4), ScheduledId::new(5));
    for (change, of_change) in [
        (AccountChange::ConversationListed(conversation), r#"{"listed":"1"}"#),
        (AccountChange::ConversationGone(conversation, GoneReason::Deleted), r#"{"deleted":"1"}"#),
        (AccountChange::ConversationGone(conversation, GoneReason::Removed), r#"{"removed":"1"}"#),
        (AccountChange::SettingsChanged(conversation), r#"{"settings":"1"}"#),
        (AccountChange::ReadMoved(conversation), r#"{"read":"1"}"#),
        (AccountChange::MessageHidden(message), r#"{"hidden":"4"}"#),
        (AccountChange::MessageStarred(message), r#"{"starred":"4"}"#),
        (AccountChange::MessageUnstarred(message), r#"{"unstarred":"4"}"#),
        (AccountChange::ScheduledUpdated(scheduled), r#"{"scheduled":"5"}"#),
        (AccountChange::ScheduledGone(scheduled), r#"{"scheduled_gone":"5"}"#),
        (AccountChange::UserBlocked(user), r#"{"blocked":"2"}"#),
        (AccountChange::UserUnblocked(user), r#"{"unblocked":"2"}"#),
        (AccountChange::ProfileUpdated, r#""profile""#),
        (AccountChange::DeviceAdded(device), r#"{"device_added":"3"}"#),
        (AccountChange::DeviceRemoved(device), r#"{"device_removed":"3"}"#),
    ] {
        let entry = AccountEntry { seq: 5, at: NOON, change };
        let body = format!(r#"{{"s":5,"t":1800000000000,"c":{of_change}}}"#);
        check(&entry, &encode(&EntryBody::from(&entry)), &body, &read::<EntryBody>(&body).into());
    }
}
