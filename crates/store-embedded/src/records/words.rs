//! Enums without content, as they are stored. The order of their variants is their encoding.

use godwit_domain::model::FanOut;
use godwit_protocol::conversations::{ConversationKind, EditsVisibleTo, HistoryVisibility, Role};
use godwit_protocol::messages::MessageKind;
use serde::{Deserialize, Serialize};

/// A stored enum, for an enum of the domain with the same variants.
macro_rules! words {
    ($($record:ident for $word:ident { $($variant:ident),+ })+) => {$(
        #[derive(Serialize, Deserialize, Clone, Copy)]
        pub(super) enum $record {
            $($variant),+
        }

        impl From<$word> for $record {
            fn from(word: $word) -> Self {
                match word {
                    $($word::$variant => Self::$variant),+
                }
            }
        }

        impl From<$record> for $word {
            fn from(record: $record) -> Self {
                match record {
                    $($record::$variant => Self::$variant),+
                }
            }
        }
    )+};
}

words! {
    ConversationKindRecord for ConversationKind { Direct, Group, Channel }
    RoleRecord for Role { Owner, Admin, Member }
    HistoryRecord for HistoryVisibility { All, FromJoining }
    EditsRecord for EditsVisibleTo { Members, Admins }
    FanOutRecord for FanOut { OnWrite, OnRead }
    MessageKindRecord for MessageKind { Text, Image, File, Voice, System }
}
