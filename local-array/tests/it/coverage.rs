//! The table of names: each name of DistArray's local package, each argument and value, has a path here and tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

const NAMES: &str = include_str!("../fixtures/seed-names.txt");
/// name | argument | value | paths | tests on a part | tests over all ranks
const ROWS: &str = include_str!("../fixtures/coverage.txt");
const TABLE: &str = include_str!("../../docs/coverage.md");

/// Arguments that take one of a few values, and those values; where a name is given, for that name alone.
const VALUES: &[(&str, &str, &[&str])] = &[
    ("", "order", &["C", "F"]),
    ("", "kind", &["quick", "merge", "heap", "stable"]),
    ("", "rowvar", &["0", "1"]),
    ("", "bias", &["0", "1"]),
    ("", "returned", &["0", "1"]),
    ("", "retstep", &["False", "True"]),
    ("", "endpoint", &["False", "True"]),
    ("", "normed", &["False", "True"]),
    (
        "localarray.LocalArray.choose",
        "mode",
        &["raise", "wrap", "clip"],
    ),
    (
        "localarray.LocalArray.put",
        "mode",
        &["raise", "wrap", "clip"],
    ),
    (
        "localarray.LocalArray.take",
        "mode",
        &["raise", "wrap", "clip"],
    ),
    ("localarray.convolve", "mode", &["full", "same", "valid"]),
    ("localarray.correlate", "mode", &["full", "same", "valid"]),
    ("localarray.save_hdf5", "mode", &["a", "w", "w-"]),
    ("localarray.histogram", "bins", &["count", "edges"]),
    ("localarray.histogram2d", "bins", &["count", "edges"]),
    ("localarray.tensordot", "axes", &["int", "lists"]),
    ("localarray.LocalArray.repeat", "repeats", &["int", "list"]),
    ("localarray.aslocalarray", "order", &["None", "C", "F"]),
];

struct Row<'a> {
    argument: &'a str,
    value: &'a str,
    path: &'a str,
    tests: [&'a str; 2],
}

impl<'a> Row<'a> {
    fn each_test(&self) -> impl Iterator<Item = &'a str> {
        self.tests
            .into_iter()
            .flat_map(|list| list.split(','))
            .map(str::trim)
    }
}

fn rows() -> BTreeMap<&'static str, Vec<Row<'static>>> {
    let mut rows: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for line in ROWS
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
    {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [name, argument, value, path, local, global] = cells[..] else {
            panic!("six cells wanted: {line}");
        };
        rows.entry(name).or_default().push(Row {
            argument,
            value,
            path,
            tests: [local, global],
        });
    }
    rows
}

/// Names in their order, with their arguments.
fn names() -> Vec<(&'static str, Vec<&'static str>)> {
    let lines = NAMES.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, list) = line.split_once('(').unwrap_or((line, ""));
            (name, arguments(list.trim_end_matches(')')))
        })
        .collect()
}

/// `a, b={0: 'b'}, c=(1, 0)` without the defaults.
fn arguments(list: &str) -> Vec<&str> {
    let mut depth = 0;
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, letter) in list.char_indices() {
        match letter {
            '(' | '{' => depth += 1,
            ')' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    let bare = parts.iter().map(|part| {
        part.split('=')
            .next()
            .unwrap_or("")
            .trim()
            .trim_start_matches('*')
    });
    bare.filter(|name| !name.is_empty()).collect()
}

#[test]
fn every_name_argument_and_value_has_a_row() {
    let rows = rows();
    let mut missing = Vec::new();
    for (name, arguments) in names() {
        let Some(found) = rows.get(name) else {
            missing.push(name.to_owned());
            continue;
        };
        for argument in arguments {
            let of_argument: Vec<_> = found
                .iter()
                .filter(|row| row.argument == argument)
                .collect();
            if of_argument.is_empty() {
                missing.push(format!("{name}({argument})"));
            }
            let mut lists = VALUES
                .iter()
                .filter(|(of, arg, _)| *of == name && *arg == argument)
                .peekable();
            let common = || {
                VALUES
                    .iter()
                    .filter(|(of, arg, _)| of.is_empty() && *arg == argument)
            };
            let values: Vec<&str> = match lists.peek() {
                Some(_) => lists
                    .flat_map(|(_, _, values)| values.iter().copied())
                    .collect(),
                None => common()
                    .flat_map(|(_, _, values)| values.iter().copied())
                    .collect(),
            };
            for value in values {
                if !of_argument.iter().any(|row| row.value == value) {
                    missing.push(format!("{name}({argument}={value})"));
                }
            }
        }
    }
    let known: BTreeSet<&str> = names().iter().map(|(name, _)| *name).collect();
    let unknown: Vec<_> = rows.keys().filter(|name| !known.contains(**name)).collect();
    assert!(
        missing.is_empty() && unknown.is_empty(),
        "without a row: {missing:#?}; not in the list: {unknown:?}"
    );
}

/// What `cases! { … }` lists in the files of the cases' binary.
fn registered() -> BTreeSet<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases");
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let list = text
            .split_once("\ncases! {")
            .and_then(|(_, rest)| rest.split_once('}'));
        let list = list.map_or("", |(list, _)| list);
        let listed = list.split(',').map(str::trim);
        names.extend(listed.filter(|name| !name.is_empty()).map(str::to_owned));
    }
    assert!(names.len() > 100, "{names:?}");
    names
}

/// The functions in the tests of another crate of the workspace, whose name begins the path of a test.
fn functions_of(krate: &str) -> BTreeSet<String> {
    let mut folders = vec![format!(
        "{}/../{}/tests",
        env!("CARGO_MANIFEST_DIR"),
        krate.replace('_', "-")
    )];
    let mut names = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{folder}: {e}")) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path.to_str().unwrap().to_owned());
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(path).unwrap();
                let rest = text.split("fn ").skip(1);
                names.extend(rest.filter_map(|rest| Some(rest.split_once('(')?.0.to_owned())));
            }
        }
    }
    names
}

#[test]
fn every_row_names_tests_that_run() {
    let registered = registered();
    let mut others: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (name, rows) in rows() {
        for row in rows {
            for test in row.each_test() {
                let runs = match test.split_once("::") {
                    None => registered.contains(test),
                    // A test of another crate is named with its path.
                    Some((krate, path)) => others
                        .entry(krate)
                        .or_insert_with(|| functions_of(krate))
                        .contains(path.rsplit("::").next().unwrap_or(path)),
                };
                if !runs {
                    wrong.push((name, row.argument, row.value, test));
                }
            }
            assert!(!row.path.is_empty(), "{name}");
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Paths in a cell as links: those of this crate start with `local_array::`.
fn linked(cell: &str) -> String {
    let words = cell.split_inclusive([' ', ',', ';', '(', ')']);
    words
        .map(|word| {
            let path = word.trim_end_matches([' ', ',', ';', '(', ')']);
            let rest = &word[path.len()..];
            match path.strip_prefix("local_array::") {
                Some(path) => format!("[`{path}`](crate::{path}){rest}"),
                None if path.contains("::") => format!("`{path}`{rest}"),
                None => word.to_owned(),
            }
        })
        .collect()
}

/// The table as it stands in the documentation. `UPDATE_COVERAGE=1` writes it anew.
#[test]
fn the_table_is_up_to_date() {
    let mut table = String::from(
        "| DistArray | argument | value | here | tests on a part | tests over all ranks |\n|---|---|---|---|---|---|\n",
    );
    let rows = rows();
    for (name, _) in names() {
        for row in rows.get(name).into_iter().flatten() {
            let [local, global] = row.tests;
            let (argument, value, here) = (row.argument, row.value, linked(row.path));
            writeln!(
                table,
                "| `{name}` | {argument} | {value} | {here} | {local} | {global} |"
            )
            .unwrap();
        }
    }
    if std::env::var_os("UPDATE_COVERAGE").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/coverage.md");
        std::fs::write(path, &table).unwrap();
        return;
    }
    assert!(table == TABLE, "run the test once with UPDATE_COVERAGE=1");
}
