//! Names of a cluster's streams and keys in its store.
//!
//! ```text
//! NAME/identity            who it is: read before anything else; where the log has a store of its
//!                          own, there is one in each
//! NAME/system              users, grants, databases
//! NAME/members/NODE        a process: where it is, how far its copies are
//! NAME/databases/FOLDER    stream and lease of a database
//! NAME/wanted/FOLDER       the node that asks for an image of it; empty once it is there
//! NAME/transfers/FOLDER    the node that is to lead it, by an operator's request
//! NAME/images/FOLDER/TS    an image: the database as of commit TS
//! ```

use crate::store::{Name, StoreError};

/// Longest name of a cluster or a node in bytes: with the name of a database, a [`Name`] has room
/// for it.
pub const LABEL_BYTES_MAX: usize = 63;

/// Names of a cluster's streams and keys. Several clusters may share a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    cluster: String,
}

impl Keys {
    /// Names of the cluster `cluster`: 1 to 63 ASCII letters, digits, `_`, `-` and `.`, of which a
    /// dot is not the first.
    ///
    /// # Errors
    /// [`StoreError::Name`] for anything else.
    pub fn new(cluster: &str) -> Result<Self, StoreError> {
        check_label(cluster)?;
        Ok(Self { cluster: cluster.to_owned() })
    }

    /// Name of the cluster.
    #[must_use]
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    fn below(&self, rest: &str) -> Result<Name, StoreError> {
        Name::new(format!("{}/{rest}", self.cluster))
    }

    /// Key of the cluster's identity.
    ///
    /// # Errors
    /// None for a cluster whose name was checked.
    pub fn identity(&self) -> Result<Name, StoreError> {
        self.below("identity")
    }

    /// Key of users, grants and databases.
    ///
    /// # Errors
    /// None for a cluster whose name was checked.
    pub fn system(&self) -> Result<Name, StoreError> {
        self.below("system")
    }

    /// Beginning of the keys of all members.
    #[must_use]
    pub fn members(&self) -> String {
        format!("{}/members/", self.cluster)
    }

    /// Key of a member.
    ///
    /// # Errors
    /// [`StoreError::Name`] if `node` is no name.
    pub fn member(&self, node: &str) -> Result<Name, StoreError> {
        check_label(node)?;
        Name::new(format!("{}{node}", self.members()))
    }

    /// Beginning of the names of all databases' streams and leases.
    #[must_use]
    pub fn databases(&self) -> String {
        format!("{}/databases/", self.cluster)
    }

    /// Key by which a node asks for an image of the database in this folder.
    ///
    /// # Errors
    /// [`StoreError::Name`] if `folder` is no name.
    pub fn wanted(&self, folder: &str) -> Result<Name, StoreError> {
        self.below(&format!("wanted/{folder}"))
    }

    /// Key by which an operator asks for another leader of the database in this folder.
    ///
    /// # Errors
    /// [`StoreError::Name`] if `folder` is no name.
    pub fn transfer(&self, folder: &str) -> Result<Name, StoreError> {
        self.below(&format!("transfers/{folder}"))
    }

    /// Beginning of the names of all images of the database in this folder.
    #[must_use]
    pub fn images(&self, folder: &str) -> String {
        format!("{}/images/{folder}/", self.cluster)
    }

    /// Image of the database in this folder as of a commit. In the order of their names, images are
    /// in the order of their commits.
    ///
    /// # Errors
    /// [`StoreError::Name`] if `folder` is no name.
    pub fn image(&self, folder: &str, commit: u64) -> Result<Name, StoreError> {
        Name::new(format!("{}{commit:020}", self.images(folder)))
    }

    /// Commit of the image of this name.
    #[must_use]
    pub fn image_commit(&self, folder: &str, image: &Name) -> Option<u64> {
        image.as_str().strip_prefix(&self.images(folder))?.parse().ok()
    }

    /// Stream and lease of the database in this folder.
    ///
    /// # Errors
    /// [`StoreError::Name`] if `folder` is no name.
    pub fn database(&self, folder: &str) -> Result<Name, StoreError> {
        self.below(&format!("databases/{folder}"))
    }
}

/// Checks the name of a cluster or node.
fn check_label(label: &str) -> Result<(), StoreError> {
    let wrong = |why| Err(StoreError::Name { name: label.to_owned(), why });
    if label.len() > LABEL_BYTES_MAX {
        return wrong("it is longer than 63 bytes");
    }
    if label.contains('/') {
        return wrong("it has a slash");
    }
    Name::new(label).map(drop)
}

#[test]
fn names_fit_and_are_checked() {
    let longest = "n".repeat(LABEL_BYTES_MAX);
    let keys = Keys::new(&longest).unwrap();
    assert_eq!(keys.member(&longest).unwrap().as_str(), format!("{longest}/members/{longest}"));
    assert!(keys.member(&longest).unwrap().as_str().starts_with(&keys.members()));
    // The longest name of a database, and the largest number that is given out.
    let folder = format!("{}-{}", "d".repeat(63), u64::MAX);
    assert!(keys.database(&folder).is_ok() && keys.wanted(&folder).is_ok());
    assert!(keys.transfer(&folder).is_ok());
    assert!(keys.database(&folder).unwrap().as_str().starts_with(&keys.databases()));
    let image = keys.image(&folder, u64::MAX).unwrap();
    assert_eq!(keys.image_commit(&folder, &image), Some(u64::MAX));
    assert_eq!(keys.image_commit("telar-0", &image), None);
    for bad in ["", "a/b", ".a", "a b", "ä", &"n".repeat(64)] {
        assert!(Keys::new(bad).is_err(), "{bad}");
        assert!(keys.member(bad).is_err(), "{bad}");
    }
}
