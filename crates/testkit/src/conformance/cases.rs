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
                a_taken_subject_returns_its_user
                a_taken_subject_takes_precedence_over_a_taken_handle
                one_of_many_concurrent_users_gets_the_handle
                one_of_many_concurrent_users_gets_the_subject
                users_returns_only_existing_users
                list_users_returns_all_users_sorted_by_id
            }
            user_updates {
                an_update_changes_what_it_names_and_nothing_else
                an_update_writes_its_note
                an_update_of_an_unknown_user_is_not_found
                a_new_handle_frees_the_old_one
                a_released_handle_stays_reserved_for_a_while
                concurrent_renames_give_up_no_reserved_handle
                a_refused_spending_changes_nothing
                concurrent_spending_adds_up
                a_users_own_handle_is_not_taken
                a_taken_handle_changes_nothing
                one_of_many_concurrent_updates_gets_the_handle
                concurrent_updates_of_different_fields_are_all_kept
            }
            search {
                users_are_found_by_the_beginnings_of_their_words
                a_user_with_several_matching_words_is_found_once
                users_are_sorted_by_id_in_pages_of_any_size
                disabled_users_are_not_found
                a_changed_name_is_found_and_the_old_one_is_not
                a_refused_user_is_not_found
            }
            devices {
                a_created_device_reads_back
                devices_belong_to_their_user_and_are_sorted_by_id
                devices_are_bounded
                devices_are_bounded_among_concurrent_callers
                one_of_many_concurrent_rotations_wins
                a_rotation_moves_to_a_later_generation
                a_reused_generation_changes_nothing
                an_unknown_device_is_not_rotated
                a_removed_device_is_gone_and_removing_it_again_does_nothing
                one_of_many_concurrent_removals_is_noted
            }
            application_devices {
                the_last_revocation_is_kept
                a_key_is_unique_for_its_user
                a_taken_key_takes_precedence_over_the_bound
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
                blocked_users_are_sorted_by_id_in_pages_of_any_size
            }
            direct {
                an_opened_conversation_reads_back
                unknown_conversations_are_not_found
                a_direct_conversation_is_listed_for_its_creator_only
                opening_a_conversation_again_changes_nothing
                many_concurrent_callers_open_one_conversation
            }
            groups {
                a_created_group_reads_back
                the_properties_of_a_new_group_read_back
                a_group_is_listed_for_all_its_members
                creating_a_group_again_changes_nothing
                a_key_belongs_to_its_creator
                concurrent_callers_with_a_key_create_one_group
                messages_of_all_members_are_one_log
            }
            members {
                users_are_members_from_joining_to_leaving
                members_are_sorted_by_id_in_pages_of_any_size
                one_member_is_found_by_their_id
                roles_change_in_members_and_staff
                a_returning_member_starts_afresh
                the_first_entry_that_a_member_sees_is_kept
                a_change_of_a_member_leaves_their_cursor
                mentions_wait_until_they_are_read
            }
            details {
                every_detail_reads_back
                pins_are_sorted_latest_first_and_end_with_the_message
                an_invite_leads_to_its_conversation_until_it_is_revoked
                everything_about_an_invite_reads_back_and_its_uses_are_counted
                invites_of_a_departed_member_are_revoked
                bans_read_back_and_are_lifted
                a_deleted_conversation_is_marked_and_has_no_invites
            }
            append {
                appended_entries_read_back
                every_kind_of_body_reads_back
                the_head_says_where_the_log_ends
                a_wrong_head_is_refused_and_nothing_is_written
                one_of_many_concurrent_appends_wins_and_the_others_write_nothing
                retrying_appenders_make_a_log_without_gaps
                appends_to_different_conversations_do_not_interfere
            }
            projections {
                the_senders_cursor_moves_forward_only
                listing_puts_the_conversation_into_inboxes_once
                activity_follows_messages_in_every_inbox
                entries_that_are_no_messages_are_no_activity
            }
            history {
                entries_begin_after_and_end_at_the_limit
                items_are_in_the_requested_order
                shown_entries_are_read_from_both_ends_of_every_range
                a_long_log_reads_like_a_short_one
                a_reader_sees_no_gap_while_others_append
                only_shown_entries_are_located
                a_message_is_found_by_the_client_id_of_its_sender
                seq_at_is_the_first_entry_that_is_not_older
            }
            notices {
                notices_are_between_the_messages
                other_entries_take_no_place_on_a_page
                many_other_entries_hide_no_message
                notices_are_located_and_not_counted
                the_head_and_the_inbox_follow_notices
            }
            message_states {
                an_edit_changes_what_a_message_says
                the_last_of_several_edits_counts
                the_head_follows_the_last_message
                a_deleted_message_keeps_only_its_place
                expired_messages_are_erased
                a_message_and_its_changes_can_be_in_one_batch
                the_state_of_a_message_is_found_in_a_long_log
            }
            reactions {
                a_reaction_is_counted_and_found
                a_second_reaction_replaces_the_first
                a_removed_reaction_leaves_nothing
                reactions_are_sorted_by_user_in_pages_of_any_size
                reactions_of_users_are_in_the_requested_order
                many_can_react_in_one_entry
            }
            threads {
                replies_are_counted_and_found
                pages_go_through_a_thread
                a_reply_to_a_reply_belongs_to_the_thread
                a_deleted_reply_keeps_its_place_in_a_thread
            }
            expiries {
                expired_messages_are_sorted_longest_overdue_first
                a_forgotten_expiry_is_not_due_again
                all_expired_messages_of_a_batch_are_due
                a_refused_append_leaves_no_expiry
            }
            cursors {
                cursors_move_forward_only
                a_read_mark_implies_delivery
                moved_read_marks_are_noted
                several_cursors_move_in_one_call
                moving_again_changes_nothing
                concurrent_moves_end_at_the_furthest
                receipts_are_the_first_moves_that_reached_the_entry
                a_receipt_stays_when_the_cursor_moves_on
                sending_leaves_a_receipt_for_earlier_entries
                an_own_message_counts_as_read_when_it_was_sent
                the_cursor_of_a_new_member_is_at_their_joining
                the_cursor_of_a_returning_member_is_at_their_return
                cursors_of_a_group_are_the_members_own
            }
            inbox {
                rows_are_sorted_by_activity_and_then_by_id
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
                each_conversation_is_listed_once_at_its_latest_change
                every_change_is_listed_for_every_member
                a_moved_cursor_is_listed_for_every_member
                a_change_after_a_message_of_the_same_append_is_listed
                a_change_in_the_same_minute_is_listed_for_a_new_member
                changes_are_not_listed_for_a_departed_member
                a_change_does_not_list_a_cleared_conversation
                concurrent_changes_are_all_listed
                cursors_have_the_time_of_their_last_move
            }
            settings {
                settings_are_the_defaults_until_they_are_set
                a_change_keeps_other_settings
                a_change_is_noted_each_time
                concurrent_changes_of_different_settings_are_all_kept
                pins_are_bounded_among_concurrent_callers
                a_conversation_that_is_gone_is_not_pinned_any_more
                settings_are_kept_until_the_conversation_is_listed
                settings_outlive_new_activity
            }
            listing {
                a_message_moves_a_group_up_in_every_inbox
                a_new_member_has_the_group_in_the_inbox
                a_member_added_without_a_notice_has_the_same_row_as_the_others
                a_departed_member_loses_the_conversation_and_its_settings
                a_deleted_group_leaves_all_inboxes
                a_returning_member_has_it_as_a_new_conversation
                joining_and_leaving_repeatedly_lists_it_once
                joining_and_leaving_in_one_append_is_noted
            }
            clearing {
                a_cleared_conversation_is_unlisted_until_an_entry_is_shown
                an_entry_that_is_not_shown_does_not_bring_it_back
                a_cleared_conversation_returns_with_its_settings
                a_later_message_keeps_it_in_the_inbox
                clearing_again_moves_forward_only
                a_conversation_without_shown_entries_leaves_at_any_clearing
                an_append_decided_before_the_clearing_brings_it_back
                a_change_decided_before_the_clearing_does_not_bring_it_back
                clearing_during_an_append_loses_no_message
                the_row_of_a_large_conversation_stays
            }
            fan_out {
                crossing_moves_every_row_once_with_its_settings
                settings_that_change_at_the_crossing_are_not_lost
                members_are_loaded_one_by_one
                members_come_and_go_after_the_crossing
                settings_change_after_the_crossing_too
                messages_write_no_rows
                cursors_move_and_leave_receipts
                mentions_are_kept_with_the_member
                a_conversation_can_begin_large
                a_group_of_hundreds_crosses_without_losing_anybody
            }
            hidden {
                hidden_seqs_of_a_range_are_in_order
                a_message_is_hidden_from_one_user_in_one_conversation
                hiding_is_noted_each_time
                hidden_messages_are_bounded_in_each_conversation
                users_who_have_hidden_a_message_are_found
                concealed_entries_come_with_the_member_and_outlive_the_membership
                concurrent_hides_are_all_kept
            }
            stars {
                stars_are_sorted_latest_first_in_pages_of_any_size
                starring_again_changes_nothing
                a_star_can_be_removed_once
                stars_are_bounded
                one_of_many_concurrent_stars_of_a_message_is_noted
            }
            scheduled {
                a_scheduled_message_reads_back
                a_repeated_client_id_returns_the_first_message
                concurrent_callers_with_a_client_id_schedule_one_message
                scheduled_messages_are_bounded
                a_sent_message_is_remembered_and_does_not_count
                a_scheduled_message_is_replaced_only_at_the_expected_stage
                an_unread_change_is_not_overwritten
                a_replacement_without_a_note_writes_none
                one_of_many_concurrent_claims_wins
                due_messages_are_sorted_longest_overdue_first
                a_replaced_message_is_due_at_its_new_time
            }
            account_log {
                the_head_of_an_empty_log_is_zero
                entries_come_in_the_order_they_were_written
                pages_go_through_the_log
                a_newer_entry_replaces_the_one_about_the_same_subject
                a_position_past_the_end_is_not_answered
                logs_of_two_users_do_not_mix
                concurrent_notes_are_all_kept
                a_reader_misses_nothing_while_others_write
                a_truncated_log_reports_the_gap
            }
            installation {
                the_store_is_healthy
                ids_are_never_given_out_twice
                the_first_signing_key_stays
            }
        }
    };
}
