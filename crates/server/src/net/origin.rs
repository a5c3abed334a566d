//! Names of servers and of pages: hosts and origins, as requests say them and settings list them.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// What stands for any.
const ANY: &str = "*";

/// The host of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// A number; never one of IPv6 that stands for one of IPv4.
    Ip(IpAddr),
    /// A name, in small letters, without the dot at the end.
    Name(String),
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(IpAddr::V6(ip)) => write!(f, "[{ip}]"),
            Self::Ip(ip) => write!(f, "{ip}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

impl Host {
    fn parse(text: &str) -> Option<Self> {
        if let Some(inside) = text.strip_prefix('[') {
            let ip: Ipv6Addr = inside.strip_suffix(']')?.parse().ok()?;
            return Some(Self::Ip(IpAddr::from(ip).to_canonical()));
        }
        if let Ok(ip) = text.parse::<IpAddr>() {
            return ip.is_ipv4().then_some(Self::Ip(ip));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        let is_name = !name.is_empty() && name.bytes().all(plain);
        is_name.then(|| Self::Name(name.to_ascii_lowercase()))
    }

    /// Whether it is this machine whoever is asked: no page of a stranger can be at such a host. It
    /// is a number that leads here, `localhost`, or what the system calls itself; `local` is where
    /// the connection came in.
    pub(crate) fn is_this_machine(&self, local: SocketAddr) -> bool {
        match self {
            Self::Ip(ip) => {
                ip.is_loopback() || ip.is_unspecified() || *ip == local.ip().to_canonical()
            }
            Self::Name(name) => {
                let system = rustix::system::uname();
                let system = system.nodename().to_str().unwrap_or_default();
                let is_system = !system.is_empty() && name.eq_ignore_ascii_case(system);
                name == "localhost" || name.ends_with(".localhost") || is_system
            }
        }
    }
}

/// `host` or `host:port`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Authority {
    pub(crate) host: Host,
    port: Option<u16>,
}

impl Authority {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (host, port) = match text.rsplit_once(':') {
            // The colon is one of those in brackets.
            Some((_, after)) if after.ends_with(']') => (text, ""),
            Some(parts) => parts,
            None => (text, ""),
        };
        let digits = port.bytes().all(|byte| byte.is_ascii_digit());
        let port = match port {
            "" => None,
            port => Some(port.parse().ok().filter(|_| digits)?),
        };
        Some(Self { host: Host::parse(host)?, port })
    }
}

/// Where a page is from: `https://app.example.com`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// In small letters.
    scheme: String,
    authority: Authority,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.authority.host)?;
        self.authority.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

fn usual_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

impl Origin {
    /// An origin; none for `null` and for what is no origin.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        if scheme.is_empty() || !scheme.bytes().all(plain) {
            return None;
        }
        let scheme = scheme.to_ascii_lowercase();
        let mut authority = Authority::parse(rest)?;
        authority.port = authority.port.filter(|port| Some(*port) != usual_port(&scheme));
        Some(Self { scheme, authority })
    }

    /// Host of the origin.
    pub(crate) fn host(&self) -> &Host {
        &self.authority.host
    }

    /// Port of the origin; `None` if it is no origin of HTTP.
    pub(crate) fn port(&self) -> Option<u16> {
        let usual = usual_port(&self.scheme)?;
        Some(self.authority.port.unwrap_or(usual))
    }

    /// Whether a page of this origin asks the server that it came from. The scheme is not compared:
    /// something in front of the server may have ended the encryption.
    pub(crate) fn is_at(&self, server: &Authority) -> bool {
        let Some(usual) = usual_port(&self.scheme) else { return false };
        self.authority.host == server.host && self.port() == server.port.or(Some(usual))
    }
}

/// Some, or all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed<T> {
    any: bool,
    listed: Vec<T>,
}

impl<T> Default for Allowed<T> {
    /// None.
    fn default() -> Self {
        Self { any: false, listed: Vec::new() }
    }
}

impl<T: PartialEq> Allowed<T> {
    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        !self.any && self.listed.is_empty()
    }

    /// Whether all are.
    pub fn is_any(&self) -> bool {
        self.any
    }

    pub(crate) fn contains(&self, one: &T) -> bool {
        self.any || self.listed.contains(one)
    }

    /// Reads a list with commas in it; the error is the element that is none.
    fn parse(text: &str, read: impl Fn(&str) -> Option<T>) -> Result<Self, &str> {
        let mut all = Self::default();
        for element in text.split(',').map(str::trim).filter(|element| !element.is_empty()) {
            match element {
                ANY => all.any = true,
                _ => all.listed.push(read(element).ok_or(element)?),
            }
        }
        Ok(all)
    }
}

impl<T: fmt::Display> fmt::Display for Allowed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = self.listed.iter().map(ToString::to_string);
        let all: Vec<String> = self.any.then(|| ANY.to_owned()).into_iter().chain(listed).collect();
        f.write_str(&all.join(", "))
    }
}

impl Allowed<Host> {
    /// # Errors
    /// What was expected.
    pub fn hosts(text: &str) -> Result<Self, String> {
        // Without brackets, too, as there is no port.
        let read = |host: &str| Host::parse(host).or_else(|| Host::parse(&format!("[{host}]")));
        Self::parse(text, read).map_err(|host| {
            format!("'{host}' is no host without a port: expected names and addresses")
        })
    }
}

impl Allowed<Origin> {
    /// # Errors
    /// What was expected.
    pub fn origins(text: &str) -> Result<Self, String> {
        Self::parse(text, Origin::parse).map_err(|origin| {
            format!("'{origin}' is no origin: expected such as https://app.example.com, no path")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_compared_as_browsers_mean_them() {
        let local = "192.168.1.7:7474".parse().unwrap();
        let here = |text: &str| Authority::parse(text).map(|at| at.host.is_this_machine(local));
        for yes in [
            "localhost",
            "LOCALHOST:7474",
            "localhost.",
            "a.localhost",
            "127.0.0.1",
            "127.8.9.1:1",
            "[::1]",
            "[::1]:7474",
            "[::ffff:127.0.0.1]",
            "0.0.0.0",
            "192.168.1.7:80",
            "localhost:",
            &rustix::system::uname().nodename().to_string_lossy(),
        ] {
            assert_eq!(here(yes), Some(true), "{yes}");
        }
        for no in [
            "evil.example",
            "localhost.evil.example",
            "evillocalhost",
            "192.168.1.8",
            "127.0.0.1.nip.io",
            "2130706433",
            "127.1",
            "[2001:db8::1]",
        ] {
            assert_eq!(here(no), Some(false), "{no}");
        }
        for none in [
            "",
            ":",
            ":80",
            "a b",
            "a/b",
            "user@localhost",
            "::1",
            "[::1",
            "[::1]x",
            "localhost:x",
            "localhost:+1",
            "localhost:70000",
            "[127.0.0.1]",
            "[fe80::1%eth0]",
            "ä",
            "a,b",
        ] {
            assert_eq!(here(none), None, "{none}");
        }
    }

    #[test]
    fn a_page_is_at_its_own_server() {
        for (origin, host, same) in [
            ("http://localhost:7474", "localhost:7474", true),
            ("HTTP://LocalHost:7474", "localhost:7474", true),
            ("https://db.example.com", "db.example.com", true),
            ("http://db.example.com", "db.example.com:80", true),
            ("https://db.example.com:443", "db.example.com", true),
            ("http://[::1]:7474", "[::1]:7474", true),
            ("http://localhost:3000", "localhost:7474", false),
            ("http://localhost", "localhost:7474", false),
            ("http://evil.example:7474", "localhost:7474", false),
            ("chrome-extension://localhost", "localhost", false),
        ] {
            let (origin, host) = (Origin::parse(origin).unwrap(), Authority::parse(host).unwrap());
            assert_eq!(origin.is_at(&host), same, "{origin} {host:?}");
        }
        for none in
            ["null", "", "localhost", "http://", "://x", "http://a/", "http://u@a", "h t://a"]
        {
            assert_eq!(Origin::parse(none), None, "{none}");
        }
    }

    #[test]
    fn lists_read_as_they_are_shown() {
        let hosts = Allowed::hosts(" DB.example.com, ::1,10.0.0.7 ").unwrap();
        assert_eq!(hosts.to_string(), "db.example.com, [::1], 10.0.0.7");
        assert_eq!(Allowed::hosts(&hosts.to_string()), Ok(hosts));
        assert!(Allowed::hosts("").unwrap().is_empty() && Allowed::hosts("*").unwrap().is_any());
        assert!(Allowed::hosts("a:7474").unwrap_err().contains("'a:7474'"));
        let origins =
            Allowed::origins("https://App.example.com:443, http://localhost:3000").unwrap();
        assert_eq!(origins.to_string(), "https://app.example.com, http://localhost:3000");
        for wrong in ["app.example.com", "https://app.example.com/", "null"] {
            assert!(Allowed::origins(wrong).unwrap_err().contains(wrong));
        }
    }
}
