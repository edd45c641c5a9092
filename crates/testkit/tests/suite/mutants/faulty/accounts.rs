//! Changes of accounts; users, devices and blocks.

use async_trait::async_trait;
use godwit_domain::account::{AccountCommand, AccountOutcome};
use godwit_domain::model::{Device, Handle, SearchPrefix, Subject, User};
use godwit_domain::ports::{
    AccountStore, BlockStore, CreateUser, DeviceStore, PersonalStore, ReplaceScheduled, Rotation, StoreError,
    UpdateUser, UserChange, UserStore,
};
use godwit_protocol::{DeviceId, UserId};

use super::{Fault, Faulty, port};

port! { impl AccountStore {
    async fn change_account(&self, user: UserId, command: AccountCommand) -> AccountOutcome {
        let command = self.misunderstood(user, command).await?;
        let outcome = self.right.change_account(user, command.clone()).await?;
        Ok(match (self.fault, outcome) {
            (Fault::HandleIsTakenTwice, AccountOutcome::UserCreated(CreateUser::HandleTaken)) => {
                CreateUser::Created.into()
            }
            (Fault::RefusedUpdateWritesNote, AccountOutcome::UserUpdated(UpdateUser::HandleTaken)) => {
                if let AccountCommand::UpdateUser { note, .. } = command {
                    self.right.update_user(user, UserChange::default(), note).await?;
                }
                UpdateUser::HandleTaken.into()
            }
            (Fault::EveryRotationWins, AccountOutcome::SessionRotated(Rotation::Reused(device))) => {
                Rotation::Rotated(device).into()
            }
            (Fault::EveryClaimWins, AccountOutcome::ScheduledReplaced(ReplaceScheduled::Changed)) => {
                ReplaceScheduled::Replaced(None).into()
            }
            (_, outcome) => outcome,
        })
    }
}}

impl Faulty {
    /// The faulty command that replaces the given one.
    async fn misunderstood(
        &self,
        user: UserId,
        command: AccountCommand,
    ) -> Result<AccountCommand, StoreError> {
        Ok(match (self.fault, command) {
            (Fault::StarsAreUnbounded, AccountCommand::Star { star, note, .. }) => {
                AccountCommand::Star { star, note, stars_max: usize::MAX }
            }
            (
                Fault::ClaimsCompareOnlyTheStage,
                AccountCommand::ReplaceScheduled { mut expected, with, note },
            ) => {
                let current = self.right.scheduled_one(user, expected.id).await?;
                if let Some(current) = current.filter(|current| current.stage == expected.stage) {
                    *expected = current;
                }
                AccountCommand::ReplaceScheduled { expected, with, note }
            }
            (_, command) => command,
        })
    }
}

port! { impl UserStore {
    async fn user(&self, id: UserId) -> Option<User>;
    async fn users(&self, ids: &[UserId]) -> Vec<User>;
    async fn user_by_handle(&self, handle: &Handle) -> Option<User>;
    async fn user_by_subject(&self, subject: &Subject) -> Option<User>;
    async fn search_users(&self, prefix: &SearchPrefix, after: Option<UserId>, limit: usize) -> Vec<User> {
        let mut found = self.right.search_users(prefix, after, limit).await?;
        if self.has(Fault::SearchRepeatsUsers) && found.len() < limit {
            found.extend(found.last().cloned());
        }
        Ok(found)
    }
    async fn list_users(&self, after: Option<UserId>, limit: usize) -> Vec<User>;
}}

port! { impl DeviceStore {
    async fn device(&self, id: DeviceId) -> Option<Device>;
    async fn device_owner(&self, id: DeviceId) -> Option<UserId>;
    async fn devices_of(&self, user: UserId) -> Vec<Device>;
}}

port! { impl BlockStore {
    async fn blocks_between(&self, a: UserId, b: UserId) -> (bool, bool) {
        let (forward, back) = self.right.blocks_between(a, b).await?;
        let either = forward || back;
        Ok(if self.has(Fault::BlocksAreMutual) { (either, either) } else { (forward, back) })
    }
    async fn blocked_among(&self, user: UserId, others: &[UserId]) -> Vec<UserId>;
    async fn blockers_among(&self, user: UserId, others: &[UserId]) -> Vec<UserId>;
    async fn blocked_by(&self, user: UserId, after: Option<UserId>, limit: usize) -> Vec<UserId>;
}}
