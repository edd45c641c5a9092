//! Devices with sessions of this server.

use godwit_domain::model::{AccountChange, AccountEntry, Device, Session};
use godwit_domain::ports::{CreateDevice, Rotation, StoreError};
use godwit_protocol::{DeviceId, UserId};

use super::{CALLERS, Outcome};
use crate::paging::account_log_after;
use crate::scene::Scene;

const DEVICES_MAX: usize = 5;

pub(super) async fn a_created_device_reads_back(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let device = s.new_device(user);
    let entry = create(s, &device).await?;
    assert_eq!((entry.at, entry.change), (s.now(), AccountChange::DeviceAdded(device.id)));
    assert_eq!(account_log_after(s.store(), user, 0, 50).await?, Some(vec![entry]));
    assert_eq!(s.store().device(device.id).await?, Some(device));
    Ok(())
}

pub(super) async fn devices_belong_to_their_user_and_are_sorted_by_id(s: &Scene) -> Outcome {
    let (ada, bob) = (s.user().await?, s.user().await?);
    let mut devices: Vec<Device> = (0..4).map(|_| s.new_device(ada)).collect();
    devices.push(s.new_application_device(ada, "phone"));
    for device in devices.iter().rev() {
        create(s, device).await?;
    }
    let other = s.new_device(bob);
    create(s, &other).await?;
    assert_eq!(s.store().devices_of(ada).await?, devices);
    assert_eq!(s.store().devices_of(bob).await?, [other]);
    assert_eq!(s.store().devices_of(s.new_user().id).await?, []);
    Ok(())
}

pub(super) async fn devices_are_bounded(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let devices: Vec<Device> = (0..DEVICES_MAX).map(|_| s.new_device(user)).collect();
    for device in &devices {
        create(s, device).await?;
    }
    let head = s.store().account_head(user).await?;
    let further = s.new_device(user);
    assert_eq!(try_create(s, &further).await?, CreateDevice::TooMany);
    assert_eq!(s.store().device(further.id).await?, None);
    assert_eq!(s.store().devices_of(user).await?, devices);
    assert_eq!(s.store().account_head(user).await?, head, "a refused device is not noted");
    remove(s, &devices[0]).await?;
    create(s, &further).await?;
    Ok(())
}

pub(super) async fn devices_are_bounded_among_concurrent_callers(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let devices: Vec<Device> = (0..CALLERS).map(|_| s.new_device(user)).collect();
    let outcomes = s.at_once(CALLERS, |i, store| {
        let (device, note) = (devices[i].clone(), s.note(user, AccountChange::DeviceAdded(devices[i].id)));
        async move { store.create_device(device, note, DEVICES_MAX).await }
    });
    let outcomes = outcomes.await?;
    let created = |outcome: &CreateDevice| matches!(outcome, CreateDevice::Created(_));
    let made: Vec<Device> =
        devices.iter().zip(&outcomes).filter(|(_, o)| created(o)).map(|(device, _)| device.clone()).collect();
    assert_eq!(made.len(), DEVICES_MAX, "{outcomes:?}");
    assert_eq!(s.store().devices_of(user).await?, made);
    Ok(())
}

pub(super) async fn a_rotation_moves_to_a_later_generation(s: &Scene) -> Outcome {
    let mut device = s.new_device(s.user().await?);
    create(s, &device).await?;
    for (generation, next) in [(0, 1), (1, 2), (2, 4), (4, 5)] {
        s.advance_ms(10);
        let expires = s.now().plus_millis(1_000);
        device.last_active_at = s.now();
        device.session = Session::Own { generation: next, refresh_expires_at: expires };
        let rotation = s.store().rotate_session(device.id, generation, next, expires, s.now()).await?;
        assert_eq!(rotation, Rotation::Rotated(device.clone()));
        assert_eq!(s.store().device(device.id).await?.as_ref(), Some(&device));
        assert_eq!(s.store().devices_of(device.user_id).await?, [device.clone()]);
    }
    Ok(())
}

pub(super) async fn a_reused_generation_changes_nothing(s: &Scene) -> Outcome {
    let device = s.new_device(s.user().await?);
    create(s, &device).await?;
    let expires = s.now().plus_millis(1_000);
    let Rotation::Rotated(rotated) = s.store().rotate_session(device.id, 0, 1, expires, s.now()).await? else {
        panic!("the first rotation succeeds");
    };
    s.advance_ms(10);
    let reused = s.store().rotate_session(device.id, 0, 1, expires.plus_millis(10), s.now()).await?;
    assert_eq!(reused, Rotation::Reused(rotated.clone()));
    assert_eq!(s.store().device(device.id).await?, Some(rotated));
    Ok(())
}

pub(super) async fn one_of_many_concurrent_rotations_wins(s: &Scene) -> Outcome {
    let id = {
        let device = s.new_device(s.user().await?);
        create(s, &device).await?;
        device.id
    };
    // Every rotation asks for a different expiry, so that the stored one is identifiable.
    let expires = |i: usize| s.now().plus_millis(i as i64);
    let outcomes = s.at_once(CALLERS, |i, store| {
        let (expires, now) = (expires(i), s.now());
        async move { store.rotate_session(id, 0, 1, expires, now).await }
    });
    let outcomes = outcomes.await?;
    let stored = s.store().device(id).await?.expect("the device is there");
    let mut winners = 0;
    for (i, outcome) in outcomes.into_iter().enumerate() {
        match outcome {
            Rotation::Rotated(device) => {
                assert_eq!(device.session, Session::Own { generation: 1, refresh_expires_at: expires(i) });
                assert_eq!(device, stored);
                winners += 1;
            }
            Rotation::Reused(device) => assert_eq!(device, stored),
            Rotation::NotFound => panic!("the device is there"),
        }
    }
    assert_eq!(winners, 1);
    Ok(())
}

pub(super) async fn an_unknown_device_is_not_rotated(s: &Scene) -> Outcome {
    let unknown = DeviceId::new(s.id());
    assert_eq!(s.store().rotate_session(unknown, 0, 1, s.now(), s.now()).await?, Rotation::NotFound);
    assert_eq!(s.store().device(unknown).await?, None);
    let device = s.new_device(s.user().await?);
    create(s, &device).await?;
    remove(s, &device).await?;
    assert_eq!(s.store().rotate_session(device.id, 0, 1, s.now(), s.now()).await?, Rotation::NotFound);
    assert_eq!(s.store().device(device.id).await?, None);
    let of_application = s.new_application_device(device.user_id, "phone");
    create(s, &of_application).await?;
    assert_eq!(s.store().rotate_session(of_application.id, 0, 1, s.now(), s.now()).await?, Rotation::NotFound);
    Ok(())
}

pub(super) async fn a_removed_device_is_gone_and_removing_it_again_does_nothing(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let (device, other) = (s.new_device(user), s.new_device(user));
    create(s, &device).await?;
    let kept = create(s, &other).await?;
    s.advance_ms(10);
    let entry = remove(s, &device).await?.expect("it was there");
    assert_eq!((entry.at, entry.change), (s.now(), AccountChange::DeviceRemoved(device.id)));
    assert_eq!(s.store().device(device.id).await?, None);
    assert_eq!(s.store().devices_of(user).await?, [other]);
    assert_eq!(remove(s, &device).await?, None);
    assert_eq!(account_log_after(s.store(), user, 0, 50).await?, Some(vec![kept, entry]));
    Ok(())
}

pub(super) async fn one_of_many_concurrent_removals_is_noted(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let device = s.new_device(user);
    create(s, &device).await?;
    let note = s.note(user, AccountChange::DeviceRemoved(device.id));
    let outcomes =
        s.at_once(CALLERS, |_, store| async move { store.remove_device(device.id, note).await }).await?;
    let noted: Vec<AccountEntry> = outcomes.into_iter().flatten().collect();
    assert_eq!(noted.len(), 1, "{noted:?}");
    assert_eq!(account_log_after(s.store(), user, 0, 50).await?, Some(noted));
    Ok(())
}

/// Adds a device. Panics if it is refused.
pub(super) async fn create(s: &Scene, device: &Device) -> Result<AccountEntry, StoreError> {
    match try_create(s, device).await? {
        CreateDevice::Created(entry) => Ok(entry),
        refused => panic!("the device was refused: {refused:?}"),
    }
}

pub(super) async fn try_create(s: &Scene, device: &Device) -> Result<CreateDevice, StoreError> {
    let note = s.note(device.user_id, AccountChange::DeviceAdded(device.id));
    s.store().create_device(device.clone(), note, DEVICES_MAX).await
}

pub(super) async fn remove(s: &Scene, device: &Device) -> Result<Option<AccountEntry>, StoreError> {
    let note = s.note(device.user_id, AccountChange::DeviceRemoved(device.id));
    s.store().remove_device(device.id, note).await
}

/// Adds devices up to the limit.
pub(super) async fn fill(s: &Scene, user: UserId) -> Outcome {
    for _ in s.store().devices_of(user).await?.len()..DEVICES_MAX {
        create(s, &s.new_device(user)).await?;
    }
    Ok(())
}
