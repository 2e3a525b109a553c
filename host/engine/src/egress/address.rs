//! What kind of place an address is, by the registries of special addresses
//! ([IPv4](https://www.iana.org/assignments/iana-ipv4-special-registry/),
//! [IPv6](https://www.iana.org/assignments/iana-ipv6-special-registry/)).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where clouds answer whoever asks with the machine's credentials. The IPv4 one is link-local as well.
const METADATA: [IpAddr; 5] = [
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    // Alibaba's is in the carrier-grade range, Amazon's in the unique-local one; both would else be merely private.
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    // Azure's is like any other <https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16>.
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
];

/// What kind of place an address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Anywhere in the internet.
    Public,
    Loopback,
    Private,
    CarrierGrade,
    UniqueLocal,
    LinkLocal,
    Metadata,
    Unspecified,
    Multicast,
    Broadcast,
    Documentation,
    Benchmarking,
    /// An IPv4 address that pretends to be an IPv6 one. No name server has a reason to answer so.
    Ipv4InIpv6,
    /// Set aside for something else, or for nothing yet.
    Reserved,
}

impl Kind {
    pub fn of(address: IpAddr) -> Self {
        if METADATA.contains(&address) {
            return Self::Metadata;
        }
        match address {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => Self::of_v6(address),
        }
    }

    /// Whether it is a place in the operator's own network, that a rule with `private` may lead to. Link-local and metadata
    /// addresses are not among them: such a one has to be named itself.
    pub fn is_private(self) -> bool {
        matches!(self, Self::Loopback | Self::Private | Self::CarrierGrade | Self::UniqueLocal)
    }

    fn of_v4(address: Ipv4Addr) -> Self {
        match address.octets() {
            [0, 0, 0, 0] => Self::Unspecified,
            [0, ..] => Self::Reserved,
            [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Self::Private,
            [100, 64..=127, ..] => Self::CarrierGrade,
            [127, ..] => Self::Loopback,
            [169, 254, ..] => Self::LinkLocal,
            [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Self::Documentation,
            // Protocol assignments, and what used to be the anycast address of 6to4 relays.
            [192, 0, 0, _] | [192, 88, 99, _] => Self::Reserved,
            [198, 18..=19, ..] => Self::Benchmarking,
            [224..=239, ..] => Self::Multicast,
            [255, 255, 255, 255] => Self::Broadcast,
            [240..=255, ..] => Self::Reserved,
            _ => Self::Public,
        }
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        let inner = |high: u16, low: u16| {
            let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
            Self::of(IpAddr::V4(Ipv4Addr::new(a, b, c, d)))
        };
        match address.segments() {
            [0, 0, 0, 0, 0, 0, 0, 0] => Self::Unspecified,
            [0, 0, 0, 0, 0, 0, 0, 1] => Self::Loopback,
            // Mapped (RFC 4291), translated (RFC 2765), compatible (RFC 4291).
            [0, 0, 0, 0, 0, 0xffff, _, _] | [0, 0, 0, 0, 0xffff, 0, _, _] | [0, 0, 0, 0, 0, 0, _, _] => {
                Self::Ipv4InIpv6
            }
            // Translators and tunnels lead to the IPv4 address that is in them: NAT64, 6to4, Teredo. The first is how a
            // network without IPv4 reaches the rest, so a public address in it is public.
            [0x64, 0xff9b, 0, 0, 0, 0, high, low] => inner(high, low),
            [0x2002, high, low, ..] => inner(high, low),
            [0x2001, 0, server_high, server_low, _, _, high, low] => match inner(!high, !low) {
                Self::Public => inner(server_high, server_low),
                kind => kind,
            },
            // NAT64 within a network (RFC 8215).
            [0x64, 0xff9b, 1, ..] => Self::Private,
            [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Self::Documentation,
            [0x2001, 2, 0, ..] => Self::Benchmarking,
            // The rest of what IANA assigns for protocols; ORCHIDs are no addresses at all.
            [0x2001, 0..=0x1ff, ..] => Self::Reserved,
            [0xfc00..=0xfdff, ..] => Self::UniqueLocal,
            // Site-local addresses (0xfec0) were deprecated, but still lead somewhere near.
            [0xfe80..=0xfeff, ..] => Self::LinkLocal,
            [0xff00..=0xffff, ..] => Self::Multicast,
            // What is handed out to the internet so far.
            [0x2000..=0x3fff, ..] => match address.segments() {
                // Interface identifiers that hold an IPv4 address (ISATAP, RFC 5214) lead to it.
                [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => inner(high, low),
                _ => Self::Public,
            },
            _ => Self::Reserved,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "public",
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::CarrierGrade => "carrier-grade",
            Self::UniqueLocal => "unique-local",
            Self::LinkLocal => "link-local",
            Self::Metadata => "cloud metadata",
            Self::Unspecified => "unspecified",
            Self::Multicast => "multicast",
            Self::Broadcast => "broadcast",
            Self::Documentation => "documentation",
            Self::Benchmarking => "benchmarking",
            Self::Ipv4InIpv6 => "IPv4-in-IPv6",
            Self::Reserved => "reserved",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_special_address_is_known_for_what_it_is() {
        for (address, kind) in [
            ("8.8.8.8", Kind::Public),
            ("1.1.1.1", Kind::Public),
            ("127.0.0.1", Kind::Loopback),
            ("127.255.255.254", Kind::Loopback),
            ("10.0.0.1", Kind::Private),
            ("172.16.0.1", Kind::Private),
            ("172.31.255.255", Kind::Private),
            ("172.32.0.1", Kind::Public),
            ("192.168.1.1", Kind::Private),
            ("100.64.0.1", Kind::CarrierGrade),
            ("100.127.255.255", Kind::CarrierGrade),
            ("100.128.0.1", Kind::Public),
            ("169.254.1.1", Kind::LinkLocal),
            ("169.254.169.254", Kind::Metadata),
            ("100.100.100.200", Kind::Metadata),
            ("168.63.129.16", Kind::Metadata),
            ("0.0.0.0", Kind::Unspecified),
            ("0.1.2.3", Kind::Reserved),
            ("224.0.0.1", Kind::Multicast),
            ("255.255.255.255", Kind::Broadcast),
            ("240.0.0.1", Kind::Reserved),
            ("192.0.2.1", Kind::Documentation),
            ("198.51.100.1", Kind::Documentation),
            ("203.0.113.1", Kind::Documentation),
            ("192.0.0.1", Kind::Reserved),
            ("198.18.0.1", Kind::Benchmarking),
            ("198.20.0.1", Kind::Public),
            ("::", Kind::Unspecified),
            ("::1", Kind::Loopback),
            ("2606:4700::1111", Kind::Public),
            ("::ffff:8.8.8.8", Kind::Ipv4InIpv6),
            ("::ffff:127.0.0.1", Kind::Ipv4InIpv6),
            ("::ffff:0:10.0.0.1", Kind::Ipv4InIpv6),
            ("::127.0.0.1", Kind::Ipv4InIpv6),
            ("64:ff9b::8.8.8.8", Kind::Public),
            ("64:ff9b::10.0.0.1", Kind::Private),
            ("64:ff9b::169.254.169.254", Kind::Metadata),
            ("64:ff9b:1::1", Kind::Private),
            ("2002:0a00:0001::1", Kind::Private),
            ("2002:0808:0808::1", Kind::Public),
            // Teredo holds the client's address turned over: 7f000001 is 80fffffe.
            ("2001:0:0808:0808::80ff:fffe", Kind::Loopback),
            ("2001:0:0a00:0001::f7f7:f7f7", Kind::Private),
            ("2001:0:0808:0808::f7f7:f7f7", Kind::Public),
            ("2001:db8::1", Kind::Documentation),
            ("3fff::1", Kind::Documentation),
            ("2001:2::1", Kind::Benchmarking),
            ("2001:20::1", Kind::Reserved),
            ("fc00::1", Kind::UniqueLocal),
            ("fd12:3456::1", Kind::UniqueLocal),
            ("fd00:ec2::254", Kind::Metadata),
            ("fe80::1", Kind::LinkLocal),
            ("fec0::1", Kind::LinkLocal),
            ("ff02::1", Kind::Multicast),
            ("2a00::5efe:10.0.0.1", Kind::Private),
            ("4000::1", Kind::Reserved),
            ("100::1", Kind::Reserved),
        ] {
            assert_eq!(Kind::of(address.parse().unwrap()), kind, "{address}");
        }
    }
}
