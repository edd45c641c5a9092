use godwit_protocol::Timestamp;

/// The time. The server's wiring has the only implementation that reads the system clock; tests use their own.
pub trait Clock: Send + Sync + std::fmt::Debug {
    fn now(&self) -> Timestamp;
}
