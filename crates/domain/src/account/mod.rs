//! Every rule about one account: its profile and names, its devices, its blocks, its starred, hidden and scheduled messages,
//! and its log.
//!
//! A change of an account is an [`AccountCommand`]. The domain decides it on the stored state of the account, and the
//! decision lists the writes as [`AccountEffect`]s:
//!
//! ```text
//!   use case            store                                            domain
//!   ────────            ─────                                            ──────
//!   create_device ────▶ change_account(command)
//!                         reads the parts that the command needs ◀────── AccountCommand::parts
//!                         asks for a decision                    ──────▶ AccountCommand::decide
//!                         writes the effects if the account has  ◀────── Decision { outcome, effects }
//!                         not changed since it was read;
//!                         otherwise starts again
//!   outcome      ◀─────  returns the outcome
//! ```
//!
//! A store therefore contains no rules and no limits: it knows where the parts of an account are, and how to write effects
//! atomically. In reading order:
//!
//! - [`command`](AccountCommand): the commands, and the parts of the account that each decision reads
//! - [`outcome`](AccountOutcome): the possible outcomes of each command
//! - `decide`: the rules, one function per command
//! - `log`: compaction and bound of the account log
//! - [`limits`](Limit): daily allowances, and the bound of reserved handles
//! - [`pins`](Pins): pinned conversations
//! - [`names`](Name): handles and subjects, which are unique across all accounts
//! - [`change`](UserChange): changes of a profile
//! - [`effects`](AccountEffect): the writes that a decision asks for

mod change;
mod command;
mod decide;
mod effects;
mod limits;
mod log;
mod names;
mod outcome;
mod pins;
#[cfg(test)]
mod tests;

use godwit_protocol::{ConversationId, DeviceId, MessageId, ScheduledId, Seq, Timestamp, UserId};

use crate::model::{AccountEntry, AccountSubject, Device, Scheduled, Settings, User};

pub use change::UserChange;
pub use command::{AccountCommand, AccountPart};
pub use decide::Decision;
pub use effects::{AccountEffect, LogHead, Noted};
pub use limits::{Limit, Spending};
pub(crate) use limits::{recovery_ms, reserved_until};
pub use log::note;
pub use names::Name;
pub use outcome::{
    AccountOutcome, BlockOutcome, ChangeSettings, CreateDevice, CreateUser, Listed, ReplaceScheduled,
    Rotation, ScheduleOutcome, UpdateUser,
};
pub use pins::Pins;

/// The reads that a decision can make on one account. All reads see one state of the account, and the effects are written to
/// that state.
///
/// `Stop` is the reason why a read has no answer. A store that has not loaded a part yet stops the decision with it, loads
/// the part, and decides again from the beginning.
pub trait Account {
    type Stop;

    fn profile(&mut self) -> Result<Option<User>, Self::Stop>;

    /// The user who [holds](Name::is_held_by) a name at the time `at`, unless it is the user of this account. The user for
    /// whom a store has recorded the name may have given it up.
    fn holder(&mut self, name: &Name, at: Option<Timestamp>) -> Result<Option<User>, Self::Stop>;

    fn device(&mut self, id: DeviceId) -> Result<Option<Device>, Self::Stop>;

    /// All devices, including revoked ones.
    fn devices(&mut self) -> Result<Vec<Device>, Self::Stop>;

    fn blocks(&mut self, user: UserId) -> Result<bool, Self::Stop>;

    fn block_count(&mut self) -> Result<usize, Self::Stop>;

    fn has_star(&mut self, message: MessageId) -> Result<bool, Self::Stop>;

    fn star_count(&mut self) -> Result<usize, Self::Stop>;

    fn hides(&mut self, conversation: ConversationId, seq: Seq) -> Result<bool, Self::Stop>;

    /// The number of hidden messages in a conversation.
    fn hidden_count(&mut self, conversation: ConversationId) -> Result<usize, Self::Stop>;

    fn scheduled(&mut self) -> Result<Vec<Scheduled>, Self::Stop>;

    fn scheduled_one(&mut self, id: ScheduledId) -> Result<Option<Scheduled>, Self::Stop>;

    fn settings(&mut self, conversation: ConversationId) -> Result<Settings, Self::Stop>;

    fn pins(&mut self) -> Result<Pins, Self::Stop>;

    fn log_head(&mut self) -> Result<LogHead, Self::Stop>;

    /// The `seq` of the log's entry about a subject.
    fn entry_about(&mut self, subject: AccountSubject) -> Result<Option<u64>, Self::Stop>;

    /// The oldest entry of the log.
    fn oldest_entry(&mut self) -> Result<Option<AccountEntry>, Self::Stop>;
}
