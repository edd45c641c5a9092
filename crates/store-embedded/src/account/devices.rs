//! Devices and their sessions.

use godwit_domain::model::Device;
use godwit_domain::ports::StoreError;
use godwit_protocol::{DeviceId, UserId};

use crate::keys;
use crate::read::Read;
use crate::records::DeviceRecord;

pub(crate) fn device(store: &impl Read, id: DeviceId) -> Result<Option<Device>, StoreError> {
    let record: Option<DeviceRecord> = store.record(&keys::device(id))?;
    Ok(record.map(|record| record.into_device(id)))
}

pub(crate) fn devices_of(store: &impl Read, user: UserId) -> Result<Vec<Device>, StoreError> {
    let mut devices = Vec::new();
    for (key, _) in store.all(&keys::devices_of(user))? {
        devices.extend(device(store, DeviceId::new(keys::last_id("devices of a user", &key)?))?);
    }
    Ok(devices)
}
