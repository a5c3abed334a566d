//! URLs of stores.

use std::path::PathBuf;

use super::StoreError;

const ETCD_PORT: u16 = 2379;
const POSTGRES_PORT: u16 = 5432;

/// A host and its port.
pub type Endpoint = (String, u16);

/// Place of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreUrl {
    /// `dir:PATH`: a folder on this machine.
    Directory(PathBuf),
    /// `etcd://HOST[:PORT][,HOST[:PORT]]...`: the members of an etcd cluster, port 2379 by default.
    Etcd(Vec<Endpoint>),
    /// `postgres://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]]/DATABASE[?NAME=VALUE]`, or
    /// `postgresql://`, port 5432 by default.
    Postgres(PostgresUrl),
}

/// The parts of a `postgres://` URL.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl {
    /// The servers.
    pub endpoints: Vec<Endpoint>,
    /// The database.
    pub database: String,
    /// The URL as it was given, with the password.
    pub text: String,
}

impl std::fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PostgresUrl").field(&without_password(&self.text)).finish()
    }
}

impl StoreUrl {
    /// Returns what `url` says.
    ///
    /// # Errors
    /// [`StoreError::Url`] with the reason, and without the password.
    pub fn parse(url: &str) -> Result<Self, StoreError> {
        let wrong = |why: String| StoreError::url(url, why);
        let Some((scheme, rest)) = url.split_once(':') else {
            return Err(wrong(
                "it has no scheme; write dir:PATH, etcd://... or postgres://...".into(),
            ));
        };
        let authority = || {
            let rest = rest.strip_prefix("//").filter(|rest| !rest.is_empty());
            rest.ok_or_else(|| wrong(format!("write {scheme}:// and a host")))
        };
        match scheme {
            "dir" if rest.is_empty() => Err(wrong("the path is missing".into())),
            "dir" if rest.starts_with("//") => {
                Err(wrong("write the path directly after \"dir:\", as in dir:/srv/telar".into()))
            }
            "dir" if rest.contains('\0') => Err(wrong("the path has a zero byte".into())),
            "dir" => Ok(Self::Directory(rest.into())),
            "etcd" => {
                let hosts = authority()?.strip_suffix('/').unwrap_or(authority()?);
                if let Some(found) = hosts.chars().find(|c| "/@?#".contains(*c)) {
                    return Err(wrong(format!("\"{found}\" has no meaning in an etcd URL")));
                }
                Ok(Self::Etcd(endpoints(hosts, ETCD_PORT).map_err(wrong)?))
            }
            "postgres" | "postgresql" => {
                let rest = authority()?;
                let (before, path) = rest.split_once('/').unwrap_or((rest, ""));
                let hosts = before.rsplit_once('@').map_or(before, |(_, hosts)| hosts);
                let endpoints = endpoints(hosts, POSTGRES_PORT).map_err(wrong)?;
                let database = path.split('?').next().unwrap_or_default();
                if database.is_empty() {
                    return Err(wrong("the database is missing: end with /NAME".into()));
                }
                let (database, text) = (database.to_owned(), url.to_owned());
                Ok(Self::Postgres(PostgresUrl { endpoints, database, text }))
            }
            _ => Err(wrong(format!(
                "\"{scheme}\" is no kind of store; there are dir:, etcd:// and postgres://"
            ))),
        }
    }
}

/// The members of a list `host[:port],...`; why it is none otherwise.
fn endpoints(hosts: &str, default_port: u16) -> Result<Vec<Endpoint>, String> {
    let mut found: Vec<Endpoint> = Vec::new();
    for text in hosts.split(',') {
        // An IPv6 address has colons, and so stands in brackets.
        let (host, rest) = if let Some(text) = text.strip_prefix('[') {
            let Some((address, rest)) = text.split_once(']') else {
                return Err(format!("a bracket is missing in \"[{text}\""));
            };
            if address.parse::<std::net::Ipv6Addr>().is_err() {
                return Err(format!("\"{address}\" is no IPv6 address"));
            }
            (address, rest)
        } else {
            text.split_at(text.find(':').unwrap_or(text.len()))
        };
        let port = match rest.strip_prefix(':') {
            Some(port) => port
                .parse()
                .ok()
                .filter(|port| *port != 0)
                .ok_or_else(|| format!("\"{port}\" is no port (in \"{text}\")"))?,
            None if rest.is_empty() => default_port,
            None => return Err(format!("\"{rest}\" stands between host and port in \"{text}\"")),
        };
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._:".contains(&b);
        if host.is_empty() {
            return Err(format!("a host is missing in \"{hosts}\""));
        }
        if !host.bytes().all(plain) {
            return Err(format!("\"{host}\" is no host"));
        }
        let endpoint = (host.to_owned(), port);
        if found.contains(&endpoint) {
            return Err(format!("\"{text}\" is named twice"));
        }
        found.push(endpoint);
    }
    Ok(found)
}

/// `url` with `***` in place of a password.
#[must_use]
pub fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find('/').unwrap_or(rest.len());
    // A password may hold a slash by mistake; the last `@` ends what may be one.
    let Some(at) = rest.rfind('@') else { return url.to_owned() };
    let user = rest[..at.min(end)].split(':').next().unwrap_or_default();
    format!("{scheme}://{user}:***{}", &rest[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(url: &str) -> String {
        StoreUrl::parse(url).unwrap_err().to_string()
    }

    #[test]
    fn good_urls_are_read() {
        assert_eq!(StoreUrl::parse("dir:/srv/t").unwrap(), StoreUrl::Directory("/srv/t".into()));
        assert_eq!(StoreUrl::parse("dir:a b").unwrap(), StoreUrl::Directory("a b".into()));
        let etcd = StoreUrl::parse("etcd://e1,e2:99,[::1]:7,[fe80::2]/").unwrap();
        let expected = [("e1", 2379), ("e2", 99), ("::1", 7), ("fe80::2", 2379)];
        let expected = expected.map(|(host, port)| (host.to_owned(), port));
        assert_eq!(etcd, StoreUrl::Etcd(expected.to_vec()));
        for url in ["postgres://u:p@h1:6,h2/db?sslmode=require", "postgresql://h1:6,h2/db"] {
            let StoreUrl::Postgres(found) = StoreUrl::parse(url).unwrap() else { panic!("{url}") };
            assert_eq!(found.endpoints, [("h1".to_owned(), 6), ("h2".to_owned(), 5432)]);
            assert_eq!((found.database.as_str(), found.text.as_str()), ("db", url));
        }
    }

    #[test]
    fn bad_urls_say_what_is_wrong() {
        for (url, expected) in [
            ("", "no scheme"),
            ("/srv/t", "no scheme"),
            ("dir:", "path is missing"),
            ("dir:///srv", "directly after"),
            ("s3://bucket", "\"s3\" is no kind of store"),
            ("Etcd://h", "no kind of store"),
            ("etcd:h", "write etcd://"),
            ("etcd://", "write etcd://"),
            ("etcd:///", "host is missing"),
            ("etcd://h1,,h2", "host is missing"),
            ("etcd://h1,", "host is missing"),
            ("etcd://h:0", "\"0\" is no port"),
            ("etcd://h:70000", "\"70000\" is no port"),
            ("etcd://h:", "\"\" is no port"),
            ("etcd://h h", "no host"),
            ("etcd://[::1", "bracket"),
            ("etcd://[abc]:1", "no IPv6"),
            ("etcd://[::1]x", "between host and port"),
            ("etcd://h,h:2379", "named twice"),
            ("etcd://u@h", "no meaning"),
            ("etcd://h/path", "no meaning"),
            ("postgres://h", "database is missing"),
            ("postgres://h/?a=b", "database is missing"),
            ("postgres:///db", "host is missing"),
            ("postgres://u:p@/db", "host is missing"),
        ] {
            let found = why(url);
            assert!(found.contains(expected), "{url}: {found}");
        }
    }

    #[test]
    fn passwords_are_not_shown() {
        for url in ["postgres://u:secret@h:x/db", "postgres://u:sec/ret@h/", "etcd://u:secret@h"] {
            let found = why(url);
            assert!(!found.contains("secret") && !found.contains("ret@"), "{found}");
            assert!(found.contains("u:***@h"), "{found}");
        }
        let good = StoreUrl::parse("postgres://u:secret@h/db").unwrap();
        assert!(!format!("{good:?}").contains("secret"));
    }
}
