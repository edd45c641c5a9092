//! Entities and values. Their constructors validate, so the rest of the code can rely on every value.

pub mod account_log;
mod characters;
pub mod conversation;
pub mod details;
pub mod device;
pub mod entry;
pub mod field;
pub mod message;
pub mod message_state;
pub mod password;
pub mod personal;
pub mod settings;
pub mod user;

pub use account_log::{AccountChange, AccountEntry, AccountNote, AccountSubject};
pub use conversation::{
    Concealed, Conversation, ConversationState, Cursor, Head, Kind, LastMessage, Member, UserPair,
};
pub use details::{Ban, Details, DetailsChange, FanOut, Invite, InviteToken, MentionOfAll, Pin};
pub use device::{Device, Session};
pub use entry::{Change, Created, Entry, JoiningTerms, ReactionChange, Target};
pub(crate) use field::count_within;
pub use field::{InvalidField, page_limit};
pub use message::{ClientId, Draft, Forwarded, Media, Mentions, Message, MessageBody, Reply};
pub use message_state::{Edited, Gone, ItemState, LogItem, MessageState, ReactionCount};
pub use password::Password;
pub use personal::{Scheduled, ScheduledStage, Star};
pub use settings::{PinChange, SavedDraft, Settings, SettingsChange, leaves_inbox};
pub use user::{
    Avatar, DeviceName, DisplayName, FormerHandle, Handle, Phone, SearchPrefix, Spent, Subject, User,
};
