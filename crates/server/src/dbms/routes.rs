//! Routes: which server does what with a database, for drivers that ask.

use std::sync::Arc;

use telar_db::query::{Routes, ShownServer};

use super::cluster::{Cluster, LocalCopy};
use super::{Dbms, SYSTEM};

/// Seconds for which clients may rely on the routes of one server, which stays.
const ROUTES_LAST_S: i64 = 300;

impl Dbms {
    /// The servers of the cluster, or this one.
    pub(super) fn servers(&self) -> Vec<ShownServer> {
        if let Some(cluster) = &self.cluster {
            return cluster.servers(&self.folders());
        }
        let Some(routes) = self.routes(self.default_name(), None) else { return Vec::new() };
        let address = routes.route.into_iter().next().unwrap_or_default();
        let hosting = self.databases().iter().map(|database| Arc::clone(database.name())).collect();
        vec![ShownServer {
            name: address.clone(),
            address,
            http: None,
            available: true,
            hosting,
            id: std::process::id().to_string(),
            votes: true,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            message: String::new(),
        }]
    }

    /// Routes of a database, known by the name that it has: this server for everything, or the
    /// nodes of the cluster. None if Bolt is not served.
    pub(crate) fn routes(&self, name: &str, asked: Option<&str>) -> Option<Routes> {
        if let Some(cluster) = &self.cluster {
            return Some(match name {
                SYSTEM => cluster.routes(None),
                name => cluster.routes(Some(&self.folder_of(name)?)),
            });
        }
        let (advertised, listens) = self.bolt.get()?;
        let asked = || asked.map(str::to_owned);
        let address = advertised.clone().or_else(asked).unwrap_or_else(|| listens.to_string());
        let only = || vec![address.clone()];
        Some(Routes { seconds: ROUTES_LAST_S, write: only(), read: only(), route: only() })
    }

    /// This node's copy of a database of the cluster, by the name that it has.
    pub(super) fn copy(&self, name: &str) -> Option<LocalCopy> {
        self.cluster.as_ref()?.copy(&self.folder_of(name)?)
    }

    /// Names and folders of all databases of the cluster, the default one first.
    pub(super) fn folders(&self) -> Vec<(Arc<str>, String)> {
        let default = Arc::clone(self.default_name());
        let folder = Cluster::default_folder(&default);
        let state = self.state();
        let others = state.databases.iter();
        let others = others.map(|(name, entry)| (name.as_str().into(), entry.folder.clone()));
        [(default, folder)].into_iter().chain(others).collect()
    }

    /// Folder of a database of the cluster.
    pub(super) fn folder_of(&self, name: &str) -> Option<String> {
        if *name == *self.settings.default_database {
            return Some(Cluster::default_folder(name));
        }
        self.state().databases.get(name).map(|entry| entry.folder.clone())
    }
}
