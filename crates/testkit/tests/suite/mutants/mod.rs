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
    (Fault::RefusedUpdateWritesItsNote, "user_updates::a_taken_handle_changes_nothing"),
    (Fault::SearchRepeatsUsers, "search::a_user_with_several_matching_words_is_found_once"),
    (Fault::EveryRotationWins, "devices::one_of_many_concurrent_rotations_wins"),
    (Fault::BlocksHaveNoDirection, "blocks::a_block_has_a_direction"),
    (Fault::OpeningAgainSaysItWasMade, "direct::opening_it_again_changes_nothing"),
    (Fault::KeysAreIgnored, "groups::many_concurrent_callers_with_a_key_make_one"),
    (Fault::AppendIgnoresTheHead, "append::a_wrong_head_is_refused_and_nothing_is_written"),
    (
        Fault::AppendLooksBeforeItWrites,
        "append::one_of_many_concurrent_appends_wins_and_the_others_write_nothing",
    ),
    (Fault::RefusedAppendLeavesClientIds, "append::a_wrong_head_is_refused_and_nothing_is_written"),
    (Fault::EntriesBeginTooEarly, "history::entries_begin_after_and_end_at_the_limit"),
    (Fault::HistoryCountsWhatIsNotShown, "notices::other_entries_cost_no_place_in_a_page"),
    (Fault::SentAsForgets, "history::a_message_is_found_by_the_client_id_of_its_sender"),
    (Fault::SeqAtSkipsItsTime, "history::seq_at_is_the_first_entry_that_is_not_older"),
    (Fault::EditsAreNotErased, "message_states::of_a_deleted_message_nothing_is_left_but_its_place"),
    (Fault::MentionsAreDropped, "members::mentions_wait_until_they_are_read"),
    (Fault::ChangedMembersLoseTheirCursor, "members::a_change_of_a_member_leaves_their_cursor"),
    (Fault::ReactionsAreNotTakenBack, "reactions::a_reaction_that_is_taken_back_leaves_nothing"),
    (Fault::RepliesBeginAgain, "threads::pages_go_through_a_thread"),
    (Fault::RevokedInvitesLeadSomewhere, "details::an_invite_leads_to_its_conversation_until_it_is_revoked"),
    (Fault::ExpiriesAreNotForgotten, "expiries::what_is_forgotten_does_not_come_again"),
    (Fault::CursorsGoBack, "cursors::cursors_move_forward_only"),
    (Fault::ReadMarksAreNotNoted, "cursors::moved_read_marks_are_noted"),
    (Fault::ReceiptsAreTheNextOnes, "cursors::receipts_are_the_first_moves_that_reached_the_entry"),
    (Fault::InboxLosesARowBetweenPages, "inbox::pages_of_any_size_give_each_row_once_in_order"),
    (Fault::InboxHasPinnedOnes, "inbox::pinned_conversations_are_a_list_of_their_own"),
    (Fault::ChangedSinceSkipsTheFloor, "changes::changed_since_begins_at_the_floor"),
    (Fault::QuietChangesAreNotTold, "changes::every_change_is_heard_of_by_every_member"),
    (Fault::MovedCursorsAreNotTold, "changes::a_cursor_that_moved_is_heard_of_by_every_member"),
    (Fault::ChangesRepeatOnTheNextPage, "changes::each_is_listed_once_at_its_latest_change"),
    (Fault::SettingsAreReplaced, "settings::a_change_changes_what_it_names"),
    (Fault::GoneForTheWrongReason, "listing::who_goes_loses_it_with_its_settings"),
    (Fault::ComesBackInItsOldPlace, "listing::who_comes_back_has_it_as_if_for_the_first_time"),
    (Fault::ClearingHidesWhatCameSince, "clearing::what_was_said_meanwhile_keeps_it_in_the_inbox"),
    (Fault::ClearedStaysAway, "clearing::an_append_that_did_not_know_brings_it_back"),
    (Fault::CrossingDoublesRows, "fan_out::crossing_moves_every_row_once_with_its_settings"),
    (Fault::CrossingForgetsSomebody, "fan_out::crossing_moves_every_row_once_with_its_settings"),
    (Fault::LargeOnesAreLoadedWithMembers, "fan_out::members_are_asked_for_one_by_one"),
    (
        Fault::WhatIsConcealedComesBack,
        "hidden::what_is_concealed_comes_with_the_member_and_outlives_the_membership",
    ),
    (Fault::OneHidesForAll, "hidden::those_who_have_hidden_a_message_are_found"),
    (Fault::StarsHaveNoBound, "stars::stars_are_bounded"),
    (Fault::EveryClaimWins, "scheduled::one_of_many_concurrent_claims_wins"),
    (Fault::ClaimsLookAtTheStageAlone, "scheduled::a_change_that_was_not_read_is_not_overwritten"),
    (Fault::AccountLogLosesAnEntry, "account_log::pages_go_through_the_log"),
    (Fault::AccountLogHidesItsHoles, "account_log::a_log_that_was_cut_says_so"),
];

/// Faults that random operations must find too.
const FOUND_BY_REPLAY: &[Fault] = &[
    Fault::AppendIgnoresTheHead,
    Fault::SentAsForgets,
    Fault::EditsAreNotErased,
    Fault::MentionsAreDropped,
    Fault::ReactionsAreNotTakenBack,
    Fault::CursorsGoBack,
    Fault::InboxLosesARowBetweenPages,
    Fault::QuietChangesAreNotTold,
    Fault::MovedCursorsAreNotTold,
    Fault::CrossingForgetsSomebody,
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
