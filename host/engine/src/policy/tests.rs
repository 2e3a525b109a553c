//! What a task may reach, by a table and at random; and what a file may say.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{Asker, Policy, Rights, Verdict};
use crate::egress::HttpRule;
use crate::limits::{HostLimit, Limit};
use crate::plugin::{Grants, Manifest, NeedKind};

/// A plugin `desk` with these needs.
fn manifest(needs: &[(NeedKind, &str)]) -> Manifest {
    let needs: Vec<_> =
        needs.iter().map(|(kind, name)| serde_json::json!({ "kind": kind, "name": name, "why": "To work." })).collect();
    let text = serde_json::json!({
        "manifest": 1, "name": "desk", "version": "1.0.0", "description": "Works.", "needs": needs,
        "tools": [{ "name": "work", "description": "Works.", "inputSchema": { "type": "object" } }],
    });
    Manifest::parse(&text.to_string()).unwrap()
}

fn rights(policy: &str, namespace: &str, needs: &[(NeedKind, &str)]) -> Rights {
    let (manifest, grants, settings) = (manifest(needs), Grants::default(), BTreeMap::new());
    let asker = Asker { manifest: &manifest, namespace, grants: &grants, settings: &settings };
    Policy::parse(policy).unwrap().rights(asker)
}

fn rules(rights: &Rights) -> Vec<String> {
    rights.http.iter().map(HttpRule::to_string).collect()
}

#[test]
fn promise_5_what_is_reached_is_declared_and_granted() {
    const HOST: (NeedKind, &str) = (NeedKind::Http, "*.example.com");
    const ANY: (NeedKind, &str) = (NeedKind::Http, "*");
    for (policy, needs, reached) in [
        ("", &[HOST][..], &[][..]),
        ("[plugins.desk]\nhttp = ['a.example.com']", &[], &[]),
        ("[plugins.desk]\nhttp = ['a.example.com']", &[HOST], &["a.example.com"]),
        ("[plugins.desk]\nhttp = ['GET a.example.com/v1', 'b.other.com']", &[HOST], &["GET a.example.com/v1"]),
        ("[plugins.desk]\nhttp = ['*']", &[HOST], &["*.example.com"]),
        ("[plugins.desk]\nhttp = ['http://a.example.com']", &[HOST], &[]),
        ("[plugins.other]\nhttp = ['a.example.com']", &[HOST], &[]),
        ("[plugins.desk]\nhttp = ['http://127.0.0.1:8080', 'c.org']", &[ANY], &["http://127.0.0.1:8080", "c.org"]),
        ("[plugins.desk]\nhttp = ['a.example.com']", &[HOST, ANY], &["a.example.com"]),
    ] {
        assert_eq!(rules(&rights(policy, "default", needs)), reached, "{policy} for {needs:?}");
    }
}

#[test]
fn what_a_namespace_is_granted_is_added_and_what_both_say_is_the_namespaces() {
    let policy = "
        [plugins.desk]
        http = ['a.example.com']
        settings = { language = 'en', depth = 3 }
        [namespaces.acme.plugins.desk]
        http = ['b.example.com']
        tools = ['other/tool']
        settings = { language = 'de' }";
    let needs = [
        (NeedKind::Http, "*.example.com"),
        (NeedKind::Setting, "language"),
        (NeedKind::Setting, "depth"),
        (NeedKind::Tool, "other/tool"),
    ];
    let acme = rights(policy, "acme", &needs);
    assert_eq!(rules(&acme), ["a.example.com", "b.example.com"]);
    assert_eq!(acme.settings, BTreeMap::from([("depth".into(), "3".into()), ("language".into(), "de".into())]));
    assert!(acme.tools.contains("other/tool"));
    let others = rights(policy, "default", &needs);
    assert_eq!(rules(&others), ["a.example.com"]);
    assert_eq!(others.settings["language"], "en");
    assert!(others.tools.is_empty());
}

#[test]
fn what_is_granted_to_a_task_is_its_own_and_still_only_what_is_declared() {
    let manifest = manifest(&[(NeedKind::Http, "*.example.com"), (NeedKind::Setting, "language")]);
    let rule = |text| HttpRule::parse(text).unwrap();
    let grants =
        Grants { tools: BTreeSet::from(["other/tool".into()]), http: vec![rule("a.example.com"), rule("b.org")] };
    let settings = BTreeMap::from([("language".into(), "fr".into()), ("colour".into(), "red".into())]);
    let policy = Policy::parse("[plugins.desk.settings]\nlanguage = 'en'").unwrap();
    let asker = Asker { manifest: &manifest, namespace: "default", grants: &grants, settings: &settings };
    let rights = policy.rights(asker);
    assert_eq!(rules(&rights), ["a.example.com"]);
    assert_eq!(rights.settings, BTreeMap::from([("language".into(), "fr".into())]));
    assert!(rights.tools.is_empty());
}

#[test]
fn each_need_is_granted_or_not_and_what_is_granted_besides_is_not_needed() {
    let manifest = manifest(&[(NeedKind::Http, "*.example.com"), (NeedKind::Setting, "language")]);
    let policy = Policy::parse("[plugins.desk]\nhttp = ['a.example.com', 'b.org']\ntools = ['other/tool']").unwrap();
    let verdicts: Vec<_> = policy
        .verdicts("default", &manifest)
        .into_iter()
        .map(|verdict| (verdict.kind, verdict.name, verdict.verdict))
        .collect();
    assert_eq!(
        verdicts,
        [
            (NeedKind::Http, "*.example.com".into(), Verdict::Granted),
            (NeedKind::Setting, "language".into(), Verdict::NotGranted),
            (NeedKind::Http, "b.org".into(), Verdict::NotNeeded),
            (NeedKind::Tool, "other/tool".into(), Verdict::NotNeeded),
        ]
    );
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_place() {
    let digest = "0".repeat(63);
    for (text, said) in [
        ("[plugin.desk]", "line 1, `plugin.desk`: unknown field `plugin`, expected one of"),
        ("\n[plugins.desk]\nhtpp = []", "line 3, `plugins.desk.htpp`: unknown field `htpp`, expected one of"),
        ("[plugins.desk]\nhttp = [\n  'a.example.com',\n  'ftp://b']", "line 4, `plugins.desk.http`: \"ftp://b\""),
        ("[plugins.desk]\ntools = ['csv']", "line 2, `plugins.desk.tools`: \"csv\" is not a tool of another plugin"),
        ("[plugins.Desk]", "line 1, `plugins.Desk`: \"Desk\" is not a plugin's name"),
        ("[plugins.desk.settings]\n'1st' = 'x'", "line 2, `plugins.desk.settings.1st`: \"1st\" is not a name"),
        ("[plugins.desk.settings]\na = [1]", "line 2, `plugins.desk.settings.a`: a setting is a text"),
        (&format!("[plugins.desk]\ndigest = '{digest}'"), "line 2, `plugins.desk.digest`: \"0000"),
        ("[namespaces.acme.plugins.desk]\nx = 1", "line 2, `namespaces.acme.plugins.desk.x`: unknown field `x`"),
        ("[host]\nretention = '3 moons'", "line 2, `host.retention`: \"3 moons\" is no time such as \"2s\""),
        ("[host.plugin_queue]\nrunning = 0", "`host.plugin_queue`: "),
        ("[plugins.desk", "line 1: "),
        ("[plugins.a]\nalias = 'x'\n[plugins.b]\nalias = 'x'", "`plugins.b.alias`: `x` is also what `a` is called"),
        ("[plugins.a]\nalias = 'b'\n[plugins.b]", "`plugins.a.alias`: `b` is also what `b` is called"),
    ] {
        let error = Policy::parse(text).unwrap_err().to_string();
        assert!(error.starts_with(said), "{text}\n{error}");
    }
}

#[test]
fn promise_7_a_secret_that_is_written_into_the_file_is_refused_and_not_repeated() {
    for text in [
        "[secrets]\nfarm = 'hunter2hunter2hunter2'",
        "[secrets.farm]\nvalue = 'hunter2hunter2hunter2'",
        "[secrets]\nfarm = { env = ['hunter2hunter2hunter2'] }",
        "secrets = 'hunter2hunter2hunter2'",
    ] {
        let error = format!("{:?}", Policy::parse(text).unwrap_err());
        assert!(!error.contains("hunter2"), "{error}");
        assert!(error.contains("secrets"), "{error}");
    }
}

/// The annotated file for operators.
const REFERENCE: &str = include_str!("../../../../docs/longhaul.toml");

/// The reference with all its settings in force.
fn reference() -> String {
    let setting = |line: &str| {
        line.strip_prefix('#')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase() || "\"[".contains(c)))
    };
    let lines: Vec<_> = REFERENCE.lines().map(|line| if setting(line) { &line[1..] } else { line }).collect();
    lines.join("\n")
}

#[test]
fn the_reference_is_the_default_and_each_of_its_lines_is_a_setting() {
    assert_eq!(Policy::parse(REFERENCE).unwrap(), Policy::default());
    let said = Policy::parse(&reference()).unwrap();
    assert_eq!(*said.host(), super::HostSection::default());
    assert_eq!(said.limits(), Policy::default().limits());
}

#[test]
fn the_reference_has_every_key() {
    let reference = reference();
    let names = Limit::ALL.iter().map(|limit| limit.row().name);
    for name in names.chain(HostLimit::ALL.iter().map(|limit| limit.row().name)) {
        assert!(reference.contains(&format!("\n{name} = ")), "limit `{name}` is not in docs/longhaul.toml");
    }
    for section in ["", "host", "host.plugin_queue", "http", "plugins.x", "namespaces.x", "secrets.x"] {
        let table = if section.is_empty() { String::new() } else { format!("[{section}]\n") };
        let error = Policy::parse(&format!("{table}what-is-this = 1")).unwrap_err().to_string();
        let keys: Vec<_> = error.split("expected ").nth(1).unwrap_or_default().split('`').skip(1).step_by(2).collect();
        assert!(!keys.is_empty(), "{error}");
        for key in keys {
            let set = [format!("\n{key} = "), format!("[{key}"), format!(".{key}"), format!("{{ {key} = ")];
            assert!(
                set.iter().any(|set| reference.contains(set)),
                "`{key}` of `{section}` is not in docs/longhaul.toml"
            );
        }
    }
}

/// What stands in TOML, and what should not.
fn token() -> impl Strategy<Value = String> {
    let tokens = [
        "",
        "\n",
        " = ",
        "[",
        "]",
        "{",
        "}",
        "\"",
        "'",
        ",",
        ".",
        "#",
        "\\",
        "\\u0000",
        "-1",
        "1e999",
        "inf",
        "true",
        "[[x]]\n",
        "1979-05-27",
        "[secrets.x]\n",
        "env = ",
        "\u{feff}",
        "\0",
    ];
    prop_oneof![3 => prop::sample::select(tokens.to_vec()).prop_map(str::to_owned), 1 => "(?s).{1,3}"]
}

proptest! {
    #[test]
    fn a_damaged_policy_is_read_or_refused_with_a_place(
        first in any::<prop::sample::Index>(),
        lines in 1..40usize,
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0..3usize, token()), 1..4),
    ) {
        let whole = reference();
        let whole: Vec<_> = whole.lines().filter(|line| !line.starts_with('#')).collect();
        let first = first.index(whole.len());
        let part = whole[first..(first + lines).min(whole.len())].join("\n");
        let mut text: Vec<char> = part.chars().collect();
        for (place, length, put) in damage {
            let start = place.index(text.len() + 1);
            text.splice(start..(start + length).min(text.len()), put.chars());
        }
        let text: String = text.into_iter().collect();
        if let Err(error) = Policy::parse(&text) {
            prop_assert!(error.line.is_some() || error.key.is_some(), "nobody would find it: {}\n{}", error, text);
        }
    }

    #[test]
    fn any_text_is_a_policy_or_refused(text in "(?s).{0,200}") {
        let _ = Policy::parse(&text);
    }
}

/// Some names, so that they meet.
fn hosts() -> impl Strategy<Value = Vec<String>> {
    let host = prop_oneof![
        Just("*".to_owned()),
        "(GET |POST,PUT )?(http://)?(\\*\\.)?(a|b)\\.(example|other)\\.com(:8443)?(/v1|/v1/x)?",
        Just("10.0.0.0/8".to_owned()),
        Just("10.0.0.5".to_owned()),
    ];
    prop::collection::vec(host, 0..4)
}

fn tools() -> impl Strategy<Value = BTreeSet<String>> {
    prop::collection::btree_set("(a|b)/(x|y)", 0..3)
}

fn settings() -> impl Strategy<Value = BTreeMap<String, String>> {
    prop::collection::btree_map("[a-c]", "[a-z]{0,4}", 0..3)
}

/// What one place grants.
type Granted = (Vec<String>, BTreeSet<String>, BTreeMap<String, String>);

fn granted() -> impl Strategy<Value = Granted> {
    (hosts(), tools(), settings())
}

fn section(head: &str, (http, tools, settings): &Granted) -> String {
    let json = |value: serde_json::Value| value.to_string();
    let settings: Vec<_> = settings.iter().map(|(name, value)| format!("{name} = {value:?}")).collect();
    format!(
        "[{head}]\nhttp = {}\ntools = {}\nsettings = {{ {} }}\n",
        json(serde_json::json!(http)),
        json(serde_json::json!(tools)),
        settings.join(", ")
    )
}

proptest! {
    /// No more than is declared, no more than is granted; and what another namespace or plugin is granted makes no
    /// difference.
    #[test]
    fn promise_5_rights_are_an_intersection(
        general in granted(),
        own in granted(),
        elsewhere in granted(),
        task in granted(),
        needs in granted(),
    ) {
        let mine = format!("{}{}", section("plugins.desk", &general), section("namespaces.me.plugins.desk", &own));
        let foreign = format!(
            "{}{}{}",
            section("namespaces.you.plugins.desk", &elsewhere),
            section("plugins.other", &elsewhere),
            section("namespaces.me.plugins.other", &elsewhere)
        );
        let mut declared: BTreeSet<(NeedKind, &str)> = BTreeSet::new();
        declared.extend(needs.0.iter().map(|name| (NeedKind::Http, name.as_str())));
        declared.extend(needs.1.iter().map(|name| (NeedKind::Tool, name.as_str())));
        declared.extend(needs.2.keys().map(|name| (NeedKind::Setting, name.as_str())));
        let manifest = manifest(&declared.iter().copied().filter(|(kind, name)| kind.fits(name)).collect::<Vec<_>>());
        let rule = |text: &String| HttpRule::parse(text).unwrap();
        let grants = Grants { tools: task.1.clone(), http: task.0.iter().map(rule).collect() };
        let asker = Asker { manifest: &manifest, namespace: "me", grants: &grants, settings: &task.2 };
        let rights = Policy::parse(&mine).unwrap().rights(asker);
        prop_assert_eq!(&rights, &Policy::parse(&format!("{mine}{foreign}")).unwrap().rights(asker));

        for tool in &rights.tools {
            prop_assert!(needs.1.contains(tool));
            prop_assert!([&general.1, &own.1, &task.1].iter().any(|granted| granted.contains(tool)));
        }
        for (name, value) in &rights.settings {
            prop_assert!(needs.2.contains_key(name));
            let first = [&task.2, &own.2, &general.2].into_iter().find_map(|granted| granted.get(name));
            prop_assert_eq!(Some(value), first);
        }
        let granted: Vec<_> = [&general.0, &own.0, &task.0].into_iter().flatten().map(rule).collect();
        let declared: Vec<_> = needs.0.iter().map(rule).collect();
        for (method, url) in requests() {
            let target = crate::egress::Target::of(&url).unwrap();
            let allows = |rules: &[HttpRule]| rules.iter().any(|rule| rule.allows(&method, &target));
            let declared = needs.0.iter().any(|name| name == "*") || allows(&declared);
            prop_assert_eq!(allows(&rights.http), declared && allows(&granted), "{} {}", method, url);
        }
    }
}

/// Requests that some rules allow, and others do not.
fn requests() -> Vec<(http::Method, url::Url)> {
    let hosts = ["a.example.com", "x.a.example.com", "b.other.com", "10.0.0.5", "10.1.2.3"];
    let mut requests = Vec::new();
    for method in [http::Method::GET, http::Method::PUT] {
        for host in hosts {
            for start in [format!("https://{host}"), format!("https://{host}:8443"), format!("http://{host}")] {
                for path in ["", "/v1", "/v1/x/y", "/v1x"] {
                    requests.push((method.clone(), format!("{start}{path}").parse().unwrap()));
                }
            }
        }
    }
    requests
}
