//! Two stores that execute the same operations.

use std::fmt::Debug;
use std::sync::Arc;

use godwit_domain::model::{AccountChange, ClientId, DisplayName, Handle, SearchPrefix, Subject, User};
use godwit_domain::ports::{Store, UserChange};
use godwit_protocol::{DeviceId, UserId};

use super::Difference;
use super::comparable::Comparable;
use super::ops::{CHOICES, Op, USERS};
use crate::clock::TestClock;
use crate::factory::StoreFactory;
use crate::model::ModelStore;
use crate::reading::{Known, read_everything};
use crate::scene::Scene;

/// Small, so that sequences reach the limit.
const DEVICES_MAX: usize = 3;
const BLOCKS_MAX: usize = 2;

pub(super) struct World {
    pub(super) store: Arc<dyn Store>,
    /// The scene of the model.
    pub(super) scene: Scene,
    pub(super) known: Known,
    names: Vec<DisplayName>,
}

/// Makes the same call on both stores and compares the answers.
macro_rules! both {
    ($world:ident, $op:expr, |$store:ident| $call:expr) => {{
        let (checked, model) = (&*$world.store, $world.scene.store());
        let of_store = {
            let $store = checked;
            $call.await?
        };
        let of_model = {
            let $store = model;
            $call.await?
        };
        $crate::replay::world::same($op, of_store, of_model)
    }};
}
pub(super) use both;

impl World {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        let model: Arc<dyn Store> = Arc::new(ModelStore::new(Arc::new(TestClock::default())));
        let scene = Scene::new(vec![model]);
        let names: Vec<_> = (0..CHOICES).map(|_| DisplayName::from_stored(scene.word())).collect();
        let handles: Vec<_> = (0..CHOICES).map(|_| Handle::from_stored(scene.word())).collect();
        let words = names.iter().map(|name| &**name).chain(handles.iter().map(|handle| &**handle));
        let known = Known {
            users: (0..USERS).map(|_| UserId::new(scene.id())).collect(),
            subjects: (0..CHOICES).map(|_| Subject::from_stored(scene.word())).collect(),
            prefixes: words.map(|word| SearchPrefix::from_stored(&word[..8])).collect(),
            handles,
            client_ids: (0..CHOICES * 2).map(|number| ClientId::from_stored(format!("m{number}"))).collect(),
            // The second one is later than everything that happens.
            times: vec![scene.now(), scene.now().plus_millis(100_000_000)],
            ..Known::default()
        };
        Self { store, scene, known, names }
    }

    pub(super) async fn apply(&mut self, op: &Op) -> Result<(), Difference> {
        match op {
            Op::CreateUser { .. } | Op::UpdateUser { .. } => self.apply_to_users(op).await,
            Op::CreateDevice { .. } | Op::RotateSession { .. } | Op::RemoveDevice { .. } => {
                self.apply_to_devices(op).await
            }
            Op::Block { user, other } | Op::Unblock { user, other } => {
                self.apply_to_blocks(op, self.user(*user), self.user(*other)).await
            }
            Op::OpenDirect { .. }
            | Op::CreateGroup { .. }
            | Op::Append { .. }
            | Op::MoveCursors { .. }
            | Op::ChangeSettings { .. }
            | Op::Clear { .. }
            | Op::ForgetExpiries => self.apply_to_conversations(op).await,
            Op::Hide { .. }
            | Op::Star { .. }
            | Op::Unstar { .. }
            | Op::Schedule { .. }
            | Op::ReplaceScheduled { .. } => self.apply_to_personal(op).await,
            Op::PassTime { ms } => {
                self.scene.advance_ms(i64::from(*ms));
                self.known.times.push(self.scene.now());
                Ok(())
            }
            Op::Reopen => Ok(()),
        }
    }

    /// Reopens the store and compares again.
    pub(super) async fn reopened(self, factory: &dyn StoreFactory) -> Result<Self, Difference> {
        let last_id = self.store.ids().next()?;
        // A store may give out an id again after a restart, unless something was written with it or a later one.
        self.store.create_user(self.scene.new_user()).await?;
        let world = Self { store: factory.reopen(self.store).await, ..self };
        let next_id = world.store.ids().next()?;
        if next_id <= last_id {
            let question = "the next id after opening again".to_owned();
            let model = format!("above {last_id}");
            return Err(Difference { question, store: next_id.to_string(), model });
        }
        world.compare_everything().await?;
        Ok(world)
    }

    pub(super) async fn compare_everything(&self) -> Result<(), Difference> {
        let of_store = read_everything(&*self.store, &self.known).await?;
        let of_model = read_everything(self.scene.store(), &self.known).await?;
        let counts = (of_store.len(), of_model.len());
        match of_store.into_iter().zip(of_model).find(|(store, model)| store != model) {
            // The number of questions depends on the answers, so equal answers cannot differ in number. If they did, some
            // would not be compared.
            None if counts.0 != counts.1 => {
                let question = "how many questions there are".to_owned();
                Err(Difference { question, store: counts.0.to_string(), model: counts.1.to_string() })
            }
            None => Ok(()),
            Some((store, model)) => {
                Err(Difference { question: model.question, store: store.answer, model: model.answer })
            }
        }
    }

    async fn apply_to_users(&self, op: &Op) -> Result<(), Difference> {
        match op {
            Op::CreateUser { user, handle, subject, name } => {
                let id = self.user(*user);
                if self.scene.store().user(id).await?.is_some() {
                    return Ok(());
                }
                let new = User {
                    subject: subject.map(|number| self.known.subjects[usize::from(number)].clone()),
                    display_name: self.names[usize::from(*name)].clone(),
                    ..User::new(id, self.known.handles[usize::from(*handle)].clone(), self.scene.now())
                };
                both!(self, op, |store| store.create_user(new.clone()))
            }
            Op::UpdateUser { user, handle, name, disabled, noted } => {
                let id = self.user(*user);
                let change = UserChange {
                    handle: handle.map(|number| self.known.handles[usize::from(number)].clone()),
                    asked_at: Some(self.scene.now()),
                    display_name: name.map(|number| self.names[usize::from(number)].clone()),
                    disabled_at: disabled.map(|disabled| disabled.then(|| self.scene.now())),
                    ..UserChange::default()
                };
                let note = noted.then(|| self.scene.note(id, AccountChange::ProfileUpdated));
                both!(self, op, |store| store.update_user(id, change.clone(), note))
            }
            other => unreachable!("{other:?} is not about users"),
        }
    }

    async fn apply_to_devices(&mut self, op: &Op) -> Result<(), Difference> {
        match op {
            Op::CreateDevice { user, key } => {
                let user = self.user(*user);
                let device = match key {
                    None => self.scene.new_device(user),
                    Some(key) => self.scene.new_application_device(user, &format!("key {key}")),
                };
                self.known.devices.push(device.id);
                let note = self.scene.note(user, AccountChange::DeviceAdded(device.id));
                both!(self, op, |store| store.create_device(device.clone(), note, DEVICES_MAX))
            }
            Op::RotateSession { device, generation } => {
                let Some(id) = self.device(*device) else { return Ok(()) };
                let (now, generation) = (self.scene.now(), u32::from(*generation));
                let (next, expires_at) = (generation + 1, now.plus_millis(1_000));
                both!(self, op, |store| store.rotate_session(id, generation, next, expires_at, now))
            }
            Op::RemoveDevice { device } => {
                let Some(id) = self.device(*device) else { return Ok(()) };
                let Some(owner) = self.scene.store().device(id).await?.map(|device| device.user_id) else {
                    return Ok(());
                };
                let note = self.scene.note(owner, AccountChange::DeviceRemoved(id));
                both!(self, op, |store| store.remove_device(id, note))
            }
            other => unreachable!("{other:?} is not about devices"),
        }
    }

    async fn apply_to_blocks(&self, op: &Op, user: UserId, other: UserId) -> Result<(), Difference> {
        if matches!(op, Op::Block { .. }) {
            let note = self.scene.note(user, AccountChange::UserBlocked(other));
            both!(self, op, |store| store.block(user, other, note, BLOCKS_MAX))
        } else {
            let note = self.scene.note(user, AccountChange::UserUnblocked(other));
            both!(self, op, |store| store.unblock(user, other, note))
        }
    }

    pub(super) fn user(&self, number: u8) -> UserId {
        self.known.users[usize::from(number)]
    }

    fn device(&self, number: u8) -> Option<DeviceId> {
        wrapping(&self.known.devices, number)
    }
}

/// The item with this number, wrapping around.
pub(super) fn wrapping<T: Copy>(items: &[T], number: u8) -> Option<T> {
    (!items.is_empty()).then(|| items[usize::from(number) % items.len()])
}

pub(super) fn same<T: Comparable>(op: &Op, store: T, model: T) -> Result<(), Difference> {
    let (store, model) = (store.comparable(), model.comparable());
    if store == model { Ok(()) } else { Err(difference(op, &store, &model)) }
}

fn difference(op: &Op, store: &impl Debug, model: &impl Debug) -> Difference {
    Difference { question: format!("{op:?}"), store: format!("{store:?}"), model: format!("{model:?}") }
}
