//! Devices and their sessions.

use async_trait::async_trait;
use godwit_domain::model::{AccountEntry, AccountNote, Device, Session};
use godwit_domain::ports::{CreateDevice, DeviceStore, Rotation, StoreError};
use godwit_protocol::{DeviceId, Timestamp, UserId};

use super::rows::{DEVICE, DeviceBody, Key};
use super::snapshot::Want;
use super::txn::{Stop, Txn, decode};
use super::{Accounts, log};
use crate::CassandraStore;
use crate::values::int;

#[async_trait]
impl DeviceStore for CassandraStore {
    async fn create_device(
        &self,
        device: Device,
        note: AccountNote,
        devices_max: usize,
    ) -> Result<CreateDevice, StoreError> {
        let pass = self.gate.enter([]).await?;
        pass.leave(self.accounts.create_device(device, note, devices_max).await).await
    }

    async fn device(&self, id: DeviceId) -> Result<Option<Device>, StoreError> {
        self.accounts.device(id).await
    }

    async fn devices_of(&self, user: UserId) -> Result<Vec<Device>, StoreError> {
        self.accounts.devices_of(user).await
    }

    async fn rotate_session(
        &self,
        id: DeviceId,
        generation: u32,
        next: u32,
        refresh_expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<Rotation, StoreError> {
        let pass = self.gate.enter([]).await?;
        pass.leave(self.accounts.rotate_session(id, generation, next, refresh_expires_at, now).await).await
    }

    async fn remove_device(
        &self,
        id: DeviceId,
        note: AccountNote,
    ) -> Result<Option<AccountEntry>, StoreError> {
        let pass = self.gate.enter([]).await?;
        pass.leave(self.accounts.remove_device(id, note).await).await
    }
}

impl Accounts {
    async fn create_device(
        &self,
        device: Device,
        note: AccountNote,
        devices_max: usize,
    ) -> Result<CreateDevice, StoreError> {
        let (id, user) = (device.id, device.user_id);
        let owner = (int(id.get()), int(user.get()));
        self.cql.write("create a device", &self.statements.put_device_owner, owner).await?;
        let run = move |txn: &mut Txn<'_>| create(txn, &device, &note, devices_max);
        let wants = [Want::all(DEVICE), log::wants(&note)];
        let (created, replaced) = self.writer.write("create a device", user, wants, run).await?;
        if let Some(replaced) = replaced {
            self.forget_owner(replaced).await;
        }
        Ok(created)
    }

    async fn device(&self, id: DeviceId) -> Result<Option<Device>, StoreError> {
        let Some(user) = self.device_owner(id).await? else { return Ok(None) };
        let body: Option<DeviceBody> = self.row(user, Key::device(id)).await?;
        Ok(body.map(|body| body.into_device(id, user)))
    }

    async fn devices_of(&self, user: UserId) -> Result<Vec<Device>, StoreError> {
        let rows = self.rows_of(user, DEVICE).await?;
        let device = |(key, body): (Key, String)| {
            let body: DeviceBody = decode(user, key, &body)?;
            Ok(body.into_device(DeviceId::new(key.id.cast_unsigned()), user))
        };
        rows.into_iter().map(device).collect()
    }

    async fn rotate_session(
        &self,
        id: DeviceId,
        generation: u32,
        next: u32,
        refresh_expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<Rotation, StoreError> {
        let Some(user) = self.device_owner(id).await? else { return Ok(Rotation::NotFound) };
        let run = move |txn: &mut Txn<'_>| rotate(txn, id, generation, next, refresh_expires_at, now);
        self.writer.write("rotate a session", user, [Want::Row(Key::device(id))], run).await
    }

    async fn remove_device(
        &self,
        id: DeviceId,
        note: AccountNote,
    ) -> Result<Option<AccountEntry>, StoreError> {
        let Some(user) = self.device_owner(id).await? else { return Ok(None) };
        let run = move |txn: &mut Txn<'_>| remove(txn, id, &note);
        let wants = [Want::Row(Key::device(id)), log::wants(&note)];
        let removed = self.writer.write("remove a device", user, wants, run).await?;
        if let Removed::Gone(_) = removed {
            self.forget_owner(id).await;
        }
        Ok(removed.entry())
    }

    async fn device_owner(&self, id: DeviceId) -> Result<Option<UserId>, StoreError> {
        let row: Option<(i64,)> =
            self.cql.row("find a device", &self.statements.device_owner, (int(id.get()),)).await?;
        Ok(row.map(|(user,)| UserId::new(user.cast_unsigned())))
    }

    /// Whose a device was that is no more. What is left is of no use and does no harm.
    async fn forget_owner(&self, id: DeviceId) {
        let removed =
            self.cql.write("forget a device", &self.statements.remove_device_owner, (int(id.get()),));
        if let Err(error) = removed.await {
            tracing::debug!(device = %id, %error, "the owner of a device that is gone was left");
        }
    }
}

fn device(txn: &mut Txn<'_>, id: DeviceId) -> Result<Option<Device>, Stop> {
    let user = txn.user();
    Ok(txn.get(Key::device(id))?.map(|body: DeviceBody| body.into_device(id, user)))
}

fn put(txn: &mut Txn<'_>, device: &Device) {
    txn.put(Key::device(device.id), &DeviceBody::from(device));
}

/// Says also which revoked device has been replaced.
fn create(
    txn: &mut Txn<'_>,
    new: &Device,
    note: &AccountNote,
    devices_max: usize,
) -> Result<(CreateDevice, Option<DeviceId>), Stop> {
    let user = txn.user();
    let devices: Vec<Device> = txn
        .all(DEVICE)?
        .into_iter()
        .map(|(key, body): (Key, DeviceBody)| body.into_device(DeviceId::new(key.id.cast_unsigned()), user))
        .collect();
    let same_key = devices
        .iter()
        .find(|device| application_key(device).is_some_and(|key| Some(key) == application_key(new)));
    if let Some(device) = same_key.filter(|device| device.revoked_at().is_none()) {
        return Ok((CreateDevice::KeyTaken(device.clone()), None));
    }
    if devices.iter().filter(|device| device.revoked_at().is_none()).count() >= devices_max {
        return Ok((CreateDevice::TooMany, None));
    }
    let replaced = same_key.map(|revoked| revoked.id);
    if let Some(replaced) = replaced {
        txn.remove(Key::device(replaced));
    }
    put(txn, new);
    Ok((CreateDevice::Created(log::write(txn, note)?), replaced))
}

fn application_key(device: &Device) -> Option<&str> {
    match &device.session {
        Session::Own { .. } => None,
        Session::Application { key, .. } => Some(key),
    }
}

enum Removed {
    Gone(AccountEntry),
    Revoked(AccountEntry),
    Before,
}

impl Removed {
    const fn entry(self) -> Option<AccountEntry> {
        match self {
            Self::Gone(entry) | Self::Revoked(entry) => Some(entry),
            Self::Before => None,
        }
    }
}

fn remove(txn: &mut Txn<'_>, id: DeviceId, note: &AccountNote) -> Result<Removed, Stop> {
    let Some(mut device) = device(txn, id)? else { return Ok(Removed::Before) };
    match &mut device.session {
        Session::Own { .. } => {
            txn.remove(Key::device(id));
            log::write(txn, note).map(Removed::Gone)
        }
        Session::Application { revoked_at: Some(_), .. } => Ok(Removed::Before),
        Session::Application { revoked_at, .. } => {
            *revoked_at = Some(note.at);
            put(txn, &device);
            log::write(txn, note).map(Removed::Revoked)
        }
    }
}

fn rotate(
    txn: &mut Txn<'_>,
    id: DeviceId,
    generation: u32,
    next: u32,
    refresh_expires_at: Timestamp,
    now: Timestamp,
) -> Result<Rotation, Stop> {
    let Some(mut device) = device(txn, id)? else { return Ok(Rotation::NotFound) };
    match device.session {
        Session::Own { generation: current, .. } if current == generation => {
            device.session = Session::Own { generation: next, refresh_expires_at };
            device.last_active_at = now;
            put(txn, &device);
            Ok(Rotation::Rotated(device))
        }
        Session::Own { .. } => Ok(Rotation::Reused(device)),
        // Such a device never had a token of this server.
        Session::Application { .. } => Ok(Rotation::NotFound),
    }
}
