//! The folder of the TCK.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::gherkin;
use super::step::Step;

/// Scripts that make each named graph.
pub type Graphs = BTreeMap<String, Vec<String>>;

/// One scenario, or one example of an outline.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// `path/of.feature :: name`, for examples with ` #number`, as the TCK's runner over Bolt names
    /// it.
    pub id: String,
    /// Folder of the feature.
    pub folder: String,
    /// What to do, in order.
    pub steps: Vec<Step>,
}

/// All scenarios of a folder.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Suite {
    /// Number of files.
    pub features: usize,
    /// Number of scenarios before outlines are expanded.
    pub written: usize,
    /// Scenarios, outlines expanded, in order of file and line.
    pub scenarios: Vec<Scenario>,
    /// Named graphs.
    pub graphs: Graphs,
}

impl Suite {
    /// Reads `features` and `graphs` below `folder`.
    ///
    /// # Errors
    /// The file that cannot be read, the line that is not understood.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let mut suite = Self { graphs: graphs(&folder.join("graphs"))?, ..Self::default() };
        let root = folder.join("features");
        let mut files = Vec::new();
        feature_files(&root, &mut files)?;
        files.sort();
        for file in files {
            let path = file.strip_prefix(&root).map_err(|e| e.to_string())?;
            let path = path.to_string_lossy().replace('\\', "/");
            suite.add(&path, &read(&file)?).map_err(|problem| format!("{path}: {problem}"))?;
        }
        Ok(suite)
    }

    fn add(&mut self, path: &str, text: &str) -> Result<(), String> {
        let feature = gherkin::parse(text)?;
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        self.features += 1;
        self.written += feature.written;
        for raw in feature.scenarios {
            let step = |step: &gherkin::RawStep| {
                Step::parse(step).map_err(|problem| format!("line {}: {problem}", step.line))
            };
            let steps = raw.steps.iter().map(step).collect::<Result<_, _>>()?;
            let mut id = format!("{path} :: {}", raw.name);
            if raw.example > 0 {
                id += &format!(" #{}", raw.example);
            }
            self.scenarios.push(Scenario { id, folder: folder.to_owned(), steps });
        }
        Ok(())
    }
}

fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    entries.map(|entry| entry.map(|e| e.path()).map_err(|e| e.to_string())).collect()
}

fn feature_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    for path in entries(folder)? {
        if path.is_dir() {
            feature_files(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "feature") {
            files.push(path);
        }
    }
    Ok(())
}

/// A folder per graph; `name/name.json` names the scripts beside it.
fn graphs(folder: &Path) -> Result<Graphs, String> {
    let mut graphs = Graphs::new();
    for path in entries(folder)?.into_iter().filter(|path| path.is_dir()) {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let meta = read(&path.join(format!("{name}.json")))?;
        let meta: serde_json::Value = serde_json::from_str(&meta).map_err(|e| e.to_string())?;
        let mut scripts = Vec::new();
        for script in meta["scripts"].as_array().into_iter().flatten() {
            let script = script.as_str().ok_or_else(|| format!("{name}: a script without name"))?;
            let text = read(&path.join(format!("{script}.cypher")))?;
            scripts.push(text.trim().trim_end_matches(';').to_owned());
        }
        if scripts.is_empty() {
            return Err(format!("graph {name} has no scripts"));
        }
        graphs.insert(name, scripts);
    }
    Ok(graphs)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_shared_part_is_read_whole() {
        let Some(folder) = crate::shared("tck") else { return };
        let suite = Suite::read(&folder).unwrap();
        assert_eq!((suite.features, suite.written, suite.scenarios.len()), (181, 1058, 2363));
        assert_eq!(suite.graphs.keys().collect::<Vec<_>>(), ["binary-tree-1", "binary-tree-2"]);
        let ids: BTreeSet<_> = suite.scenarios.iter().map(|s| &s.id).collect();
        assert_eq!(ids.len(), suite.scenarios.len(), "two scenarios have one name");
    }
}
