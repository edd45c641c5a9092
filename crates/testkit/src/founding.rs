//! Builds new conversations with their first entry, for a store to write. Ids and times come from the generator.

use godwit_domain::model::details::default_permissions;
use godwit_domain::model::{Created, FanOut, Kind, UserPair};
use godwit_domain::ports::NewConversation;
use godwit_domain::projection::beginning;
use godwit_domain::snowflake::IdGenerator;
use godwit_protocol::UserId;
use godwit_protocol::conversations::{ConversationKind, HistoryVisibility};

pub fn new_direct(ids: &IdGenerator, by: UserId, other: UserId) -> (UserPair, NewConversation) {
    let pair = UserPair::new(by, other).expect("a pair has two users");
    (pair, begin(ids, Kind::Direct(pair), Created::direct(by, pair)))
}

/// A group or a channel that its first member creates. `say` adjusts it last.
pub fn new_group(
    ids: &IdGenerator,
    kind: Kind,
    members: &[UserId],
    say: impl FnOnce(&mut Created),
) -> NewConversation {
    let mut created = Created {
        by: members[0],
        kind: if kind == Kind::Channel { ConversationKind::Channel } else { ConversationKind::Group },
        member_ids: members.to_vec(),
        name: "Birds".into(),
        description: None,
        image: None,
        permissions: default_permissions(true),
        history: HistoryVisibility::All,
        fan_out: FanOut::OnWrite,
    };
    created.member_ids.sort_unstable();
    say(&mut created);
    begin(ids, kind, created)
}

fn begin(ids: &IdGenerator, kind: Kind, created: Created) -> NewConversation {
    beginning(ids, kind, created).expect("ids without a lease are not refused")
}
