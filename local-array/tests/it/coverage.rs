//! The table of names: each name of DistArray's local package, each argument and value, has a path here and tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::rc::Rc;

const NAMES: &str = include_str!("../fixtures/seed-names.txt");
/// name | argument | value | paths | tests on a part | tests over all ranks; and for each name, behind `=`, what it means
/// there.
const ROWS: &str = include_str!("../fixtures/coverage.txt");
const TABLE: &str = include_str!("../../docs/coverage.md");

/// Arguments that take one of a few values, or of a few kinds of them, and those; where a name is given, for that name
/// alone, and where it ends in a dot, for all that begin with it.
const VALUES: &[(&str, &str, &[&str])] = &[
    ("", "order", &["C", "F"]),
    ("", "kind", &["quick", "merge", "heap", "stable"]),
    ("", "rowvar", &["0", "1"]),
    ("", "bias", &["0", "1"]),
    ("", "returned", &["0", "1"]),
    ("", "retstep", &["False", "True"]),
    ("", "endpoint", &["False", "True"]),
    ("", "normed", &["False", "True"]),
    ("", "dist", &["b", "c", "n", "u"]),
    ("", "newdist", &["b", "c", "n", "u"]),
    ("", "weights", &["None", "array"]),
    ("random.", "size", &["None", "int or tuple"]),
    ("random.randint", "high", &["None", "int"]),
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
    ("localarray.histogram", "bins", &["None", "count", "edges"]),
    ("localarray.histogram", "range", &["None", "pair"]),
    ("localarray.histogram2d", "bins", &["count", "edges"]),
    ("localarray.tensordot", "axes", &["int", "lists"]),
    (
        "localarray.LocalArray.transpose",
        "axes",
        &["None", "tuple"],
    ),
    ("localarray.LocalArray.repeat", "repeats", &["int", "list"]),
    ("localarray.aslocalarray", "order", &["None", "C", "F", "A"]),
    (
        "localarray.LocalArray.ravel",
        "order",
        &["C", "F", "A", "K"],
    ),
    (
        "localarray.LocalArray.flatten",
        "order",
        &["C", "F", "A", "K"],
    ),
    ("localarray.cov", "y", &["None", "array"]),
    ("localarray.corrcoef", "y", &["None", "array"]),
    ("localarray.where", "x", &["None", "array"]),
    ("localarray.where", "y", &["None", "array"]),
    ("localarray.eye", "m", &["None", "int"]),
    ("localarray.LocalArray.", "axis", &["None", "int", "tuple"]),
    ("localarray.LocalArray.argsort", "axis", &["None", "int"]),
    ("localarray.LocalArray.compress", "axis", &["None", "int"]),
    ("localarray.LocalArray.cumprod", "axis", &["None", "int"]),
    ("localarray.LocalArray.cumsum", "axis", &["None", "int"]),
    ("localarray.LocalArray.repeat", "axis", &["None", "int"]),
    ("localarray.LocalArray.take", "axis", &["None", "int"]),
    // In place, and so along an axis.
    ("localarray.LocalArray.sort", "axis", &[]),
    ("localarray.average", "axis", &["None", "int", "tuple"]),
    ("localarray.cross", "axis", &["None", "int"]),
];

/// The values that an argument of a name takes: those of the entry that says it most closely.
fn values_of(name: &str, argument: &str) -> &'static [&'static str] {
    let fits =
        |of: &str| of == name || ((of.is_empty() || of.ends_with('.')) && name.starts_with(of));
    let entries = VALUES
        .iter()
        .filter(|(of, arg, _)| *arg == argument && fits(of));
    entries
        .max_by_key(|(of, ..)| of.len())
        .map_or(&[], |(.., values)| *values)
}

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
        .filter(|line| !line.starts_with(['#', '=']) && !line.is_empty())
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

/// What each name means on one rank's part, and on the whole array.
fn meanings() -> BTreeMap<&'static str, [&'static str; 2]> {
    let mut meanings = BTreeMap::new();
    for line in ROWS.lines().filter_map(|line| line.strip_prefix('=')) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [name, part, whole] = cells[..] else {
            panic!("three cells wanted: {line}");
        };
        let before = meanings.insert(name, [part, whole]);
        assert!(before.is_none(), "{name} twice");
    }
    meanings
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
            for value in values_of(name, argument) {
                if !of_argument.iter().any(|row| row.value == *value) {
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

/// A part concerns one rank, and so is local; the whole array is local or collective. Each says what it is.
#[test]
fn every_name_has_two_meanings() {
    let meanings = meanings();
    let mut wrong = Vec::new();
    for (name, _) in names() {
        let [part, whole] = meanings.get(name).copied().unwrap_or_default();
        let says = |cell: &str, kinds: &[&str]| {
            let rest = kinds.iter().find_map(|kind| cell.strip_prefix(kind));
            rest.is_some_and(|rest| !rest.trim().is_empty())
        };
        if !says(part, &["local: "]) || !says(whole, &["local: ", "collective: "]) {
            wrong.push((name, part, whole));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(
        meanings.len(),
        names().len(),
        "names that are not in the list"
    );
}

/// What `cases! { … }` lists in the files of the cases' binary, each with the words of its file and of the files whose
/// checks that makes.
fn registered() -> BTreeMap<String, Rc<BTreeSet<String>>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases");
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        files.insert(path.file_stem().unwrap().to_str().unwrap().to_owned(), text);
    }
    let mut names = BTreeMap::new();
    for text in files.values() {
        let list = text
            .split_once("\ncases! {")
            .and_then(|(_, rest)| rest.split_once('}'));
        let list = list.map_or("", |(list, _)| list);
        let mut all = text.clone();
        for (area, text) in &files {
            if all.contains(&format!("{area}::check_call")) {
                all += text;
            }
        }
        let words = all.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let words: Rc<BTreeSet<String>> = Rc::new(words.map(str::to_owned).collect());
        let listed = list.split(',').map(str::trim);
        names.extend(
            listed
                .filter(|name| !name.is_empty())
                .map(|name| (name.to_owned(), Rc::clone(&words))),
        );
    }
    assert!(names.len() > 100, "{:?}", names.keys());
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
                    None => registered.contains_key(test),
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

/// A test in a file that nowhere calls the function of a row does not look at it.
#[test]
fn every_row_names_tests_beside_its_function() {
    let registered = registered();
    let mut wrong = Vec::new();
    for (name, rows) in rows() {
        for row in rows {
            let words = row.path.split([' ', ',', ';', '(', ')']);
            let paths = words.filter_map(|word| word.strip_prefix("local_array::"));
            let last = paths.filter_map(|path| path.rsplit("::").next());
            let functions: Vec<&str> = last
                .filter(|name| name.starts_with(|letter: char| letter.is_lowercase()))
                .collect();
            for test in row.each_test() {
                let Some(words) = registered.get(test) else {
                    continue;
                };
                if !functions.is_empty() && !functions.iter().any(|name| words.contains(*name)) {
                    wrong.push((name, row.argument, row.value, functions.clone(), test));
                }
            }
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
        "| DistArray | argument | value | here | on the part | on the whole array | tests on a part | tests over all ranks |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    let (rows, meanings) = (rows(), meanings());
    for (name, _) in names() {
        // Said once for each name, in its first row.
        let [mut part, mut whole] = meanings[name];
        for row in rows.get(name).into_iter().flatten() {
            let [local, global] = row.tests;
            let (argument, value, here) = (row.argument, row.value, linked(row.path));
            writeln!(
                table,
                "| `{name}` | {argument} | {value} | {here} | {part} | {whole} | {local} | {global} |"
            )
            .unwrap();
            (part, whole) = ("", "");
        }
    }
    if std::env::var_os("UPDATE_COVERAGE").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/coverage.md");
        std::fs::write(path, &table).unwrap();
        return;
    }
    assert!(table == TABLE, "run the test once with UPDATE_COVERAGE=1");
}
