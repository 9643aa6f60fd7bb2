//! `dap check`: every verdict, of files and of sets.

use std::fs;
use std::path::Path;

use dist_maps::Distribution;
use serde_json::Value;

use crate::support::{dap, four, number, part, save_parts, save_whole, temporary, write_raw};

const ALL: &str = "check part_0.dnpy part_1.dnpy part_2.dnpy part_3.dnpy";

fn block(rank: u32, range: std::ops::Range<u32>) -> String {
    format!(
        "({{'dist_type': 'b', 'proc_grid_rank': {rank}, 'proc_grid_size': 2, 'size': 10, 'start': {}, 'stop': {}}},)",
        range.start, range.end
    )
}

/// A part of two, 10 elements in all.
fn raw(folder: &Path, rank: u32, range: std::ops::Range<u32>, version: &str) {
    let path = folder.join(format!("part_{rank}.dnpy"));
    let data = vec![1.0; range.len()];
    write_raw(&path, version, &block(rank, range), data);
}

#[test]
fn a_good_set_is_conformant() {
    let folder = temporary();
    save_parts(folder.path(), &four());
    save_whole(folder.path(), &[3], number);
    let text = dap(folder.path(), &format!("{ALL} whole.npy")).ok();
    let expected = "\
part_0.dnpy: conformant
part_1.dnpy: conformant
part_2.dnpy: conformant
part_3.dnpy: conformant
part (4 files), as a whole: conformant
whole.npy: conformant
DAP 0.10.0: conformant
";
    assert_eq!(text, expected);
    let alone = dap(folder.path(), "check part_2.dnpy").ok();
    let expected = "\
part_2.dnpy: conformant
  note: one part of 4: the others were not given
DAP 0.10.0: conformant
";
    assert_eq!(alone, expected);
}

#[test]
fn ranks_without_a_place_are_no_fault() {
    let folder = temporary();
    let d = Distribution::over(5)
        .shape([2, 2])
        .block(0)
        .block(1)
        .build()
        .unwrap();
    save_parts(folder.path(), &d);
    dap(folder.path(), &format!("{ALL} part_4.dnpy")).ok();
    dap(folder.path(), "check part").ok();
}

#[test]
fn a_repair_is_status_1() {
    let folder = temporary();
    raw(folder.path(), 0, 0..5, "0.10.0");
    let old = block(1, 5..10).replace("'size': 10", "'size': 10L");
    let path = folder.path().join("part_1.dnpy");
    write_raw(&path, "0.10.0", &old, vec![0.5; 5]);
    let run = dap(folder.path(), "check part_0.dnpy part_1.dnpy");
    assert_eq!((run.status, run.err.as_str()), (1, ""));
    let at = 10 + "{'__version__': '0.10.0', 'dim_data': ".len() + old.find("10L").unwrap();
    let expected = format!(
        "\
part_0.dnpy: conformant
part_1.dnpy: readable, 1 repair
  repaired: byte {at}: "
    );
    assert!(run.out.starts_with(&expected), "{}", run.out);
    let end = "part (2 files), as a whole: conformant\nDAP 0.10.0: readable with repairs\n";
    assert!(run.out.ends_with(end), "{}", run.out);
}

#[test]
fn padding_wider_than_a_neighbour_is_a_repair_of_the_set() {
    let folder = temporary();
    let d = Distribution::over(4)
        .shape([4])
        .block(0)
        .padding(2)
        .build()
        .unwrap();
    save_parts(folder.path(), &d);
    let run = dap(folder.path(), ALL);
    assert_eq!(run.status, 1, "{}", run.out);
    assert!(
        run.out.contains("part (4 files), as a whole: readable, "),
        "{}",
        run.out
    );
    assert!(
        run.out
            .contains("  repaired: part_1.dnpy: S6 axis 0 rank 1: "),
        "{}",
        run.out
    );
}

#[test]
fn a_broken_rule_is_status_2_and_has_a_name() {
    let folder = temporary();
    let path = folder.path().join("part_1.dnpy");
    let wrong = block(1, 5..12).replace("'proc_grid_rank': 1", "'proc_grid_rank': 2");
    write_raw(&path, "0.10.0", &wrong, vec![0.0; 7]);
    let run = dap(folder.path(), "check part_1.dnpy");
    let expected = "\
part_1.dnpy: 2 violations
  C5 axis 0: proc_grid_rank is 2, allowed: 0 to 1 (proc_grid_size - 1)
  B4 axis 0: stop is 12, allowed: at most 10 (size)
DAP 0.10.0: 2 violations
";
    assert_eq!((run.status, run.out.as_str()), (2, expected));
    // a header with another key
    let bytes = fs::read(&path).unwrap();
    let text = String::from_utf8_lossy(&bytes[10..]).into_owned();
    let header = text.split_once('\n').unwrap().0.len() + 1;
    let mut other = bytes.clone();
    let at = 10 + text.find("dim_data").unwrap();
    other[at..at + 8].copy_from_slice(b"dim_info");
    assert!(header > 0);
    fs::write(&path, other).unwrap();
    let run = dap(folder.path(), "check part_1.dnpy");
    assert_eq!(run.status, 2, "{}", run.out);
    assert!(run.out.contains("\n  T1: "), "{}", run.out);
}

#[test]
fn what_only_the_whole_set_shows() {
    // name, what rank 1 is, what is found
    for (range, version, found) in [
        (
            5..10,
            "0.9.0",
            "S9 rank 1: __version__ is 0.9.0, allowed: 0.10.0",
        ),
        (4..10, "0.10.0", "S4 axis 0 rank 1: "),
        (6..10, "0.10.0", "S4 axis 0 rank 1: "),
    ] {
        let folder = temporary();
        raw(folder.path(), 0, 0..5, "0.10.0");
        raw(folder.path(), 1, range.clone(), version);
        let run = dap(folder.path(), "check part_0.dnpy part_1.dnpy");
        assert_eq!(run.status, 2, "{}", run.out);
        assert!(run.out.contains("part_1.dnpy: conformant\n"), "{}", run.out);
        assert!(run.out.contains(&format!("\n  {found}")), "{}", run.out);
        assert!(
            dap(folder.path(), "check part").out.contains(found),
            "{range:?}"
        );
    }
}

#[test]
fn missing_and_surplus_parts() {
    let folder = temporary();
    save_parts(folder.path(), &four());
    let run = dap(folder.path(), "check part_0.dnpy part_1.dnpy part_3.dnpy");
    assert_eq!(run.status, 2);
    assert!(
        run.out
            .contains("part (3 files), as a whole: 2 violations\n"),
        "{}",
        run.out
    );
    assert!(
        run.out
            .contains("  S1: proc_grid_size is 4 (product), allowed: 3 (ranks given)\n"),
        "{}",
        run.out
    );
    assert!(
        run.out
            .contains("the parts fill 3 of the 4 places of the process grid"),
        "{}",
        run.out
    );
    fs::copy(
        folder.path().join("part_2.dnpy"),
        folder.path().join("part_7.dnpy"),
    )
    .unwrap();
    let run = dap(folder.path(), &format!("{ALL} part_7.dnpy"));
    assert_eq!(run.status, 2);
    assert!(run.out.contains("part_7.dnpy"), "{}", run.out);
    fs::remove_file(folder.path().join("part_2.dnpy")).unwrap();
    let run = dap(folder.path(), "check part");
    assert_eq!(run.status, 2, "{}", run.out);
    assert!(run.out.contains("part_2.dnpy is missing"), "{}", run.out);
}

#[test]
fn two_arrays_are_no_set() {
    let folder = temporary();
    let d = Distribution::over(2).shape([6]).block(0).build().unwrap();
    dnpy_format::save(folder.path().join("part_0.dnpy"), &part(&d, 0, number)).unwrap();
    dnpy_format::save(
        folder.path().join("part_1.dnpy"),
        &part(&d, 1, |at| at as i32),
    )
    .unwrap();
    let run = dap(folder.path(), "check part_0.dnpy part_1.dnpy");
    assert_eq!(run.status, 2);
    assert!(
        run.out
            .contains("  part_1.dnpy: the elements are i32, those of rank 0 are f64\n"),
        "{}",
        run.out
    );
    let d = Distribution::over(2).shape([7]).block(0).build().unwrap();
    dnpy_format::save(folder.path().join("part_1.dnpy"), &part(&d, 1, number)).unwrap();
    let run = dap(folder.path(), "check part_0.dnpy part_1.dnpy");
    assert_eq!(run.status, 2);
    assert!(
        run.out
            .contains("S3 axis 0 rank 1: size is 7, allowed: 6, as elsewhere"),
        "{}",
        run.out
    );
}

#[test]
fn what_cannot_be_read_is_status_3() {
    let folder = temporary();
    save_parts(folder.path(), &four());
    save_whole(folder.path(), &[30], number);
    for name in ["part_2.dnpy", "whole.npy"] {
        let path = folder.path().join(name);
        let bytes = fs::read(&path).unwrap();
        for len in [0, 5, 9, 11, 100, bytes.len() - 1] {
            fs::write(&path, &bytes[..len]).unwrap();
            let run = dap(folder.path(), &format!("check {name}"));
            assert_eq!(
                (run.status, run.err.as_str()),
                (3, ""),
                "{name} {len}: {}",
                run.out
            );
            assert!(
                run.out.starts_with(&format!("{name}: unreadable\n")),
                "{}",
                run.out
            );
            assert!(run.out.ends_with("DAP 0.10.0: unreadable\n"), "{}", run.out);
        }
    }
    let run = dap(folder.path(), ALL);
    assert_eq!(run.status, 3);
    assert!(
        run.out
            .contains("note: not all parts can be used, so they were not checked together\n"),
        "{}",
        run.out
    );
    fs::write(folder.path().join("notes.txt"), "x").unwrap();
    for name in ["notes.txt", "nothing", "nothing.npy", "nothing.dnpy", "."] {
        assert_eq!(
            dap(folder.path(), &format!("check {name}")).status,
            3,
            "{name}"
        );
    }
}

#[test]
fn hashes_of_a_published_set_are_compared() {
    let folder = temporary();
    save_whole(folder.path(), &[50], number);
    dap(folder.path(), "convert whole.npy run --dist b --ranks 3").ok();
    let text = dap(folder.path(), "check run").ok();
    assert!(
        text.ends_with("run, as a whole: conformant\nDAP 0.10.0: conformant\n"),
        "{text}"
    );
    assert_eq!(text.matches(".dnpy: conformant").count(), 3, "{text}");
    let part = fs::read_dir(folder.path()).unwrap().find_map(|entry| {
        let path = entry.unwrap().path();
        path.to_str().unwrap().ends_with("_1.dnpy").then_some(path)
    });
    let part = part.unwrap();
    let mut bytes = fs::read(&part).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&part, bytes).unwrap();
    let run = dap(folder.path(), "check run");
    assert_eq!(run.status, 2, "{}", run.out);
    assert!(run.out.contains("two saves are mixed: "), "{}", run.out);
}

#[test]
fn json_says_the_same() {
    let folder = temporary();
    raw(folder.path(), 0, 0..5, "0.10.0");
    raw(folder.path(), 1, 4..10, "0.10.0");
    let run = dap(folder.path(), "check --format json part_0.dnpy part_1.dnpy");
    assert_eq!(run.status, 2);
    let json: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(json["status"], 2);
    assert_eq!(json["verdict"], "violations");
    assert_eq!(json["protocol"], "0.10.0");
    let findings = json["findings"].as_array().unwrap();
    let names: Vec<_> = findings
        .iter()
        .map(|f| f["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["part_0.dnpy", "part_1.dnpy", "part (2 files)"]);
    assert_eq!(findings[0]["verdict"], "conformant");
    assert_eq!(findings[2]["of"], "set");
    let violation = &findings[2]["violations"][0];
    assert_eq!(violation["code"], "S4");
    assert_eq!(
        (&violation["axis"], &violation["rank"]),
        (&0.into(), &1.into())
    );
    assert!(run.out.contains(violation["text"].as_str().unwrap()));
    let good: Value =
        serde_json::from_str(&dap(folder.path(), "check --format json part_0.dnpy").ok()).unwrap();
    assert_eq!(
        (&good["status"], &good["findings"][0]["violations"]),
        (&0.into(), &Value::Array(vec![]))
    );
}
