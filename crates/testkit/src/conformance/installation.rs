//! Data of the whole installation: ids and the signing key.

use std::collections::HashSet;

use godwit_protocol::ids::ID_MIN;

use super::{CALLERS, Outcome};
use crate::scene::Scene;

pub(super) async fn the_store_is_healthy(s: &Scene) -> Outcome {
    s.store().health()
}

pub(super) async fn ids_are_never_given_out_twice(s: &Scene) -> Outcome {
    const IDS: usize = 200;
    let given = s
        .at_once(CALLERS, |_, store| async move { (0..IDS).map(|_| store.ids().next()).collect::<Result<Vec<_>, _>>() })
        .await?;
    for ids in &given {
        assert!(ids.is_sorted_by(|a, b| a < b), "ids rise: {ids:?}");
        assert!(ids[0] > ID_MIN);
    }
    let different: HashSet<u64> = given.into_iter().flatten().collect();
    assert_eq!(different.len(), CALLERS * IDS);
    Ok(())
}

pub(super) async fn the_first_signing_key_stays(s: &Scene) -> Outcome {
    // On a shared store, another case may have offered the first key.
    let keys =
        s.at_once(CALLERS, |_, store| async move { store.signing_key(rand::random()).await }).await?;
    let later = s.store().signing_key(rand::random()).await?;
    assert!(keys.iter().all(|key| *key == later), "all get the same key");
    Ok(())
}
