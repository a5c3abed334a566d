//! Checks of images.

use std::io::{self, Cursor, Read};

use telar_cluster::store::Images;

use crate::{Fixture, name};

fn put(images: &dyn Images, image: &str, bytes: &[u8]) {
    images.put(&name(image), &mut Cursor::new(bytes)).unwrap();
}

fn get(images: &dyn Images, image: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    images.get(&name(image)).unwrap()?.read_to_end(&mut bytes).unwrap();
    Some(bytes)
}

pub(crate) fn images_of_all_sizes_come_back(store: &impl Fixture) {
    let images = store.open().images.unwrap();
    let images = &*images;
    assert!(images.list("").unwrap().is_empty());
    assert_eq!(get(images, "none"), None);
    images.delete(&name("none")).unwrap();
    let sizes = [("empty", 0), ("one", 1), ("graph/17", 5 << 20), ("graph/18", (3 << 20) + 1)];
    for (image, bytes) in sizes {
        let content: Vec<u8> = (0..bytes).map(|at: usize| (at % 249) as u8).collect();
        put(images, image, &content);
        assert!(get(images, image).unwrap() == content, "{image}");
    }
    let other = store.open().images.unwrap();
    let list = |prefix: &str| -> Vec<(String, u64)> {
        let found = other.list(prefix).unwrap();
        found.into_iter().map(|info| (info.name.as_str().to_owned(), info.bytes)).collect()
    };
    let [_, _, a, b] = sizes.map(|(image, bytes)| (image.to_owned(), bytes as u64));
    assert_eq!(list("graph/"), [a, b.clone()]);
    assert_eq!(list("").len(), 4);
    other.delete(&name("graph/17")).unwrap();
    assert_eq!(list("graph/"), [b]);
    assert_eq!(get(images, "graph/17"), None);
}

pub(crate) fn an_image_is_replaced_whole_and_read_to_its_end(store: &impl Fixture) {
    let images = store.open().images.unwrap();
    let (old, new) = (vec![1; 2 << 20], vec![2; 1 << 20]);
    put(&*images, "graph", &old);
    let mut open = images.get(&name("graph")).unwrap().unwrap();
    let mut read = vec![0; 1000];
    open.read_exact(&mut read).unwrap();
    put(&*images, "graph", &new);
    open.read_to_end(&mut read).unwrap();
    assert!(read == old);
    assert!(get(&*images, "graph").unwrap() == new);
    assert_eq!(images.list("").unwrap().len(), 1);
}

pub(crate) fn a_failed_image_leaves_what_was_there(store: &impl Fixture) {
    struct Failing(u32);
    impl Read for Failing {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            self.0 -= 1;
            if self.0 == 0 {
                return Err(io::Error::other("the backup broke off"));
            }
            out.fill(9);
            Ok(out.len())
        }
    }
    let images = store.open().images.unwrap();
    let error = images.put(&name("graph"), &mut Failing(5)).unwrap_err().to_string();
    assert!(error.contains("the backup broke off"), "{error}");
    assert_eq!(get(&*images, "graph"), None);
    put(&*images, "graph", b"old");
    assert!(images.put(&name("graph"), &mut Failing(5)).is_err());
    assert_eq!(get(&*images, "graph").unwrap(), b"old");
    assert_eq!(images.list("").unwrap().len(), 1);
}
