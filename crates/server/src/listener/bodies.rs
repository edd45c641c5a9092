//! Limits on the bodies of unauthenticated requests while they arrive.
//!
//! The bytes are counted per network and in total. Above a limit, the body that has been arriving longest is dropped with
//! its connection: a sign-in is short and complete at once, so a body that takes long is not a sign-in.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use metrics::counter;

use super::slots::Control;
use crate::network::ClientAddress;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BodyLimits {
    pub(crate) total_bytes_max: usize,
    pub(crate) per_network_bytes_max: usize,
}

#[derive(Debug)]
pub(crate) struct Bodies {
    limits: BodyLimits,
    table: Mutex<Table>,
}

/// Counts the bytes of one body until it is dropped.
#[derive(Debug)]
pub(crate) struct BodyMeter {
    id: u64,
    bodies: Arc<Bodies>,
}

impl Bodies {
    pub(crate) fn new(limits: BodyLimits) -> Arc<Self> {
        Arc::new(Self { limits, table: Mutex::default() })
    }

    /// A body begins to arrive. `control` ends its connection if the body has to be dropped.
    pub(crate) fn begin(self: &Arc<Self>, from: ClientAddress, control: &Arc<Control>) -> BodyMeter {
        let mut table = self.table();
        table.next_id += 1;
        let id = table.next_id;
        table.arriving.insert(id, Arriving { network: from.network(), bytes: 0, control: control.clone() });
        BodyMeter { id, bodies: self.clone() }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BodyMeter {
    /// More bytes have arrived.
    pub(crate) fn add(&self, bytes: usize) {
        let limits = self.bodies.limits;
        let mut table = self.bodies.table();
        let Some(network) = table.add(self.id, bytes) else { return };
        while table.networks.get(&network).is_some_and(|bytes| *bytes > limits.per_network_bytes_max)
            && table.give_up("network", |body| body.network == network)
        {}
        while table.total > limits.total_bytes_max && table.give_up("total", |_| true) {}
    }
}

impl Drop for BodyMeter {
    fn drop(&mut self) {
        self.bodies.table().remove(self.id);
    }
}

#[derive(Debug, Default)]
struct Table {
    next_id: u64,
    total: usize,
    networks: HashMap<IpAddr, usize>,
    /// Sorted by start: the oldest body comes first.
    arriving: BTreeMap<u64, Arriving>,
}

#[derive(Debug)]
struct Arriving {
    network: IpAddr,
    bytes: usize,
    control: Arc<Control>,
}

impl Table {
    /// The network of the body, unless the body was dropped.
    fn add(&mut self, id: u64, bytes: usize) -> Option<IpAddr> {
        let body = self.arriving.get_mut(&id)?;
        body.bytes += bytes;
        self.total += bytes;
        *self.networks.entry(body.network).or_default() += bytes;
        Some(body.network)
    }

    fn remove(&mut self, id: u64) -> Option<Arriving> {
        let body = self.arriving.remove(&id)?;
        self.total -= body.bytes;
        if let Some(bytes) = self.networks.get_mut(&body.network) {
            *bytes -= body.bytes;
            if *bytes == 0 {
                self.networks.remove(&body.network);
            }
        }
        Some(body)
    }

    fn give_up(&mut self, reason: &'static str, fits: impl Fn(&Arriving) -> bool) -> bool {
        let first = self.arriving.iter().find(|(_, body)| body.bytes > 0 && fits(body)).map(|(id, _)| *id);
        let Some(body) = first.and_then(|id| self.remove(id)) else { return false };
        counter!("godwit_bodies_given_up_total", "reason" => reason).increment(1);
        body.control.close();
        true
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use super::*;

    fn begin(bodies: &Arc<Bodies>, from: &str) -> (Arc<Control>, BodyMeter) {
        let control = Arc::new(Control::default());
        let meter = bodies.begin(ClientAddress(from.parse().unwrap()), &control);
        (control, meter)
    }

    fn is_open(control: &Control) -> bool {
        control.is_open(&Context::from_waker(Waker::noop()))
    }

    #[test]
    fn the_oldest_body_of_the_same_network_is_dropped_first() {
        let bodies = Bodies::new(BodyLimits { total_bytes_max: 300, per_network_bytes_max: 200 });
        let (other, other_body) = begin(&bodies, "198.51.100.1");
        other_body.add(50);
        let flood: Vec<_> = (0..10).map(|n| begin(&bodies, &format!("192.0.2.{n}"))).collect();
        for (_, body) in &flood {
            body.add(90);
        }
        let open: Vec<bool> = flood.iter().map(|(control, _)| is_open(control)).collect();
        assert_eq!(open.iter().filter(|open| **open).count(), 2);
        assert!(open[8] && open[9] && is_open(&other));
        // A third network exceeds the total: the largest body goes.
        let (third, third_body) = begin(&bodies, "203.0.113.1");
        third_body.add(80);
        assert!(!is_open(&other) && is_open(&third));
    }

    #[test]
    fn complete_bodies_do_not_count() {
        let bodies = Bodies::new(BodyLimits { total_bytes_max: 100, per_network_bytes_max: 100 });
        for _ in 0..100 {
            let (control, body) = begin(&bodies, "192.0.2.1");
            body.add(100);
            assert!(is_open(&control));
        }
        let table = bodies.table();
        assert!(table.total == 0 && table.networks.is_empty() && table.arriving.is_empty());
    }
}
