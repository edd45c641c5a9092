use std::collections::BTreeSet;

use godwit_domain::model::{AccountSubject, ClientId, InviteToken, UserPair};
use godwit_domain::ports::{ActivityPosition, DueExpiry, Part, SeqRange};
use godwit_protocol::{ConversationId, DeviceId, MessageId, ScheduledId, Seq, Timestamp, UserId};
use proptest::prelude::*;

use crate::keys::{self, ConversationPart, Key, KeyRange, Mark, RowOf, Section, Table};

/// Numbers that collide, and the ends of the range.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..4u64, 254..258u64, Just(u64::MAX - 1), Just(u64::MAX), any::<u64>()]
}

fn time() -> impl Strategy<Value = Timestamp> {
    prop_oneof![0..4i64, 254..258i64, 1_767_225_600_000..4_000_000_000_000i64]
        .prop_map(Timestamp::from_millis)
}

fn position() -> impl Strategy<Value = ActivityPosition> {
    (time(), number()).prop_map(|(at, id)| ActivityPosition { at, conversation: ConversationId::new(id) })
}

fn section() -> impl Strategy<Value = Section> {
    any::<(bool, bool)>().prop_map(|(archived, pinned)| Section { archived, pinned })
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        number().prop_map(|id| Part::Conversation(conversation(id))),
        (number(), "[a-c]{1,3}").prop_map(|(id, key)| Part::Creation(user(id), ClientId::from_stored(key))),
        (number(), number()).prop_map(|(of, id)| Part::Membership(user(of), conversation(id))),
        number().prop_map(|id| Part::Account(user(id))),
    ]
}

fn contains(range: &KeyRange, key: &Key) -> bool {
    range.table == key.table && range.start <= key.bytes && key.bytes < range.end
}

fn user(id: u64) -> UserId {
    UserId::new(id)
}

fn conversation(id: u64) -> ConversationId {
    ConversationId::new(id)
}

proptest! {
    #[test]
    fn log_keys_are_in_the_order_of_the_log(a in (number(), number()), b in (number(), number())) {
        let key = |(id, seq)| keys::chunk(conversation(id), true, Seq::new(seq));
        prop_assert_eq!(key(a).cmp(&key(b)), a.cmp(&b));
        prop_assert_eq!(keys::last_id("log", &key(a).bytes).unwrap(), a.1);
    }

    #[test]
    fn chunks_are_found_from_either_end_within_their_conversation(
        id in number(), other in number(), seq in number(), end in number(), last in number(), shown: bool,
    ) {
        let from = keys::chunks_from(conversation(id), shown, Seq::new(seq));
        let between = keys::chunks_between(conversation(id), shown, Seq::new(seq), Seq::new(end));
        let chunk = keys::chunk(conversation(id), shown, Seq::new(last));
        prop_assert_eq!(contains(&from, &chunk), last >= seq);
        prop_assert_eq!(contains(&between, &chunk), seq <= last && last < end);
        let elsewhere = keys::chunk(conversation(other), shown, Seq::new(last));
        prop_assert_eq!(contains(&from, &elsewhere), last >= seq && other == id);
        let of_other_kind = keys::chunk(conversation(id), !shown, Seq::new(last));
        prop_assert!(!contains(&from, &of_other_kind) && !contains(&between, &of_other_kind));
    }

    #[test]
    fn hidden_messages_are_found_by_range_within_their_conversation(
        id in number(), other in number(), after in number(), before in number(), seq in number(),
    ) {
        let range = SeqRange { after: Seq::new(after), before: Seq::new(before) };
        let hidden = keys::all_hidden(user(7), conversation(id), range);
        let is_hidden = contains(&hidden, &keys::hidden(user(7), conversation(other), Seq::new(seq)));
        prop_assert_eq!(is_hidden, after < seq && seq < before && other == id);
    }

    #[test]
    fn a_location_is_found_by_later_message_ids(first in number(), message in number()) {
        let range = keys::locations_until(MessageId::new(message));
        prop_assert_eq!(contains(&range, &keys::location(MessageId::new(first))), first <= message);
    }

    #[test]
    fn message_states_of_a_page_are_one_range(
        id in number(), other in number(), ends in (number(), number()), seq in number(),
    ) {
        let range = keys::message_states(conversation(id), Seq::new(ends.0), Seq::new(ends.1));
        let is_inside = (ends.0..=ends.1).contains(&seq);
        prop_assert_eq!(contains(&range, &keys::message_state(conversation(id), Seq::new(seq))), is_inside);
        let elsewhere = keys::message_state(conversation(other), Seq::new(seq));
        prop_assert_eq!(contains(&range, &elsewhere), is_inside && other == id);
        let cursors = keys::cursors(conversation(id), user(ends.0), user(ends.1));
        prop_assert_eq!(contains(&cursors, &keys::cursor(conversation(id), user(seq))), is_inside);
    }

    #[test]
    fn due_items_are_sorted_by_time(
        a in (time(), number(), number()), b in (time(), number(), number()), now in time(),
    ) {
        let expiry = |(at, id, seq)| DueExpiry { at, conversation: conversation(id), seq: Seq::new(seq) };
        let key = |due| keys::expiry(expiry(due));
        prop_assert_eq!(key(a).cmp(&key(b)), a.cmp(&b));
        prop_assert_eq!(keys::decode_expiry(&key(a).bytes).unwrap(), expiry(a));
        prop_assert_eq!(contains(&keys::expiries_until(now), &key(a)), a.0 <= now);
        let due = |(at, of, id)| keys::due(at, user(of), ScheduledId::new(id));
        prop_assert_eq!(due(a).cmp(&due(b)), a.cmp(&b));
        prop_assert_eq!(keys::decode_due(&due(a).bytes).unwrap(), (user(a.1), ScheduledId::new(a.2)));
        prop_assert_eq!(contains(&keys::due_until(now), &due(a)), a.0 <= now);
    }

    #[test]
    fn star_ranges_end_before_a_star(of in (number(), number()), before in proptest::option::of(number()), id in number()) {
        let range = keys::stars_before(user(of.0), before.map(MessageId::new));
        let is_inside = of.0 == of.1 && before.is_none_or(|before| id < before);
        prop_assert_eq!(contains(&range, &keys::star(user(of.1), MessageId::new(id))), is_inside);
    }

    #[test]
    fn inbox_keys_have_the_order_of_the_inbox(
        id in number(), a in (section(), position()), b in (section(), position()),
    ) {
        let key = |(section, position)| keys::order(user(id), section, position);
        let rank = |(section, position): (Section, ActivityPosition)| (!section.archived, section.pinned, position);
        prop_assert_eq!(key(a).cmp(&key(b)), rank(a).cmp(&rank(b)).reverse());
        prop_assert_eq!(keys::decode_order(&key(a).bytes).unwrap(), a.1);
    }

    #[test]
    fn inbox_ranges_respect_position_and_floor(
        ids in (number(), number()), sections in (section(), section()),
        after in proptest::option::of(position()), floor in proptest::option::of(time()), row in position(),
    ) {
        let range = keys::order_after(user(ids.0), sections.0, after, floor);
        let is_inside = ids.0 == ids.1
            && sections.0 == sections.1
            && after.is_none_or(|after| row < after)
            && floor.is_none_or(|floor| row.at >= floor);
        prop_assert_eq!(contains(&range, &keys::order(user(ids.1), sections.1, row)), is_inside);
    }

    #[test]
    fn id_ranges_begin_after_an_id(id in number(), after in proptest::option::of(number()), of in (number(), number())) {
        let is_after = after.is_none_or(|after| id > after);
        let after = after.map(user);
        prop_assert_eq!(contains(&keys::users_after(after), &keys::user(user(id))), is_after);
        let blocks = keys::blocks_after(user(of.0), after);
        prop_assert_eq!(contains(&blocks, &keys::block(user(of.1), user(id))), is_after && of.0 == of.1);
        let reactions = keys::reactions_after(conversation(1), Seq::new(of.0), after);
        let reaction = keys::reaction(conversation(1), Seq::new(of.1), user(id));
        prop_assert_eq!(contains(&reactions, &reaction), is_after && of.0 == of.1);
    }

    #[test]
    fn reply_ranges_begin_after_a_reply(roots in (number(), number()), after in any::<u32>(), number in any::<u32>()) {
        let range = keys::replies_after(conversation(1), Seq::new(roots.0), after);
        let reply = keys::reply(conversation(1), Seq::new(roots.1), number);
        prop_assert_eq!(contains(&range, &reply), roots.0 == roots.1 && number > after);
    }

    #[test]
    fn a_search_prefix_does_not_match_longer_prefixes(
        a in "[a-zé\u{10ffff}]{1,3}", b in "[a-zé\u{10ffff}]{1,3}", id in number(), after in proptest::option::of(number()),
    ) {
        let range = keys::prefix_after(&a, after.map(user));
        let is_inside = a == b && after.is_none_or(|after| id > after);
        prop_assert_eq!(contains(&range, &keys::prefix(&b, user(id))), is_inside);
    }

    #[test]
    fn move_ranges_begin_at_an_entry(id in number(), of in (number(), number()), reached in number(), seq in number()) {
        for (mark, other) in [(Mark::Read, Mark::Delivered), (Mark::Delivered, Mark::Read)] {
            let range = keys::moves_reaching(conversation(id), user(of.0), mark, Seq::new(seq));
            let key = |mark| keys::cursor_move(conversation(id), user(of.1), mark, Seq::new(reached));
            prop_assert_eq!(contains(&range, &key(mark)), of.0 == of.1 && reached >= seq);
            prop_assert!(!contains(&range, &key(other)));
        }
    }

    #[test]
    fn rows_of_a_conversation_are_one_range_and_decode(
        id in number(), other in number(), of in number(), after in proptest::option::of(number()),
    ) {
        let range = keys::conversation_parts(conversation(id));
        let parts = [
            (keys::conversation(conversation(id)), ConversationPart::Conversation),
            (keys::head(conversation(id)), ConversationPart::Head),
            (keys::details(conversation(id)), ConversationPart::Details),
            (keys::member(conversation(id), user(of)), ConversationPart::Member(user(of))),
            (keys::cursor(conversation(id), user(of)), ConversationPart::Cursor(user(of))),
        ];
        prop_assert!(parts.is_sorted_by_key(|(key, _)| key), "the details come before the members");
        for (key, part) in parts {
            prop_assert!(contains(&range, &key));
            prop_assert_eq!(keys::decode_part(&key.bytes).unwrap(), part);
        }
        prop_assert_eq!(contains(&range, &keys::member(conversation(other), user(of))), other == id);
        let members = keys::members_after(conversation(id), after.map(user));
        let is_after = after.is_none_or(|after| of > after);
        prop_assert_eq!(contains(&members, &keys::member(conversation(id), user(of))), is_after);
        prop_assert!(!contains(&members, &keys::cursor(conversation(id), user(of))));
    }

    #[test]
    fn ranges_of_conversations_cursors_and_moves_begin_after_an_id(
        id in number(), after in number(), of in (number(), number()), mark in prop_oneof![Just(Mark::Delivered), Just(Mark::Read)], seq in number(),
    ) {
        let conversations = keys::conversations_after(Some(conversation(after)));
        for key in [keys::conversation(conversation(id)), keys::cursor(conversation(id), user(of.0))] {
            prop_assert_eq!(contains(&conversations, &key), id > after);
            prop_assert!(contains(&keys::conversations_after(None), &key));
            prop_assert_eq!(keys::conversation_of(&key.bytes).unwrap(), conversation(id));
        }
        let is_inside = of.0 == of.1 && id > after;
        let cursors = keys::cursors_after(conversation(of.0), Some(user(after)));
        prop_assert_eq!(contains(&cursors, &keys::cursor(conversation(of.1), user(id))), is_inside);
        let moves = keys::moves_after(conversation(of.0), Some(user(after)));
        let moved = keys::cursor_move(conversation(of.1), user(id), mark, Seq::new(seq));
        prop_assert_eq!(contains(&moves, &moved), is_inside);
        prop_assert_eq!(contains(&keys::moves_after(conversation(of.0), None), &moved), of.0 == of.1);
        prop_assert_eq!(keys::decode_move(&moved.bytes).unwrap(), (user(id), mark, Seq::new(seq)));
    }

    #[test]
    fn creation_ranges_begin_after_a_creation(a in (number(), "[a-c]{1,3}"), b in (number(), "[a-c]{1,3}")) {
        let (of_a, of_b) = (ClientId::from_stored(&*a.1), ClientId::from_stored(&*b.1));
        let key = keys::made_with(user(a.0), &of_a);
        prop_assert_eq!(contains(&keys::made_after(Some((user(b.0), &of_b))), &key), a > b);
        prop_assert!(contains(&keys::made_after(None), &key));
        prop_assert_eq!(keys::decode_made(&key.bytes).unwrap(), (user(a.0), of_a));
    }

    #[test]
    fn marks_decode_to_their_part(a in part(), b in part()) {
        let key = keys::changed(&a);
        prop_assert!(contains(&keys::all_changed(), &key));
        prop_assert_eq!(keys::decode_changed(&key.bytes).unwrap(), a.clone());
        prop_assert_eq!(key == keys::changed(&b), a == b);
    }

    #[test]
    fn malformed_keys_are_errors(key in proptest::collection::vec(any::<u8>(), 0..30)) {
        let _ = (keys::decode_part(&key), keys::decode_order(&key));
        let _ = (keys::decode_expiry(&key), keys::decode_due(&key), keys::decode_move(&key));
        let _ = (keys::decode_made(&key), keys::decode_changed(&key));
        for table in Table::ALL {
            let _ = keys::part_of(&Key { table, bytes: (&*key).into() });
        }
        prop_assert_eq!(keys::last_id("any", &key).is_ok(), key.len() >= 8);
    }
}

/// A row of each kind, with the part that it belongs to.
fn kinds() -> Vec<(Key, RowOf)> {
    let (u, c, seq) = (user(1), conversation(2), Seq::new(3));
    let (at, message) = (Timestamp::from_millis(4), MessageId::new(5));
    let client_id = ClientId::from_stored("c");
    let section = Section { archived: false, pinned: false };
    let of_conversation = || RowOf::Part(Part::Conversation(c));
    let of_account = || RowOf::Part(Part::Account(u));
    let of_membership = || RowOf::Part(Part::Membership(u, c));
    vec![
        (keys::chunk(c, true, seq), of_conversation()),
        (keys::chunk(c, false, seq), of_conversation()),
        (keys::client_id(c, u, &client_id), RowOf::Nothing),
        (keys::location(message), RowOf::Nothing),
        (keys::invite(&InviteToken::from_bits(1)), RowOf::Nothing),
        (keys::highest_id(), RowOf::Nothing),
        (keys::signing_key(), RowOf::Nothing),
        (keys::transfer(), RowOf::Nothing),
        (keys::changed(&Part::Account(u)), RowOf::Nothing),
        (keys::user(u), of_account()),
        (keys::handle("h"), RowOf::Nothing),
        (keys::subject("s"), RowOf::Nothing),
        (keys::prefix("p", u), RowOf::Nothing),
        (keys::device(DeviceId::new(6)), RowOf::Device),
        (keys::device_of(u, DeviceId::new(6)), of_account()),
        (keys::block(u, user(7)), of_account()),
        (keys::block_count(u), of_account()),
        (keys::blocker(user(7), u), RowOf::Nothing),
        (keys::account_entry(u, 8), of_account()),
        (keys::account_subject(u, AccountSubject::Profile), of_account()),
        (keys::account_head(u), of_account()),
        (keys::head(c), of_conversation()),
        (keys::pair(UserPair::new(u, user(7)).unwrap()), RowOf::Nothing),
        (keys::cursor_move(c, u, Mark::Read, seq), of_conversation()),
        (keys::made_with(u, &client_id), RowOf::Part(Part::Creation(u, client_id.clone()))),
        (keys::message_state(c, seq), of_conversation()),
        (keys::reaction(c, seq, u), of_conversation()),
        (keys::reply(c, seq, 1), of_conversation()),
        (keys::expiry(DueExpiry { at, conversation: c, seq }), RowOf::Nothing),
        (keys::order(u, section, ActivityPosition { at, conversation: c }), RowOf::Nothing),
        (keys::hot_list(u), RowOf::Nothing),
        (keys::pins(u), RowOf::Nothing),
        (keys::listing(u, c), of_membership()),
        (keys::on_read(u, c), RowOf::Nothing),
        (keys::hot(c), RowOf::Nothing),
        (keys::star(u, message), of_account()),
        (keys::star_count(u), of_account()),
        (keys::hidden(u, c, seq), of_membership()),
        (keys::hidden_count(u, c), of_membership()),
        (keys::scheduled(u, ScheduledId::new(9)), of_account()),
        (keys::due(at, u, ScheduledId::new(9)), RowOf::Nothing),
    ]
}

/// Two kinds of rows with the same tag would read each other's values.
#[test]
fn every_kind_of_row_has_its_own_tag() {
    let tags: BTreeSet<_> = kinds().iter().map(|(key, _)| (key.table, key.bytes[0])).collect();
    assert_eq!(tags.len(), kinds().len());
}

/// A kind of row that belongs to no part is not copied when it changes.
#[test]
fn every_kind_of_row_belongs_to_a_part_or_follows_from_others() {
    for (key, part) in kinds() {
        assert_eq!(keys::part_of(&key).unwrap(), part, "of {}", keys::display(&key.bytes));
    }
    let unknown = Key { table: Table::State, bytes: [0x7f; 9].into() };
    keys::part_of(&unknown).unwrap_err();
}

#[test]
fn keys_of_account_log_subjects_are_distinct() {
    let (c, u, d) = (conversation(7), user(7), DeviceId::new(7));
    let subjects = [
        AccountSubject::Listing(c),
        AccountSubject::Settings(c),
        AccountSubject::Read(c),
        AccountSubject::Hidden(MessageId::new(7)),
        AccountSubject::Star(MessageId::new(7)),
        AccountSubject::Scheduled(ScheduledId::new(7)),
        AccountSubject::Block(u),
        AccountSubject::Profile,
        AccountSubject::Device(d),
    ];
    let keys: BTreeSet<_> = subjects.iter().map(|subject| keys::account_subject(u, *subject)).collect();
    assert_eq!(keys.len(), subjects.len());
}
