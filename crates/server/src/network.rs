//! Client addresses, and the networks that limits apply to.
//!
//! Limits have two widths. The *address* is what one customer of a provider has: an IPv4 address, or an IPv6 /64. The
//! *network* is what an attacker can easily obtain: an IPv4 /24, or an IPv6 /48, which contains 65,536 /64s.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The address of a request's client. The listener adds it to the extensions of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientAddress(pub IpAddr);

impl ClientAddress {
    /// For requests without a listener.
    pub const UNKNOWN: Self = Self(IpAddr::V4(Ipv4Addr::UNSPECIFIED));

    /// The address as limits count it: /32 or /64.
    pub fn address(self) -> IpAddr {
        prefix(self.0, 32, 64)
    }

    /// The network as limits count it: /24 or /48.
    pub fn network(self) -> IpAddr {
        prefix(self.0, 24, 48)
    }
}

/// The prefix of an address, with the other bits zero. An IPv4-mapped IPv6 address counts as IPv4.
fn prefix(address: IpAddr, v4_bits: u32, v6_bits: u32) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & (u32::MAX << (32 - v4_bits))))
        }
        IpAddr::V6(address) => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << (128 - v6_bits))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(text: &str) -> ClientAddress {
        ClientAddress(text.parse().unwrap())
    }

    #[test]
    fn an_ipv4_address_counts_alone_and_with_its_24_bits() {
        assert_eq!(client("192.0.2.77").address(), client("192.0.2.77").0);
        assert_eq!(client("192.0.2.77").network(), client("192.0.2.0").0);
        assert_eq!(client("::ffff:192.0.2.77").address(), client("192.0.2.77").0);
        assert_eq!(client("::ffff:192.0.2.77").network(), client("192.0.2.0").0);
    }

    #[test]
    fn an_ipv6_address_counts_with_its_64_and_its_48_bits() {
        let one = client("2001:db8:1:2:3:4:5:6");
        assert_eq!(one.address(), client("2001:db8:1:2::").0);
        assert_eq!(one.network(), client("2001:db8:1::").0);
        assert_ne!(one.address(), client("2001:db8:1:3::1").address());
        assert_eq!(one.network(), client("2001:db8:1:ffff::1").network());
        assert_ne!(one.network(), client("2001:db8:2::1").network());
    }
}
