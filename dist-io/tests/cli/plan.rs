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
