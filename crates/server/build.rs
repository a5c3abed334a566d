//! Embeds the page that `tools/page.sh` has built, if it has.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let built = here.join("../../page/dist");
    // Cargo takes a folder that is missing for one that has changed: an empty one stays as it is.
    if here.join("../../page").is_dir() {
        fs::create_dir_all(&built)?;
    }
    println!("cargo::rerun-if-changed={}", built.display());
    let mut names = assets(&built)?;
    names.sort();
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    for name in &names {
        // Copies stay while the page is built again beside the compiler.
        fs::copy(built.join(name), out.join(name))?;
    }
    let entries: String = names.iter().map(|name| entry(&out, name)).collect();
    fs::write(out.join("page.rs"), format!("&[\n{entries}]\n"))
}

/// Names of the files, each of which is compressed.
fn assets(folder: &Path) -> io::Result<Vec<String>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().into_string();
        names.push(name.map_err(|name| io::Error::other(format!("{name:?} is not in UTF-8")))?);
    }
    Ok(names)
}

fn entry(folder: &Path, name: &str) -> String {
    let path = folder.join(name);
    let plain = name.strip_suffix(".gz").unwrap_or_else(|| panic!("{name} is not compressed"));
    format!("    Asset {{ name: {plain:?}, gzip: include_bytes!({path:?}) }},\n")
}
