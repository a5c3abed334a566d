//! Addresses of servers, as drivers write them.

use std::fmt;
use std::str::FromStr;

use crate::net::host_and_port;

/// Where Bolt is spoken unless an address says otherwise.
const PORT: u16 = 7687;

/// Whether a connection is encrypted, and for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Not encrypted.
    Plain,
    /// For a server whose certificate somebody vouches for whom this machine trusts: `+s`.
    Authorities,
    /// For whoever answers: `+ssc`.
    Anybody,
}

/// The address of a server: `bolt://127.0.0.1:7687`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// What stands before `://`. With `neo4j` this one server is used, too.
    pub scheme: String,
    /// Whether it is encrypted.
    pub trust: Trust,
    /// Name or number, without the brackets of IPv6.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Address {
    /// Whether a text is meant as an address and not as a path.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        text.contains("://")
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, host, port, .. } = self;
        match host.contains(':') {
            true => write!(f, "{scheme}://[{host}]:{port}"),
            false => write!(f, "{scheme}://{host}:{port}"),
        }
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("{text}: expected an address such as bolt://127.0.0.1:7687");
        let (scheme, rest) = text.split_once("://").ok_or_else(expected)?;
        let scheme = scheme.to_ascii_lowercase();
        let trust = match &*scheme {
            "bolt" | "neo4j" => Trust::Plain,
            "bolt+s" | "neo4j+s" => Trust::Authorities,
            "bolt+ssc" | "neo4j+ssc" => Trust::Anybody,
            "http" | "https" => {
                return Err(format!("{text}: the shell speaks Bolt: bolt://127.0.0.1:7687"));
            }
            _ => {
                return Err(format!(
                    "{text}: expected bolt://, bolt+s:// (encrypted) or bolt+ssc:// (encrypted, \
                     whatever the certificate is)"
                ));
            }
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        if rest.contains('@') {
            return Err("an address holds no user: -u names one, and a password is asked for, or \
                        taken from TELAR_PASSWORD"
                .to_owned());
        }
        if rest.contains(['/', '?', '#']) {
            return Err(format!("{text}: nothing follows the port; --database names the database"));
        }
        let (host, port) = host_and_port(rest, PORT).ok_or_else(expected)?;
        Ok(Self { scheme, trust, host: host.to_owned(), port })
    }
}

#[test]
fn addresses_are_read_as_drivers_write_them() {
    for (text, trust, host, port, shown) in [
        ("bolt://localhost", Trust::Plain, "localhost", 7687, "bolt://localhost:7687"),
        ("bolt://127.0.0.1:7688/", Trust::Plain, "127.0.0.1", 7688, "bolt://127.0.0.1:7688"),
        (
            "neo4j+s://db.example",
            Trust::Authorities,
            "db.example",
            7687,
            "neo4j+s://db.example:7687",
        ),
        ("BOLT+SSC://x:1", Trust::Anybody, "x", 1, "bolt+ssc://x:1"),
        ("bolt://[::1]:9", Trust::Plain, "::1", 9, "bolt://[::1]:9"),
        ("bolt://[::1]", Trust::Plain, "::1", 7687, "bolt://[::1]:7687"),
    ] {
        let address: Address = text.parse().unwrap();
        assert_eq!((address.trust, &*address.host, address.port), (trust, host, port), "{text}");
        assert_eq!(address.to_string(), shown);
    }
    for (text, says) in [
        ("bolt://", "such as"),
        ("bolt://:7687", "such as"),
        ("bolt://x:port", "such as"),
        ("bolt://x:0", "such as"),
        ("bolt://[::1", "such as"),
        ("http://x:7474", "speaks Bolt"),
        ("bolts://x", "bolt+s://"),
        ("bolt://ann:secret@x", "-u"),
        ("bolt://x/movies", "--database"),
    ] {
        let error = text.parse::<Address>().unwrap_err();
        assert!(error.contains(says) && !error.contains("secret"), "{text}: {error}");
    }
}
