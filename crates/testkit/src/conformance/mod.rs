//! The cases that say what a store is.
//!
//! Each has users, conversations and times of its own (see [`Scene`]), so that all can run on one store at once, also
//! while others use it. [`conformance_cases!`](crate::conformance_cases) is the one list: [`CASES`] and the tests of
//! every backend come from it.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use godwit_domain::ports::{Store, StoreError};

use crate::factory::{StoreFactory, block_on};
use crate::scene::Scene;

/// A case fails by panicking; an error of the store fails it too.
pub type Outcome = Result<(), StoreError>;

/// Concurrent callers in cases about agreement.
const CALLERS: usize = 32;

/// No case takes nearly as long; one that waits forever is a failure and not a hanging build.
const CASE_TIMEOUT: Duration = Duration::from_secs(300);

#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// `group::case`
    pub name: &'static str,
    run: fn(Scene) -> Pin<Box<dyn Future<Output = Outcome> + Send>>,
}

/// The list: groups, which are files of this folder, and the cases in them. It is given to the macro that is named,
/// which makes of it what it needs.
#[macro_export]
macro_rules! conformance_cases {
    ($then:path) => {
        $then! {
            users {
                a_created_user_reads_back
                unknown_users_are_not_found
                a_taken_handle_is_refused
                a_taken_subject_gives_the_user_who_has_it
                a_taken_subject_is_said_before_a_taken_handle
                one_of_many_concurrent_users_gets_the_handle
                one_of_many_concurrent_users_gets_the_subject
                users_gives_those_that_exist
                list_users_goes_through_all_in_the_order_of_ids
            }
            user_updates {
                an_update_changes_what_it_names_and_nothing_else
                an_update_writes_its_note
                an_update_of_nobody_is_not_found
                a_new_handle_frees_the_old_one
                the_own_handle_is_not_taken
                a_taken_handle_changes_nothing
                one_of_many_concurrent_updates_gets_the_handle
                concurrent_updates_of_different_fields_all_stay
            }
            search {
                users_are_found_by_the_beginnings_of_their_words
                a_user_with_several_matching_words_is_found_once
                users_come_in_the_order_of_ids_in_pages_of_any_size
                disabled_users_are_not_found
                a_changed_name_is_found_and_the_old_one_is_not
                a_refused_user_is_not_found
            }
            devices {
                a_created_device_reads_back
                devices_belong_to_their_user_and_come_in_the_order_of_ids
                devices_are_bounded
                devices_are_bounded_among_concurrent_callers
                one_of_many_concurrent_rotations_wins
                a_rotation_moves_to_the_next_generation
                a_reused_generation_changes_nothing
                what_is_not_there_is_not_rotated
                a_removed_device_is_gone_and_removing_it_again_does_nothing
                one_of_many_concurrent_removals_is_noted
            }
            application_devices {
                the_last_revocation_is_kept
                a_key_is_unique_for_its_user
                a_taken_key_is_said_before_the_bound
                one_of_many_concurrent_devices_gets_the_key
                a_removed_device_stays_revoked
                revoked_devices_do_not_count
                a_revoked_device_is_replaced_by_the_next_with_its_key
            }
            blocks {
                a_block_has_a_direction
                blocking_and_unblocking_are_noted_once
                one_of_many_concurrent_blocks_is_noted
                blocks_are_bounded
                blocks_are_bounded_among_concurrent_callers
                blocked_users_come_in_the_order_of_ids_in_pages_of_any_size
            }
            direct {
                an_opened_conversation_reads_back
                unknown_conversations_are_not_found
                it_is_listed_for_its_creator_only
                opening_it_again_changes_nothing
                many_concurrent_callers_open_one_conversation
            }
            append {
                appended_entries_read_back
                every_kind_of_body_reads_back
                the_head_says_where_the_log_ends
                a_wrong_head_is_refused_and_nothing_is_written
                one_of_many_concurrent_appends_wins_and_the_others_write_nothing
                appenders_that_try_again_make_a_log_without_gaps
                appends_to_different_conversations_do_not_meet
            }
            projections {
                the_senders_cursor_moves_forward_only
                listing_puts_the_conversation_into_inboxes_once
                activity_follows_messages_in_every_inbox
                entries_that_are_no_messages_are_no_activity
            }
            history {
                entries_begin_after_and_end_at_the_limit
                one_entry_is_found_by_its_seq
                messages_are_read_from_both_ends_of_every_range
                a_long_log_reads_like_a_short_one
                a_reader_sees_no_gap_while_others_append
                messages_are_located_and_other_entries_are_not
                a_message_is_found_by_the_client_id_of_its_sender
                seq_at_is_the_first_entry_that_is_not_older
            }
            cursors {
                cursors_move_forward_only
                reading_is_delivery
                moved_read_marks_are_noted
                several_cursors_move_in_one_call
                moving_again_changes_nothing
                concurrent_moves_end_at_the_furthest
                receipts_are_the_first_moves_that_reached_the_entry
                a_receipt_stays_when_the_cursor_moves_on
                sending_leaves_a_receipt_for_what_came_before
                an_own_message_was_had_when_it_was_sent
            }
            inbox {
                pinned_first_then_the_latest_then_the_higher_id
                archived_conversations_are_a_list_of_their_own
                pages_of_any_size_give_each_row_once_in_order
                many_busy_conversations_keep_their_order
                a_position_need_not_be_a_row
                unchanged_rows_are_on_one_page_while_others_move
                active_since_begins_at_the_floor
                active_since_pages_give_each_row_once_in_order
                inboxes_of_two_members_are_their_own
            }
            settings {
                settings_are_the_defaults_until_they_are_set
                a_change_changes_what_it_names
                a_change_is_noted_each_time
                concurrent_changes_of_different_settings_all_stay
                settings_wait_for_the_listing
                settings_outlive_new_activity
            }
            account_log {
                an_empty_log_has_no_end
                entries_come_in_the_order_they_were_written
                pages_go_through_the_log
                a_newer_entry_replaces_the_older_about_the_same_thing
                a_position_past_the_end_is_not_answered
                logs_of_two_users_do_not_mix
                concurrent_notes_are_all_kept
                a_reader_misses_nothing_while_others_write
                a_log_that_was_cut_says_so
            }
            installation {
                the_store_is_healthy
                ids_are_never_given_out_twice
                the_first_signing_key_stays
            }
        }
    };
}

macro_rules! define_cases {
    ($($group:ident { $($case:ident)+ })+) => {
        $(mod $group;)+

        pub const CASES: &[Case] = &[$($(Case {
            name: concat!(stringify!($group), "::", stringify!($case)),
            run: |scene| Box::pin(async move { $group::$case(&scene).await }),
        },)+)+];
    };
}

conformance_cases!(define_cases);

/// Makes one test of each case, for the store that the expression (a [`StoreFactory`]) opens. It is evaluated anew for
/// each test. To be used once in a module.
#[macro_export]
macro_rules! conformance_tests {
    ($factory:expr) => {
        fn conformance_factory() -> impl $crate::StoreFactory {
            $factory
        }

        $crate::conformance_cases!($crate::conformance_test_functions);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! conformance_test_functions {
    ($($group:ident { $($case:ident)+ })+) => {
        $(mod $group {
            $(#[test]
            fn $case() {
                let name = concat!(stringify!($group), "::", stringify!($case));
                $crate::conformance::check(name, &super::conformance_factory());
            })+
        })+
    };
}

/// Runs one case on the store of the factory. Panics when it fails.
pub fn check(name: &str, factory: &dyn StoreFactory) {
    let case = CASES.iter().find(|case| case.name == name).expect("the name is in the list");
    block_on(async { case.run(open_nodes(factory).await).await });
}

/// Runs all cases at once on one store of the factory. Panics when one fails.
pub fn check_all_at_once(factory: &dyn StoreFactory) {
    block_on(async {
        let nodes = open_nodes(factory).await;
        let running: Vec<_> = CASES.iter().map(|case| tokio::spawn(case.run(nodes.clone()))).collect();
        let mut failed = Vec::new();
        for (case, running) in CASES.iter().zip(running) {
            if running.await.is_err() {
                failed.push(case.name);
            }
        }
        assert!(failed.is_empty(), "failed on a shared store: {failed:?}");
    });
}

impl Case {
    /// Panics when the store does not do what the case asks for.
    pub async fn run(self, nodes: Vec<Arc<dyn Store>>) {
        let outcome = tokio::time::timeout(CASE_TIMEOUT, (self.run)(Scene::new(nodes))).await;
        match outcome {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                let source = std::error::Error::source(&error).map(ToString::to_string);
                panic!("{}: {error}: {}", self.name, source.unwrap_or_default())
            }
            Err(_) => panic!("{} did not end in time", self.name),
        }
    }
}

async fn open_nodes(factory: &dyn StoreFactory) -> Vec<Arc<dyn Store>> {
    let mut nodes = Vec::new();
    for _ in 0..factory.nodes() {
        nodes.push(factory.open().await);
    }
    nodes
}
