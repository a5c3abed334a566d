//! Report on a cluster from its store alone, for `telar cluster status`: no node is asked.

use std::collections::BTreeMap;

use telar_cluster::keys::Keys;
use telar_cluster::members::{SeenMember, observe};
use telar_cluster::replica::election::Lease;
use telar_cluster::store::{StoreError, Stores};

use super::super::Failure;
use super::super::failure::invalid;
use super::super::state::State;
use super::{Cluster, StoreUrls, store_failed};

/// A cluster, as its store shows it.
#[derive(Debug)]
pub struct Report {
    /// The members, by name.
    pub members: Vec<SeenMember>,
    /// The databases, by name.
    pub databases: Vec<DatabaseReport>,
    /// Sentences on how the store is set up.
    pub concerns: Vec<String>,
    /// True if the store can keep images.
    pub keeps_images: bool,
}

/// A database of a cluster.
#[derive(Debug)]
pub struct DatabaseReport {
    /// Its name.
    pub name: String,
    /// Its folder below `dbms/` of each node.
    pub folder: String,
    /// The node that holds its lease, unless that was given up.
    pub leader: Option<String>,
    /// Number of the leadership; 0 if there was none.
    pub epoch: u64,
    /// First commit that its log has still.
    pub oldest: u64,
    /// Bytes of its log.
    pub bytes: u64,
    /// Commit of the newest image in the store.
    pub image: Option<u64>,
    /// Last commit that each node shows, by name.
    pub positions: BTreeMap<String, u64>,
}

impl DatabaseReport {
    /// Last commit that some node shows.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.positions.values().copied().max().unwrap_or(0)
    }
}

impl Report {
    /// Reads the store at `urls`, or the two, for the cluster `name`; takes two and a half seconds,
    /// since a member that is there shows by what it writes meanwhile.
    ///
    /// # Errors
    /// If there is no such cluster, or the store cannot be read.
    pub fn read(urls: impl Into<StoreUrls>, name: &str) -> Result<Self, Failure> {
        let wrong = |error: StoreError| Failure::from(store_failed("read the store", &error));
        let keys = Keys::new(name).map_err(wrong)?;
        let opened = urls.into().open(|_, error| store_failed("read the store", &error))?;
        let Some(identity) = opened.identity(&keys)? else {
            return Err(invalid(format!("there is no cluster '{name}' in this store")).into());
        };
        let (stores, default) = (opened.stores, identity.default_database);
        let system = stores.coordination.get(&keys.system().map_err(wrong)?).map_err(wrong)?;
        let state = system.map(|entry| State::decode(&entry.value)).transpose();
        let state = state.map_err(|why| invalid(format!("users and databases: {why}")))?;
        let mut folders = vec![(default.clone(), Cluster::default_folder(&default))];
        for (name, entry) in state.into_iter().flat_map(|state| state.databases) {
            folders.push((name, entry.folder));
        }
        folders.sort();
        let members = observe(&*stores.coordination, &keys).map_err(wrong)?;
        let mut databases = Vec::new();
        for (name, folder) in folders {
            databases.push(Self::database(&stores, &keys, &members, name, &folder).map_err(wrong)?);
        }
        let concerns = stores.log.concerns().map_err(wrong)?;
        Ok(Self { members, databases, concerns, keeps_images: stores.images.is_some() })
    }

    fn database(
        stores: &Stores,
        keys: &Keys,
        members: &[SeenMember],
        name: String,
        folder: &str,
    ) -> Result<DatabaseReport, StoreError> {
        let stream = keys.database(folder)?;
        let lease = stores.coordination.get(&stream)?;
        let lease = lease.and_then(|entry| Lease::decode(&entry.value));
        let oldest = stores.log.oldest(&stream)?;
        let position = |seen: &SeenMember| {
            let position = seen.member.positions.get(folder)?;
            Some((seen.member.node.clone(), *position))
        };
        Ok(DatabaseReport {
            name,
            folder: folder.to_owned(),
            epoch: lease.as_ref().map_or(0, |lease| lease.epoch),
            leader: lease.filter(|lease| !lease.released).map(|lease| lease.node),
            oldest,
            bytes: stores.log.bytes(&stream)?,
            image: super::upkeep::newest_image(stores, keys, folder)?,
            positions: members.iter().filter_map(position).collect(),
        })
    }
}
