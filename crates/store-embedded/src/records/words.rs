//! Enums without content, as they are stored. The order of their variants is their encoding.

use godwit_domain::model::FanOut;
use godwit_protocol::accounts::MayBeAddedBy;
use godwit_protocol::conversations::{ConversationKind, EditsVisibleTo, HistoryVisibility, Role};
use godwit_protocol::messages::MessageKind;
use godwit_records::records;

records! {
    pub(super) enum ConversationKindRecord for ConversationKind { Direct, Group, Channel }
    pub(super) enum RoleRecord for Role { Owner, Admin, Member }
    pub(super) enum HistoryRecord for HistoryVisibility { All, FromJoining }
    pub(super) enum EditsRecord for EditsVisibleTo { Members, Admins }
    #[derive(Clone, Copy)]
    pub(super) enum FanOutRecord for FanOut { OnWrite, OnRead }
    pub(super) enum MessageKindRecord for MessageKind { Text, Image, File, Voice, System }
    pub(super) enum MayBeAddedByRecord for MayBeAddedBy { Everybody, Contacts, Nobody }
}
