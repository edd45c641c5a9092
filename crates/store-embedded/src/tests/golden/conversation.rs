use godwit_domain::model::{
    Ban, Concealed, Conversation, Cursor, Details, FanOut, Head, Invite, InviteToken, Kind, LastMessage,
    Member, MentionOfAll, Pin, SavedDraft, Settings, UserPair,
};
use godwit_protocol::conversations::{EditsVisibleTo, HistoryVisibility, Permissions, Role};
use godwit_protocol::messages::MessageKind;
use godwit_protocol::{ConversationId, InviteId, MessageId, Seq, Timestamp, UserId};

use super::{AT, ID, Sample, read, sample};
use crate::records::{
    ConversationIdRecord, ConversationRecord, CursorRecord, DetailsRecord, HeadRecord, HotListRecord,
    ListingRecord, ListingState, MemberRecord, MoveRecord, PinsRecord, Standing,
};

pub(super) fn samples() -> Vec<Sample> {
    let mut samples: Vec<Sample> =
        kinds().map(|(name, kind)| sample(name, &ConversationRecord::from(&conversation(kind)))).into();
    samples.extend([
        sample("conversation id", &ConversationIdRecord(ConversationId::new(ID))),
        sample("head", &HeadRecord::new(&head(), standing())),
        sample("empty head", &HeadRecord::new(&Head::empty(), Standing::new(AT))),
        sample("details", &DetailsRecord::from(&details())),
        sample("member", &MemberRecord::from(&member(Cursor::default()))),
        sample("cursor", &CursorRecord::new(cursor(), AT)),
        sample("move", &MoveRecord(AT)),
        sample("listing", &ListingRecord::new(ListingState::Ordered, &settings())),
        sample("listing on read", &ListingRecord::new(ListingState::OnRead, &Settings::default())),
        sample("hot list", &HotListRecord(vec![ConversationId::new(ID), ConversationId::new(2)])),
        sample("pins", &PinsRecord(vec![(ConversationId::new(ID), -1)])),
    ]);
    samples
}

#[test]
fn samples_decode_to_their_values() {
    for (name, kind) in kinds() {
        let written = conversation(kind);
        let record: ConversationRecord = read(&sample(name, &ConversationRecord::from(&written)));
        assert_eq!(record.into_conversation(written.id).unwrap(), written);
    }
    let record: HeadRecord = read(&sample("head", &HeadRecord::new(&head(), standing())));
    assert_eq!((record.standing, record.last_shown()), (standing(), Some(Seq::new(4))));
    assert_eq!(record.into_head(), head());
    let record: DetailsRecord = read(&sample("details", &DetailsRecord::from(&details())));
    assert_eq!(record.fan_out(), FanOut::OnRead);
    assert_eq!(Details::from(record), details());
    let record: MemberRecord = read(&sample("member", &MemberRecord::from(&member(Cursor::default()))));
    let moved = Some(CursorRecord::new(cursor(), AT));
    assert_eq!(record.into_member(UserId::new(ID), moved), member(cursor()));
    let record: CursorRecord = read(&sample("cursor", &CursorRecord::new(cursor(), AT)));
    assert_eq!(record.into_cursor(), (cursor(), AT));
    let record: ListingRecord =
        read(&sample("listing", &ListingRecord::new(ListingState::Ordered, &settings())));
    assert_eq!(record.state, ListingState::Ordered);
    assert_eq!(record.into_settings(), settings());
}

fn kinds() -> [(&'static str, Kind); 3] {
    let pair = UserPair::new(UserId::new(1), UserId::new(ID)).unwrap();
    [("direct", Kind::Direct(pair)), ("group", Kind::Group), ("channel", Kind::Channel)]
}

fn conversation(kind: Kind) -> Conversation {
    Conversation { id: ConversationId::new(1), kind, created_by: UserId::new(ID), created_at: AT }
}

fn head() -> Head {
    let last_message = LastMessage {
        id: MessageId::new(ID),
        seq: Seq::new(4),
        sender_id: UserId::new(2),
        kind: MessageKind::Voice,
        event: Some("app.x".into()),
        preview: "hi".into(),
        gone: true,
        expires_at: Some(AT),
    };
    Head { seq: Seq::new(5), id: ID, ordinal: 3, last_message: Some(last_message) }
}

fn standing() -> Standing {
    let [ordered_at, changed_at] = [1, 60_000].map(Timestamp::from_millis);
    Standing { activity_at: AT, ordered_at: Some(ordered_at), changed_at, has_unlisted: true }
}

fn details() -> Details {
    let invite = Invite {
        id: InviteId::new(6),
        token: InviteToken::from_bits(7),
        client_id: None,
        created_by: UserId::new(2),
        created_at: AT,
        expires_at: Some(AT),
        uses_max: Some(8),
        uses: 1,
    };
    Details {
        through: Seq::new(9),
        updated_at: AT,
        name: "Birds".into(),
        description: Some("d".into()),
        image: Some("https://i".into()),
        permissions: Permissions {
            anyone_may_join: true,
            members_may_send: false,
            members_may_add_members: true,
            members_may_edit: false,
        },
        history: HistoryVisibility::FromJoining,
        edits_visible_to: EditsVisibleTo::Admins,
        message_ttl_secs: Some(300),
        member_count: 501,
        staff: vec![(UserId::new(1), Role::Owner), (UserId::new(2), Role::Admin)],
        fan_out: FanOut::OnRead,
        pins: vec![Pin { message_id: MessageId::new(ID), seq: Seq::new(4), by: UserId::new(2), at: AT }],
        invites: vec![invite],
        bans: vec![Ban { user_id: UserId::new(3), by: UserId::new(2), at: AT }],
        mentions_of_all: vec![MentionOfAll { seq: Seq::new(3), by: UserId::new(1) }],
        writers: vec![UserId::new(2)],
        deleted_at: Some(AT),
    }
}

fn member(cursor: Cursor) -> Member {
    Member {
        user_id: UserId::new(ID),
        role: Role::Admin,
        joined_at: AT,
        added_by: Some(UserId::new(1)),
        visible_from: Seq::new(4),
        unlisted: true,
        cursor,
        concealed: Concealed::default(),
        moved_at: AT,
        mentions: vec![Seq::new(5), Seq::new(300)],
    }
}

fn cursor() -> Cursor {
    Cursor { delivered: Seq::new(300), read: Seq::new(2), read_ordinal: 1 }
}

fn settings() -> Settings {
    let draft = SavedDraft { text: "t".into(), reply_to: Some(MessageId::new(3)), updated_at: AT };
    Settings {
        pin: Some(-1),
        archived: false,
        muted_until: Some(AT),
        marked_unread: true,
        cleared: Seq::new(300),
        draft: Some(Box::new(draft)),
    }
}
