//! HDF5 files of the command.

use std::fs;

use dist_comm::{Communicator, ThreadComm};
use dist_io::{SaveHdf5, Wanted, inspect_hdf5, load_hdf5};
use dist_maps::Distribution;

use crate::support::{dap, files, four, number, part, save_parts, save_whole, temporary};

#[test]
fn every_way_there_and_back() {
    let folder = temporary();
    save_whole(folder.path(), &[200, 90], number);
    let before = fs::read(folder.path().join("whole.npy")).unwrap();
    for (number, dist) in [
        "--dist b --ranks 3",
        "--dist c,b+1 --grid 2x2",
        "--dist n,c:7 --ranks 4",
        "",
    ]
    .iter()
    .enumerate()
    {
        let key = format!("all.h5:/run/{number}");
        dap(
            folder.path(),
            &format!("convert whole.npy {key} {dist} --budget 64KiB"),
        )
        .ok();
        dap(
            folder.path(),
            &format!("convert {key} back.npy --budget 64KiB"),
        )
        .ok();
        assert!(
            fs::read(folder.path().join("back.npy")).unwrap() == before,
            "{dist}"
        );
        dap(
            folder.path(),
            &format!("convert {key} set --dist c:3,c --grid 2x3 --budget 64KiB"),
        )
        .ok();
        dap(
            folder.path(),
            &format!("convert set other.h5:/{number} --budget 64KiB"),
        )
        .ok();
        dap(
            folder.path(),
            &format!("convert other.h5:/{number} back.npy"),
        )
        .ok();
        assert!(
            fs::read(folder.path().join("back.npy")).unwrap() == before,
            "{dist}"
        );
    }
    let text = dap(folder.path(), "show all.h5").ok();
    let first = "all.h5:/run/0: HDF5 dataset, little-endian, contiguous, from byte ";
    assert!(text.starts_with(first), "{text}");
    assert_eq!(text.matches("HDF5 dataset").count(), 4, "{text}");
    assert!(text.contains("  axis 0  cyclic over 2 ranks\n"), "{text}");
    dap(folder.path(), "check all.h5").ok();
}

#[test]
fn ranks_load_what_the_command_wrote() {
    let folder = temporary();
    save_parts(folder.path(), &four());
    dap(folder.path(), "convert part all.h5").ok();
    let path = folder.path().join("all.h5");
    let info = inspect_hdf5(&path, "buffer").unwrap();
    let parts = info.dim_data.unwrap();
    assert_eq!(
        Distribution::from_dim_data_per_rank(&parts).unwrap(),
        four()
    );
    ThreadComm::run(4, |comm| {
        use dist_comm::Communicator as _;
        let read = load_hdf5::<f64>(&path, Wanted::AsSaved, "buffer", comm)?;
        assert_eq!(read, part(&four(), comm.rank(), number));
        Ok::<_, dist_io::IoError>(())
    })
    .unwrap();
    assert!(
        dap(folder.path(), "draw all.h5")
            .ok()
            .contains("\n010101\n")
    );
    assert!(
        dap(folder.path(), "plan all.h5 --dist b --ranks 2")
            .ok()
            .starts_with("8 x 6 of f64\n")
    );
}

#[test]
fn types_scalars_and_nothing() {
    let folder = temporary();
    let back = |name: &str| {
        let before = fs::read(folder.path().join("whole.npy")).unwrap();
        dap(
            folder.path(),
            &format!("convert whole.npy all.h5:/{name} --ranks 2"),
        )
        .ok();
        dap(folder.path(), &format!("convert all.h5:/{name} back.npy")).ok();
        assert_eq!(
            fs::read(folder.path().join("back.npy")).unwrap(),
            before,
            "{name}"
        );
    };
    save_whole(folder.path(), &[7, 3], |at| at % 2 == 0);
    back("bool");
    save_whole(folder.path(), &[7, 3], |at| half::f16::from_f32(at as f32));
    back("half");
    save_whole(folder.path(), &[7, 3], |at| {
        num_complex::Complex64::new(at as f64, 1.0)
    });
    back("complex");
    save_whole(folder.path(), &[], number);
    back("scalar");
    save_whole(folder.path(), &[0, 3], number);
    back("nothing");
}

#[test]
fn a_key_that_exists_is_left_alone() {
    let folder = temporary();
    save_whole(folder.path(), &[7], number);
    dap(folder.path(), "convert whole.npy all.h5:/a/b --ranks 2").ok();
    let before = fs::read(folder.path().join("all.h5")).unwrap();
    for (key, says) in [
        ("a/b", "all.h5:/a/b: the key exists already"),
        ("a/b/c", "all.h5:/a/b/c: \"a/b\" is no group"),
        ("a//b", "allowed: names joined by"),
    ] {
        let err = dap(folder.path(), &format!("convert whole.npy all.h5:/{key}")).fails(1);
        assert!(err.contains(says), "{err}");
        assert!(fs::read(folder.path().join("all.h5")).unwrap() == before);
        assert_eq!(files(folder.path()), ["all.h5", "whole.npy"]);
    }
}

#[test]
fn what_is_wrong_with_an_hdf5_file() {
    let folder = temporary();
    fs::write(folder.path().join("no.h5"), "nothing").unwrap();
    for (arguments, says) in [
        ("no.h5", "this is no HDF5 file"),
        ("no.h5:/a", "this is no HDF5 file"),
        ("none.h5", "there is no such file"),
    ] {
        let run = dap(folder.path(), &format!("check {arguments}"));
        assert_eq!(run.status, 3, "{}", run.out);
        assert!(run.out.contains(says), "{}", run.out);
        let run = dap(folder.path(), &format!("show {arguments}"));
        assert_eq!(run.status, 1, "{run:?}");
        assert!(format!("{}{}", run.out, run.err).contains(says), "{run:?}");
    }
    save_whole(folder.path(), &[7], number);
    dap(folder.path(), "convert whole.npy all.h5:/a").ok();
    let run = dap(folder.path(), "check all.h5:/b");
    assert_eq!(run.status, 3);
    assert!(
        run.out.contains("there is no \"b\" in this file"),
        "{}",
        run.out
    );
}

#[test]
fn nothing_is_written_through_a_link_into_another_file() {
    let folder = temporary();
    save_whole(folder.path(), &[20, 9], number);
    dap(folder.path(), "convert whole.npy main.h5:/mine").ok();
    dap(folder.path(), "convert whole.npy other.h5:/g/x").ok();
    let file = hdf5_metno::File::open_rw(folder.path().join("main.h5")).unwrap();
    file.link_external("other.h5", "/g", "out").unwrap();
    file.close().unwrap();
    let read = || ["main.h5", "other.h5"].map(|name| fs::read(folder.path().join(name)).unwrap());
    let before = read();
    let run = dap(folder.path(), "convert whole.npy main.h5:/out/new");
    assert_eq!(run.status, 1);
    assert!(
        run.err.contains("/out leads into another file"),
        "{}",
        run.err
    );
    let run = dap(folder.path(), "convert main.h5:/out/x back.npy");
    assert_eq!(run.status, 1);
    assert!(
        run.err.contains("/out leads into another file"),
        "{}",
        run.err
    );
    assert!(before == read(), "a file was written to");
}

#[test]
fn an_ordinary_dataset_is_no_fault_and_wrong_dim_data_is() {
    let folder = temporary();
    let path = folder.path().join("all.h5");
    let file = hdf5_metno::File::create(&path).unwrap();
    file.new_dataset_builder()
        .with_data(&[1.0, 2.0, 3.0])
        .create("plain")
        .unwrap();
    let set = |key: &str, text: &str| {
        let dataset = file
            .new_dataset_builder()
            .with_data(&[1.0; 4])
            .create(key)
            .unwrap();
        for (name, text) in [("__version__", "0.10.0"), ("dim_data", text)] {
            let text: hdf5_metno::types::VarLenUnicode = text.parse().unwrap();
            let attribute = dataset
                .new_attr::<hdf5_metno::types::VarLenUnicode>()
                .create(name)
                .unwrap();
            attribute.write_scalar(&text).unwrap();
        }
    };
    let block = |rank: u32, from: u32, to: u32| {
        format!(
            "({{'dist_type': 'b', 'proc_grid_rank': {rank}, 'proc_grid_size': 2, 'size': 4, 'start': {from}, 'stop': {to}}},)"
        )
    };
    set("gap", &format!("[{}, {}]", block(0, 0, 1), block(1, 2, 4)));
    set(
        "wrong",
        &format!("[{}, {}]", block(0, 0, 2), block(1, 2, 5)),
    );
    drop(file);
    let text = dap(folder.path(), "check all.h5:/plain").ok();
    assert!(
        text.contains("note: no dim_data: an ordinary dataset"),
        "{text}"
    );
    let run = dap(folder.path(), "check all.h5:/gap");
    assert_eq!(run.status, 2, "{}", run.out);
    assert!(run.out.contains("  S4 axis 0 rank 1: "), "{}", run.out);
    let run = dap(folder.path(), "check all.h5:/wrong");
    assert_eq!(run.status, 2, "{}", run.out);
    assert!(run.out.contains("B4 axis 0: stop is 5"), "{}", run.out);
    let all = dap(folder.path(), "check all.h5");
    assert_eq!(all.status, 2, "{}", all.out);
    assert!(
        all.out.contains("all.h5:/plain: conformant\n"),
        "{}",
        all.out
    );
    assert!(
        dap(folder.path(), "show all.h5:/plain")
            .ok()
            .contains(", with no dim_data\n")
    );
}

#[test]
fn a_virtual_dataset_is_checked_with_its_parts() {
    let folder = temporary();
    let path = folder.path().join("all.h5");
    let d = Distribution::over(2).shape([6]).block(0).build().unwrap();
    ThreadComm::run(2, |comm| {
        dist_io::legate::to_file(&part(&d, comm.rank(), number), &path, "a", comm)
    })
    .unwrap();
    let said = dap(folder.path(), "check all.h5").ok();
    assert_eq!(said, "all.h5:/a: conformant\nDAP 0.10.0: conformant\n");
    let parts = files(folder.path())
        .into_iter()
        .find(|name| name.ends_with(".parts"));
    fs::remove_file(folder.path().join(parts.unwrap()).join("1.h5")).unwrap();
    let run = dap(folder.path(), "check all.h5");
    assert_eq!(run.status, 3, "{run:?}");
    assert!(
        run.out.contains("/1.h5\": there is no such file"),
        "{run:?}"
    );
    // what is in it can still be shown
    assert!(dap(folder.path(), "show all.h5").ok().contains("virtual"));
}

#[test]
fn datasets_are_found_once_whatever_is_linked() {
    let folder = temporary();
    let file = hdf5_metno::File::create(folder.path().join("loops.h5")).unwrap();
    for name in ["a", "b"] {
        let group = file.create_group(name).unwrap();
        group.new_dataset::<f64>().shape(2).create("x").unwrap();
    }
    for (from, name) in [("/", "a/root"), ("/", "b/root"), ("a", "b/a")] {
        file.link_hard(from, name).unwrap();
    }
    file.close().unwrap();
    let said = dap(folder.path(), "check loops.h5").ok();
    assert_eq!(said.matches(": conformant").count(), 3, "{said}");
}

#[test]
fn repairs_of_dim_data_are_told() {
    let folder = temporary();
    let file = hdf5_metno::File::create(folder.path().join("old.h5")).unwrap();
    let dataset = file.new_dataset::<f64>().shape(3).create("a").unwrap();
    for (name, text) in [
        ("__version__", "0.10.0"),
        ("dim_data", "[({'dist_type': 'n', 'size': 3L},)]"),
    ] {
        let text: hdf5_metno::types::VarLenUnicode = text.parse().unwrap();
        let made = dataset.new_attr::<hdf5_metno::types::VarLenUnicode>();
        made.create(name).unwrap().write_scalar(&text).unwrap();
    }
    drop(dataset);
    file.close().unwrap();
    let run = dap(folder.path(), "check old.h5");
    assert_eq!(run.status, 1, "{run:?}");
    assert!(run.out.contains("repaired: "), "{run:?}");
}

#[test]
fn chunks_are_converted_within_a_budget_and_attributes_are_kept() {
    let folder = temporary();
    let path = folder.path().join("all.h5");
    let d = Distribution::over(2)
        .shape([4096, 1024])
        .block(0)
        .build()
        .unwrap();
    ThreadComm::run(2, |comm| {
        let save = SaveHdf5::new(&path).key("a").chunk([64, 1024]).deflate(1);
        let save = save.attribute("units", "K");
        save.save(&part(&d, comm.rank(), |at| (at / 1000) as f64), comm)
    })
    .unwrap();
    let peak = |arguments: &str| {
        let said = dap(folder.path(), &format!("{arguments} --report")).ok();
        let peak = said.lines().last().and_then(|line| {
            let (peak, _) = line.strip_prefix("peak memory ")?.split_once(" bytes")?;
            peak.parse::<u64>().ok()
        });
        peak.unwrap_or(0)
    };
    save_whole(folder.path(), &[1], number);
    let least = peak("convert whole.npy one.h5:/a");
    let most = peak("convert all.h5:/a back.npy --budget 4MiB");
    let mib = 1 << 20;
    println!("{} MiB more", (most - least) / mib);
    assert!(most - least <= 12 * mib, "{least} and then {most} bytes");
    let back = fs::read(folder.path().join("back.npy")).unwrap();
    let elements = back[128..]
        .chunks(8)
        .map(|bytes| f64::from_ne_bytes(bytes.try_into().unwrap()));
    assert!(elements.eq((0..4096 * 1024_u64).map(|at| (at / 1000) as f64)));
    // 64 rows, and a chunk as it is in the file and decoded
    let err = dap(folder.path(), "convert all.h5:/a back.npy --budget 512KiB").fails(1);
    assert!(err.contains("a budget of 524288 bytes, needed: "), "{err}");
    dap(folder.path(), "convert all.h5:/a other.h5:/b").ok();
    let info = dist_io::inspect_hdf5(folder.path().join("other.h5"), "b").unwrap();
    assert_eq!(info.attributes["units"], "K".into());
}
