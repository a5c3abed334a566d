//! Files with the graphs of vector indexes: checksums, and links that lead somewhere.

use std::fs;
use std::path::Path;

use super::{CheckReport, Severity};
use crate::error::Error;
use crate::index::near_file::{self, Fault, VERSION};

/// Advice about a file that is not as it was written.
const ADVICE: &str = "nothing is lost: the file is not used, and the graph of neighbours is built anew; \
                      remove it, or let `telar repair` leave it out";
const LEFT: &str = "nothing: the next checkpoint removes it";

pub(super) fn check(root: &Path, report: &mut CheckReport) -> Result<(), Error> {
    let folder = near_file::folder_of(root);
    let entries = match fs::read_dir(&folder) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(Error::file("cannot list", &folder))?,
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .collect();
    names.sort_unstable();
    for name in names {
        let (path, file) = (folder.join(&name), Path::new("near").join(&name));
        let number = name.strip_suffix(".graph").and_then(|number| number.parse().ok());
        if number.is_some_and(|number| near_file::name_of(number) == name) {
            report.bytes += fs::metadata(&path).map_or(0, |about| about.len());
            match near_file::check(&path) {
                Ok(()) => {}
                Err(Fault::Version(found)) if found > VERSION => {
                    report.newer(file, found, VERSION);
                }
                Err(fault) => report.damage(file, "its bytes", fault, ADVICE),
            }
        } else if name.ends_with(".graph.new") {
            let what = "a crash while it was written left it";
            report.add(Severity::Note, file, "the file", what, LEFT);
        } else {
            let advice = "if you did not put it there, find out who did";
            report.add(Severity::Note, file, "the file", "it is not ours", advice);
        }
    }
    Ok(())
}
