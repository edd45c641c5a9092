//! Rows of the log: queried values in columns, the rest as JSON.

use godwit_domain::model::{Change, ClientId, Entry};
use godwit_domain::ports::StoreError;
use godwit_protocol::conversations::Role;
use godwit_protocol::{ConversationId, MessageId, Seq, UserId};
use scylla::DeserializeRow;

use crate::records::{StoredChange, StoredMessage, corrupt, from_json, to_json};

/// Whether the history shows an entry: the first clustering column of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Shown = 0,
    Other = 1,
}

/// A row of the log. Messages have a sender and a client id, other entries do not.
#[derive(Debug, DeserializeRow)]
pub(super) struct LogRow {
    pub(super) class: i8,
    pub(super) seq: i64,
    pub(super) id: i64,
    pub(super) ordinal: i64,
    pub(super) sender_id: Option<i64>,
    pub(super) client_id: Option<String>,
    pub(super) body: String,
}

/// The columns of [`LogRow`].
pub(super) const LOG_COLUMNS: &str = "class, seq, id, ordinal, sender_id, client_id, body";

impl Class {
    pub(super) const ALL: [Self; 2] = [Self::Shown, Self::Other];

    pub(super) const fn of(entry: &Entry) -> Self {
        if entry.shown { Self::Shown } else { Self::Other }
    }

    pub(super) const fn number(self) -> i8 {
        self as i8
    }
}

impl LogRow {
    pub(super) const fn seq(&self) -> Seq {
        Seq::new(self.seq.cast_unsigned())
    }

    pub(super) fn into_entry(self, conversation: ConversationId) -> Result<Entry, StoreError> {
        let (seq, id) = (self.seq(), self.id.cast_unsigned());
        let key = || format!("{conversation}/{seq}");
        let change = match (self.sender_id, self.client_id) {
            (Some(sender), Some(client_id)) => {
                let stored: StoredMessage = from_json("log", key, &self.body)?;
                let sender = UserId::new(sender.cast_unsigned());
                let client_id = ClientId::from_stored(client_id);
                Change::Message(stored.into_message(MessageId::new(id), sender, client_id))
            }
            _ => from_json::<StoredChange>("log", key, &self.body)?.into(),
        };
        let shown = self.class == Class::Shown.number();
        Ok(Entry { seq, id, ordinal: self.ordinal.cast_unsigned(), shown, change })
    }
}

/// The column `body` of an entry.
pub(super) fn body_of(change: &Change) -> String {
    match change {
        Change::Message(message) => to_json(&StoredMessage::from(message)),
        change => to_json(&StoredChange::from(change)),
    }
}

/// The body without its content. `None` if it has none, or none any more.
pub(super) fn erased_body_of(change: &Change) -> Option<String> {
    let mut erased = change.clone();
    erased.erase();
    (erased != *change).then(|| body_of(&erased))
}

pub(super) const fn role_name(role: Role) -> &'static str {
    match role {
        Role::Owner => "owner",
        Role::Admin => "admin",
        Role::Member => "member",
    }
}

pub(super) fn role_from_name(conversation: ConversationId, name: &str) -> Result<Role, StoreError> {
    match name {
        "owner" => Ok(Role::Owner),
        "admin" => Ok(Role::Admin),
        "member" => Ok(Role::Member),
        _ => Err(corrupt("members", conversation.to_string(), "an unknown role")),
    }
}
