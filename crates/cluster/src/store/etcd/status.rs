//! The status of a node of etcd, and what an operator should know of it.

use serde::Deserialize;

/// The version from which on etcd is advised for logs. Older ones keep 100,000 puts in memory,
/// where these keep 10,000, and a put is as long as a slot.
const ADVISED: (u32, u32) = (3, 6);

/// The answer to a request for the status of the node that is asked.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Status {
    #[serde(default)]
    version: String,
    /// Alarms of the cluster, one for each node that has raised it, and other trouble.
    #[serde(default)]
    errors: Vec<String>,
    /// Bytes of the node's file. Compaction leaves it as long as it was.
    #[serde(default)]
    db_size: String,
    /// Bytes that the file may have: not told before 3.6, and 0 where etcd's default holds.
    #[serde(default)]
    db_size_quota: String,
}

impl Status {
    /// Sentences on what an operator should know.
    pub(super) fn concerns(&self) -> Vec<String> {
        let alarms = self.errors.iter().map(|error| error.trim());
        let (full, others): (Vec<_>, Vec<_>) = alarms.partition(|e| e.contains("NOSPACE"));
        [self.old_version(), self.quota(!full.is_empty())]
            .into_iter()
            .flatten()
            .chain(others.into_iter().map(|error| format!("etcd reports trouble: {error}")))
            .collect()
    }

    fn old_version(&self) -> Option<String> {
        // A version that cannot be read is of no etcd that is known.
        let is_old = minor_version(&self.version)? < ADVISED;
        let ((major, minor), version) = (ADVISED, &self.version);
        is_old.then(|| {
            format!(
                "etcd is version {version}: {major}.{minor} or newer is advised; older ones keep \
                 ten times as many puts in memory, each up to 256 KiB of the log"
            )
        })
    }

    /// The concern about the quota, if it is used up (`is_full`) or will be soon.
    fn quota(&self, is_full: bool) -> Option<String> {
        if is_full {
            return Some(
                "etcd has used up its quota (alarm NOSPACE): it takes no puts, so no commits are \
                 taken; compact it, then `etcdctl defrag` and `etcdctl alarm disarm`"
                    .to_owned(),
            );
        }
        let (size, quota): (u64, u64) =
            (self.db_size.parse().ok()?, self.db_size_quota.parse().ok()?);
        let is_near = quota > 0 && size >= quota / 10 * 9;
        is_near.then(|| {
            let (size, quota) = (size >> 20, quota >> 20);
            format!(
                "etcd has used {size} MiB of its quota of {quota} (--quota-backend-bytes); once it \
                 is used up no commits are taken: compact it (--auto-compaction-retention=5m), \
                 then `etcdctl defrag`"
            )
        })
    }
}

/// The first two numbers of a version.
fn minor_version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split('.').map_while(|number| number.parse::<u32>().ok());
    Some((numbers.next()?, numbers.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Concerns of a status as etcd answers it, with `fields` in it.
    fn concerns(fields: &str) -> Vec<String> {
        let text = format!(r#"{{"header":{{"revision":"7"}},"leader":"2",{fields}}}"#);
        serde_json::from_str::<Status>(&text).unwrap().concerns()
    }

    #[test]
    fn versions_before_the_advised_one_are_named() {
        for old in ["3.4.23", "3.5.21", "2.3.8"] {
            let found = concerns(&format!(r#""version":"{old}","dbSize":"20480""#));
            let [concern] = &*found else { panic!("{old}: {found:?}") };
            assert!(concern.contains(old) && concern.contains("3.6 or newer"), "{concern}");
        }
        for good in ["3.6.0", "3.6.16", "3.10.1", "3.7.0-rc.0", "4.0.0", "unknown", ""] {
            let found = concerns(&format!(r#""version":"{good}","dbSize":"20480""#));
            assert!(found.is_empty(), "{good}: {found:?}");
        }
    }

    #[test]
    fn a_quota_is_named_where_it_is_nearly_used() {
        let with = |size: u64, quota: &str| {
            concerns(&format!(r#""version":"3.6.16","dbSize":"{size}","dbSizeQuota":"{quota}""#))
        };
        assert!(with(899 << 20, "1048576000").is_empty());
        let near = with(900 << 20, "1048576000");
        assert!(near.len() == 1 && near[0].contains("900 MiB of its quota of 1000"), "{near:?}");
        // The default, none, and one that is not told.
        for quota in ["0", "-1", ""] {
            assert!(with(1 << 40, quota).is_empty(), "{quota}");
        }
    }

    #[test]
    fn alarms_are_told() {
        let both = r#""memberID:2 alarm:NOSPACE ","memberID:3 alarm:NOSPACE ""#;
        let full = concerns(&format!(
            r#""version":"3.6.16","dbSize":"9","dbSizeQuota":"10","errors":[{both}]"#
        ));
        assert!(full.len() == 1 && full[0].contains("NOSPACE"), "{full:?}");
        assert!(full[0].contains("etcdctl alarm disarm"), "{full:?}");
        let other = concerns(r#""version":"3.6.16","errors":["memberID:2 alarm:CORRUPT "]"#);
        assert_eq!(other, ["etcd reports trouble: memberID:2 alarm:CORRUPT"]);
    }
}
