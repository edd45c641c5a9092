//! Direct connections between nodes.
//!
//! - [`noise`]: encryption and authentication
//! - [`message`]: requests and replies
//! - [`link`]: sends requests to another node
//! - [`listener`]: handles requests of other nodes

mod link;
mod listener;
mod message;
mod noise;

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use futures_util::future::join_all;
use godwit_domain::actions::Action;
use godwit_domain::ports::ForwardedAction;
use godwit_protocol::{ConversationId, UserId};
use metrics::counter;

use self::link::Link;
pub(crate) use self::listener::{Listener, Servant};
pub(crate) use self::noise::SharedKey;
use crate::node::{NodeId, NodeInfo, PROTOCOL};
use crate::notice::Notice;

/// The links to all other nodes.
#[derive(Debug)]
pub(crate) struct Mesh {
    me: NodeId,
    key: SharedKey,
    links: RwLock<HashMap<NodeId, Neighbour>>,
}

#[derive(Debug)]
struct Neighbour {
    link: std::sync::Arc<Link>,
    takes_actions: bool,
}

impl Mesh {
    pub(crate) fn new(me: NodeId, key: SharedKey) -> Self {
        Self { me, key, links: RwLock::default() }
    }

    /// Opens links to new nodes, and closes the links to nodes that are gone.
    pub(crate) fn others_are(&self, others: &[NodeInfo]) {
        let mut links = self.links.write().unwrap_or_else(PoisonError::into_inner);
        links.retain(|node, _| others.iter().any(|other| other.id == *node));
        for other in others.iter().filter(|other| other.protocol == PROTOCOL) {
            let takes_actions = !other.draining;
            links
                .entry(other.id)
                .and_modify(|neighbour| neighbour.takes_actions = takes_actions)
                .or_insert_with(|| {
                    let link = Link::open(other, self.me, self.key.clone()).into();
                    Neighbour { link, takes_actions }
                });
        }
    }

    /// Forwards an action to the preferred node of its conversation. `None` if that is this node. A draining
    /// node never prefers itself.
    pub(crate) fn forward(
        &self,
        is_draining: bool,
        actor: UserId,
        conversation: ConversationId,
        action: &Action,
    ) -> Option<ForwardedAction> {
        let links = self.links.read().unwrap_or_else(PoisonError::into_inner);
        let others = links.iter().filter(|(_, other)| other.takes_actions && other.link.is_up());
        let me = (!is_draining).then_some(self.me);
        let preferred = NodeId::preferred(others.map(|(node, _)| *node).chain(me), conversation)?;
        let forwarded = links.get(&preferred)?.link.forward(actor, conversation, action.clone())?;
        counter!("godwit_cluster_forwarded_total").increment(1);
        Some(forwarded)
    }

    /// Sends a notice to all other nodes, and returns those that did not confirm it.
    pub(crate) async fn tell(&self, notice: &Notice) -> Vec<NodeId> {
        let links: Vec<_> = {
            let links = self.links.read().unwrap_or_else(PoisonError::into_inner);
            links.iter().map(|(node, other)| (*node, other.link.clone())).collect()
        };
        let told =
            links.into_iter().map(|(node, link)| async move { (node, link.tell(notice.clone()).await) });
        join_all(told).await.into_iter().filter(|(_, obeyed)| !obeyed).map(|(node, _)| node).collect()
    }
}
