//! Images in a folder: a file each.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use super::files::{self, Folder, io_error};
use super::{Directory, file_name, name_of};
use crate::store::{ImageInfo, Images, Name, StoreError};

impl Directory {
    fn images(&self) -> PathBuf {
        self.root.join("images")
    }
}

impl Images for Directory {
    fn put(&self, name: &Name, content: &mut dyn Read) -> Result<(), StoreError> {
        let images = self.images();
        self.folder(&images)?;
        let path = images.join(file_name(name));
        let (new, mut file) = files::create_new(&self.new)?;
        let written = io::copy(content, &mut file).and_then(|_| file.sync_all());
        written.map_err(|cause| io_error("write", &path, cause))?;
        new.rename(&path)?;
        self.sync(&images)
    }

    fn get(&self, name: &Name) -> Result<Option<Box<dyn Read + Send>>, StoreError> {
        let path = self.images().join(file_name(name));
        match File::open(&path) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
            file => Ok(Some(Box::new(file.map_err(|cause| io_error("open", &path, cause))?))),
        }
    }

    fn list(&self, prefix: &str) -> Result<Vec<ImageInfo>, StoreError> {
        let images = self.images();
        let mut found = Vec::new();
        for text in Folder::at(&images).names()? {
            let Some(name) = name_of(&text).filter(|name| name.as_str().starts_with(prefix)) else {
                continue;
            };
            // One that was deleted since is not there.
            if let Ok(file) = images.join(&text).metadata() {
                found.push(ImageInfo { name, bytes: file.len() });
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    fn delete(&self, name: &Name) -> Result<(), StoreError> {
        let images = self.images();
        files::remove(&images.join(file_name(name)))?;
        if images.is_dir() { self.sync(&images) } else { Ok(()) }
    }
}
