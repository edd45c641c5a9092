//! Projections: the state that Godwit computes from the entries of a log.
//!
//! The log is the source of truth. [`Fold`] computes everything else about a conversation from it: details, members, message
//! states, reactions and inbox rows. A store writes the result as [`Effects`]. The domain folds entries before it appends
//! them. A store that crashed before it wrote the effects of an append folds the same entries again.
//!
//! A fold is therefore a pure function, and folding an entry twice has the same result as folding it once: each part of the
//! state has a field `through`, the `seq` of the last entry that it includes.

mod beginning;
mod effects;
mod fold;
#[cfg(test)]
mod tests;

pub use beginning::{beginning, beginning_again};
pub(crate) use effects::apply;
pub use effects::{Effects, Expiry, InviteWrite, MemberWrite, ReactionWrite, ThreadReply, Unlisting};
pub use fold::{Fold, Needs};
