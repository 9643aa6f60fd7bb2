//! Command lines that are none, and what the command says of itself.

use std::fs;

use crate::support::{dap, files, four, number, save_parts, save_whole, temporary};

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
            "--ranks is given, but a `.npy` file has no distribution",
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
        ("plan --shape 8 --from b", "--dist <DIST>"),
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
        ("convert whole.npy nowhere/x.npy", "nowhere/"),
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
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = dap(folder.path(), &format!("completions {shell}")).ok();
        for word in ["convert", "budget", "man"] {
            assert!(script.contains(word), "{shell}");
        }
    }
    let page = dap(folder.path(), "man").ok();
    assert!(page.contains(".TH dap 1"), "{page}");
    assert!(page.contains("dap\\-convert(1)"), "{page}");
    fs::create_dir(folder.path().join("man1")).unwrap();
    assert_eq!(dap(folder.path(), "man --dir man1").ok(), "");
    let pages = files(&folder.path().join("man1"));
    assert!(pages.contains(&"dap-convert.1".to_owned()), "{pages:?}");
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
