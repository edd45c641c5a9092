//! The bytes of the format. They are on disks: when this test fails, the format has changed, and data that was written
//! before cannot be read any more. Give the record a new version instead, and read both.

use godwit_domain::model::{
    AccountChange, AccountEntry, Avatar, ClientId, Conversation, Cursor, Device, DeviceName, DisplayName,
    Forwarded, Handle, Head, Kind, LastMessage, Media, Message, MessageBody, Phone, Session, Settings,
    Subject, User, UserPair,
};
use godwit_protocol::conversations::{ConversationKind, Role};
use godwit_protocol::messages::MessageKind;
use godwit_protocol::sync::GoneReason;
use godwit_protocol::{ConversationId, DeviceId, MessageId, Seq, Timestamp, UserId};

use super::{Site, scene};
use crate::engine::Bytes;
use crate::keys;
use crate::read::Read;
use crate::records::{
    AccountEntryRecord, AccountHeadRecord, AccountSubjectRecord, ChangeRecord, ConversationRecord,
    CountRecord, CursorRecord, DeviceRecord, HeadRecord, HotRecord, ListingRecord, LocationRecord,
    MemberRecord, MessageRecord, MoveRecord, OrderRecord, OwnerRecord, PairRecord, Record, SentRecord,
    UserRecord,
};

const AT: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const ID: u64 = 0x0080_0000_0000_0001;

fn samples() -> Vec<(&'static str, Bytes)> {
    let mut samples = vec![
        ("user", UserRecord::from(&user()).encode()),
        ("owner", OwnerRecord(UserId::new(ID)).encode()),
        (
            "device",
            DeviceRecord::from(&device(Session::Own { generation: 3, refresh_expires_at: AT })).encode(),
        ),
        (
            "application device",
            DeviceRecord::from(&device(Session::Application {
                key: "k".into(),
                tokens_after: Some(Timestamp::from_millis(1)),
                revoked_at: Some(AT),
            }))
            .encode(),
        ),
        ("count", CountRecord(300).encode()),
        ("account subject", AccountSubjectRecord(300).encode()),
        ("account head", AccountHeadRecord { last: 300, floor: 1, count: 2 }.encode()),
        ("conversation", ConversationRecord::from(&conversation()).encode()),
        ("pair", PairRecord(ConversationId::new(ID)).encode()),
        ("head", HeadRecord::new(head(), AT, Some(Timestamp::from_millis(1))).encode()),
        ("owner of a group", MemberRecord::new(Role::Owner, AT).encode()),
        ("member", MemberRecord::new(Role::Member, AT).encode()),
        (
            "cursor",
            CursorRecord::from(Cursor { delivered: Seq::new(300), read: Seq::new(2), read_ordinal: 1 })
                .encode(),
        ),
        ("move", MoveRecord(AT).encode()),
        (
            "listing",
            ListingRecord::new(true, Settings { pinned: true, archived: false, muted_until: Some(AT) })
                .encode(),
        ),
        ("hot", HotRecord(vec![ConversationId::new(ID), ConversationId::new(2)]).encode()),
        ("order", OrderRecord { muted_until: None }.encode()),
        ("sent", SentRecord(Seq::new(300)).encode()),
        ("location", LocationRecord(ConversationId::new(ID), Seq::new(300)).encode()),
        ("created", created().encode()),
    ];
    samples.extend(account_changes().map(|(name, change)| {
        (name, AccountEntryRecord::from(&AccountEntry { seq: 1, at: AT, change }).encode())
    }));
    samples.extend(
        bodies().map(|(name, body)| (name, MessageRecord::new(Seq::new(5), 3, message(body)).encode())),
    );
    samples
}

fn user() -> User {
    User {
        id: UserId::new(ID),
        handle: Handle::from_stored("ada"),
        display_name: DisplayName::from_stored("Ada"),
        avatar: Some(Avatar::from_stored("https://a")),
        phone: Some(Phone::from_stored("+34600111222")),
        subject: Some(Subject::from_stored("s")),
        password_hash: Some("h".into()),
        presence_visible: true,
        last_seen_at: Some(AT),
        disabled_at: None,
        created_at: AT,
    }
}

fn device(session: Session) -> Device {
    let name = DeviceName::from_stored("phone");
    Device {
        id: DeviceId::new(1),
        user_id: UserId::new(ID),
        name,
        created_at: AT,
        last_active_at: AT,
        session,
    }
}

fn conversation() -> Conversation {
    let pair = UserPair::new(UserId::new(1), UserId::new(ID)).unwrap();
    Conversation {
        id: ConversationId::new(1),
        kind: Kind::Direct(pair),
        created_by: UserId::new(ID),
        created_at: AT,
    }
}

fn head() -> Head {
    let last_message = LastMessage {
        id: MessageId::new(ID),
        seq: Seq::new(4),
        sender_id: UserId::new(2),
        kind: MessageKind::Voice,
        preview: "hi".into(),
    };
    Head { seq: Seq::new(5), id: ID, ordinal: 3, last_message: Some(last_message) }
}

fn created() -> ChangeRecord {
    ChangeRecord::created(
        ID,
        0,
        UserId::new(1),
        ConversationKind::Direct,
        vec![UserId::new(1), UserId::new(2)],
    )
}

fn account_changes() -> [(&'static str, AccountChange); 10] {
    let (c, u, d) = (ConversationId::new(1), UserId::new(2), DeviceId::new(3));
    [
        ("listed", AccountChange::ConversationListed(c)),
        ("deleted", AccountChange::ConversationGone(c, GoneReason::Deleted)),
        ("removed", AccountChange::ConversationGone(c, GoneReason::Removed)),
        ("settings", AccountChange::SettingsChanged(c)),
        ("read", AccountChange::ReadMoved(c)),
        ("blocked", AccountChange::UserBlocked(u)),
        ("unblocked", AccountChange::UserUnblocked(u)),
        ("profile", AccountChange::ProfileUpdated),
        ("device added", AccountChange::DeviceAdded(d)),
        ("device removed", AccountChange::DeviceRemoved(d)),
    ]
}

fn bodies() -> [(&'static str, MessageBody); 5] {
    let media = Media {
        url: "https://m".into(),
        content_type: "image/png".into(),
        size_bytes: 300,
        name: Some("n".into()),
        width: Some(1),
        height: None,
        duration_ms: Some(2),
    };
    [
        ("text", MessageBody::Text("hi".into())),
        ("image", MessageBody::Image { media: media.clone(), caption: Some("c".into()) }),
        ("file", MessageBody::File { media: media.clone(), caption: None }),
        ("voice", MessageBody::Voice { media }),
        ("system", MessageBody::System { event: "app.x".into(), text: None }),
    ]
}

fn message(body: MessageBody) -> Message {
    Message {
        id: MessageId::new(ID),
        sender_id: UserId::new(2),
        client_id: ClientId::from_stored("c1"),
        body,
        reply_to: Some(MessageId::new(3)),
        forwarded_from: Some(Forwarded { message_id: MessageId::new(4), sender_id: UserId::new(5) }),
    }
}

const GOLDEN: &str = "\
user: 010361646103416461010968747470733a2f2f61010c2b3334363030313131323232010173010168010180c0e285e3680080c0e285e368
owner: 018180808080808040
device: 0181808080808080400570686f6e6580c0e285e36880c0e285e368000380c0e285e368
application device: 0181808080808080400570686f6e6580c0e285e36880c0e285e36801016b01020180c0e285e368
count: 01ac02
account subject: 01ac02
account head: 01ac020102
conversation: 0100018180808080808040818080808080804080c0e285e368
pair: 018180808080808040
head: 010581808080808080400301818080808080804004020302686980c0e285e3680102
owner of a group: 010080c0e285e368
member: 010280c0e285e368
cursor: 01ac020201
move: 0180c0e285e368
listing: 010101000180c0e285e368
hot: 0102818080808080804002
order: 0100
sent: 01ac02
location: 018180808080808040ac02
created: 018180808080808040000001020102
listed: 0180c0e285e3680001
deleted: 0180c0e285e3680101
removed: 0180c0e285e3680201
settings: 0180c0e285e3680301
read: 0180c0e285e3680401
blocked: 0180c0e285e3680502
unblocked: 0180c0e285e3680602
profile: 0180c0e285e36807
device added: 0180c0e285e3680803
device removed: 0180c0e285e3680903
text: 0181808080808080400202026331000268690103010405
image: 0181808080808080400202026331010968747470733a2f2f6d09696d6167652f706e67ac0201016e01010001020101630103010405
file: 0181808080808080400202026331020968747470733a2f2f6d09696d6167652f706e67ac0201016e0101000102000103010405
voice: 0181808080808080400202026331030968747470733a2f2f6d09696d6167652f706e67ac0201016e01010001020103010405
system: 018180808080808040020202633104056170702e78000103010405
";

#[test]
fn the_format_does_not_change_unnoticed() {
    let bytes: Vec<String> =
        samples().iter().map(|(name, bytes)| format!("{name}: {}\n", keys::display(bytes))).collect();
    assert_eq!(bytes.concat(), GOLDEN);
}

#[tokio::test]
async fn a_message_is_small() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let chat = s.chat().await.unwrap();
    let client_id = "c0ffee00-0000-4000-8000-000000000000";
    let body = MessageBody::Text("x".repeat(200).into());
    let sent = s.batch(chat.id).await.unwrap().body(chat.ada, client_id, body).build();
    let (id, seq) = (MessageId::new(sent.head.id), sent.head.seq);
    s.append(sent).await.unwrap();
    let view = store.engine.view();
    let rows = [
        keys::message(chat.id, seq),
        keys::client_id(chat.id, chat.ada, &ClientId::from_stored(client_id)),
        keys::location(id),
    ];
    let bytes = |key: &keys::Key| key.bytes.len() + view.bytes(key).unwrap().unwrap().len();
    // The other rows of a send are there once for a conversation, however many messages it has.
    assert!(rows.iter().map(bytes).sum::<usize>() <= 360);
}
