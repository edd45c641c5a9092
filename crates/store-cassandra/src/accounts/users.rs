//! Users.

use async_trait::async_trait;
use futures_util::{StreamExt, TryStreamExt, stream};
use godwit_domain::model::{AccountNote, Handle, SearchPrefix, Subject, User};
use godwit_domain::ports::{CreateUser, StoreError, UpdateUser, UserChange, UserStore};
use godwit_protocol::UserId;

use super::names::{self, Claim, Name};
use super::rows::{Key, ProfileBody};
use super::snapshot::Want;
use super::txn::{Stop, Txn};
use super::{Accounts, log};
use crate::CassandraStore;
use crate::cql::unavailable;
use crate::pause::pause;

/// Users that are read at once.
const READS_AT_ONCE_MAX: usize = 16;

#[async_trait]
impl UserStore for CassandraStore {
    async fn create_user(&self, user: User) -> Result<CreateUser, StoreError> {
        let pass = self.gate.enter([]).await?;
        pass.leave(self.accounts.create_user(user).await).await
    }

    async fn user(&self, id: UserId) -> Result<Option<User>, StoreError> {
        self.accounts.user(id).await
    }

    async fn users(&self, ids: &[UserId]) -> Result<Vec<User>, StoreError> {
        self.accounts.users(ids).await
    }

    async fn user_by_handle(&self, handle: &Handle) -> Result<Option<User>, StoreError> {
        self.accounts.user_by_name(&handle.into()).await
    }

    async fn user_by_subject(&self, subject: &Subject) -> Result<Option<User>, StoreError> {
        self.accounts.user_by_name(&subject.into()).await
    }

    async fn update_user(
        &self,
        id: UserId,
        change: UserChange,
        note: Option<AccountNote>,
    ) -> Result<UpdateUser, StoreError> {
        let pass = self.gate.enter([]).await?;
        let updated = match change.handle.clone() {
            Some(handle) => self.accounts.update_handle(id, handle, change, note).await,
            None => self.accounts.update_user(id, change, note).await,
        };
        pass.leave(updated).await
    }

    async fn search_users(
        &self,
        prefix: &SearchPrefix,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<User>, StoreError> {
        self.accounts.search_users(prefix, after, limit).await
    }

    async fn list_users(&self, after: Option<UserId>, limit: usize) -> Result<Vec<User>, StoreError> {
        self.accounts.list_users(after, limit).await
    }
}

pub(super) fn profile(txn: &mut Txn<'_>) -> Result<Option<User>, Stop> {
    let user = txn.user();
    Ok(txn.get(Key::PROFILE)?.map(|body: ProfileBody| body.into_user(user)))
}

#[expect(clippy::large_enum_variant, reason = "an answer that is looked at once and not kept")]
#[derive(Debug)]
pub(super) enum Created {
    Yes,
    Before(User),
    /// A name was taken over meanwhile.
    Void,
}

#[expect(clippy::large_enum_variant, reason = "an answer that is looked at once and not kept")]
#[derive(Debug)]
pub(super) enum Renamed {
    Updated(UpdateUser),
    /// The new name was taken over meanwhile, or had not been needed when the attempt began.
    Void,
}

impl Accounts {
    pub(super) async fn user(&self, id: UserId) -> Result<Option<User>, StoreError> {
        let body: Option<ProfileBody> = self.row(id, Key::PROFILE).await?;
        Ok(body.map(|body| body.into_user(id)))
    }

    pub(super) async fn users(&self, ids: &[UserId]) -> Result<Vec<User>, StoreError> {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        ids.dedup();
        let users = stream::iter(ids).map(|id| self.user(id)).buffer_unordered(READS_AT_ONCE_MAX);
        users.try_filter_map(|user| async { Ok(user) }).try_collect().await
    }

    pub(super) async fn create_user(&self, user: User) -> Result<CreateUser, StoreError> {
        let (handle, subject) = (Name::from(&user.handle), user.subject.as_ref().map(Name::from));
        let at = Some(user.created_at);
        // Always in this order, so that no two wait for each other.
        let _subject_turn = match &subject {
            Some(subject) => Some(self.names.attempt(subject).await),
            None => None,
        };
        let _handle_turn = self.names.attempt(&handle).await;
        // What can be said without reserving anything, so that a refused user leaves nothing behind.
        if self.user_by_name(&handle).await?.is_some() {
            return self.handle_taken(subject.as_ref()).await;
        }
        for attempt in 0..names::ATTEMPTS_MAX {
            pause(attempt).await;
            let (_, naming) = self.naming(user.id).await?;
            // The subject first: when two requests make the same user of the application, the second wants to hear of the
            // first, and not that the handle is taken.
            if let Some(subject) = &subject
                && let Claim::TakenBy(first) = self.claim(subject, user.id, at).await?
            {
                return Ok(CreateUser::SubjectTaken(first));
            }
            if let Claim::TakenBy(_) = self.claim(&handle, user.id, at).await? {
                return self.handle_taken(subject.as_ref()).await;
            }
            match self.create_profile(user.clone(), naming).await? {
                Created::Yes => return Ok(CreateUser::Created),
                Created::Before(first) if first.subject.is_some() => {
                    return Ok(CreateUser::SubjectTaken(first));
                }
                Created::Before(_) => return Ok(CreateUser::HandleTaken),
                Created::Void => {}
            }
        }
        Err(unavailable("create a user", "others try for the same names all the time"))
    }

    /// Whoever has the handle may have the subject too, and that is said first.
    async fn handle_taken(&self, subject: Option<&Name>) -> Result<CreateUser, StoreError> {
        let first = match subject {
            Some(subject) => self.user_by_name(subject).await?,
            None => None,
        };
        Ok(first.map_or(CreateUser::HandleTaken, CreateUser::SubjectTaken))
    }

    pub(super) async fn create_profile(&self, user: User, naming: u64) -> Result<Created, StoreError> {
        let id = user.id;
        let run = move |txn: &mut Txn<'_>| {
            if let Some(first) = profile(txn)? {
                return Ok(Created::Before(first));
            }
            if txn.head().naming != naming {
                return Ok(Created::Void);
            }
            txn.put(Key::PROFILE, &ProfileBody::from(&user));
            Ok(Created::Yes)
        };
        self.writer.write("create a user", id, [Want::Row(Key::PROFILE)], run).await
    }

    /// A change of anything but the handle.
    pub(super) async fn update_user(
        &self,
        id: UserId,
        change: UserChange,
        note: Option<AccountNote>,
    ) -> Result<UpdateUser, StoreError> {
        let run = move |txn: &mut Txn<'_>| match profile(txn)? {
            Some(user) => update(txn, user, &change, note.as_ref()),
            None => Ok(UpdateUser::NotFound),
        };
        self.writer.write("update a user", id, update_wants(note.as_ref()), run).await
    }

    pub(super) async fn update_handle(
        &self,
        id: UserId,
        handle: Handle,
        change: UserChange,
        note: Option<AccountNote>,
    ) -> Result<UpdateUser, StoreError> {
        let name = Name::from(&handle);
        let _turn = self.names.attempt(&name).await;
        for attempt in 0..names::ATTEMPTS_MAX {
            pause(attempt).await;
            let (Some(before), naming) = self.naming(id).await? else { return Ok(UpdateUser::NotFound) };
            let (old, before_handle) = (Name::from(&before.handle), before.handle.clone());
            let mut held = None;
            if before.handle != handle {
                held = self.names.holder(&old).await?.filter(|(holder, _)| *holder == id);
                if let Claim::TakenBy(_) = self.claim(&name, id, change.renamed_at).await? {
                    return Ok(UpdateUser::HandleTaken);
                }
            }
            if let Renamed::Updated(updated) =
                self.rename(before, naming, handle.clone(), change.clone(), note).await?
            {
                let keeps = |user: &User| user.former_handles.iter().any(|f| f.handle == before_handle);
                let is_kept = matches!(&updated, UpdateUser::Updated(user, _) if keeps(user));
                if let Some(held) = held.filter(|_| !is_kept) {
                    self.names.give_back(&old, held).await;
                }
                return Ok(updated);
            }
        }
        Err(unavailable("update a user", "others try for the same name all the time"))
    }

    /// Changes a user whose handle and `naming` are as they were when the new handle was reserved.
    pub(super) async fn rename(
        &self,
        before: User,
        naming: u64,
        handle: Handle,
        change: UserChange,
        note: Option<AccountNote>,
    ) -> Result<Renamed, StoreError> {
        let id = before.id;
        let run = move |txn: &mut Txn<'_>| {
            let Some(user) = profile(txn)? else { return Ok(Renamed::Updated(UpdateUser::NotFound)) };
            if user.handle != before.handle || txn.head().naming != naming {
                return Ok(Renamed::Void);
            }
            if user.handle != handle {
                txn.head_mut().naming += 1;
            }
            update(txn, user, &change, note.as_ref()).map(Renamed::Updated)
        };
        self.writer.write("update a user", id, update_wants(note.as_ref()), run).await
    }

    /// The user, and the number that shows whether an attempt at a name still counts.
    pub(super) async fn naming(&self, id: UserId) -> Result<(Option<User>, u64), StoreError> {
        let run = |txn: &mut Txn<'_>| Ok((profile(txn)?, txn.head().naming));
        self.writer.write("read a user", id, [Want::Row(Key::PROFILE)], run).await
    }
}

fn update(
    txn: &mut Txn<'_>,
    mut user: User,
    change: &UserChange,
    note: Option<&AccountNote>,
) -> Result<UpdateUser, Stop> {
    let entry = note.map(|note| log::write(txn, note)).transpose()?;
    if *change != UserChange::default() {
        change.clone().apply(&mut user);
        txn.put(Key::PROFILE, &ProfileBody::from(&user));
    }
    Ok(UpdateUser::Updated(user, entry))
}

fn update_wants(note: Option<&AccountNote>) -> Vec<Want> {
    [Want::Row(Key::PROFILE)].into_iter().chain(note.map(log::wants)).collect()
}
