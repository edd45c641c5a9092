use godwit_domain::model::{
    AccountChange, AccountEntry, Avatar, Device, DeviceName, DisplayName, FormerHandle, Handle, Phone,
    Session, Spent, Subject, User,
};
use godwit_protocol::accounts::MayBeAddedBy;
use godwit_protocol::sync::GoneReason;
use godwit_protocol::{ConversationId, DeviceId, MessageId, ScheduledId, Timestamp, UserId};

use super::{AT, ID, Sample, read, sample};
use crate::records::{
    AccountEntryRecord, AccountHeadRecord, AccountSubjectRecord, CountRecord, DeviceRecord, OwnerRecord,
    UserRecord,
};

pub(super) fn samples() -> Vec<Sample> {
    let own = Session::Own { generation: 3, refresh_expires_at: AT };
    let mut samples = vec![
        sample("user", &UserRecord::from(&user())),
        sample("owner", &OwnerRecord(UserId::new(ID))),
        sample("device", &DeviceRecord::from(&device(own))),
        sample("application device", &DeviceRecord::from(&device(application()))),
        sample("count", &CountRecord(300)),
        sample("account subject", &AccountSubjectRecord(300)),
        sample("account head", &AccountHeadRecord { last: 300, floor: 1, count: 2 }),
    ];
    let entry = |change| AccountEntryRecord::from(&AccountEntry { seq: 1, at: AT, change });
    samples.extend(account_changes().map(|(name, change)| sample(name, &entry(change))));
    samples
}

#[test]
fn samples_decode_to_their_values() {
    let written = sample("user", &UserRecord::from(&user()));
    assert_eq!(read::<UserRecord>(&written).into_user(UserId::new(ID)), user());
    let device = device(application());
    let read_device = read::<DeviceRecord>(&sample("device", &DeviceRecord::from(&device)));
    assert_eq!(read_device.into_device(device.id), device);
    for (name, change) in account_changes() {
        let entry = AccountEntry { seq: 1, at: AT, change };
        let record: AccountEntryRecord = read(&sample(name, &AccountEntryRecord::from(&entry)));
        assert_eq!(record.into_entry(1), entry);
    }
}

fn user() -> User {
    User {
        id: UserId::new(ID),
        handle: Handle::from_stored("ada"),
        display_name: DisplayName::from_stored("Ada"),
        avatar: Some(Avatar::from_stored("https://a")),
        phone: Some(Phone::from_stored("+34600111222")),
        subject: Some(Subject::from_stored("s")),
        password_hash: Some("h".into()),
        presence_visible: true,
        read_receipts: false,
        may_be_added_by: MayBeAddedBy::Contacts,
        refused_groups: vec![ConversationId::new(3)],
        former_handles: vec![FormerHandle { handle: Handle::from_stored("countess"), kept_until: AT }],
        spent: Spent { strangers: AT, ..Spent::default() },
        last_seen_at: Some(AT),
        disabled_at: None,
        created_at: AT,
    }
}

fn device(session: Session) -> Device {
    let name = DeviceName::from_stored("phone");
    Device {
        id: DeviceId::new(1),
        user_id: UserId::new(ID),
        name,
        created_at: AT,
        last_active_at: AT,
        session,
    }
}

fn application() -> Session {
    Session::Application {
        key: "k".into(),
        tokens_after: Some(Timestamp::from_millis(1)),
        revoked_at: Some(AT),
    }
}

fn account_changes() -> [(&'static str, AccountChange); 15] {
    let (c, u, d) = (ConversationId::new(1), UserId::new(2), DeviceId::new(3));
    let (m, s) = (MessageId::new(4), ScheduledId::new(5));
    [
        ("listed", AccountChange::ConversationListed(c)),
        ("deleted", AccountChange::ConversationGone(c, GoneReason::Deleted)),
        ("removed", AccountChange::ConversationGone(c, GoneReason::Removed)),
        ("settings", AccountChange::SettingsChanged(c)),
        ("read", AccountChange::ReadMoved(c)),
        ("hidden", AccountChange::MessageHidden(m)),
        ("starred", AccountChange::MessageStarred(m)),
        ("unstarred", AccountChange::MessageUnstarred(m)),
        ("scheduled", AccountChange::ScheduledUpdated(s)),
        ("unscheduled", AccountChange::ScheduledGone(s)),
        ("blocked", AccountChange::UserBlocked(u)),
        ("unblocked", AccountChange::UserUnblocked(u)),
        ("profile", AccountChange::ProfileUpdated),
        ("device added", AccountChange::DeviceAdded(d)),
        ("device removed", AccountChange::DeviceRemoved(d)),
    ]
}
