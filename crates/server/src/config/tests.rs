//! Which value wins, and what is said of what cannot be used.

use std::path::Path;

use super::*;

fn flag(key: &str, value: &str) -> (String, String, String) {
    (format!("--set {key}"), key.to_owned(), value.to_owned())
}

fn variable(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn problems(text: &str) -> Vec<String> {
    let memory = [flag("store.memory", "true")];
    let file = Some((Path::new("telar.toml"), text));
    let problems = load(file, [].into_iter(), &memory).unwrap_err();
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn later_wins_and_says_where_it_comes_from() {
    let text = "[store]\nmemory = true\n\n[bolt]\naddress = \"127.0.0.1:1\"\nconnections = 10\n\
                [http]\naddress = \"127.0.0.1:1\"\n";
    let environment = [
        variable("TELAR_BOLT_ADDRESS", "127.0.0.1:2"),
        variable("TELAR_HTTP_ADDRESS", "127.0.0.1:2"),
        variable("TELAR_LONG", "1"),
        variable("TELAR_SOMETHING_ELSE_ENTIRELY", "1"),
    ];
    let flags = [flag("http.address", "127.0.0.1:3")];
    let file = Some((Path::new("telar.toml"), text));
    let loaded = load(file, environment.into_iter(), &flags).unwrap();
    let of = |key: &str| {
        let at = SETTINGS.iter().position(|setting| setting.key == key).unwrap();
        (SETTINGS[at].value(&loaded.config), loaded.origins[at].to_string())
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(of("bolt.connections"), pair("10", "telar.toml:6"));
    assert_eq!(of("bolt.address"), pair("127.0.0.1:2", "TELAR_BOLT_ADDRESS"));
    assert_eq!(of("http.address"), pair("127.0.0.1:3", "--set http.address"));
    assert_eq!(of("log.level"), pair("info", "default"));
}

#[test]
fn what_cannot_be_used_is_named_with_its_place() {
    assert_eq!(
        problems("[bolt]\n  adress = \"x\"\n[http]\nbody_bytes = \"1 TiB\"\n"),
        [
            "telar.toml:2:3: there is no setting 'bolt.adress'; did you mean 'bolt.address'?",
            "telar.toml:4:1: http.body_bytes: expected bytes, such as 64MiB",
        ]
    );
    assert_eq!(
        problems("memory = true"),
        ["telar.toml:1:1: 'memory' is no section: settings stand below [memory]"]
    );
    let wrong = problems("[bolt]\naddress = \n");
    assert!(wrong[0].starts_with("telar.toml:2:11: "), "{wrong:?}");
    assert_eq!(
        problems("[bolt]\nconnections = [1]\n"),
        ["telar.toml:2:1: bolt.connections: expected a text, a number or true or false"]
    );
    let environment = [variable("TELAR_BOLT_ADRESS", "x")].into_iter();
    let wrong = load(None, environment, &[flag("store.memory", "true")]).unwrap_err();
    assert_eq!(
        wrong[0].to_string(),
        "TELAR_BOLT_ADRESS: there is no such setting; did you mean TELAR_BOLT_ADDRESS?"
    );
}

#[test]
fn nobody_listens_to_the_world_without_passwords_by_accident() {
    let open = [
        flag("store.memory", "true"),
        flag("auth.enabled", "false"),
        flag("bolt.address", "0.0.0.0:7687"),
    ];
    let wrong = load(None, [].into_iter(), &open).unwrap_err();
    assert!(wrong[0].message.contains("auth.allow_remote_without"), "{wrong:?}");
    let told = [&open[..], &[flag("auth.allow_remote_without", "true")]].concat();
    assert!(load(None, [].into_iter(), &told).is_ok());
    let closed = [&open[..], &[flag("auth.enabled", "true")]].concat();
    assert!(load(None, [].into_iter(), &closed).is_ok());
}

#[test]
fn what_belongs_together_is_set_together() {
    for (flags, message) in [
        (vec![], "say where the databases are"),
        (vec![flag("store.memory", "true"), flag("store.path", "x")], "exclude each other"),
        (vec![flag("store.memory", "true"), flag("tls.key", "x")], "need each other"),
        (vec![flag("store.memory", "true"), flag("tls.required", "true")], "tls.required needs"),
        (
            vec![flag("store.path", "x"), flag("cluster.coordination", "dir:y")],
            "needs cluster.store",
        ),
    ] {
        let wrong = load(None, [].into_iter(), &flags).unwrap_err();
        assert!(wrong[0].message.contains(message), "{wrong:?}");
    }
}

#[test]
fn a_cluster_may_have_two_stores() {
    let text = "[store]\npath = \"x\"\n[cluster]\nstore = \"dir:log\"\nnode = \"a\"\n";
    let file = Some((Path::new("telar.toml"), text));
    let of = |url: &str| {
        let set = [variable("TELAR_CLUSTER_COORDINATION", url)];
        load(file, set.into_iter(), &[])
    };
    let loaded = of("postgres://u:secret@h/db").unwrap();
    let url = loaded.config.cluster_coordination.as_ref().unwrap();
    assert_eq!(url.0, "postgres://u:secret@h/db");
    assert!(!format!("{:?} {:?}", loaded.config, loaded.shown()).contains("secret"));
    let wrong = of("s3://bucket").unwrap_err();
    assert_eq!(wrong[0].place, "TELAR_CLUSTER_COORDINATION");
    assert!(wrong[0].message.starts_with("cluster.coordination: "), "{wrong:?}");
    // Unset, as an empty text is.
    assert_eq!(of("").unwrap().config.cluster_coordination, None);
}

/// Uncommented, the template is a file that says nothing new.
#[test]
fn the_template_is_a_file_with_all_defaults() {
    let text = template();
    let setting = |line: &&str| line.strip_prefix("# ").is_some_and(|l| l.contains(" = \""));
    let lines = text.lines().map(|line| if setting(&line) { &line[2..] } else { line });
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    let file = Some((Path::new("telar.toml"), text.as_str()));
    let loaded = load(file, [].into_iter(), &[flag("store.memory", "true")]).unwrap();
    let memory = Config { store_memory: true, ..Config::default() };
    for (setting, origin) in SETTINGS.iter().zip(&loaded.origins) {
        assert_eq!(setting.value(&loaded.config), setting.value(&memory), "{}", setting.key);
        assert_ne!(*origin, Origin::Default, "{} is not in the template", setting.key);
    }
}

#[test]
fn values_are_shown_as_they_are_read() {
    for (text, shown) in [("90s", "90s"), ("60", "1m"), ("1500ms", "1500ms"), ("7d", "7d")] {
        assert_eq!(Duration::read(text).unwrap().show(), shown);
    }
    for (text, shown) in [("65536", "64KiB"), ("16mib", "16MiB"), ("0", "0B"), ("1500", "1500B")] {
        assert_eq!(Bytes::read(text).unwrap().show(), shown);
    }
    for text in ["full", "async 50ms"] {
        assert_eq!(Durability::read(text).unwrap().show(), text);
    }
    for text in ["as-stored", "off", "7d", "1000 commits"] {
        assert_eq!(Retention::read(text).unwrap().show(), text);
    }
    for text in ["off", "slow", "failed", "slow,failed", "all"] {
        assert_eq!(QueryLog::read(text).unwrap().show(), text);
    }
    assert_eq!(QueryLog::read(" failed, slow").unwrap(), QueryLog::NOTABLE);
    for text in ["", "of", "slow,", "slow,all", "slow failed"] {
        let expected = "expected off, slow, failed, slow,failed, or all";
        assert_eq!(QueryLog::read(text), Err(expected.to_owned()), "{text}");
    }
    for text in ["-1", "", "1x", "99999999999999999999", "1.5s", "0 commits"] {
        assert!(Duration::read(text).is_err() && Retention::read(text).is_err(), "{text}");
    }
    assert!(usize::read("0").is_err() && usize::read("99999999").is_err());
    assert_eq!(Password::read("secret").unwrap().show(), "******");
}

#[test]
fn settings_are_shown_with_their_defaults_and_without_passwords() {
    let flags =
        [flag("store.memory", "true"), flag("log.slow", "2s"), flag("bolt.connections", "1000")];
    let password = variable("TELAR_AUTH_INITIAL_PASSWORD", "nobody sees it");
    let shown = load(None, [password].into_iter(), &flags).unwrap().shown();
    let names: Vec<&str> = shown.iter().map(|shown| &*shown.name).collect();
    assert_eq!(names, SETTINGS.iter().map(|setting| setting.key).collect::<Vec<_>>());
    let of = |name: &str| shown.iter().find(|shown| *shown.name == *name).unwrap();
    let values = |name| (&*of(name).value, &*of(name).default, of(name).explicit);
    assert_eq!(values("log.slow"), ("2s", "1s", true));
    assert_eq!(values("bolt.connections"), ("1000", "1000", true));
    assert_eq!(values("http.connections"), ("1000", "1000", false));
    assert_eq!(values("auth.initial_password"), ("******", "", true));
    assert_eq!(values("backup.folder"), ("", "", false));
    assert!(!format!("{shown:?}").contains("nobody sees it"));
}

#[test]
fn limits_that_let_nothing_through_are_refused() {
    let mut tried = 0;
    for setting in SETTINGS {
        let mut config = Config { store_memory: true, ..Config::default() };
        assert_eq!(config.conflicts(), Vec::<String>::new());
        let limits =
            ["limits.", "bolt.", "http.", "mcp."].iter().any(|s| setting.key.starts_with(s));
        if !limits {
            continue;
        }
        tried += 1;
        // Numbers of places are refused where they are read.
        if (setting.set)(&mut config, "0").is_err() {
            continue;
        }
        let refused = config.conflicts().iter().any(|c| c.starts_with(setting.key));
        // Without transactions, or time between two requests of one, HTTP serves statements.
        // Without a time to wait for writers, whoever comes too late has lost.
        let sensible = [
            "http.transactions",
            "http.transaction_idle",
            "limits.temporary_folder",
            "limits.write_wait",
        ];
        let text = ["bolt.advertised", "http.advertised", "http.allowed_hosts"];
        let taken = sensible.contains(&setting.key) || text.contains(&setting.key);
        assert_eq!(refused, !taken, "{}", setting.key);
    }
    assert!(tried > 15, "{tried}");
}

#[test]
fn files_of_packaging_name_settings_that_are_there() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/packaging"));
    let variables: Vec<_> = SETTINGS.iter().map(Setting::variable).collect();
    let mut found = 0;
    for file in ["Dockerfile", "compose.yaml", "kubernetes.yaml"] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        let is_name = |c: char| c.is_ascii_uppercase() || c == '_';
        for name in text.split(|c| !is_name(c)).filter(|word| word.starts_with("TELAR_")) {
            // What an operator is asked for, in a file of Docker's.
            let known = name == "TELAR_PASSWORD" || variables.iter().any(|known| known == name);
            assert!(known, "{file}: there is no setting {name}");
            found += 1;
        }
    }
    assert!(found > 12, "{found}");
}
