//! Devices and their sessions.

use async_trait::async_trait;
use godwit_domain::model::{AccountEntry, AccountNote, Device, Session};
use godwit_domain::ports::{CreateDevice, DeviceStore, Rotation, StoreError};
use godwit_protocol::{DeviceId, Timestamp, UserId};

use crate::keys;
use crate::read::Read;
use crate::records::{DeviceRecord, present};
use crate::txn::Txn;
use crate::{EmbeddedStore, account_log};

#[async_trait]
impl DeviceStore for EmbeddedStore {
    async fn create_device(
        &self,
        device: Device,
        note: AccountNote,
        devices_max: usize,
    ) -> Result<CreateDevice, StoreError> {
        self.write("create a device", move |txn| create(txn, &device, note, devices_max)).await
    }

    async fn device(&self, id: DeviceId) -> Result<Option<Device>, StoreError> {
        device(&self.engine.view(), id)
    }

    async fn devices_of(&self, user: UserId) -> Result<Vec<Device>, StoreError> {
        devices_of(&self.engine.view(), user)
    }

    async fn rotate_session(
        &self,
        id: DeviceId,
        generation: u32,
        next: u32,
        refresh_expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<Rotation, StoreError> {
        self.write("rotate a session", move |txn| rotate(txn, id, generation, next, refresh_expires_at, now))
            .await
    }

    async fn remove_device(
        &self,
        id: DeviceId,
        note: AccountNote,
    ) -> Result<Option<AccountEntry>, StoreError> {
        self.write("remove a device", move |txn| remove(txn, id, note)).await
    }
}

fn device(store: &impl Read, id: DeviceId) -> Result<Option<Device>, StoreError> {
    let record: Option<DeviceRecord> = store.record(&keys::device(id))?;
    Ok(record.map(|record| record.into_device(id)))
}

fn devices_of(store: &impl Read, user: UserId) -> Result<Vec<Device>, StoreError> {
    let mut devices = Vec::new();
    for (key, _) in store.all(&keys::devices_of(user))? {
        devices.extend(device(store, DeviceId::new(keys::last_id("devices of a user", &key)?))?);
    }
    Ok(devices)
}

fn create(
    txn: &mut Txn<'_>,
    new: &Device,
    note: AccountNote,
    devices_max: usize,
) -> Result<CreateDevice, StoreError> {
    let devices = devices_of(txn, new.user_id)?;
    let same_key = devices
        .iter()
        .find(|device| application_key(device).is_some_and(|key| Some(key) == application_key(new)));
    if let Some(device) = same_key.filter(|device| device.revoked_at().is_none()) {
        return Ok(CreateDevice::KeyTaken(device.clone()));
    }
    if devices.iter().filter(|device| device.revoked_at().is_none()).count() >= devices_max {
        return Ok(CreateDevice::TooMany);
    }
    if let Some(revoked) = same_key {
        txn.remove(keys::device(revoked.id));
        txn.remove(keys::device_of(revoked.user_id, revoked.id));
    }
    txn.put_record(keys::device(new.id), &DeviceRecord::from(new));
    txn.put(keys::device_of(new.user_id, new.id), present());
    account_log::note(txn, note).map(CreateDevice::Created)
}

fn application_key(device: &Device) -> Option<&str> {
    match &device.session {
        Session::Own { .. } => None,
        Session::Application { key, .. } => Some(key),
    }
}

fn remove(txn: &mut Txn<'_>, id: DeviceId, note: AccountNote) -> Result<Option<AccountEntry>, StoreError> {
    let Some(mut device) = device(txn, id)? else { return Ok(None) };
    match &mut device.session {
        Session::Own { .. } => {
            txn.remove(keys::device(id));
            txn.remove(keys::device_of(device.user_id, id));
        }
        Session::Application { revoked_at: Some(_), .. } => return Ok(None),
        Session::Application { revoked_at, .. } => {
            *revoked_at = Some(note.at);
            txn.put_record(keys::device(id), &DeviceRecord::from(&device));
        }
    }
    account_log::note(txn, note).map(Some)
}

fn rotate(
    txn: &mut Txn<'_>,
    id: DeviceId,
    generation: u32,
    next: u32,
    refresh_expires_at: Timestamp,
    now: Timestamp,
) -> Result<Rotation, StoreError> {
    let Some(mut device) = device(txn, id)? else { return Ok(Rotation::NotFound) };
    match device.session {
        Session::Own { generation: current, .. } if current == generation => {
            device.session = Session::Own { generation: next, refresh_expires_at };
            device.last_active_at = now;
            txn.put_record(keys::device(id), &DeviceRecord::from(&device));
            Ok(Rotation::Rotated(device))
        }
        Session::Own { .. } => Ok(Rotation::Reused(device)),
        // Such a device never had a token of this server.
        Session::Application { .. } => Ok(Rotation::NotFound),
    }
}
