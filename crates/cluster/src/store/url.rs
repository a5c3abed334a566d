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
    /// `etcds://HOST[:PORT][,HOST[:PORT]]...[?ca=FILE]`: the same, encrypted.
    EncryptedEtcd(Vec<Endpoint>, Authorities),
    /// `postgres://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]]/DATABASE[?NAME=VALUE]`, or
    /// `postgresql://`, port 5432 by default. `sslmode=require`, `verify-ca` or `verify-full`
    /// encrypts, and always checks whose certificate it is; `sslrootcert=FILE` names authorities.
    Postgres(PostgresUrl),
}

/// PEM file of the authorities that vouch for a store; none for those that this machine trusts.
pub type Authorities = Option<PathBuf>;

/// The parts of a `postgres://` URL.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl {
    /// The servers.
    pub endpoints: Vec<Endpoint>,
    /// The database.
    pub database: String,
    /// The URL with the password, and without what concerns encryption.
    pub text: String,
    /// The authorities, if it is encrypted.
    pub encrypted: Option<Authorities>,
}

impl std::fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PostgresUrl").field(&without_password(&self.text)).finish()
    }
}

impl PostgresUrl {
    /// Returns a URL for each of the servers.
    pub(super) fn one_by_one(&self) -> Vec<String> {
        let (scheme, rest) = self.text.split_once("://").unwrap_or(("postgres", &self.text));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let user = authority.rfind('@').map_or("", |at| &authority[..=at]);
        let one = |(host, port): &Endpoint| {
            let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
            format!("{scheme}://{user}{host}:{port}/{database}")
        };
        self.endpoints.iter().map(one).collect()
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
            "etcds" => {
                let (hosts, query) = authority()?.split_once('?').unwrap_or((authority()?, ""));
                let hosts = hosts.strip_suffix('/').unwrap_or(hosts);
                if let Some(found) = hosts.chars().find(|c| "/@#".contains(*c)) {
                    return Err(wrong(format!("\"{found}\" has no meaning in an etcds URL")));
                }
                let mut ca = None;
                for (name, value) in parameters(query) {
                    match name {
                        "ca" if !value.is_empty() => ca = Some(PathBuf::from(value)),
                        _ => {
                            return Err(wrong(format!(
                                "\"{name}={value}\" has no meaning; ca=FILE has"
                            )));
                        }
                    }
                }
                let endpoints = endpoints(hosts, ETCD_PORT).map_err(wrong)?;
                Ok(Self::EncryptedEtcd(endpoints, ca))
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
                let (text, encrypted) = without_encryption(url).map_err(wrong)?;
                let database = database.to_owned();
                Ok(Self::Postgres(PostgresUrl { endpoints, database, text, encrypted }))
            }
            _ => Err(wrong(format!(
                "\"{scheme}\" is no kind of store; there are dir:, etcd://, etcds:// and postgres://"
            ))),
        }
    }
}

/// Parameters of the part of a URL after its question mark.
fn parameters(query: &str) -> impl Iterator<Item = (&str, &str)> {
    let each = query.split('&').filter(|each| !each.is_empty());
    each.map(|each| each.split_once('=').unwrap_or((each, "")))
}

/// A PostgreSQL URL without the parameters that concern encryption, and what these say.
fn without_encryption(url: &str) -> Result<(String, Option<Authorities>), String> {
    let Some((before, query)) = url.split_once('?') else { return Ok((url.to_owned(), None)) };
    let (mut is_encrypted, mut ca, mut rest) = (false, None, Vec::new());
    for (name, value) in parameters(query) {
        match (name, value) {
            ("sslmode", "require" | "verify-ca" | "verify-full") => is_encrypted = true,
            ("sslmode", "disable" | "allow" | "prefer") => is_encrypted = false,
            ("sslmode", _) => return Err(format!("\"{value}\" is no sslmode")),
            ("sslrootcert", "") => return Err("sslrootcert names no file".into()),
            ("sslrootcert", file) => ca = Some(PathBuf::from(file)),
            _ => rest.push(format!("{name}={value}")),
        }
    }
    if ca.is_some() && !is_encrypted {
        return Err("sslrootcert needs sslmode=verify-full".into());
    }
    let separator = if rest.is_empty() { "" } else { "?" };
    Ok((format!("{before}{separator}{}", rest.join("&")), is_encrypted.then_some(ca)))
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
        for url in ["postgres://u:p@h1:6,h2/db?a=b&c=", "postgresql://h1:6,h2/db"] {
            let StoreUrl::Postgres(found) = StoreUrl::parse(url).unwrap() else { panic!("{url}") };
            assert_eq!(found.endpoints, [("h1".to_owned(), 6), ("h2".to_owned(), 5432)]);
            assert_eq!((found.database.as_str(), found.text.as_str()), ("db", url));
            assert_eq!(found.encrypted, None);
        }
    }

    #[test]
    fn servers_have_a_url_each() {
        let url = "postgres://u:p%40@h1,[::1]:7/db?a=b";
        let StoreUrl::Postgres(url) = StoreUrl::parse(url).unwrap() else { panic!("{url}") };
        let each = ["postgres://u:p%40@h1:5432/db?a=b", "postgres://u:p%40@[::1]:7/db?a=b"];
        assert_eq!(url.one_by_one(), each);
    }

    #[test]
    fn encryption_is_read_and_taken_out() {
        let postgres = |url: &str| match StoreUrl::parse(url).unwrap() {
            StoreUrl::Postgres(url) => (url.text, url.encrypted),
            other => panic!("{other:?}"),
        };
        let plain = "postgres://u:p@h/db";
        let ca = Some(PathBuf::from("/etc/ca.pem"));
        for (query, text, encrypted) in [
            ("?sslmode=require", "", Some(None)),
            ("?sslmode=verify-full&sslrootcert=/etc/ca.pem", "", Some(ca.clone())),
            ("?a=b&sslmode=verify-ca&c=d", "?a=b&c=d", Some(None)),
            ("?sslmode=prefer", "", None),
            ("?a=b", "?a=b", None),
        ] {
            let found = postgres(&format!("{plain}{query}"));
            assert_eq!(found, (format!("{plain}{text}"), encrypted), "{query}");
        }
        let hosts = vec![("e1".to_owned(), 2379), ("e2".to_owned(), 7)];
        for (url, ca) in [("etcds://e1,e2:7", None), ("etcds://e1,e2:7/?ca=/etc/ca.pem", ca)] {
            let found = StoreUrl::parse(url).unwrap();
            assert_eq!(found, StoreUrl::EncryptedEtcd(hosts.clone(), ca), "{url}");
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
            ("postgres://h/db?sslmode=on", "no sslmode"),
            ("postgres://h/db?sslrootcert=/ca", "needs sslmode"),
            ("postgres://h/db?sslmode=require&sslrootcert=", "names no file"),
            ("etcds://", "write etcds://"),
            ("etcds://h?ca=", "no meaning"),
            ("etcds://h?key=k", "no meaning"),
            ("etcds://u@h", "no meaning"),
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
