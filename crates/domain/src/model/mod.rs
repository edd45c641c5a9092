//! The nouns. What a constructor here accepted is valid everywhere else.

pub mod account_log;
pub mod conversation;
pub mod device;
pub mod field;
pub mod message;
pub mod user;

pub use account_log::{AccountChange, AccountEntry, AccountNote, AccountSubject};
pub use conversation::{
    Change, Conversation, ConversationState, Cursor, Entry, Head, Kind, LastMessage, Member, Settings,
    SettingsChange, UserPair,
};
pub use device::{Device, Session};
pub(crate) use field::count_within;
pub use field::{InvalidField, page_limit};
pub use message::{ClientId, Draft, Forwarded, Media, Message, MessageBody};
pub use user::{Avatar, DeviceName, DisplayName, Handle, Password, Phone, SearchPrefix, Subject, User};
