//! Licences and sources of every package in the lock file, against deny.toml.
//!
//! deny.toml is written for cargo-deny, which also knows advisories; this test needs no tool and
//! no network, so the rule holds in every `cargo test`.

use serde_json::Value;

use crate::Violation;
use crate::edges::packages;

/// Where packages of the lock file may come from.
const SOURCE: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// What deny.toml allows and bans.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Policy {
    allowed: Vec<String>,
    banned: Vec<String>,
}

impl Policy {
    /// Reads `licenses.allow` and the crates of `bans.deny`: one entry per line, which is the form
    /// deny.toml keeps.
    pub(crate) fn parse(text: &str) -> Self {
        let mut policy = Self::default();
        let mut section = "";
        let mut list = "";
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
            if line.starts_with('[') {
                section = line;
                list = "";
            } else if line == "]" {
                list = "";
            } else if let Some(name) = line.strip_suffix(" = [") {
                list = name;
            } else if let Some(entry) = line.split('"').nth(1) {
                match (section, list) {
                    ("[licenses]", "allow") => policy.allowed.push(entry.to_owned()),
                    ("[bans]", "deny") => policy.banned.push(entry.to_owned()),
                    _ => {}
                }
            }
        }
        policy
    }

    fn allows(&self, licence: &str) -> bool {
        self.allowed.iter().any(|allowed| allowed == licence)
    }
}

/// Every package may be used under allowed licences, is not banned, and comes from [`SOURCE`].
pub(crate) fn check(metadata: &Value, policy: &Policy) -> Vec<Violation> {
    let mut violations = Vec::new();
    for package in packages(metadata) {
        let field = |name: &str| package[name].as_str().unwrap_or_default();
        let name = field("name");
        let mut report = |what: String| {
            let message = format!("{name} {}: {what}", field("version"));
            violations.push(Violation::new("Cargo.lock", 0, message));
        };
        if policy.banned.iter().any(|banned| banned == name) {
            report("banned in deny.toml".to_owned());
        }
        if !package["source"].is_null() && field("source") != SOURCE {
            report(format!("comes from {}", field("source")));
        }
        match is_allowed(field("license"), &|licence| policy.allows(licence)) {
            Ok(true) => {}
            Ok(false) => report(format!("licence {} is not in deny.toml", field("license"))),
            Err(problem) => report(format!("licence \"{}\": {problem}", field("license"))),
        }
    }
    violations
}

/// Whether the SPDX expression can be met with licences that `allows` accepts.
///
/// ```text
/// any  = all ("OR" all | "/" all)*      "/" is what manifests wrote before SPDX
/// all  = one ("AND" one)*
/// one  = "(" any ")" | licence ["WITH" exception]
/// ```
fn is_allowed(expression: &str, allows: &dyn Fn(&str) -> bool) -> Result<bool, String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut parser = Parser { tokens: spaced.split_whitespace().peekable(), allows };
    let allowed = parser.any()?;
    match parser.tokens.next() {
        None => Ok(allowed),
        Some(token) => Err(format!("unexpected {token}")),
    }
}

struct Parser<'a> {
    tokens: std::iter::Peekable<std::str::SplitWhitespace<'a>>,
    allows: &'a dyn Fn(&str) -> bool,
}

impl Parser<'_> {
    fn any(&mut self) -> Result<bool, String> {
        let mut allowed = self.all()?;
        while self.tokens.next_if_eq(&"OR").is_some() {
            allowed |= self.all()?;
        }
        Ok(allowed)
    }

    fn all(&mut self) -> Result<bool, String> {
        let mut allowed = self.one()?;
        while self.tokens.next_if_eq(&"AND").is_some() {
            allowed &= self.one()?;
        }
        Ok(allowed)
    }

    fn one(&mut self) -> Result<bool, String> {
        match self.tokens.next() {
            Some("(") => {
                let allowed = self.any()?;
                self.tokens.next_if_eq(&")").ok_or("missing )")?;
                Ok(allowed)
            }
            None | Some(")" | "OR" | "AND" | "WITH") => Err("expected a licence".to_owned()),
            Some(licence) if self.tokens.next_if_eq(&"WITH").is_some() => {
                let exception = self.tokens.next().ok_or("expected an exception")?;
                Ok((self.allows)(&format!("{licence} WITH {exception}")))
            }
            Some(licence) => Ok((self.allows)(licence)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(expression: &str) -> Result<bool, String> {
        let list = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"];
        is_allowed(expression, &|licence| list.contains(&licence))
    }

    #[test]
    fn expressions_follow_spdx() {
        let yes = [
            "MIT",
            "GPL-3.0 OR MIT",
            "MIT/GPL-3.0",
            "GPL-3.0 / Apache-2.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0",
            "(MIT OR GPL-3.0) AND Unicode-3.0",
            "GPL-3.0 AND MIT OR Apache-2.0",
        ];
        for expression in yes {
            assert_eq!(allowed(expression), Ok(true), "{expression}");
        }
        let no = [
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "GPL-3.0 AND (MIT OR Apache-2.0)",
            "MIT WITH LLVM-exception",
            "GPL-3.0 OR MIT AND GPL-2.0",
        ];
        for expression in no {
            assert_eq!(allowed(expression), Ok(false), "{expression}");
        }
        for expression in ["", "MIT OR", "(MIT", "MIT)", "MIT Apache-2.0", "MIT WITH"] {
            assert!(allowed(expression).is_err(), "{expression}");
        }
    }

    #[test]
    fn policy_reads_allowed_licences_and_banned_crates() {
        let text = "[licenses]\nallow = [\n    # why\n    \"MIT\", # note\n]\n\n[bans]\n\
                    skip = [\n    \"other\",\n]\ndeny = [\n    { crate = \"bincode\", reason = \"r\" },\n]\n";
        let policy = Policy::parse(text);
        assert_eq!(policy, Policy { allowed: vec!["MIT".into()], banned: vec!["bincode".into()] });
    }

    #[test]
    fn check_reports_licence_ban_and_source() {
        let policy = Policy { allowed: vec!["MIT".into()], banned: vec!["bincode".into()] };
        let metadata = serde_json::json!({ "packages": [
            { "name": "good", "version": "1.0.0", "license": "MIT", "source": SOURCE },
            { "name": "ours", "version": "1.0.0", "license": "MIT", "source": null },
            { "name": "copyleft", "version": "1.0.0", "license": "GPL-3.0", "source": SOURCE },
            { "name": "unknown", "version": "1.0.0", "license": null, "source": SOURCE },
            { "name": "bincode", "version": "1.3.3", "license": "MIT", "source": SOURCE },
            { "name": "fork", "version": "1.0.0", "license": "MIT", "source": "git+https://x" },
        ]});
        let messages: Vec<String> =
            check(&metadata, &policy).into_iter().map(|v| v.message).collect();
        assert_eq!(
            messages,
            [
                "copyleft 1.0.0: licence GPL-3.0 is not in deny.toml",
                "unknown 1.0.0: licence \"\": expected a licence",
                "bincode 1.3.3: banned in deny.toml",
                "fork 1.0.0: comes from git+https://x",
            ]
        );
    }
}
