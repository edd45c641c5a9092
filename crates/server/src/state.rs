//! The state that all handlers share.

use std::sync::Arc;

use godwit_delivery::Hub;
use godwit_domain::App;
use godwit_domain::ports::{Clock, Store};
use tokio::sync::watch;

use crate::admission::Admission;
use crate::opaque::Sealer;
use crate::rate::RateLimits;
use crate::sign_ins::SignIns;

/// Cheap to clone: a single pointer.
pub type ServerState = Arc<Shared>;

#[derive(Debug)]
pub struct Shared {
    pub app: App,
    pub hub: Arc<Hub>,
    pub clock: Arc<dyn Clock>,
    /// Only for readiness and gauges; everything else goes through the use cases.
    pub store: Arc<dyn Store>,
    pub rates: RateLimits,
    pub admission: Admission,
    pub sign_ins: SignIns,
    pub sealer: Sealer,
    /// Becomes true when the server begins to stop.
    pub stopping: watch::Receiver<bool>,
}
