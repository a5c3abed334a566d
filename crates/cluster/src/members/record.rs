//! A member's record, as it stands in the store.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Version of the record's form; a newer one is not read.
const FORMAT: u32 = 1;

/// A process of a cluster, as it describes itself: one JSON object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    format: u32,
    /// Name of the node.
    pub node: String,
    /// Random number of the process: another one after each start.
    pub holder: u64,
    /// Number of the record; it grows each time that the process writes it.
    pub beat: u64,
    /// Address of Bolt, `host:port`.
    pub bolt: String,
    /// Address of HTTP, `host:port`, if it is served.
    pub http: Option<String>,
    /// True if HTTP is encrypted.
    #[serde(default)]
    pub https: bool,
    /// True if it may lead.
    pub votes: bool,
    /// Version of the program.
    pub version: String,
    /// True once it has ended in order.
    pub left: bool,
    /// Last commit that is visible in each of its copies, by folder of the database.
    pub positions: BTreeMap<String, u64>,
    /// Last commit that each of its copies has on disk for good, by folder.
    #[serde(default)]
    pub kept: BTreeMap<String, u64>,
    /// Most bytes of a log that it leads (`cluster.log_bytes`); none of an older program.
    #[serde(default)]
    pub log_bytes_max: Option<u64>,
    /// Databases that it leads and takes no commits of, since their logs are full, by folder.
    #[serde(default)]
    pub full: BTreeSet<String>,
    /// True of a record that stands for nobody any more: an operator has removed the member.
    #[serde(default)]
    pub removed: bool,
    /// Trouble that an operator has to look at: a copy that does not follow, by folder, with the
    /// reason.
    pub troubles: Vec<String>,
}

impl Member {
    /// A member with no copy yet.
    #[must_use]
    pub fn new(node: impl Into<String>, holder: u64, bolt: impl Into<String>) -> Self {
        Self {
            format: FORMAT,
            node: node.into(),
            holder,
            beat: 0,
            bolt: bolt.into(),
            http: None,
            https: false,
            votes: true,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            left: false,
            positions: BTreeMap::new(),
            kept: BTreeMap::new(),
            log_bytes_max: None,
            full: BTreeSet::new(),
            removed: false,
            troubles: Vec::new(),
        }
    }

    /// The reason for which its copy in a folder does not follow, if there is one.
    #[must_use]
    pub fn trouble(&self, folder: &str) -> Option<&str> {
        self.troubles.iter().find_map(|trouble| trouble.strip_prefix(folder)?.strip_prefix(": "))
    }

    pub(super) fn encode(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }

    /// The member of a record; none if it is damaged, or of a newer program.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok().filter(|member: &Self| member.format <= FORMAT)
    }
}

#[test]
fn records_are_read_as_they_are_written() {
    let mut member = Member::new("a", 7, "127.0.0.1:7687");
    member.positions.insert("telar-0".into(), 12);
    member.http = Some("127.0.0.1:7474".into());
    member.log_bytes_max = Some(1 << 30);
    member.full.insert("telar-0".into());
    assert_eq!(Member::decode(&member.encode().unwrap()), Some(member.clone()));
    member.format = FORMAT + 1;
    assert_eq!(Member::decode(&member.encode().unwrap()), None);
    for bad in [&b""[..], b"{}", b"[]", b"\xff"] {
        assert_eq!(Member::decode(bad), None);
    }
}

#[test]
fn records_of_the_first_program_are_read() {
    let old = br#"{"format":1,"node":"a","holder":7,"beat":3,"bolt":"127.0.0.1:7687","http":null,
        "votes":true,"version":"0.1.0","left":false,"positions":{"telar-0":12},"troubles":[]}"#;
    let mut member = Member::new("a", 7, "127.0.0.1:7687");
    member.beat = 3;
    "0.1.0".clone_into(&mut member.version);
    member.positions.insert("telar-0".into(), 12);
    assert_eq!(Member::decode(old), Some(member));
}
