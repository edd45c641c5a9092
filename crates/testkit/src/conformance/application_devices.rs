//! Devices with tokens of the embedding application: identified by a key, and kept while their tokens are valid.

use std::slice;

use godwit_domain::model::{AccountChange, Device, Session};
use godwit_domain::ports::CreateDevice;

use super::devices::{create, fill, remove, try_create};
use super::{CALLERS, Outcome};
use crate::scene::Scene;

pub(super) async fn the_last_revocation_is_kept(s: &Scene) -> Outcome {
    let tokens_after = Some(s.now());
    let session = Session::Application { key: "phone".into(), tokens_after, revoked_at: None };
    let device = Device { session, ..s.new_device(s.user().await?) };
    create(s, &device).await?;
    assert_eq!(s.store().device(device.id).await?.as_ref(), Some(&device));
    s.advance_ms(10);
    remove(s, &device).await?;
    let session = Session::Application { key: "phone".into(), tokens_after, revoked_at: Some(s.now()) };
    assert_eq!(s.store().device(device.id).await?, Some(Device { session, ..device }));
    Ok(())
}

pub(super) async fn a_key_is_unique_for_its_user(s: &Scene) -> Outcome {
    let (ada, bob) = (s.user().await?, s.user().await?);
    let (phone, tablet) = (s.new_application_device(ada, "phone"), s.new_application_device(ada, "tablet"));
    create(s, &phone).await?;
    create(s, &tablet).await?;
    create(s, &s.new_application_device(bob, "phone")).await?;
    let head = s.store().account_head(ada).await?;
    let again = s.new_application_device(ada, "phone");
    assert_eq!(try_create(s, &again).await?, CreateDevice::KeyTaken(phone.clone()));
    assert_eq!(s.store().device(again.id).await?, None);
    assert_eq!(s.store().devices_of(ada).await?, [phone, tablet]);
    assert_eq!(s.store().account_head(ada).await?, head, "a refused device is not noted");
    Ok(())
}

pub(super) async fn a_taken_key_takes_precedence_over_the_bound(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let phone = s.new_application_device(user, "phone");
    create(s, &phone).await?;
    fill(s, user).await?;
    assert_eq!(try_create(s, &s.new_application_device(user, "tablet")).await?, CreateDevice::TooMany);
    let again = s.new_application_device(user, "phone");
    assert_eq!(try_create(s, &again).await?, CreateDevice::KeyTaken(phone));
    Ok(())
}

pub(super) async fn one_of_many_concurrent_devices_gets_the_key(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let devices: Vec<Device> = (0..CALLERS).map(|_| s.new_application_device(user, "phone")).collect();
    let outcomes = s.at_once(CALLERS, |i, store| {
        let (device, note) = (devices[i].clone(), s.note(user, AccountChange::DeviceAdded(devices[i].id)));
        async move { store.create_device(device, note, CALLERS).await }
    });
    let outcomes = outcomes.await?;
    let stored = s.store().devices_of(user).await?;
    assert_eq!(stored.len(), 1, "{stored:?}");
    for (device, outcome) in devices.iter().zip(outcomes) {
        if device.id == stored[0].id {
            assert!(matches!(outcome, CreateDevice::Created(_)), "{outcome:?}");
        } else {
            assert_eq!(outcome, CreateDevice::KeyTaken(stored[0].clone()));
        }
    }
    Ok(())
}

pub(super) async fn a_removed_device_stays_revoked(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let device = s.new_application_device(user, "phone");
    create(s, &device).await?;
    s.advance_ms(10);
    let entry = remove(s, &device).await?.expect("it was there");
    assert_eq!((entry.at, entry.change), (s.now(), AccountChange::DeviceRemoved(device.id)));
    let revoked = s.store().device(device.id).await?.expect("it is kept");
    assert_eq!(revoked.revoked_at(), Some(s.now()));
    assert_eq!(s.store().devices_of(user).await?, slice::from_ref(&revoked));
    s.advance_ms(10);
    assert_eq!(remove(s, &device).await?, None);
    assert_eq!(s.store().device(device.id).await?, Some(revoked), "revoking again does not move the time");
    assert_eq!(s.store().account_head(user).await?, entry.seq);
    Ok(())
}

pub(super) async fn revoked_devices_do_not_count(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let phone = s.new_application_device(user, "phone");
    create(s, &phone).await?;
    fill(s, user).await?;
    remove(s, &phone).await?;
    create(s, &s.new_device(user)).await?;
    assert_eq!(try_create(s, &s.new_device(user)).await?, CreateDevice::TooMany);
    Ok(())
}

pub(super) async fn a_revoked_device_is_replaced_by_the_next_with_its_key(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let (old, new) = (s.new_application_device(user, "phone"), s.new_application_device(user, "phone"));
    create(s, &old).await?;
    remove(s, &old).await?;
    create(s, &new).await?;
    assert_eq!(s.store().device(old.id).await?, None);
    assert_eq!(s.store().devices_of(user).await?, slice::from_ref(&new));
    let again = s.new_application_device(user, "phone");
    assert_eq!(try_create(s, &again).await?, CreateDevice::KeyTaken(new));
    Ok(())
}
