use godwit_domain::model::details::default_permissions;
use godwit_domain::model::{
    Change, ClientId, Created, DetailsChange, Edited, Entry, FanOut, Forwarded, Gone, Invite, InviteToken,
    JoiningTerms, Mentions, Message, MessageBody, MessageState, ReactionChange, ReactionCount, Reply, Target,
};
use godwit_protocol::conversations::{ConversationKind, EditsVisibleTo, HistoryVisibility, Role};
use godwit_protocol::{ConversationId, InviteId, MessageId, Seq, UserId};

use super::{AT, ID, Sample, bodies, read, sample};
use crate::records::{
    ChunkReader, ChunkRecord, LocationRecord, MessageStateRecord, ReactionRecord, SeqRecord,
};

pub(super) fn samples() -> Vec<Sample> {
    let location = LocationRecord { conversation: ConversationId::new(ID), first: Seq::new(300), count: 2 };
    let mut samples = vec![
        sample("seq", &SeqRecord(Seq::new(300))),
        sample("location", &location),
        sample("message state", &MessageStateRecord::from(&message_state())),
        sample("reaction", &ReactionRecord { reaction: "+".into(), at: AT }),
    ];
    for (name, change) in changes() {
        samples.push(sample(name, &ChunkRecord::new(&[entry(5, change)], Seq::new(5))));
    }
    samples.push(sample("chunk", &ChunkRecord::new(&chunk(), Seq::new(5))));
    samples
}

#[test]
fn samples_decode_to_their_values() {
    let mut chunks: Vec<Vec<Entry>> =
        changes().into_iter().map(|(_, change)| vec![entry(5, change)]).collect();
    chunks.push(chunk());
    for written in chunks {
        let (_, value) = sample("chunk", &ChunkRecord::new(&written, Seq::new(5)));
        let key = 5_u64.to_be_bytes();
        let entries = ChunkReader::new(&key, &value, true).unwrap();
        assert_eq!(entries.map(|entry| entry.unwrap().into()).collect::<Vec<Entry>>(), written);
    }
    let record: MessageStateRecord = read(&sample("state", &MessageStateRecord::from(&message_state())));
    assert_eq!(MessageState::from(record), message_state());
}

fn entry(seq: u64, change: Change) -> Entry {
    Entry { seq: Seq::new(seq), id: ID, ordinal: seq - 2, shown: true, change }
}

fn chunk() -> Vec<Entry> {
    let left = || Change::MemberLeft { user_id: UserId::new(2) };
    vec![entry(3, left()), entry(5, left())]
}

fn changes() -> Vec<(&'static str, Change)> {
    let (by, user_id) = (UserId::new(1), UserId::new(2));
    let target = Target { id: MessageId::new(ID), seq: Seq::new(4) };
    let terms = JoiningTerms { visible_from: Seq::new(3), crosses_to: None };
    let crossing = JoiningTerms { visible_from: Seq::ZERO, crosses_to: Some(FanOut::OnRead) };
    let reaction = ReactionChange { user_id, from: Some("-".into()), to: Some("+".into()) };
    let mut changes: Vec<_> =
        bodies().into_iter().map(|(name, body)| (name, Change::Message(message(body)))).collect();
    changes.extend([
        ("created", Change::Created(Box::new(created()))),
        ("edited", Change::Edited { by, target, text: Some("t".into()), mentions: mentions() }),
        ("message deleted", Change::Deleted { by, target }),
        ("expired", Change::Expired { targets: vec![target] }),
        ("reacted", Change::Reacted { target, changes: vec![reaction], counts: counts() }),
        ("members added", Change::MembersAdded { by, user_ids: vec![user_id], terms: crossing }),
        ("member joined", Change::MemberJoined { user_id, invite: Some(InviteId::new(6)), terms }),
        ("member left", Change::MemberLeft { user_id }),
        ("member removed", Change::MemberRemoved { by, user_id }),
        ("member banned", Change::MemberBanned { by, user_id, was_member: true }),
        ("member unbanned", Change::MemberUnbanned { by, user_id }),
        ("role changed", Change::RoleChanged { by, user_id, role: Role::Admin }),
        ("ownership transferred", Change::OwnershipTransferred { by, user_id }),
        ("details changed", Change::DetailsChanged { by, change: Box::new(details_change()) }),
        ("details not changed", Change::DetailsChanged { by, change: Box::default() }),
        ("pinned", Change::Pinned { by, target }),
        ("unpinned", Change::Unpinned { by, target }),
        ("invite created", Change::InviteCreated { invite: Box::new(invite()) }),
        ("invite revoked", Change::InviteRevoked { by, invite_id: InviteId::new(6) }),
        ("conversation deleted", Change::ConversationDeleted { by }),
    ]);
    changes
}

fn message(body: MessageBody) -> Message {
    let target = |id, seq| Target { id: MessageId::new(id), seq: Seq::new(seq) };
    Message {
        id: MessageId::new(ID),
        sender_id: UserId::new(2),
        client_id: ClientId::from_stored("c1"),
        body,
        reply: Some(Reply { to: target(3, 2), root: target(2, 1) }),
        forwarded_from: Some(Forwarded { message_id: MessageId::new(4), sender_id: UserId::new(5) }),
        mentions: mentions(),
        expires_at: Some(AT),
    }
}

fn mentions() -> Mentions {
    Mentions { users: vec![UserId::new(7)], all: true }
}

fn counts() -> Vec<ReactionCount> {
    vec![ReactionCount { reaction: "+".into(), count: 300 }]
}

fn created() -> Created {
    Created {
        by: UserId::new(1),
        kind: ConversationKind::Channel,
        member_ids: vec![UserId::new(1), UserId::new(2)],
        name: "Birds".into(),
        description: Some("d".into()),
        image: Some("https://i".into()),
        permissions: default_permissions(true),
        history: HistoryVisibility::FromJoining,
        fan_out: FanOut::OnRead,
    }
}

fn details_change() -> DetailsChange {
    DetailsChange {
        name: Some("Birds".into()),
        description: Some(None),
        image: Some(Some("https://i".into())),
        permissions: Some(default_permissions(false)),
        history: Some(HistoryVisibility::All),
        edits_visible_to: Some(EditsVisibleTo::Admins),
        message_ttl_secs: Some(Some(300)),
    }
}

fn invite() -> Invite {
    Invite {
        id: InviteId::new(6),
        token: InviteToken::from_bits(7),
        client_id: Some(ClientId::from_stored("i1")),
        created_by: UserId::new(1),
        created_at: AT,
        expires_at: None,
        uses_max: Some(8),
        uses: 1,
    }
}

fn message_state() -> MessageState {
    MessageState {
        through: Seq::new(9),
        edits: vec![Seq::new(6), Seq::new(7)],
        edited: Some(Edited { at: AT, text: "t".into(), mentions: mentions() }.into()),
        gone: Some(Gone { at: AT, by: Some(UserId::new(1)) }),
        reactions: counts(),
        replies: 2,
    }
}
