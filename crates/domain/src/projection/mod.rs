//! What follows from the entries of a log.
//!
//! The log is the truth. Everything else about a conversation (its details, its members, what became of a message, who
//! reacted, whose inbox it is in) follows from it by [`Fold`], and is written down as [`Effects`]. The domain folds entries
//! before it appends them; a store that could not write the effects of an append folds the same entries again.
//!
//! So a fold is a pure function, and folding an entry twice is the same as folding it once: what was already taken in says
//! so by `through`.

mod beginning;
mod effects;
mod fold;
#[cfg(test)]
mod tests;

pub use beginning::{beginning, beginning_again};
pub(crate) use effects::apply;
pub use effects::{Effects, Expiry, InviteWrite, MemberWrite, ReactionWrite, ThreadReply, Unlisting};
pub use fold::{Fold, Needs};
