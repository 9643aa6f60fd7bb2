//! What ARCHITECTURE.md promises of the source: the arrows between the crates, and where `unsafe` may stand.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Every arrow there may be; development and build dependencies count.
const ALLOWED: &[(&str, &[&str])] = &[
    ("dap-protocol", &[]),
    ("large-pages", &[]),
    ("dist-comm", &["large-pages"]),
    (
        "dist-io",
        &[
            "dap-protocol",
            "dist-comm",
            "dist-maps",
            "dnpy-format",
            "large-pages",
        ],
    ),
    ("dist-maps", &["dap-protocol", "large-pages"]),
    ("dist-torch", &["dap-protocol", "dist-comm", "dist-maps"]),
    ("dnpy-format", &["dap-protocol", "dist-maps", "large-pages"]),
    (
        "local-array",
        &["dap-protocol", "dist-comm", "dist-maps", "large-pages"],
    ),
    (
        "integration-tests",
        &[
            "dap-protocol",
            "dist-comm",
            "dist-maps",
            "dnpy-format",
            "local-array",
        ],
    ),
];

/// Arrows that a user of the crate can do without.
const OPTIONAL: &[(&str, &str)] = &[("dist-io", "dnpy-format"), ("dnpy-format", "dist-maps")];

/// Crates that only the binaries of another may name, and where those stand.
const BINARIES_ONLY: &[(&str, &str, &[&str])] = &[(
    "dist-io",
    "dnpy_format",
    &["dist-io/src/bin/", "dist-io/src/cli/"],
)];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace's root")
        .to_owned()
}

fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    metadata["packages"].as_array().expect("packages").clone()
}

fn name(value: &Value) -> &str {
    value["name"].as_str().expect("a name")
}

#[test]
fn only_the_allowed_arrows_exist() {
    let allowed: BTreeMap<_, _> = ALLOWED.iter().copied().collect();
    let packages = packages();
    let members: BTreeSet<_> = packages.iter().map(name).collect();
    assert_eq!(
        members,
        allowed.keys().copied().collect(),
        "every member has its line in ALLOWED"
    );
    let mut wrong = Vec::new();
    for package in &packages {
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let (from, to) = (name(package), name(dependency));
            if members.contains(to) && from != to && !allowed[from].contains(&to) {
                wrong.push(format!("{from} → {to} ({})", dependency["kind"]));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "arrows that ARCHITECTURE.md does not have: {wrong:?}"
    );
}

#[test]
fn optional_arrows_are_optional() {
    for package in packages() {
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            if OPTIONAL.contains(&(name(&package), name(dependency)))
                && dependency["kind"].is_null()
            {
                assert_eq!(
                    dependency["optional"],
                    true,
                    "{} → {}",
                    name(&package),
                    name(dependency)
                );
            }
        }
    }
}

#[test]
fn what_is_for_binaries_stays_out_of_libraries() {
    let root = root();
    for (member, name, folders) in BINARIES_ONLY {
        let mut files = Vec::new();
        rust_files(&root.join(member).join("src"), &mut files);
        let mut users = 0;
        for path in files {
            if !code_only(&fs::read_to_string(&path).expect("a text file")).contains(name) {
                continue;
            }
            let inside = folders.iter().any(|f| path.starts_with(root.join(f)));
            assert!(inside, "{} names {name}", path.display());
            users += 1;
        }
        assert!(users > 0, "nothing in {member} names {name}");
    }
}

/// The paths in ARCHITECTURE.md's list, folders with a slash at the end.
fn listed() -> Vec<String> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let (_, section) = text
        .split_once("## Files that may hold `unsafe`")
        .expect("the section with the list");
    let paths: Vec<_> = section
        .lines()
        .filter_map(|line| line.strip_prefix("- `")?.strip_suffix('`'))
        .map(str::to_owned)
        .collect();
    assert!(!paths.is_empty(), "the list is empty");
    paths
}

/// All Rust files below a folder, fuzz targets included, build output not.
fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("an entry").path();
        let skipped = path
            .file_name()
            .is_some_and(|name| name == "target" || name.as_encoded_bytes().starts_with(b"."));
        if path.is_dir() && !skipped {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Whether code, with comments and literals taken out, has the word `unsafe`.
fn has_unsafe(source: &str) -> bool {
    code_only(source)
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .any(|word| word == "unsafe")
}

/// The source with a space in place of each comment, string and character literal. Nested comments and raw strings are known.
fn code_only(source: &str) -> String {
    let (mut code, mut rest) = (String::new(), source);
    while let Some(first) = rest.chars().next() {
        let in_word = code.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            comment_length(rest)
        } else if first == '"' {
            string_length(rest)
        } else if first == 'r' && !in_word {
            raw_string_length(rest)
        } else if first == '\'' {
            char_length(rest)
        } else {
            0
        };
        if length == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            code.push(' ');
            rest = &rest[length..];
        }
    }
    code
}

/// Bytes of the block comment that `text` starts with.
fn comment_length(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let here = &text.as_bytes()[at..];
        if here.starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if here.starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
        } else {
            at += 1;
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// Bytes of the string that `text` starts with.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Bytes of the raw string that `text` starts with, 0 when it starts with another word.
fn raw_string_length(text: &str) -> usize {
    let hashes = text[1..].bytes().take_while(|&byte| byte == b'#').count();
    let open = 2 + hashes;
    if text.as_bytes().get(open - 1) != Some(&b'"') {
        return 0;
    }
    let close = format!("\"{}", "#".repeat(hashes));
    text[open..]
        .find(&close)
        .map_or(text.len(), |at| open + at + close.len())
}

/// Bytes of the character literal that `text` starts with, 0 when it is a lifetime.
fn char_length(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    let Some((_, first)) = chars.next() else {
        return 0;
    };
    if first == '\\' {
        chars.next();
        return chars.find(|&(_, c)| c == '\'').map_or(0, |(at, _)| at + 1);
    }
    match chars.next() {
        Some((at, '\'')) => at + 1,
        _ => 0,
    }
}

#[test]
fn the_scanner_sees_code_and_nothing_else() {
    assert!(has_unsafe("let x = unsafe { *p };"));
    assert!(has_unsafe("let q = '\"'; unsafe fn f() {}"));
    assert!(has_unsafe("let q = b'\\''; unsafe impl Send for X {}"));
    assert!(has_unsafe("let r = r#\"a \" b\"#; unsafe {}"));
    assert!(!has_unsafe(
        "// unsafe\n/* unsafe /* unsafe */ unsafe */ let s = \"unsafe \\\" unsafe\";"
    ));
    assert!(!has_unsafe(
        "#![forbid(unsafe_code)] let r = r##\"unsafe \"# \"##;"
    ));
    assert!(!has_unsafe("fn f<'a>(x: &'a str) {} let c = 'u';"));
}

#[test]
fn unsafe_stands_only_where_the_architecture_says() {
    let (root, listed) = (root(), listed());
    let mut files = Vec::new();
    rust_files(&root, &mut files);
    assert!(files.len() > 40, "only {} files were found", files.len());
    let mut wrong = Vec::new();
    for path in files {
        let relative = path
            .strip_prefix(&root)
            .expect("below the root")
            .to_string_lossy()
            .replace('\\', "/");
        let may = listed.iter().any(|entry| {
            relative == *entry || (entry.ends_with('/') && relative.starts_with(entry))
        });
        if !may && has_unsafe(&fs::read_to_string(&path).expect("a text file")) {
            wrong.push(relative);
        }
    }
    assert!(
        wrong.is_empty(),
        "`unsafe` outside ARCHITECTURE.md's list: {wrong:?}"
    );
}

#[test]
fn crates_outside_the_list_forbid_unsafe() {
    let (root, listed) = (root(), listed());
    for (member, _) in ALLOWED {
        let needs = listed
            .iter()
            .any(|entry| entry.starts_with(&format!("{member}/")) && root.join(entry).exists());
        let source = fs::read_to_string(root.join(member).join("src/lib.rs")).expect("lib.rs");
        assert!(
            needs || source.contains("#![forbid(unsafe_code)]"),
            "{member} needs no unsafe and must forbid it"
        );
    }
}
