//! `dap convert`: nothing is lost on any way, nothing is left half done, memory keeps to its budget.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use dap_protocol::{Element, HostArray, Order};
use dist_maps::Distribution;
use dnpy_format::npy;
use dnpy_format::set::Set;
use half::f16;
use num_complex::{Complex32, Complex64};

use crate::support::{
    dap, files, four, number, save_parts, save_sparse, save_whole, start, temporary,
};

const DISTRIBUTIONS: &[&str] = &[
    "--dist b --ranks 3",
    "--dist n,b+1 --ranks 4",
    "--dist b+1,b+2 --grid 2x3",
    "--dist c,n --ranks 2",
    "--dist bc:3,c:2 --grid 3x2",
    "--dist be,bf --grid 2x2 --ranks 5",
    "--dist b@1:1:2,c --grid 4x2",
    "--dist b+1p,n --ranks 2",
    "--dist n --ranks 2",
    "--dist b,b --ranks 100",
];

/// From `whole.npy` through sets of every distribution and back.
fn round_trips(folder: &Path) {
    let before = fs::read(folder.join("whole.npy")).unwrap();
    let mut from = "whole.npy".to_owned();
    for (number, dist) in DISTRIBUTIONS.iter().enumerate() {
        let to = format!("set{number}");
        dap(
            folder,
            &format!("convert {from} {to} {dist} --budget 64KiB"),
        )
        .ok();
        dap(folder, &format!("check {to}")).ok();
        dap(folder, &format!("convert {to} back.npy --budget 64KiB")).ok();
        assert!(
            fs::read(folder.join("back.npy")).unwrap() == before,
            "{from} -> {to}"
        );
        from = to;
    }
}

#[test]
fn every_distribution_to_every_next_one() {
    let folder = temporary();
    // 480,000 bytes: several pieces of 64 KiB
    save_whole(folder.path(), &[200, 300], number);
    round_trips(folder.path());
}

#[test]
fn rows_longer_than_the_budget_are_cut() {
    let folder = temporary();
    save_whole(folder.path(), &[3, 40_000], number);
    round_trips(folder.path());
}

#[test]
fn one_dimension_and_three() {
    let folder = temporary();
    for (shape, dist) in [
        (&[20_011][..], "--dist c --ranks 3"),
        (&[20_011], "--dist c:7 --ranks 4"),
        (&[20_011], "--dist b+5 --ranks 6"),
        (&[20_011], "--dist b@3:20000"),
        (&[12, 30, 50], "--dist c,b,c:4 --grid 2x3x2"),
        (&[12, 30, 50], "--dist n,n,c --ranks 7"),
    ] {
        save_whole(folder.path(), shape, number);
        let before = fs::read(folder.path().join("whole.npy")).unwrap();
        dap(
            folder.path(),
            &format!("convert whole.npy a {dist} --budget 64KiB"),
        )
        .ok();
        dap(
            folder.path(),
            "convert a b --dist b --ranks 2 --budget 64KiB",
        )
        .ok();
        dap(folder.path(), "convert b back.npy --budget 64KiB").ok();
        assert!(
            fs::read(folder.path().join("back.npy")).unwrap() == before,
            "{dist}"
        );
    }
}

#[test]
fn nothing_and_scalars() {
    let folder = temporary();
    for shape in [&[][..], &[0], &[0, 4], &[1], &[3, 0, 2]] {
        save_whole(folder.path(), shape, number);
        let before = fs::read(folder.path().join("whole.npy")).unwrap();
        for options in ["", "--ranks 3", "--dist n --ranks 2"] {
            dap(folder.path(), &format!("convert whole.npy a {options}")).ok();
            dap(folder.path(), "check a").ok();
            dap(folder.path(), "convert a back.npy").ok();
            assert_eq!(
                fs::read(folder.path().join("back.npy")).unwrap(),
                before,
                "{shape:?} {options}"
            );
        }
    }
}

fn every_type<T: Element>(value: impl Fn(u64) -> T) {
    let folder = temporary();
    save_whole(folder.path(), &[9, 11], value);
    let before = fs::read(folder.path().join("whole.npy")).unwrap();
    let said = dap(folder.path(), "convert whole.npy a --dist c,b --grid 2x2").ok();
    assert_eq!(
        said,
        format!(
            "whole.npy -> a: 9 x 11 of {}, 4 parts over a grid of 2 x 2\n",
            T::TYPE
        )
    );
    dap(folder.path(), "convert a back.npy").ok();
    assert_eq!(
        fs::read(folder.path().join("back.npy")).unwrap(),
        before,
        "{}",
        T::TYPE
    );
}

#[test]
fn elements_of_every_type() {
    every_type(|at| at % 3 == 0);
    every_type(|at| at as i8);
    every_type(|at| at as i16 - 50);
    every_type(|at| at as i32 - 50);
    every_type(|at| at as i64 - 50);
    every_type(|at| at as u8);
    every_type(|at| at as u16);
    every_type(|at| at as u32);
    every_type(|at| at << 40);
    every_type(|at| f16::from_f32(at as f32));
    every_type(|at| at as f32);
    every_type(number);
    every_type(|at| Complex32::new(at as f32, -1.0));
    every_type(|at| Complex64::new(at as f64, -1.0));
}

#[test]
fn either_order_of_bytes_and_of_elements() {
    let folder = temporary();
    save_whole(folder.path(), &[70, 900], number);
    let expected = fs::read(folder.path().join("whole.npy")).unwrap();
    let data = (0..900 * 70)
        .map(|at| number(at % 70 * 900 + at / 70))
        .collect();
    let turned = HostArray::with_order(vec![70, 900], data, Order::Fortran).unwrap();
    npy::save(folder.path().join("fortran.npy"), &turned).unwrap();
    let mut swapped = expected.clone();
    let descr = swapped.windows(3).position(|w| w == b"<f8").unwrap();
    swapped[descr] = b'>';
    swapped[128..]
        .as_chunks_mut::<8>()
        .0
        .iter_mut()
        .for_each(|n| n.reverse());
    fs::write(folder.path().join("big.npy"), swapped).unwrap();
    for name in ["fortran.npy", "big.npy"] {
        dap(
            folder.path(),
            &format!("convert {name} a --dist b,c --grid 2x2 --budget 64KiB"),
        )
        .ok();
        dap(folder.path(), "convert a back.npy").ok();
        assert!(
            fs::read(folder.path().join("back.npy")).unwrap() == expected,
            "{name}"
        );
        dap(
            folder.path(),
            &format!("convert {name} back.npy --budget 64KiB"),
        )
        .ok();
        assert!(
            fs::read(folder.path().join("back.npy")).unwrap() == expected,
            "{name}"
        );
    }
}

#[test]
fn lists_of_indices_are_read_and_kept() {
    let folder = temporary();
    let lists = [vec![4, 0, 7], vec![2, 1], vec![6, 5, 3]];
    let d = Distribution::over(4).shape([8, 3]).unstructured(0, lists);
    save_parts(folder.path(), &d.build().unwrap());
    save_whole(folder.path(), &[8, 3], number);
    let expected = fs::read(folder.path().join("whole.npy")).unwrap();
    dap(folder.path(), "convert part copy").ok();
    dap(folder.path(), "convert copy back.npy").ok();
    assert_eq!(fs::read(folder.path().join("back.npy")).unwrap(), expected);
    let (part, copy) = (
        Set::open(folder.path().join("part")),
        Set::open(folder.path().join("copy")),
    );
    assert_eq!(
        part.unwrap().distribution().unwrap(),
        copy.unwrap().distribution().unwrap()
    );
}

#[test]
fn without_a_distribution_the_old_one_is_kept() {
    let folder = temporary();
    save_parts(folder.path(), &four());
    dap(
        folder.path(),
        "convert part_0.dnpy part_1.dnpy part_2.dnpy part_3.dnpy copy",
    )
    .ok();
    let copy = Set::open(folder.path().join("copy")).unwrap();
    assert_eq!(copy.distribution().unwrap(), four());
}

/// A file of `bool` whose last byte is neither 0 nor 1: reading it fails when most has been written.
fn spoiled(folder: &Path) {
    save_whole(folder, &[600, 500], |at| at % 2 == 0);
    let path = folder.join("whole.npy");
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() = 2;
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_run_that_fails_leaves_what_was_there() {
    let folder = temporary();
    save_whole(folder.path(), &[5], number);
    fs::rename(
        folder.path().join("whole.npy"),
        folder.path().join("old.npy"),
    )
    .unwrap();
    dap(folder.path(), "convert old.npy old --dist b --ranks 2").ok();
    spoiled(folder.path());
    let before: Vec<_> = files(folder.path())
        .into_iter()
        .map(|name| (fs::read(folder.path().join(&name)).unwrap(), name))
        .collect();
    for arguments in [
        "convert whole.npy old.npy --budget 64KiB",
        "convert whole.npy old --dist b --ranks 3 --budget 64KiB",
        "convert whole.npy new.npy --budget 64KiB",
        "convert whole.npy new --dist c --ranks 3 --budget 64KiB",
    ] {
        let err = dap(folder.path(), arguments).fails(1);
        assert!(
            err.contains("whole.npy: byte 300127: this is no bool"),
            "{err}"
        );
        let after: Vec<_> = files(folder.path())
            .into_iter()
            .map(|name| (fs::read(folder.path().join(&name)).unwrap(), name))
            .collect();
        assert!(after == before, "{arguments}: {:?}", files(folder.path()));
    }
}

/// Starts a run and kills it after a while; whether it was done by then.
fn killed(folder: &Path, arguments: &str, after: Duration) -> bool {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dap"));
    let command = command.args(arguments.split_whitespace());
    let mut run = start(command.current_dir(folder).stdout(Stdio::null()));
    let began = Instant::now();
    while began.elapsed() < after && run.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    // it may be over by now
    let _ = run.kill();
    run.wait().unwrap().success()
}

/// How often a conversion to each kind of target is killed: `DIST_IO_KILLS`, 20 where it is not set.
fn kills() -> u32 {
    let given = std::env::var("DIST_IO_KILLS");
    given.ok().and_then(|n| n.parse().ok()).unwrap_or(20)
}

/// The array of `target` as the bytes of a `.npy` file.
fn array_of(folder: &Path, target: &str) -> Vec<u8> {
    dap(folder, &format!("convert {target} found.npy")).ok();
    fs::read(folder.join("found.npy")).unwrap()
}

/// What there is to read after a kill, and how the old array is put there.
struct Target {
    arguments: &'static str,
    found: fn(&Path) -> Vec<u8>,
    put_old: fn(&Path),
}

/// Files and sets are replaced; a dataset is added beside the old one.
const TARGETS: [Target; 3] = [
    Target {
        arguments: "target.npy",
        found: |folder| fs::read(folder.join("target.npy")).unwrap(),
        put_old: |folder| {
            dap(folder, "convert old.npy target.npy").ok();
        },
    },
    Target {
        arguments: "target --dist c --ranks 3",
        found: |folder| array_of(folder, "target"),
        put_old: |folder| {
            dap(folder, "convert old.npy target --dist b --ranks 2").ok();
        },
    },
    Target {
        arguments: "target.h5:/new",
        found: |folder| {
            let old = array_of(folder, "target.h5:/old");
            let run = dap(folder, "convert target.h5:/new found.npy");
            if run.status == 0 {
                return fs::read(folder.join("found.npy")).unwrap();
            }
            assert!(run.err.contains("\"new\""), "{run:?}");
            old
        },
        put_old: |folder| {
            let _ = fs::remove_file(folder.join("target.h5"));
            dap(folder, "convert old.npy target.h5:/old").ok();
        },
    },
];

#[test]
fn a_run_that_is_killed_leaves_the_old_array_or_the_new_one() {
    let folder = temporary();
    let folder = folder.path();
    save_whole(folder, &[5], number);
    fs::rename(folder.join("whole.npy"), folder.join("old.npy")).unwrap();
    save_whole(folder, &[400, 1000], number);
    let read = |name: &str| fs::read(folder.join(name)).unwrap();
    let (old, new) = (read("old.npy"), read("whole.npy"));
    let targets = if cfg!(feature = "hdf5") { 3 } else { 2 };
    for target in &TARGETS[..targets] {
        let convert = format!("convert whole.npy {} --budget 64KiB", target.arguments);
        (target.put_old)(folder);
        let began = Instant::now();
        dap(folder, &convert).ok();
        let whole = began.elapsed();
        (target.put_old)(folder);
        let (mut early, mut late) = (0, 0);
        for turn in 1..=kills() {
            // until twice as long as it takes
            let after = whole * 2 * turn / kills();
            let done = killed(folder, &convert, after);
            let found = (target.found)(folder);
            let right = found == new || !done && found == old;
            assert!(right, "{convert}: killed after {after:?}");
            if found == old {
                early += 1;
            } else {
                late += 1;
                (target.put_old)(folder);
            }
        }
        println!("{convert}: killed before it was published {early} times, after it {late} times");
        assert!(early > 0 && late > 0, "{convert}: {early}, {late}");
    }
}

#[test]
fn an_index_that_nobody_has_is_an_error() {
    let folder = temporary();
    let d = Distribution::over(2)
        .shape([6])
        .unstructured(0, [vec![0, 5], vec![1, 2]]);
    save_parts(folder.path(), &d.build().unwrap());
    let run = dap(folder.path(), "convert part_0.dnpy part_1.dnpy whole.npy");
    assert_ne!(run.status, 0);
    assert_eq!(files(folder.path()), ["part_0.dnpy", "part_1.dnpy"]);
}

/// `one.npy`, of one element.
fn save_one(folder: &Path) {
    let one = HostArray::new(vec![1, 1], vec![0.0_f64]).unwrap();
    npy::save(folder.join("one.npy"), &one).unwrap();
}

/// The most memory that a run with a budget of 8 MiB had, in bytes; `None` where the system does not say it.
fn peak(folder: &Path, arguments: &str) -> Option<u64> {
    let said = dap(folder, &format!("{arguments} --budget 8MiB --report")).ok();
    let peak = said.lines().last().and_then(|line| {
        let peak = line.strip_prefix("peak memory ")?;
        let peak = peak.strip_suffix(" bytes, budget 8388608 bytes")?;
        peak.parse().ok()
    });
    assert!(peak.is_some() || std::env::consts::OS != "linux", "{said}");
    peak
}

#[test]
fn memory_keeps_to_its_budget() {
    let folder = temporary();
    let (mib, rows) = (1_u64 << 20, 4096_u64);
    // 128 MiB, 16 times the budget
    save_sparse(folder.path(), [rows, rows], true);
    fs::rename(
        folder.path().join("sparse.npy"),
        folder.path().join("fortran.npy"),
    )
    .unwrap();
    save_sparse(folder.path(), [rows, rows], false);
    let mut ways = vec![
        "convert sparse.npy rows --dist c:5,n --ranks 3",
        "convert rows columns --dist n,b --ranks 4",
        "convert columns dealt --dist n,c --ranks 2",
        "convert dealt back.npy",
        "convert fortran.npy back.npy",
        "convert fortran.npy turned --dist b,c --grid 2x2",
    ];
    if cfg!(feature = "hdf5") {
        ways.push("convert columns all.h5:/a --dist b --ranks 3");
        ways.push("convert all.h5:/a back.npy");
        ways.push("convert dealt all.h5:/parts --parts --dist b,b --grid 2x2");
        ways.push("convert all.h5:/parts back.npy");
    }
    // what a run takes that has one element to move: the program, its libraries
    save_one(folder.path());
    let Some(mut least) = peak(folder.path(), "convert one.npy one_back.npy") else {
        println!("skipped: this system does not say how much memory a process had");
        return;
    };
    if cfg!(feature = "hdf5") {
        let run = peak(folder.path(), "convert one.npy one.h5:/a");
        least = least.max(run.expect("as the run before it"));
    }
    for arguments in ways {
        let peak = peak(folder.path(), arguments).expect("as the run before it");
        println!(
            "{arguments}: {} KiB, {} of them for itself",
            peak >> 10,
            least >> 10
        );
        // beside the budget, what the allocator keeps
        let more = peak.saturating_sub(least);
        assert!(
            more <= 12 * mib,
            "{arguments}: {more} bytes more than {least}"
        );
        assert!(peak <= (8 + 64) * mib, "{arguments}: {peak} bytes");
    }
    let back = fs::metadata(folder.path().join("back.npy")).unwrap();
    assert_eq!(back.len(), 128 + rows * rows * 8);
}

/// Elements in Fortran order come in short runs, which are read out of mappings.
#[test]
fn fortran_order_in_every_distribution() {
    let folder = temporary();
    for shape in [[3, 20_000], [700, 90], [1, 5]] {
        let [rows, columns] = shape;
        save_whole(folder.path(), &shape, number);
        let before = fs::read(folder.path().join("whole.npy")).unwrap();
        let data = (0..rows * columns)
            .map(|at| number(at % rows * columns + at / rows))
            .collect();
        let extents = shape.map(|n| usize::try_from(n).unwrap()).to_vec();
        let turned = HostArray::with_order(extents, data, Order::Fortran).unwrap();
        npy::save(folder.path().join("fortran.npy"), &turned).unwrap();
        for dist in [
            "",
            "--dist b --ranks 2",
            "--dist c:2,c --grid 2x2",
            "--dist n,b+1 --ranks 3",
        ] {
            let convert = format!("convert fortran.npy set {dist} --budget 64KiB");
            dap(folder.path(), &convert).ok();
            dap(folder.path(), "convert set back.npy --budget 64KiB").ok();
            assert!(
                fs::read(folder.path().join("back.npy")).unwrap() == before,
                "{shape:?} {dist}"
            );
        }
    }
}
