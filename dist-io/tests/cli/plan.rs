//! `dap plan`.

use crate::support::{dap, four, save_parts, temporary};

#[test]
fn rows_to_columns() {
    let folder = temporary();
    let text = dap(
        folder.path(),
        "plan --shape 4x6 --from b --from-ranks 2 --dist n,b --ranks 2",
    )
    .ok();
    // each rank keeps half of its 12 numbers
    let expected = "\
4 x 6 of f64
from  a grid of 2 x 1, 2 ranks: blocks over 2 ranks: 2, 2; not distributed
to    a grid of 1 x 2, 2 ranks: not distributed; blocks over 2 ranks: 3, 3

2 messages
192 bytes on 2 ranks, 96 of them stay (50.0 %)
a rank sends at most 48 bytes to 1 ranks, and receives at most 48 bytes from 1
     0 -> 1      48 bytes
     1 -> 0      48 bytes
memory at most on rank 0: 288 bytes (96 before, 96 after, messages of 48 sent and 48 received)

bytes from the rank of the row to that of the column
      0   1
  0  48  48
  1  48  48
";
    assert_eq!(text, expected);
}

#[test]
fn from_a_file_to_more_ranks() {
    let folder = temporary();
    save_parts(folder.path(), &four());
    let text = dap(folder.path(), "plan part --dist b --ranks 8").ok();
    assert!(text.contains("from  a grid of 2 x 2, 4 ranks: blocks over 2 ranks: 4, 4, padding 1 below and 1 above; cyclic over 2 ranks\n"), "{text}");
    assert!(
        text.contains("384 bytes on 8 ranks, 48 of them stay"),
        "{text}"
    );
    // the padding of the new blocks comes on top: a row of 48 bytes at each of the 14 inner sides
    let filled = dap(folder.path(), "plan part --dist b+1 --ranks 8 --padding").ok();
    assert!(filled.contains("1056 bytes on 8 ranks"), "{filled}");
    let half = dap(folder.path(), "plan part --dist b --ranks 8 --element f32").ok();
    assert!(half.contains("192 bytes on 8 ranks"), "{half}");
    let same = dap(
        folder.path(),
        "plan part --from b,c --from-grid 2x2 --dist b,c --grid 2x2",
    )
    .ok();
    assert!(same.contains("\n0 messages\n"), "{same}");
}

/// The words of every line.
fn words(text: &str) -> Vec<Vec<&str>> {
    text.lines()
        .map(|line| line.split_whitespace().collect())
        .collect()
}

#[test]
fn between_ranks_and_one_file() {
    let folder = temporary();
    let dealt = "plan --shape 4x6 --dist n,c:2 --ranks 2 --write";
    let text = dap(folder.path(), dealt).ok();
    let first = "write 4 x 6 of 8 bytes, contiguous (192 bytes), by 2 ranks: direct, ";
    assert!(text.starts_with(first), "{text}");
    // columns 0, 1, 4 and 5, and columns 2 and 3: two runs a row, and one
    let lines = words(&text);
    assert_eq!(lines[2], ["0", "128", "0", "0", "128", "8"], "{text}");
    assert_eq!(lines[3], ["1", "64", "0", "0", "64", "4"], "{text}");
    let text = dap(
        folder.path(),
        "plan --shape 4x6 --dist b --ranks 2 --write --chunk 2x3 --element f32",
    )
    .ok();
    assert!(text.contains("chunked by 2 x 3 (96 bytes)"), "{text}");
    assert_eq!(words(&text)[3], ["1", "48", "0", "0", "48", "2"], "{text}");
    // what is read is padding too, and from a file as it was saved
    save_parts(folder.path(), &four());
    let text = dap(folder.path(), "plan part --read").ok();
    assert!(
        text.starts_with("read 8 x 6 of 8 bytes, contiguous"),
        "{text}"
    );
    assert_eq!(words(&text)[2][..2], ["0", "120"], "{text}");
}
