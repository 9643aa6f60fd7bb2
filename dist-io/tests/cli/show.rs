//! `dap show`.

use std::fs;

use dist_maps::Distribution;

use crate::support::{dap, four, number, part, save_parts, save_whole, temporary, write_raw};

#[test]
fn a_set_is_one_array() {
    let folder = temporary();
    save_parts(folder.path(), &four());
    let text = dap(
        folder.path(),
        "show part_0.dnpy part_3.dnpy part_1.dnpy part_2.dnpy",
    )
    .ok();
    let expected = "\
part (4 files): 4 .dnpy files of a set, format 1.0, protocol 0.10.0, little-endian, C order
  array   8 x 6 of f64, 384 bytes
  axis 0  blocks over 2 ranks: 4, 4, padding 1 below and 1 above
  axis 1  cyclic over 2 ranks
  grid    2 x 2, 4 ranks

  rank  coords  owns   stores  from  bytes  file
     0  0,0     4 x 3  5 x 3   0,0     120  part_0.dnpy
     1  0,1     4 x 3  5 x 3   0,1     120  part_1.dnpy
     2  1,0     4 x 3  5 x 3   3,0     120  part_2.dnpy
     3  1,1     4 x 3  5 x 3   3,1     120  part_3.dnpy
";
    assert_eq!(text, expected);
    let text = dap(folder.path(), "show part").ok();
    let note =
        "  note    no manifest: nothing but the metadata says that the parts are of one save\n";
    let by_prefix = expected.replace("part (4 files): ", "part: ");
    assert_eq!(text.replace(note, ""), by_prefix);
    assert_ne!(text, by_prefix);
}

#[test]
fn a_published_set_says_which_save_it_is_of() {
    let folder = temporary();
    save_whole(folder.path(), &[5], number);
    dap(folder.path(), "convert whole.npy run --dist c --ranks 2").ok();
    let text = dap(folder.path(), "show run").ok();
    let first = text.lines().next().unwrap();
    let (before, save) = first.rsplit_once(' ').unwrap();
    assert!(before.ends_with(", save"), "{first}");
    assert!(text.contains(&format!("run_{save}_1.dnpy")), "{text}");
    assert_eq!(dap(folder.path(), "show run.manifest.json").ok(), text);
}

#[test]
fn whole_files_and_single_parts() {
    let folder = temporary();
    save_whole(folder.path(), &[4, 6], |at| at as i16);
    save_parts(folder.path(), &four());
    let text = dap(folder.path(), "show whole.npy part_3.dnpy").ok();
    let expected = "\
whole.npy: .npy file, format 1.0, little-endian, C order, from byte 128 on
  array   4 x 6 of i16, 48 bytes

part_3.dnpy: .dnpy file, format 1.0, protocol 0.10.0, rank 3 of a grid of 2 x 2
  array   8 x 6 of f64, here 5 x 3, little-endian, C order, 120 bytes from byte 384 on
  axis 0  {'dist_type': 'b', 'padding': (1, 0), 'proc_grid_rank': 1, 'proc_grid_size': 2, 'size': 8, 'start': 3, 'stop': 8}
  axis 1  {'dist_type': 'c', 'proc_grid_rank': 1, 'proc_grid_size': 2, 'size': 6, 'start': 1}
";
    assert_eq!(text, expected);
}

#[test]
fn many_ranks_are_summed_up() {
    let folder = temporary();
    let d = Distribution::over(22).shape([41]).block(0).build().unwrap();
    save_parts(folder.path(), &d);
    let text = dap(folder.path(), "show part").ok();
    let last = text.lines().last().unwrap();
    assert_eq!(
        last,
        "  and 6 ranks more (--all lists them); a rank owns 0 to 2 elements"
    );
    assert!(
        text.contains("\n    15      15     2       2    30     16  part_15.dnpy\n"),
        "{text}"
    );
    assert!(
        text.contains("blocks over 22 ranks: 0 to 2 each\n"),
        "{text}"
    );
    assert!(!text.contains("\n    16  "), "{text}");
    let all = dap(folder.path(), "show part --all").ok();
    assert!(
        all.contains("\n    21      21     0       0  -         0  part_21.dnpy\n"),
        "{all}"
    );
}

#[test]
fn every_kind_of_axis_and_no_axis() {
    let folder = temporary();
    let lists = [vec![4, 0], vec![2], vec![1, 3]];
    let d = Distribution::over(4).shape([5]).unstructured(0, lists);
    let d = d.build().unwrap();
    save_parts(folder.path(), &d);
    let text = dap(folder.path(), "show part").ok();
    assert!(
        text.contains("  axis 0  lists of indices on 3 ranks: 2, 1, 2\n"),
        "{text}"
    );
    assert!(
        text.contains("     0  0            2       2  4        16  part_0.dnpy\n"),
        "{text}"
    );
    assert!(
        text.contains("     3  inactive     0       0  -         0  part_3.dnpy\n"),
        "{text}"
    );
    save_whole(folder.path(), &[], number);
    let text = dap(folder.path(), "show whole.npy").ok();
    assert!(
        text.ends_with("  array   scalar of f64, 8 bytes\n"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_read_is_said_where_it_stands() {
    let folder = temporary();
    save_whole(folder.path(), &[4], number);
    save_parts(folder.path(), &four());
    let path = folder.path().join("part_1.dnpy");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    fs::write(folder.path().join("notes.txt"), "nothing of ours").unwrap();
    let run = dap(
        folder.path(),
        "show part_0.dnpy part_1.dnpy whole.npy notes.txt",
    );
    assert_eq!(run.status, 1, "{run:?}");
    let lines = [
        "part (2 files): no set: part_1.dnpy: byte 384: the array ends after 119 of 120 byte(s)\n",
        "\npart_0.dnpy: .dnpy file, format 1.0",
        "\npart_1.dnpy: byte 384: the array ends",
        "\nwhole.npy: .npy file",
        "\nnotes.txt: neither a .npy nor a .dnpy nor an HDF5 file",
    ];
    for line in lines {
        assert!(run.out.contains(line), "{line}: {}", run.out);
    }
    assert_eq!(run.err, "");
}

#[test]
fn repairs_and_versions_are_shown() {
    let folder = temporary();
    write_raw(
        &folder.path().join("old.dnpy"),
        "0.9.0",
        "({'dist_type': 'b', 'proc_grid_rank': 0, 'proc_grid_size': 1, 'size': 2L, 'start': 0, 'stop': 2},)",
        vec![1.0, 2.0],
    );
    let text = dap(folder.path(), "show old.dnpy").ok();
    assert!(text.contains("protocol 0.9.0"), "{text}");
    assert!(text.contains("  note    old.dnpy: byte "), "{text}");
    let two = Distribution::over(2).shape([4]).block(0).build().unwrap();
    dnpy_format::save(folder.path().join("a_0.dnpy"), &part(&two, 0, number)).unwrap();
    dnpy_format::save(
        folder.path().join("a_1.dnpy"),
        &part(&two, 1, |at| at as f32),
    )
    .unwrap();
    let run = dap(folder.path(), "show a_0.dnpy a_1.dnpy");
    assert!(
        run.out
            .starts_with("a (2 files): no set: a_1.dnpy: the elements are f32"),
        "{run:?}"
    );
    assert_eq!(run.status, 1, "{run:?}");
}
