//! Devices and their sessions.

use godwit_domain::model::Device;
use godwit_domain::ports::StoreError;
use godwit_protocol::{DeviceId, UserId};

use super::Accounts;
use super::rows::{DEVICE, DeviceBody, Key};
use super::txn::decode;
use crate::values::int;

impl Accounts {
    pub(crate) async fn device(&self, id: DeviceId) -> Result<Option<Device>, StoreError> {
        let Some(user) = self.device_owner(id).await? else { return Ok(None) };
        let body: Option<DeviceBody> = self.row(user, Key::device(id)).await?;
        Ok(body.map(|body| body.into_device(id, user)))
    }

    pub(crate) async fn devices_of(&self, user: UserId) -> Result<Vec<Device>, StoreError> {
        let rows = self.rows_of(user, DEVICE).await?;
        let device = |(key, body): (Key, String)| {
            let body: DeviceBody = decode(user, key, &body)?;
            Ok(body.into_device(DeviceId::new(key.number()), user))
        };
        rows.into_iter().map(device).collect()
    }

    pub(crate) async fn device_owner(&self, id: DeviceId) -> Result<Option<UserId>, StoreError> {
        let row: Option<(i64,)> =
            self.cql.row("find a device", &self.statements.device_owner, (int(id.get()),)).await?;
        Ok(row.map(|(user,)| UserId::new(user.cast_unsigned())))
    }
}
