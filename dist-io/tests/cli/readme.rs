//! The commands of README.md and of docs/, and what they print.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use dist_maps::Distribution;

use crate::support::{number, part, save_whole, start, temporary};

/// README.md and what is in docs/.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = fs::read_dir(root.join("docs")).unwrap();
    let mut all: Vec<PathBuf> = docs.map(|entry| entry.unwrap().path()).collect();
    all.push(root.join("README.md"));
    all.sort();
    all
}

/// The commands of a document, and what each prints: of blocks ```` ```console ````, and where HDF5 is there ```` ```console hdf5 ````.
fn steps(document: &str) -> Vec<(String, String)> {
    let mut steps = Vec::new();
    for block in document.split("```console").skip(1) {
        let (kind, block) = block.split_once('\n').unwrap();
        assert!(["", " hdf5"].contains(&kind), "{kind:?}");
        if kind == " hdf5" && !cfg!(feature = "hdf5") {
            continue;
        }
        let (block, _) = block.split_once("```").unwrap();
        for step in block.split("$ ").skip(1) {
            let (command, expected) = step.split_once('\n').unwrap();
            steps.push((command.to_owned(), expected.to_owned()));
        }
    }
    steps
}

#[test]
fn what_the_documents_show_is_what_the_command_prints() {
    let mut paths: Vec<OsString> = vec![
        Path::new(env!("CARGO_BIN_EXE_dap"))
            .parent()
            .unwrap()
            .into(),
    ];
    paths.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()).map(Into::into));
    let path = env::join_paths(paths).unwrap();
    let mut verbs = Vec::new();
    for document in documents() {
        let folder = temporary();
        save_whole(folder.path(), &[4, 6], number);
        let theirs = Distribution::over(2)
            .shape([4, 6])
            .block(0)
            .padding(1)
            .build();
        let theirs = theirs.unwrap();
        for rank in 0..2 {
            let path = folder.path().join(format!("their_{rank}.dnpy"));
            dnpy_format::save(path, &part(&theirs, rank, number)).unwrap();
        }
        let text = fs::read_to_string(&document).unwrap();
        for (command, expected) in steps(&text) {
            let mut shell = Command::new("sh");
            let shell = shell.args(["-c", &command]).current_dir(folder.path());
            let shell = shell.stdout(Stdio::piped()).stderr(Stdio::piped());
            let shell = start(shell.env("PATH", &path));
            let output = shell.wait_with_output().unwrap();
            let printed = [output.stdout, output.stderr].concat();
            let printed = String::from_utf8_lossy(&printed);
            assert_eq!(printed.trim_end(), expected.trim_end(), "{command}");
            verbs.extend(command.split_whitespace().nth(1).map(str::to_owned));
        }
    }
    for verb in ["show", "check", "draw", "convert", "plan"] {
        assert!(verbs.iter().any(|known| known == verb), "no dap {verb}");
    }
    if cfg!(feature = "hdf5") {
        assert!(verbs.iter().any(|known| known == "repack"));
    }
}
