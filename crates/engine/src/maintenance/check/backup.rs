//! A backup: the files its manifest names, and what is in them.

use std::fs;
use std::path::Path;

use super::store::{Values, name_of};
use super::{CheckReport, log};
use crate::error::Error;
use crate::format::unseal;
use crate::maintenance::image::{ImageFault, read_image};
use crate::maintenance::manifest::{self, Manifest};
use crate::wal::inspect;

const TAKE_AGAIN: &str = "take the backup again; a chain that it is part of ends before it";

/// Checks the backup in `directory`.
pub(super) fn check(directory: &Path, report: &mut CheckReport) -> Result<(), Error> {
    let manifest = match Manifest::read(directory) {
        Ok(manifest) => manifest,
        Err(Error::NewerFormat { found, supported, .. }) => {
            report.newer(manifest::NAME, found, supported);
            return Ok(());
        }
        Err(Error::Backup { reason, .. }) => {
            report.damage(manifest::NAME, "its text", reason, TAKE_AGAIN);
            return Ok(());
        }
        Err(e) => return Err(e),
    };
    let mut next = None;
    for file in &manifest.files {
        let path = directory.join(&file.name);
        let found = if file.name == "image" {
            image(&path, &manifest, report)?
        } else {
            let bytes = match fs::read(&path) {
                Ok(bytes) => bytes,
                Err(e) => {
                    report.damage(&file.name, "the file", e, TAKE_AGAIN);
                    continue;
                }
            };
            Some((bytes.len() as u64, crc32fast::hash(&bytes)))
        };
        let Some(found) = found else { continue };
        if found != (file.bytes, file.crc) {
            let what = format!(
                "{} bytes with checksum {:08x}, the manifest says {} with {:08x}",
                found.0, found.1, file.bytes, file.crc
            );
            report.damage(&file.name, "the whole file", what, TAKE_AGAIN);
        }
        let name = Path::new(&file.name).file_name().and_then(|n| n.to_str());
        if let Some(first_ts) = name.and_then(inspect::first_ts) {
            let expected = next.unwrap_or(manifest.log_after + 1);
            if first_ts != expected {
                let what = format!("it begins with commit {first_ts}, not {expected}");
                report.damage(&file.name, "its name", what, TAKE_AGAIN);
            }
            next = log::check_file(&path, Path::new(&file.name), first_ts, false, report)?;
        }
    }
    let reached = next.map_or(manifest.log_after, |next| next - 1);
    if reached != manifest.to {
        let what = format!("its log reaches commit {reached}, not {}", manifest.to);
        report.damage(manifest::NAME, "its text", what, TAKE_AGAIN);
    }
    (report.checkpoint, report.last) = (Some(manifest.checkpoint), manifest.to);
    Ok(())
}

/// Checks the image; returns its length and checksum, or `None` if it was not read to its end.
fn image(
    path: &Path,
    manifest: &Manifest,
    report: &mut CheckReport,
) -> Result<Option<(u64, u32)>, Error> {
    // Only a full backup has every value, so that they can be compared with each other.
    let mut values = Values::new("image");
    let full = manifest.base.is_none();
    let read = read_image::<ImageFault>(path, |frame| {
        match frame.value {
            Some(value) if full => values.value(&frame.key, &value, report),
            Some(value) => {
                report.values += 1;
                report.bytes += value.len() as u64;
                if let Err(what) = unseal(&frame.key, &value) {
                    let place = format!("offset {}, {}", frame.offset, name_of(&frame.key));
                    report.damage("image", place, what, TAKE_AGAIN);
                }
            }
            None => {}
        }
        Ok(())
    });
    if full {
        values.finish(report);
    }
    match read {
        Ok(found) => Ok(Some(found)),
        Err(ImageFault::Io(e)) => {
            report.damage("image", "the file", e, TAKE_AGAIN);
            Ok(None)
        }
        Err(ImageFault::Damaged { offset, what }) => {
            report.damage("image", format_args!("offset {offset}"), what, TAKE_AGAIN);
            Ok(None)
        }
    }
}
