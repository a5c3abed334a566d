//! `telar cluster init`, `status`, `transfer`, `remove` and `recover`, in the order in which a
//! cluster meets them: over one store, and over two.

use super::*;

const NAMES: &str = "MATCH (t:Thing) RETURN t.name ORDER BY t.name";

/// A folder with everything.
struct Place {
    folder: tempfile::TempDir,
    has_two_stores: bool,
}

impl Place {
    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).into_os_string().into_string().unwrap()
    }

    fn url(&self, name: &str) -> String {
        format!("dir:{}", self.path(name))
    }

    /// Success of a command, and all that it says. The store comes first.
    fn command(&self, command: &str, arguments: &[&str]) -> (bool, String) {
        let mut telar = telar();
        telar.args(["cluster", command, &self.url("log")]).args(arguments);
        if self.has_two_stores {
            telar.args(["--coordination", &self.url("rest")]);
        }
        let output = telar.output().unwrap();
        (output.status.success(), said(&output))
    }

    /// Waits until a command does what is wanted, and says it.
    #[track_caller]
    fn until(&self, (command, arguments): (&str, &[&str]), (succeeds, wanted): (bool, &str)) {
        eventually(command, || {
            let (done, said) = self.command(command, arguments);
            if done == succeeds && said.contains(wanted) { Ok(()) } else { Err(said) }
        });
    }

    fn node(&self, name: &'static str) -> Node {
        let (log, rest) = (self.url("log"), self.url("rest"));
        let mut flags = vec!["--cluster", log.as_str()];
        if self.has_two_stores {
            flags.extend(["--coordination", rest.as_str()]);
        }
        Node::with(self.folder.path(), name, &flags)
    }
}

#[track_caller]
fn reads(node: &Node, wanted: &str) {
    eventually("a read", || {
        let said = node.run("telar", NAMES);
        if said.contains(wanted) { Ok(()) } else { Err(said) }
    });
}

#[track_caller]
fn end(mut node: Node) {
    node.signal("-TERM");
    let status = eventually("its end", || {
        node.child.try_wait().unwrap().ok_or_else(|| "it goes on".to_owned())
    });
    assert!(status.success(), "{status}");
}

fn from_the_beginning_to_the_loss_of_the_store(has_two_stores: bool) {
    let place = Place { folder: tempfile::tempdir().unwrap(), has_two_stores };
    let [server, of_a, of_b] = ["server", "a", "b"].map(|name| place.path(name));
    let make = ["shell", &server, "-c", "CREATE (:Thing {name: 'loom'})"];
    assert!(telar().args(make).status().unwrap().success());
    let init = |folder: &str| place.command("init", &[folder, "--from", &server]);
    let (done, said) = init(&of_a);
    assert!(done && said.contains("the database telar is copied, as of commit"), "{said}");
    assert_eq!(said.contains(" --coordination URL"), has_two_stores, "{said}");
    let (done, said) = init(&of_b);
    assert!(!done && said.contains("there is a cluster 'telar' in this store"), "{said}");

    let (a, b) = (place.node("a"), place.node("b"));
    reads(&a, "loom");
    reads(&b, "loom");
    place.until(("status", &[]), (true, "nothing to do"));
    place.until(("status", &["--name", "x"]), (false, "there is no cluster 'x' in this store"));
    place.until(("transfer", &["b", "--database", "telar"]), (true, "b leads telar"));
    place.until(("remove", &["b"]), (false, "the node 'b' is there: stop it first"));
    place.until(("remove", &["c"]), (false, "the cluster 'telar' has no node 'c', but a, b"));
    if has_two_stores {
        let one = telar().args(["cluster", "status", &place.url("log")]).output().unwrap();
        let told = common::said(&one);
        assert!(!one.status.success() && told.contains("--coordination"), "{told}");
    }
    drop(b);
    place.until(("remove", &["b"]), (true, "the node b is removed"));
    eventually("the status of one node", || {
        let (done, said) = place.command("status", &[]);
        if done && said.contains("at a") && !said.contains("at b") { Ok(()) } else { Err(said) }
    });
    end(a);

    for store in ["log", "rest"] {
        // There may be only one.
        let _ = std::fs::remove_dir_all(place.path(store));
    }
    let (done, said) = place.command("recover", &[&server]);
    assert!(!done && said.contains("is no node's folder"), "{said}");
    let (done, said) = place.command("recover", &[&of_a]);
    assert!(done && said.contains("the log of telar begins after commit"), "{said}");
    let a = place.node("a");
    reads(&a, "loom");
    commits(&a, "telar");
    end(a);
}

#[test]
fn a_cluster_of_one_store_begins_and_is_mended_by_commands() {
    from_the_beginning_to_the_loss_of_the_store(false);
}

#[test]
fn a_cluster_of_two_stores_begins_and_is_mended_by_commands() {
    from_the_beginning_to_the_loss_of_the_store(true);
}
