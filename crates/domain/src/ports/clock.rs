use godwit_protocol::Timestamp;

/// The time. The one real implementation is in the server's wiring; tests bring their own.
pub trait Clock: Send + Sync + std::fmt::Debug {
    fn now(&self) -> Timestamp;
}
