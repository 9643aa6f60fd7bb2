//! Command lines that are none, and what the command says of itself.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::support::{
    dap, dap_of, files, four, number, save_parts, save_sparse, save_whole, start, temporary,
};

#[test]
fn a_wrong_command_line_has_a_status_of_its_own() {
    let folder = temporary();
    save_whole(folder.path(), &[4], number);
    save_parts(folder.path(), &four());
    for (arguments, says) in [
        ("", "Usage: dap <COMMAND>"),
        ("melt whole.npy", "unrecognized subcommand 'melt'"),
        ("check", "<FILE>..."),
        (
            "check --format xml whole.npy",
            "[possible values: text, json]",
        ),
        ("convert whole.npy", "<OUT>"),
        (
            "convert whole.npy x --dist b,q",
            "axis 1: \"q\", allowed: n, b, be, bf, b@CUT:CUT, c, c:N; behind a b also +N and p",
        ),
        ("convert whole.npy x --dist u", "no lists of indices"),
        (
            "convert whole.npy x --grid 2y2",
            "numbers with x or a comma between",
        ),
        ("convert whole.npy x --budget 3", "allowed: 64 KiB or more"),
        ("convert whole.npy x.dnpy", "a set is named by its prefix"),
        (
            "convert whole.npy y.npy --ranks 2",
            "--ranks is given, but a .npy file has no distribution",
        ),
        (
            "convert whole.npy part_0.dnpy part_1.dnpy y.npy",
            "2 arrays are named (whole.npy, part (2 files)), allowed: one",
        ),
        ("draw", "--shape is missing"),
        ("draw --shape 8", "--dist is missing"),
        (
            "draw whole.npy --shape 8 --dist b",
            "a file and --shape are given",
        ),
        (
            "draw --shape 8 --dist b --format png",
            "name a file with --output",
        ),
        ("draw --shape 8 --dist b --size 0", "--size"),
        ("plan --shape 8 --from b", "--dist is missing"),
        (
            "plan --shape 8 --dist b --chunk 3",
            "--chunk is given, which goes with --read or --write",
        ),
        ("plan --shape 8 --dist b --read --write", "--write"),
        ("plan --shape 8 --dist b --read --from b", "--from <FROM>"),
        (
            "convert whole.npy y.npy --gzip 4",
            "--gzip is given, but that is of HDF5 files, and a .npy file is to be written",
        ),
        (
            "convert whole.npy y --parts",
            "--parts is given, but that is of HDF5 files, and a set of .dnpy files is to be written",
        ),
        ("convert whole.npy y.h5 --gzip 10", "0..=9"),
        ("convert whole.npy y.h5 --contiguous --shuffle", "--shuffle"),
        ("convert whole.npy y.h5 --parts --checksums", "--checksums"),
        ("repack one.h5", "<OUT>"),
        (
            "convert whole.npy run/",
            "run/: this is a folder\ndap: next: name a file in it, or the beginning of the names of a set, as in run/part\n",
        ),
        ("plan --shape 8 --dist b", "--from is missing"),
        (
            "plan --shape 8 --from b --dist b --element object",
            "float64",
        ),
        ("completions tcsh", "zsh"),
    ] {
        let before = files(folder.path());
        let err = dap(folder.path(), arguments).fails(64);
        assert!(err.contains(says), "{arguments}: {err}");
        assert_eq!(files(folder.path()), before, "{arguments}");
    }
}

#[test]
fn what_does_not_fit_the_array_fails() {
    let folder = temporary();
    save_whole(folder.path(), &[4, 3], number);
    for (arguments, says) in [
        (
            "convert whole.npy x --dist b,b,b",
            "--dist describes 3 dimensions, the array has 2",
        ),
        (
            "convert whole.npy x --dist b --grid 2x2",
            "axis 1: grid extent 2, allowed: 1",
        ),
        (
            "convert whole.npy x --dist b,b --grid 2x2 --ranks 3",
            "a grid of 4 ranks, allowed: at most 3",
        ),
        (
            "convert whole.npy x --dist b --ranks 0",
            "0 ranks, allowed: 1 to",
        ),
        (
            "convert whole.npy x --dist b@5",
            "axis 0: the blocks end at 5, allowed: at most 4, rising",
        ),
        ("convert none.npy x", "open none.npy: "),
        ("convert none x", "no set at none: "),
        (
            "convert whole.npy nowhere/x.npy",
            "nowhere/x.npy: there is no folder nowhere\ndap: next: mkdir -p nowhere\n",
        ),
        ("convert whole.npy no/where/x", "next: mkdir -p no/where\n"),
        ("draw whole.npy -o no/where.png", "next: mkdir -p no\n"),
        ("convert whole.npy whole.npy/x.npy", "whole.npy/"),
        ("convert whole.npy .", ". cannot begin a file name"),
        (
            "draw --shape 2x2x2 --dist b --axes 0,3",
            "--axes names 0,3 axes",
        ),
        (
            "draw --shape 2x2x2 --dist b --axes 1,1",
            "--axes names 1,1 axes",
        ),
        (
            "plan --shape 9 --from b --from-ranks 5000 --dist b",
            "5000 ranks, allowed: 4096",
        ),
        ("show none.npy", "open none.npy: "),
    ] {
        let run = dap(folder.path(), arguments);
        let said = format!("{}{}", run.out, run.err);
        assert_eq!(run.status, 1, "{arguments}: {said}");
        assert!(said.contains(says), "{arguments}: {said}");
        assert_eq!(files(folder.path()), ["whole.npy"], "{arguments}");
    }
}

#[test]
fn it_says_what_it_is() {
    let folder = temporary();
    let help = dap(folder.path(), "--help").ok();
    for verb in [
        "show",
        "check",
        "draw",
        "convert",
        "repack",
        "plan",
        "completions",
        "man",
    ] {
        assert!(help.contains(&format!("\n  {verb} ")), "{help}");
        let help = dap(folder.path(), &format!("{verb} --help")).ok();
        assert!(help.contains("Examples:\n  dap "), "{help}");
    }
    let version = dap(folder.path(), "--version").ok();
    assert_eq!(version, format!("dap {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let folder = temporary();
    let shells = ["bash", "elvish", "fish", "powershell", "zsh"];
    let script = |shell: &str| dap(folder.path(), &format!("completions {shell}")).ok();
    let scripts = shells.map(|shell| (shell, script(shell)));
    let verbs = [
        "show",
        "check",
        "draw",
        "convert",
        "repack",
        "plan",
        "completions",
        "man",
    ];
    fs::create_dir(folder.path().join("man1")).unwrap();
    assert_eq!(dap(folder.path(), "man --dir man1").ok(), "");
    for verb in verbs {
        let page = fs::read_to_string(folder.path().join(format!("man1/dap-{verb}.1"))).unwrap();
        let help = dap(folder.path(), &format!("{verb} --help")).ok();
        let options: Vec<&str> = help.split_whitespace().collect();
        let options = options.iter().filter_map(|word| word.strip_prefix("--"));
        let options = options.map(|word| word.trim_matches(|c: char| !c.is_ascii_alphanumeric()));
        let options: BTreeSet<&str> = options.filter(|word| !word.is_empty()).collect();
        assert!(options.contains("help"), "{verb}: {help}");
        for option in options {
            let escaped = option.replace('-', "\\-");
            assert!(
                page.contains(&format!("\\-\\-{escaped}")),
                "{verb} --{option}: {page}"
            );
            for (shell, script) in &scripts {
                assert!(script.contains(option), "{shell}: {verb} --{option}");
            }
        }
        for (shell, script) in &scripts {
            assert!(script.contains(verb), "{shell}: {verb}");
        }
    }
    let page = dap(folder.path(), "man").ok();
    assert!(page.contains(".TH dap 1"), "{page}");
    assert!(page.contains("dap\\-convert(1)"), "{page}");
}

#[cfg(not(feature = "hdf5"))]
#[test]
fn hdf5_without_the_feature_is_answered_with_the_feature() {
    let folder = temporary();
    save_whole(folder.path(), &[4], number);
    // by its first bytes, whatever its name is
    fs::write(folder.path().join("odd"), b"\x89HDF\r\n\x1a\nand so on").unwrap();
    let says = "is an HDF5 file, and this dap was built without HDF5; \
                with it: cargo install --path dist-io --features cli,hdf5";
    for arguments in [
        "show odd",
        "show all.h5",
        "convert all.h5:/heat x.npy",
        "convert whole.npy all.h5:/heat",
        "draw all.h5:/heat",
        "plan all.h5:/heat --dist b",
        "plan all.h5:/heat --dist b --read",
        "convert whole.npy all.h5:/heat --parts --dist b --ranks 2",
        "convert whole.npy all.h5:/heat --chunk 2",
        "repack odd one.h5",
        "repack all.h5 one.h5",
    ] {
        let err = dap(folder.path(), arguments);
        assert_eq!(err.status, 1, "{err:?}");
        assert!(
            format!("{}{}", err.out, err.err).contains(says),
            "{arguments}: {err:?}"
        );
    }
    let run = dap(folder.path(), "check odd");
    assert_eq!(run.status, 3);
    assert!(run.out.contains(says), "{}", run.out);
}

#[test]
fn an_answer_that_cannot_be_written() {
    let folder = temporary();
    save_whole(folder.path(), &[4], number);
    let run = |arguments: &[&str], out: Stdio| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dap"));
        let command = command.args(arguments).current_dir(folder.path());
        start(command.stdout(out).stderr(Stdio::piped()))
    };
    // a reader that has had enough is no error
    for arguments in [&["man"][..], &["check", "whole.npy"], &["--help"]] {
        let mut child = run(arguments, Stdio::piped());
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*err), (Some(0), ""));
    }
    let Ok(full) = File::options().write(true).open("/dev/full") else {
        println!("skipped: there is no /dev/full");
        return;
    };
    // a status that no verdict has
    let output = run(&["check", "whole.npy"], full.into());
    let output = output.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(74), "{err}");
    assert!(err.starts_with("dap: write the standard output: "), "{err}");
}

/// Starts a run, sends it a signal when it has begun its target, and returns its status and what it said.
fn interrupted(folder: &Path, arguments: &str, signal: &str) -> (Option<i32>, String) {
    let before = files(folder);
    let mut command = Command::new(env!("CARGO_BIN_EXE_dap"));
    let command = command.args(arguments.split_whitespace());
    let command = command.current_dir(folder).stderr(Stdio::piped());
    let mut child = start(command.stdout(Stdio::null()));
    while files(folder) == before {
        assert!(
            child.try_wait().unwrap().is_none(),
            "{arguments}: too early"
        );
        thread::sleep(Duration::from_millis(1));
    }
    let kill = format!("kill -{signal} {}", child.id());
    let sent = start(Command::new("sh").args(["-c", &kill]))
        .wait()
        .unwrap();
    assert!(sent.success(), "{kill}");
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), err)
}

#[test]
fn an_interrupted_run_leaves_what_was_there_and_nothing_else() {
    let folder = temporary();
    let folder = folder.path();
    save_whole(folder, &[5], number);
    dap(folder, "convert whole.npy old.npy").ok();
    dap(folder, "convert whole.npy old --dist b --ranks 2").ok();
    // 4 GiB of zeros that the disk does not have: no run comes to an end
    save_sparse(folder, [16384, 32768], false);
    let mut targets = vec![
        "old.npy",
        "new.npy",
        "old --dist c --ranks 3",
        "new --dist n,c --ranks 2",
    ];
    if cfg!(feature = "hdf5") {
        dap(folder, "convert old.npy old.h5:/a").ok();
        targets.extend([
            "old.h5:/b",
            "new.h5:/b",
            "old.h5:/b --chunk 64x64 --gzip 1",
            "old.h5:/b --parts --dist b --ranks 3",
            "new.h5:/b --parts --dist c --ranks 2",
        ]);
    }
    let all = || -> Vec<(String, Vec<u8>)> {
        let names = files(folder)
            .into_iter()
            .filter(|name| name != "sparse.npy");
        let read = |name: String| (name.clone(), fs::read(folder.join(name)).unwrap());
        names.map(read).collect()
    };
    let before = all();
    for (number, target) in targets.into_iter().enumerate() {
        let convert = format!("convert sparse.npy {target} --budget 1MiB");
        let signal = ["INT", "TERM"][number % 2];
        let (status, err) = interrupted(folder, &convert, signal);
        assert_eq!(
            (status, err.as_str()),
            (Some(130), "dap: interrupted: nothing was changed\n"),
            "{convert}"
        );
        assert!(all() == before, "{convert}: {:?}", files(folder));
    }
}

#[test]
fn names_that_are_no_text() {
    let folder = temporary();
    save_whole(folder.path(), &[8, 6], number);
    let name = |text: &[u8]| OsStr::from_bytes(text).to_owned();
    let npy = name(b"\xffw.npy");
    let run = |arguments: &[&OsStr]| dap_of(folder.path(), arguments);
    let (convert, show, check) = (
        OsStr::new("convert"),
        OsStr::new("show"),
        OsStr::new("check"),
    );
    run(&[convert, OsStr::new("whole.npy"), &npy]).ok();
    run(&[convert, &npy, OsStr::new("back.npy")]).ok();
    let read = |name: &OsStr| fs::read(folder.path().join(name)).unwrap();
    assert!(read(OsStr::new("back.npy")) == read(&npy));
    assert!(run(&[show, &npy]).ok().contains("8 x 6 of f64"));
    // the parts of a set, by their names
    save_parts(folder.path(), &four());
    let parts: Vec<_> = (0..4)
        .map(|rank| {
            let odd = name(&[&b"\xfe"[..], format!("p_{rank}.dnpy").as_bytes()].concat());
            fs::rename(
                folder.path().join(format!("part_{rank}.dnpy")),
                folder.path().join(&odd),
            )
            .unwrap();
            odd
        })
        .collect();
    let mut all = vec![check];
    all.extend(parts.iter().map(|part| part.as_os_str()));
    let said = run(&all).ok();
    assert!(
        said.contains(" (4 files), as a whole: conformant\n"),
        "{said}"
    );
    // no prefix of ours, no file of the HDF5 library's: said, and nothing is left
    let before = files_of(folder.path());
    let err = run(&[convert, &npy, &name(b"\xffset")]).fails(1);
    assert!(err.contains("cannot begin a file name"), "{err}");
    let err = run(&[convert, &npy, &name(b"\xffa.h5:/x")]).fails(1);
    let says = if cfg!(feature = "hdf5") {
        "UTF-8"
    } else {
        "built without HDF5"
    };
    assert!(err.contains(says), "{err}");
    assert_eq!(files_of(folder.path()), before);
}

/// How many files there are in a folder, whatever they are called.
fn files_of(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn a_target_that_is_the_source() {
    let folder = temporary();
    let folder = folder.path();
    save_whole(folder, &[200, 30], number);
    let whole = fs::read(folder.join("whole.npy")).unwrap();
    let is_there = |from: &str| {
        dap(folder, &format!("convert {from} back.npy")).ok();
        assert!(
            fs::read(folder.join("back.npy")).unwrap() == whole,
            "{from}"
        );
    };
    dap(folder, "convert whole.npy whole.npy --budget 64KiB").ok();
    is_there("whole.npy");
    dap(folder, "convert whole.npy set --dist b --ranks 3").ok();
    dap(
        folder,
        "convert set set --dist c,b --grid 2x2 --budget 64KiB",
    )
    .ok();
    is_there("set");
    assert_eq!(files(folder).len(), 2 + 1 + 4, "{:?}", files(folder));
    if cfg!(feature = "hdf5") {
        dap(
            folder,
            "convert whole.npy all.h5:/a --parts --dist b --ranks 3",
        )
        .ok();
        let err = dap(folder, "convert all.h5:/a all.h5:/a").fails(1);
        assert!(err.contains("the key exists already\ndap: next: "), "{err}");
        let err = dap(folder, "convert all.h5:/a all.h5:/a --parts").fails(1);
        assert!(err.contains("the key exists already\ndap: next: "), "{err}");
        dap(folder, "convert all.h5:/a all.h5:/b --chunk 7x7").ok();
        is_there("all.h5:/a");
        is_there("all.h5:/b");
    }
}

/// A limit to the size of files stands for a disk that is full.
#[test]
fn a_full_disk_leaves_what_was_there_and_nothing_else() {
    let folder = temporary();
    let folder = folder.path();
    save_whole(folder, &[5], number);
    dap(folder, "convert whole.npy old.npy").ok();
    dap(folder, "convert whole.npy old --dist b --ranks 2").ok();
    let mut targets = vec![
        "old.npy",
        "new.npy",
        "old --dist c --ranks 3",
        "new --dist n,c --ranks 2",
    ];
    if cfg!(feature = "hdf5") {
        dap(folder, "convert old.npy old.h5:/a").ok();
        targets.extend([
            "old.h5:/b",
            "new.h5:/b",
            "old.h5:/b --chunk 50x50",
            "new.h5:/b --chunk 50x50 --shuffle",
            "old.h5:/b --parts --dist b --ranks 3",
        ]);
    }
    save_whole(folder, &[200, 300], number);
    let all = || -> Vec<(String, Vec<u8>)> {
        let read = |name: String| (name.clone(), fs::read(folder.join(name)).unwrap());
        files(folder).into_iter().map(read).collect()
    };
    let before = all();
    for target in targets {
        // 64 KiB of 480
        let limited = format!(
            "ulimit -f 128; exec {} convert whole.npy {target} --budget 128KiB",
            env!("CARGO_BIN_EXE_dap")
        );
        let mut command = Command::new("sh");
        let command = command.args(["-c", &limited]).current_dir(folder);
        let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
        let output = start(command).wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{target}: {err}");
        assert!(err.contains("File too large"), "{target}: {err}");
        assert!(all() == before, "{target}: {:?}", files(folder));
    }
}
