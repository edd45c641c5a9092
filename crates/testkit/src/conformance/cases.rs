//! The list of all cases.

/// The list: groups, which are files of this folder, with their cases. Passes the list to the given macro.
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
                a_handle_that_was_given_up_is_kept_for_a_while
                what_many_spend_at_once_adds_up
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
                a_rotation_moves_to_a_later_generation
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
            groups {
                a_created_group_reads_back
                what_is_said_when_it_is_made_reads_back
                it_is_listed_for_all_its_members
                making_it_again_changes_nothing
                a_key_belongs_to_its_maker
                many_concurrent_callers_with_a_key_make_one
                messages_of_all_members_are_one_log
            }
            members {
                those_who_come_are_members_until_they_go
                members_come_in_the_order_of_ids_in_pages_of_any_size
                one_member_is_found_by_their_id
                roles_change_in_members_and_staff
                who_comes_back_is_new
                the_first_entry_that_a_member_sees_is_kept
                a_change_of_a_member_leaves_their_cursor
                mentions_wait_until_they_are_read
            }
            details {
                every_detail_reads_back
                pins_are_the_latest_first_and_go_with_the_message
                an_invite_leads_to_its_conversation_until_it_is_revoked
                everything_about_an_invite_reads_back_and_its_uses_are_counted
                the_links_of_who_goes_go_too
                bans_read_back_and_are_lifted
                a_deleted_conversation_says_so_and_invites_nobody
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
                items_come_in_the_order_asked
                what_is_shown_is_read_from_both_ends_of_every_range
                a_long_log_reads_like_a_short_one
                a_reader_sees_no_gap_while_others_append
                what_is_shown_is_located_and_nothing_else
                a_message_is_found_by_the_client_id_of_its_sender
                seq_at_is_the_first_entry_that_is_not_older
            }
            notices {
                notices_stand_between_the_messages
                other_entries_cost_no_place_in_a_page
                many_other_entries_hide_nothing
                notices_are_located_and_not_counted
                the_head_and_the_inbox_follow_notices
            }
            message_states {
                an_edit_changes_what_a_message_says
                an_edit_of_an_edit_is_the_last_word
                the_head_follows_the_last_message
                of_a_deleted_message_nothing_is_left_but_its_place
                messages_whose_time_is_over_are_erased
                all_of_it_can_be_in_one_batch
                what_became_of_a_message_is_found_in_a_long_log
            }
            reactions {
                a_reaction_is_counted_and_found
                another_reaction_takes_the_place_of_the_first
                a_reaction_that_is_taken_back_leaves_nothing
                who_reacted_comes_in_the_order_of_ids_in_pages_of_any_size
                reactions_of_users_come_in_the_order_asked
                many_can_react_in_one_entry
            }
            threads {
                replies_are_counted_and_found
                pages_go_through_a_thread
                a_reply_to_a_reply_belongs_to_the_thread
                what_is_deleted_keeps_its_place_in_a_thread
            }
            expiries {
                what_is_over_comes_the_longest_due_first
                what_is_forgotten_does_not_come_again
                several_in_one_batch_are_all_due
                a_refused_append_leaves_no_expiry
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
                who_joins_has_what_was_before
                who_comes_back_goes_on_from_there
                cursors_of_a_group_are_the_members_own
            }
            inbox {
                the_latest_first_then_the_higher_id
                pinned_conversations_are_a_list_of_their_own
                archived_conversations_are_a_list_of_their_own
                pages_of_any_size_give_each_row_once_in_order
                many_busy_conversations_keep_their_order
                a_position_need_not_be_a_row
                unchanged_rows_are_on_one_page_while_others_move
                inboxes_of_two_members_are_their_own
            }
            changes {
                changed_since_begins_at_the_floor
                pages_give_each_row_once_in_order
                each_is_listed_once_at_its_latest_change
                every_change_is_heard_of_by_every_member
                a_cursor_that_moved_is_heard_of_by_every_member
                a_change_after_a_message_of_the_same_append_is_heard_of
                a_change_in_the_same_minute_is_heard_of_by_who_just_came
                who_goes_hears_of_nothing_more
                what_was_cleared_does_not_come_back_by_a_change
                changes_of_many_at_once_are_all_heard_of
                cursors_say_when_they_last_moved
            }
            settings {
                settings_are_the_defaults_until_they_are_set
                a_change_changes_what_it_names
                a_change_is_noted_each_time
                concurrent_changes_of_different_settings_all_stay
                settings_wait_for_the_listing
                settings_outlive_new_activity
            }
            listing {
                a_group_goes_up_in_every_inbox
                who_comes_has_it_from_then_on
                who_comes_unseen_finds_it_where_the_others_have_it
                who_goes_loses_it_with_its_settings
                a_deleted_group_goes_from_all_inboxes
                who_comes_back_has_it_as_if_for_the_first_time
                somebody_who_comes_and_goes_many_times_has_it_once
                who_comes_back_and_goes_at_once_is_told
            }
            clearing {
                it_goes_until_something_is_shown
                what_is_not_shown_does_not_bring_it_back
                it_comes_back_with_its_settings
                what_was_said_meanwhile_keeps_it_in_the_inbox
                clearing_again_moves_forward_only
                one_in_which_nothing_is_shown_goes_however_little_is_cleared
                an_append_that_did_not_know_brings_it_back
                a_change_that_did_not_know_does_not_bring_it_back
                clearing_against_an_append_loses_no_message
                where_it_is_fanned_out_on_read_the_row_stays
            }
            fan_out {
                crossing_moves_every_row_once_with_its_settings
                settings_that_change_at_the_crossing_are_not_lost
                members_are_asked_for_one_by_one
                members_come_and_go_after_the_crossing
                settings_change_after_the_crossing_too
                messages_write_no_rows
                cursors_move_and_leave_receipts
                mentions_are_kept_with_the_member
                a_conversation_can_begin_large
                a_group_of_hundreds_crosses_without_losing_anybody
            }
            hidden {
                hidden_places_come_in_order_within_a_range
                what_is_hidden_is_hidden_from_one_user_in_one_conversation
                hiding_is_noted_each_time
                hidden_messages_are_bounded_in_each_conversation
                those_who_have_hidden_a_message_are_found
                what_is_concealed_comes_with_the_member_and_outlives_the_membership
                concurrent_callers_hide_all_of_it
            }
            stars {
                the_latest_message_is_first_in_pages_of_any_size
                starring_again_changes_nothing
                a_star_can_be_taken_away_once
                stars_are_bounded
                one_of_many_concurrent_stars_of_a_message_is_noted
            }
            scheduled {
                a_scheduled_message_reads_back
                the_same_client_id_again_gives_back_the_first
                many_concurrent_callers_with_a_client_id_schedule_one
                scheduled_messages_are_bounded
                what_was_sent_is_remembered_and_takes_no_room
                it_is_replaced_only_at_the_stage_that_is_expected
                a_change_that_was_not_read_is_not_overwritten
                without_a_note_nothing_is_noted
                one_of_many_concurrent_claims_wins
                what_is_due_comes_the_longest_due_first
                what_is_replaced_is_due_when_the_new_one_says
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
