//! Tests that the suite can fail: stores that break one contract each, and the case that finds it.
//!
//! - [`faulty`]: a store in front of the model with exactly one fault

mod faulty;

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use async_trait::async_trait;
use godwit_domain::ports::Store;
use godwit_testkit::conformance::CASES;
use godwit_testkit::{ModelStore, StoreFactory, TestClock, conformance, replay};

use faulty::{Fault, Faulty};

/// Each fault, and the case that must find it.
const FOUND_BY: &[(Fault, &str)] = &[
    (Fault::HandleIsTakenTwice, "users::a_taken_handle_is_refused"),
    (Fault::RefusedUpdateWritesNote, "user_updates::a_taken_handle_changes_nothing"),
    (Fault::SearchRepeatsUsers, "search::a_user_with_several_matching_words_is_found_once"),
    (Fault::EveryRotationWins, "devices::one_of_many_concurrent_rotations_wins"),
    (Fault::BlocksAreMutual, "blocks::a_block_has_a_direction"),
    (Fault::ReopeningReportsCreation, "direct::opening_a_conversation_again_changes_nothing"),
    (Fault::IdempotencyKeysAreIgnored, "groups::concurrent_callers_with_a_key_create_one_group"),
    (Fault::AppendIgnoresTheHead, "append::a_wrong_head_is_refused_and_nothing_is_written"),
    (
        Fault::AppendChecksHeadSeparately,
        "append::one_of_many_concurrent_appends_wins_and_the_others_write_nothing",
    ),
    (Fault::RefusedAppendLeavesClientIds, "append::a_wrong_head_is_refused_and_nothing_is_written"),
    (Fault::EntriesBeginTooEarly, "history::entries_begin_after_and_end_at_the_limit"),
    (Fault::HistoryCountsHiddenEntries, "notices::other_entries_take_no_place_on_a_page"),
    (Fault::SentAsForgetsOldMessages, "history::a_message_is_found_by_the_client_id_of_its_sender"),
    (Fault::SeqAtSkipsEqualTimes, "history::seq_at_is_the_first_entry_that_is_not_older"),
    (Fault::EditsAreNotErased, "message_states::a_deleted_message_keeps_only_its_place"),
    (Fault::MentionsAreDropped, "members::mentions_wait_until_they_are_read"),
    (Fault::ChangedMembersLoseTheirCursor, "members::a_change_of_a_member_leaves_their_cursor"),
    (Fault::RemovedReactionsStay, "reactions::a_removed_reaction_leaves_nothing"),
    (Fault::RepliesRepeatOnTheNextPage, "threads::pages_go_through_a_thread"),
    (Fault::RevokedInvitesStillWork, "details::an_invite_leads_to_its_conversation_until_it_is_revoked"),
    (Fault::ExpiriesStayDue, "expiries::a_forgotten_expiry_is_not_due_again"),
    (Fault::CursorsGoBack, "cursors::cursors_move_forward_only"),
    (Fault::ReadMovesLeaveNoNote, "cursors::moved_read_marks_are_noted"),
    (Fault::ReceiptsAreOfTheNextEntry, "cursors::receipts_are_the_first_moves_that_reached_the_entry"),
    (Fault::InboxLosesARowBetweenPages, "inbox::pages_of_any_size_give_each_row_once_in_order"),
    (Fault::InboxListsPinnedConversations, "inbox::pinned_conversations_are_a_list_of_their_own"),
    (Fault::ChangedSinceSkipsTheFloor, "changes::changed_since_begins_at_the_floor"),
    (Fault::ChangesWithoutActivityAreNotListed, "changes::every_change_is_listed_for_every_member"),
    (Fault::MovedCursorsAreNotListed, "changes::a_moved_cursor_is_listed_for_every_member"),
    (Fault::ChangesRepeatOnTheNextPage, "changes::each_conversation_is_listed_once_at_its_latest_change"),
    (Fault::SettingsAreReplaced, "settings::a_change_keeps_other_settings"),
    (Fault::GoneForTheWrongReason, "listing::a_departed_member_loses_the_conversation_and_its_settings"),
    (Fault::RelistedAtItsOldPosition, "listing::a_returning_member_has_it_as_a_new_conversation"),
    (Fault::ClearingHidesLaterMessages, "clearing::a_later_message_keeps_it_in_the_inbox"),
    (Fault::ClearedIsNeverRelisted, "clearing::an_append_decided_before_the_clearing_brings_it_back"),
    (Fault::CrossingDuplicatesRows, "fan_out::crossing_moves_every_row_once_with_its_settings"),
    (Fault::CrossingSkipsAMember, "fan_out::crossing_moves_every_row_once_with_its_settings"),
    (Fault::LargeConversationsLoadMembers, "fan_out::members_are_loaded_one_by_one"),
    (
        Fault::ConcealedEntriesReappear,
        "hidden::concealed_entries_come_with_the_member_and_outlive_the_membership",
    ),
    (Fault::OnlyOneHiderIsFound, "hidden::users_who_have_hidden_a_message_are_found"),
    (Fault::StarsAreUnbounded, "stars::stars_are_bounded"),
    (Fault::EveryClaimWins, "scheduled::one_of_many_concurrent_claims_wins"),
    (Fault::ClaimsCompareOnlyTheStage, "scheduled::an_unread_change_is_not_overwritten"),
    (Fault::AccountLogLosesAnEntry, "account_log::pages_go_through_the_log"),
    (Fault::AccountLogHidesTruncation, "account_log::a_truncated_log_reports_the_gap"),
];

/// Faults that random operations must find too.
const FOUND_BY_REPLAY: &[Fault] = &[
    Fault::AppendIgnoresTheHead,
    Fault::SentAsForgetsOldMessages,
    Fault::EditsAreNotErased,
    Fault::MentionsAreDropped,
    Fault::RemovedReactionsStay,
    Fault::CursorsGoBack,
    Fault::InboxLosesARowBetweenPages,
    Fault::ChangesWithoutActivityAreNotListed,
    Fault::MovedCursorsAreNotListed,
    Fault::CrossingSkipsAMember,
    Fault::EveryClaimWins,
    Fault::AccountLogLosesAnEntry,
];

/// One sequence in eight finds the rarest of these faults, so one run in a thousand of [`replay::SEQUENCES`] misses it. This
/// test must not miss it: it tries up to this many sequences and ends when the fault is found.
const SEQUENCES_UNTIL_FOUND: u32 = 16 * replay::SEQUENCES;

struct Mutant(Fault);

#[async_trait]
impl StoreFactory for Mutant {
    async fn open(&self) -> Arc<dyn Store> {
        let model = ModelStore::new(Arc::new(TestClock::default()));
        Arc::new(Faulty::new(model, self.0))
    }
}

#[test]
fn each_fault_is_found_by_its_case() {
    for (fault, name) in FOUND_BY {
        assert!(CASES.iter().any(|case| case.name == *name), "{name} is not in the list of cases");
        assert!(fails(|| conformance::check(name, &Mutant(*fault))), "{name} did not find {fault:?}");
    }
}

#[test]
fn random_operations_find_faults() {
    for fault in FOUND_BY_REPLAY {
        assert!(
            fails(|| replay::check_random(&Mutant(*fault), SEQUENCES_UNTIL_FOUND)),
            "the replay did not find {fault:?}"
        );
    }
}

#[test]
fn without_a_fault_nothing_is_found() {
    conformance::check_all_at_once(&Mutant(Fault::None));
    replay::check_random(&Mutant(Fault::None), replay::SEQUENCES);
}

fn fails(check: impl FnOnce()) -> bool {
    panic::catch_unwind(AssertUnwindSafe(check)).is_err()
}
