//! Users, devices, blocks and account logs.

use godwit_domain::model::AccountSubject;
use godwit_protocol::{DeviceId, UserId};

use super::builder::KeyBuilder;
use super::{Key, KeyRange, state};

pub(crate) fn user(id: UserId) -> Key {
    state(0x10).id(id.get()).key()
}

pub(crate) fn users_after(after: Option<UserId>) -> KeyRange {
    state(0x10).after(after.map(UserId::get))
}

pub(crate) fn handle(handle: &str) -> Key {
    state(0x11).bytes(handle.as_bytes()).key()
}

pub(crate) fn subject(subject: &str) -> Key {
    state(0x12).bytes(subject.as_bytes()).key()
}

pub(crate) fn prefix(prefix: &str, user: UserId) -> Key {
    of_prefix(prefix).id(user.get()).key()
}

pub(crate) fn prefix_after(prefix: &str, after: Option<UserId>) -> KeyRange {
    of_prefix(prefix).after(after.map(UserId::get))
}

pub(crate) fn device(id: DeviceId) -> Key {
    state(0x20).id(id.get()).key()
}

pub(crate) fn device_of(user: UserId, device: DeviceId) -> Key {
    state(0x21).id(user.get()).id(device.get()).key()
}

pub(crate) fn devices_of(user: UserId) -> KeyRange {
    state(0x21).id(user.get()).range()
}

pub(crate) fn block(user: UserId, blocked: UserId) -> Key {
    state(0x30).id(user.get()).id(blocked.get()).key()
}

pub(crate) fn blocks_after(user: UserId, after: Option<UserId>) -> KeyRange {
    state(0x30).id(user.get()).after(after.map(UserId::get))
}

pub(crate) fn block_count(user: UserId) -> Key {
    state(0x31).id(user.get()).key()
}

pub(crate) fn blocker(user: UserId, by: UserId) -> Key {
    state(0x32).id(user.get()).id(by.get()).key()
}

pub(crate) fn blockers(user: UserId) -> KeyRange {
    state(0x32).id(user.get()).range()
}

pub(crate) fn account_entry(user: UserId, seq: u64) -> Key {
    state(0x40).id(user.get()).id(seq).key()
}

pub(crate) fn account_entries_after(user: UserId, after: u64) -> KeyRange {
    state(0x40).id(user.get()).after(Some(after))
}

pub(crate) fn account_subject(user: UserId, subject: AccountSubject) -> Key {
    let (kind, id) = match subject {
        AccountSubject::Listing(id) => (0, id.get()),
        AccountSubject::Settings(id) => (1, id.get()),
        AccountSubject::Read(id) => (2, id.get()),
        AccountSubject::Hidden(id) => (3, id.get()),
        AccountSubject::Star(id) => (4, id.get()),
        AccountSubject::Scheduled(id) => (5, id.get()),
        AccountSubject::Block(id) => (6, id.get()),
        AccountSubject::Profile => (7, 0),
        AccountSubject::Device(id) => (8, id.get()),
    };
    state(0x41).id(user.get()).bytes(&[kind]).id(id).key()
}

pub(crate) fn account_subjects(user: UserId) -> KeyRange {
    state(0x41).id(user.get()).range()
}

pub(crate) fn account_head(user: UserId) -> Key {
    state(0x42).id(user.get()).key()
}

/// Neither handles nor names contain the zero byte that ends a prefix.
fn of_prefix(prefix: &str) -> KeyBuilder {
    state(0x13).bytes(prefix.as_bytes()).bytes(&[0])
}
