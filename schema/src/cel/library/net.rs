//! Addresses and networks.
//!
//! Behaviour: apiserver `pkg/cel/library/ip.go` and `cidr.go`; Go's `net/netip`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address and how many of its bits name the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cidr {
    pub(crate) address: IpAddr,
    pub(crate) bits: u8,
}

/// An address; no zone, and no IPv4 inside IPv6.
pub(crate) fn parse_ip(text: &str) -> Result<IpAddr, String> {
    if text.contains('%') {
        return Err(format!("IP address {} with zone value is not allowed", crate::go::quote(text)));
    }
    let quoted = crate::go::quote(text);
    let address: IpAddr = text
        .parse()
        .map_err(|_| format!("IP Address {quoted} parse error during conversion from string: ParseAddr({quoted}): unable to parse IP"))?;
    if is_4_in_6(address) {
        return Err(format!("IPv4-mapped IPv6 address {quoted} is not allowed"));
    }
    Ok(address)
}

fn is_4_in_6(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

pub(crate) fn parse_cidr(text: &str) -> Result<Cidr, String> {
    let wrong = |why: String| format!("network address parse error during conversion from string: {why}");
    let quoted = crate::go::quote(text);
    let unreadable = |why: &str| wrong(wrong(format!("netip.ParsePrefix({quoted}): {why}")));
    let (address, bits) = text.rsplit_once('/').ok_or_else(|| unreadable("no '/'"))?;
    let address: IpAddr = address.parse().map_err(|_| unreadable("unable to parse IP"))?;
    if is_4_in_6(address) {
        return Err(wrong(format!("IPv4-mapped IPv6 address {quoted} is not allowed")));
    }
    let plain = bits == "0"
        || (!bits.starts_with('0') && !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit()));
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.parse::<u8>().ok().filter(|bits| plain && *bits <= most);
    Ok(Cidr { address, bits: bits.ok_or_else(|| unreadable("prefix length out of range"))? })
}

impl Cidr {
    fn mask(self, address: IpAddr) -> u128 {
        let (value, width) = match address {
            IpAddr::V4(address) => (u128::from(address.to_bits()), 32),
            IpAddr::V6(address) => (address.to_bits(), 128),
        };
        let host = width - u32::from(self.bits);
        value.checked_shr(host).and_then(|value| value.checked_shl(host)).unwrap_or(0)
    }

    pub(crate) fn masked(self) -> Self {
        let value = self.mask(self.address);
        let address = match self.address {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::from_bits(u32::try_from(value).unwrap_or_default())),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from_bits(value)),
        };
        Self { address, ..self }
    }

    pub(crate) fn contains(self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4() && self.mask(self.address) == self.mask(address)
    }

    pub(crate) fn contains_cidr(self, other: Self) -> bool {
        self.bits <= other.bits && self.contains(other.address)
    }
}

/// The test that a member function of an address stands for; `None` for other functions.
pub(crate) fn test(function: &str, address: IpAddr) -> Option<bool> {
    Some(match (function, address) {
        ("isUnspecified", address) => address.is_unspecified(),
        ("isLoopback", address) => address.is_loopback(),
        ("isLinkLocalMulticast", IpAddr::V4(address)) => address.octets()[..3] == [224, 0, 0],
        ("isLinkLocalMulticast", IpAddr::V6(address)) => address.segments()[0] & 0xff0f == 0xff02,
        ("isLinkLocalUnicast", IpAddr::V4(address)) => address.is_link_local(),
        ("isLinkLocalUnicast", IpAddr::V6(address)) => address.is_unicast_link_local(),
        ("isGlobalUnicast", address) => is_global_unicast(address),
        _ => return None,
    })
}

/// As Go has it: everything but the special ranges; private addresses count.
fn is_global_unicast(address: IpAddr) -> bool {
    let link_local = test("isLinkLocalUnicast", address) == Some(true);
    let broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !broadcast
        && !address.is_unspecified()
        && !address.is_loopback()
        && !address.is_multicast()
        && !link_local
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_contain_addresses_and_networks() {
        let cidr = parse_cidr("10.0.0.0/8").unwrap();
        assert!(cidr.contains(parse_ip("10.1.2.3").unwrap()));
        assert!(!cidr.contains(parse_ip("::1").unwrap()));
        assert!(cidr.contains_cidr(parse_cidr("10.1.0.0/16").unwrap()));
        assert!(!cidr.contains_cidr(parse_cidr("0.0.0.0/0").unwrap()));
        assert_eq!(parse_cidr("10.1.2.3/8").unwrap().masked(), cidr);
        assert!(parse_cidr("0.0.0.0/0").unwrap().contains(parse_ip("1.2.3.4").unwrap()));
        for wrong in ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/", "::ffff:1.2.3.4/100", "a/8"] {
            assert!(parse_cidr(wrong).is_err(), "{wrong}");
        }
        assert!(parse_ip("::ffff:1.2.3.4").is_err());
        assert!(parse_ip("fe80::1%eth0").is_err());
    }
}
