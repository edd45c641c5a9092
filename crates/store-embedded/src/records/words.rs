//! Enums without content, as they are on the disk. Their variants are numbered in the order in which they stand here.

use godwit_domain::model::FanOut;
use godwit_protocol::conversations::{ConversationKind, EditsVisibleTo, HistoryVisibility, Role};
use godwit_protocol::messages::MessageKind;
use serde::{Deserialize, Serialize};

/// An enum of the disk, for one of the domain with the same variants.
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
