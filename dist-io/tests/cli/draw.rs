//! `dap draw`.

use std::fs;
use std::io::BufReader;

use crate::support::{dap, four, number, save_parts, save_whole, temporary};

#[test]
fn one_letter_a_cell() {
    let folder = temporary();
    let text = dap(folder.path(), "draw --shape 4x6 --dist b,c --grid 2x2").ok();
    let expected = "\
4 x 6 over a grid of 2 x 2, 4 ranks

010101
010101
232323
232323

0 rank 0 at [0, 0]: owns 2 x 3, stores 2 x 3
1 rank 1 at [0, 1]: owns 2 x 3, stores 2 x 3
2 rank 2 at [1, 0]: owns 2 x 3, stores 2 x 3
3 rank 3 at [1, 1]: owns 2 x 3, stores 2 x 3
";
    assert_eq!(text, expected);
}

#[test]
fn a_file_is_drawn_as_it_was_saved_or_as_asked() {
    let folder = temporary();
    save_parts(folder.path(), &four());
    save_whole(folder.path(), &[6], number);
    let row = |arguments: &str, line: usize| {
        let text = dap(folder.path(), arguments).ok();
        text.lines().nth(line).unwrap().to_owned()
    };
    let parts = "draw part_0.dnpy part_1.dnpy part_2.dnpy part_3.dnpy";
    assert_eq!(row(parts, 2), "010101");
    assert_eq!(row(parts, 9), "232323");
    assert_eq!(row("draw part", 2), "010101");
    assert_eq!(row("draw part --dist n,b --ranks 3", 2), "001122");
    assert_eq!(row("draw whole.npy", 2), "000000");
    assert_eq!(row("draw whole.npy --dist b@1:3", 2), "011222");
}

#[test]
fn of_many_dimensions_two_are_drawn() {
    let folder = temporary();
    let lines = |axes: &str| -> Vec<String> {
        let arguments = format!("draw --shape 2x3x4 --dist b,c,b --grid 2x1x2 {axes}");
        let text = dap(folder.path(), &arguments).ok();
        text.lines().map(str::to_owned).collect()
    };
    assert_eq!(lines("")[0], "axes 0 and 1, the others at index 0");
    assert_eq!(lines("")[3..5], ["000", "222"]);
    assert_eq!(lines("--axes 0,2")[3..5], ["0011", "2233"]);
    assert_eq!(lines("--axes 2,0")[3..7], ["02", "02", "13", "13"]);
    assert_eq!(
        lines("--axes 2")[..4],
        [
            "axes 2, the others at index 0",
            "4 over a grid of 2, 4 ranks",
            "",
            "0011"
        ]
    );
}

#[test]
fn pictures_are_scaled_to_any_array() {
    let folder = temporary();
    let huge = "draw --shape 1099511627776x1099511627776 --dist b,c:1000000 --ranks 6";
    assert!(dap(folder.path(), huge).ok().contains("one letter: "));
    let svg = dap(folder.path(), &format!("{huge} --format svg")).ok();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    for (arguments, size) in [
        ("--shape 4x6 --dist b,c --grid 2x2 --size 60", (60, 40)),
        ("--shape 100 --dist b --ranks 4", (500, 32)),
        (
            "--shape 1099511627776x1099511627776 --dist b,b --ranks 6",
            (512, 512),
        ),
        ("--shape scalar --dist n", (1, 1)),
        ("--shape 0x4 --dist b", (1, 1)),
    ] {
        assert_eq!(
            dap(folder.path(), &format!("draw {arguments} -o own.png")).ok(),
            ""
        );
        let file = fs::File::open(folder.path().join("own.png")).unwrap();
        let mut reader = png::Decoder::new(BufReader::new(file)).read_info().unwrap();
        let info = reader.info();
        assert_eq!((info.width, info.height), size, "{arguments}");
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        if size == (60, 40) {
            let at = |x: usize, y: usize| &pixels[3 * (y * 60 + x)..][..3];
            assert_eq!(at(5, 5), at(25, 15)); // rank 0 twice
            assert_ne!(at(5, 5), at(15, 5)); // rank 0 and rank 1
            assert_ne!(at(5, 5), at(5, 25)); // rank 0 and rank 2
        }
    }
    dap(folder.path(), "draw --shape 4 --dist b -o own.svg").ok();
    assert!(
        fs::read_to_string(folder.path().join("own.svg"))
            .unwrap()
            .starts_with("<svg ")
    );
}
