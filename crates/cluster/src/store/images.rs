//! Images: backups of databases by name, of any size.

use std::fmt;
use std::io::Read;

use super::{Name, StoreError};

/// An image in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageInfo {
    /// Its name.
    pub name: Name,
    /// Its length in bytes.
    pub bytes: u64,
}

/// Files by name. An image is there whole or not at all.
pub trait Images: Send + Sync + fmt::Debug {
    /// Stores everything that `content` gives as image `name`, in place of one that is there.
    ///
    /// # Errors
    /// What `content` or the store reports; the image is then as before, or whole and new if only
    /// the last step, making it durable, failed.
    fn put(&self, name: &Name, content: &mut dyn Read) -> Result<(), StoreError>;

    /// Opens an image for reading, or returns `None` if there is none. One that is replaced or
    /// deleted meanwhile can be read to its end.
    ///
    /// # Errors
    /// Failures of the store.
    fn get(&self, name: &Name) -> Result<Option<Box<dyn Read + Send>>, StoreError>;

    /// Returns the images whose names begin with `prefix`, in order.
    ///
    /// # Errors
    /// Failures of the store.
    fn list(&self, prefix: &str) -> Result<Vec<ImageInfo>, StoreError>;

    /// Deletes an image; one that is not there is no error.
    ///
    /// # Errors
    /// Failures of the store.
    fn delete(&self, name: &Name) -> Result<(), StoreError>;
}
