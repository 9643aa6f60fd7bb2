//! HDF5 files of the command.

use std::fs;
use std::path::Path;
use std::process::Command;

use dist_comm::{Communicator, ThreadComm};
use dist_io::{IoError, SaveHdf5, Storage, Wanted, inspect_hdf5, load_hdf5};
use dist_maps::Distribution;

use crate::support::{
    dap, files, four, nobody_starts, number, part, save_parts, save_whole, temporary,
};

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
    let alone = nobody_starts();
    let file = hdf5_metno::File::open_rw(folder.path().join("main.h5")).unwrap();
    file.link_external("other.h5", "/g", "out").unwrap();
    file.close().unwrap();
    drop(alone);
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
    let alone = nobody_starts();
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
    drop(alone);
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
    let alone = nobody_starts();
    let file = hdf5_metno::File::create(folder.path().join("loops.h5")).unwrap();
    for name in ["a", "b"] {
        let group = file.create_group(name).unwrap();
        group.new_dataset::<f64>().shape(2).create("x").unwrap();
    }
    for (from, name) in [("/", "a/root"), ("/", "b/root"), ("a", "b/a")] {
        file.link_hard(from, name).unwrap();
    }
    file.close().unwrap();
    drop(alone);
    let said = dap(folder.path(), "check loops.h5").ok();
    assert_eq!(said.matches(": conformant").count(), 3, "{said}");
}

#[test]
fn repairs_of_dim_data_are_told() {
    let folder = temporary();
    let alone = nobody_starts();
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
    drop(alone);
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
        // what is left out is told
        let run = dap(folder.path(), &format!("{arguments} --report"));
        assert_eq!(run.status, 0, "{run:?}");
        let peak = run.out.lines().last().and_then(|line| {
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
    for (to, budget) in [
        ("b", 16),
        ("c --chunk 1024x64 --gzip 2 --shuffle", 8),
        ("d --parts --dist b --ranks 3", 4),
    ] {
        let most = peak(&format!(
            "convert all.h5:/a other.h5:/{to} --budget {budget}MiB"
        ));
        println!("{to}: {} MiB more", (most - least) / mib);
        assert!(
            most - least <= (budget + 16) * mib,
            "{to}: {least} and then {most} bytes"
        );
        assert!(most <= (budget + 64) * mib, "{to}: {most} bytes");
    }
    let info = dist_io::inspect_hdf5(folder.path().join("other.h5"), "b").unwrap();
    assert_eq!(info.attributes["units"], "K".into());
    let plan = dap(folder.path(), "plan all.h5:/a --read --dist b --ranks 4").ok();
    assert!(
        plan.contains("chunked by 64 x 1024 (33554432 bytes), by 4 ranks"),
        "{plan}"
    );
}

#[test]
fn contents_are_compared_with_checksums() {
    let folder = temporary();
    let path = folder.path().join("sums.h5");
    let rows = Distribution::over(2)
        .shape([40, 3])
        .block(0)
        .build()
        .unwrap();
    ThreadComm::run(2, |comm| {
        for (key, sums) in [("with", true), ("without", false)] {
            let mine = part(&rows, comm.rank(), number);
            SaveHdf5::new(&path)
                .key(key)
                .checksums(sums)
                .save(&mine, comm)?;
        }
        Ok::<_, IoError>(())
    })
    .unwrap();
    let text = dap(folder.path(), "check --contents sums.h5").ok();
    assert!(
        text.contains("note: 1 checksum of 960 bytes agree"),
        "{text}"
    );
    assert!(text.contains("note: it has no checksums"), "{text}");
    let Storage::Contiguous { offset: Some(at) } = inspect_hdf5(&path, "with").unwrap().storage
    else {
        panic!("in one piece")
    };
    let mut bytes = fs::read(&path).unwrap();
    bytes[usize::try_from(at).unwrap() + 959] ^= 1;
    fs::write(&path, bytes).unwrap();
    dap(folder.path(), "check sums.h5").ok();
    let run = dap(folder.path(), "check --contents sums.h5:/with");
    assert_eq!(run.status, 2, "{}", run.out);
    let says = format!("bytes {at} to {} of the file", at + 960);
    assert!(run.out.contains(&says), "{}", run.out);
}

/// The folders of parts that are there.
fn parts_folders(folder: &Path) -> Vec<String> {
    let mut names = files(folder);
    names.retain(|name| name.ends_with(".parts"));
    names
}

#[test]
fn virtual_datasets_go_every_way() {
    let folder = temporary();
    save_whole(folder.path(), &[60, 90], number);
    let before = fs::read(folder.path().join("whole.npy")).unwrap();
    let mut from = "whole.npy".to_owned();
    for (number, dist) in [
        "--dist b --ranks 3",
        "--dist n,b+1 --ranks 4",
        "--dist b,b --grid 2x3",
        "--dist c,c:7 --grid 2x2",
        "--dist b@10:10,n --ranks 3",
        "",
        "--dist b --ranks 70",
    ]
    .into_iter()
    .enumerate()
    {
        let to = format!("v{number}.h5:/run/a");
        let budget = "--budget 64KiB";
        let said = dap(
            folder.path(),
            &format!("convert {from} {to} {dist} --parts {budget}"),
        )
        .ok();
        assert!(
            said.contains(": 60 x 90 of f64, one dataset, in "),
            "{said}"
        );
        let info = inspect_hdf5(folder.path().join(format!("v{number}.h5")), "run/a").unwrap();
        assert_eq!(info.storage, Storage::Virtual, "{dist}");
        dap(folder.path(), &format!("check {to}")).ok();
        dap(folder.path(), &format!("convert {to} back.npy {budget}")).ok();
        assert!(
            fs::read(folder.path().join("back.npy")).unwrap() == before,
            "{from} -> {to}"
        );
        dap(
            folder.path(),
            &format!("convert {to} set --dist c:3,b --grid 2x2 {budget}"),
        )
        .ok();
        dap(folder.path(), &format!("convert set plain.h5:/{number}")).ok();
        dap(
            folder.path(),
            &format!("convert plain.h5:/{number} back.npy"),
        )
        .ok();
        assert!(fs::read(folder.path().join("back.npy")).unwrap() == before);
        from = to;
    }
    // a rank without elements has no part
    let folders = parts_folders(folder.path());
    assert_eq!(folders.len(), 7);
    let last = folders.iter().find(|name| name.starts_with("v6.h5."));
    assert_eq!(files(&folder.path().join(last.unwrap())).len(), 60);
}

#[test]
fn parts_of_scalars_and_of_nothing() {
    let folder = temporary();
    for (name, shape) in [("scalar", &[][..]), ("nothing", &[0, 4][..])] {
        save_whole(folder.path(), shape, number);
        let before = fs::read(folder.path().join("whole.npy")).unwrap();
        dap(
            folder.path(),
            &format!("convert whole.npy all.h5:/{name} --parts --ranks 2"),
        )
        .ok();
        dap(folder.path(), &format!("convert all.h5:/{name} back.npy")).ok();
        assert_eq!(fs::read(folder.path().join("back.npy")).unwrap(), before);
    }
    assert!(parts_folders(folder.path()).is_empty());
}

#[test]
fn a_virtual_dataset_that_fails_leaves_no_parts() {
    let folder = temporary();
    save_whole(folder.path(), &[600, 500], |at| at % 2 == 0);
    let to = "convert whole.npy all.h5:/a --parts --dist b --ranks 3 --budget 64KiB";
    dap(folder.path(), to).ok();
    let path = folder.path().join("whole.npy");
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() = 2;
    fs::write(path, bytes).unwrap();
    let before = (
        files(folder.path()),
        fs::read(folder.path().join("all.h5")).unwrap(),
    );
    for (key, says) in [("b", "this is no bool"), ("a", "the key exists already")] {
        let arguments = to.replace(":/a", &format!(":/{key}"));
        let err = dap(folder.path(), &arguments).fails(1);
        assert!(err.contains(says), "{err}");
        let after = (
            files(folder.path()),
            fs::read(folder.path().join("all.h5")).unwrap(),
        );
        assert!(before == after, "{key}: {:?}", after.0);
    }
}

#[test]
fn parts_that_are_missing_or_of_another_save_are_status_3() {
    let folder = temporary();
    save_whole(folder.path(), &[6, 4], number);
    let to = "convert whole.npy all.h5:/a --parts --dist b --ranks 2";
    dap(folder.path(), to).ok();
    dap(folder.path(), &to.replace("all.h5", "other.h5")).ok();
    let folders = parts_folders(folder.path());
    let part = |at: usize| folder.path().join(&folders[at]).join("1.h5");
    let whole = fs::read(part(0)).unwrap();
    let verdict = |says: &str| {
        let run = dap(folder.path(), "check all.h5");
        assert_eq!(run.status, 3, "{run:?}");
        assert!(run.out.contains(says), "{}", run.out);
        let run = dap(folder.path(), "check --format json all.h5:/a other.h5");
        assert_eq!(run.status, 3, "{run:?}");
        let json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
        assert_eq!(json["verdict"], "unreadable");
        let findings = json["findings"].as_array().unwrap();
        assert_eq!(findings[0]["verdict"], "unreadable");
        assert!(findings[0]["unreadable"].as_str().unwrap().contains(says));
        assert_eq!(findings[1]["verdict"], "conformant");
        let run = dap(folder.path(), "convert all.h5:/a back.npy");
        assert_eq!(run.status, 1, "{run:?}");
        assert!(run.err.contains(says), "{}", run.err);
        let run = dap(folder.path(), "repack all.h5 one.h5");
        assert_eq!(run.status, 1, "{run:?}");
        assert!(run.err.contains(says), "{}", run.err);
    };
    fs::write(part(0), &whole[..whole.len() - 1]).unwrap();
    verdict("1.h5");
    fs::copy(part(1), part(0)).unwrap();
    verdict("the save is");
    fs::remove_file(part(0)).unwrap();
    verdict("/1.h5\": there is no such file");
    fs::write(part(0), whole).unwrap();
    dap(folder.path(), "check all.h5").ok();
    assert!(!folder.path().join("one.h5").exists());
    assert!(!folder.path().join("back.npy").exists());
}

#[test]
fn chunks_filters_attributes_and_codes_are_kept() {
    let folder = temporary();
    let path = folder.path().join("all.h5");
    let d = Distribution::over(1).shape([40, 50]).build().unwrap();
    let save = SaveHdf5::new(&path).key("a").chunk([8, 10]).shuffle(true);
    let save = save.deflate(7).fletcher32(true).attribute("units", "K");
    let save = save
        .attribute("scale", 0.5)
        .enumeration([("cold", 0), ("warm", 1)]);
    let mine = part(&d, 0, |at| (at % 2) as i8);
    save.save(&mine, &dist_comm::SingleComm::new()).unwrap();
    let info = |name: &str| inspect_hdf5(folder.path().join(name), "a").unwrap();
    let same = |name: &str, arguments: &str| {
        dap(
            folder.path(),
            &format!("convert all.h5:/a {name}:/a {arguments}"),
        )
        .ok();
        let (old, new) = (info("all.h5"), info(name));
        assert_eq!(
            (&old.attributes, &old.members),
            (&new.attributes, &new.members)
        );
        dap(folder.path(), &format!("convert {name}:/a old.h5:/{name}")).ok();
        new
    };
    let kept = same("kept.h5", "--dist c,b --grid 2x2 --budget 64KiB");
    assert_eq!(kept.storage, Storage::Chunked { chunk: vec![8, 10] });
    assert_eq!(kept.filters, ["shuffle", "deflate", "fletcher32"]);
    assert_eq!(kept.deflate, Some(7));
    let other = same("other.h5", "--chunk 40x3 --gzip 2");
    assert_eq!(other.storage, Storage::Chunked { chunk: vec![40, 3] });
    assert_eq!(other.filters, ["shuffle", "deflate", "fletcher32"]);
    assert_eq!(other.deflate, Some(2));
    let plain = same("plain.h5", "--contiguous");
    assert!(matches!(plain.storage, Storage::Contiguous { .. }));
    assert_eq!(plain.filters, [""; 0]);
    let parts = same("parts.h5", "--parts --dist b --ranks 2");
    assert_eq!(parts.storage, Storage::Virtual);
    for name in ["kept", "other", "plain", "parts"] {
        let read = dist_io::LoadHdf5::new(folder.path().join(format!("{name}.h5")))
            .key("a")
            .codes(true)
            .load::<i8>(&d, &dist_comm::SingleComm::new())
            .unwrap();
        assert_eq!(read, mine, "{name}");
    }
    let shown = dap(folder.path(), "show kept.h5").ok();
    for line in [
        ", in chunks of 8 x 10, shuffle, deflate 7, fletcher32\n",
        "\n  codes   cold = 0, warm = 1\n",
        "\n  attr    scale = 0.5\n  attr    units = \"K\"\n",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
    // what has no place is told
    let run = dap(folder.path(), "convert all.h5:/a a.npy");
    assert_eq!(run.status, 0, "{run:?}");
    let says = "attributes are left out (scale, units): a .npy file has no place for them";
    assert!(run.err.contains(says), "{}", run.err);
}

#[test]
fn options_say_how_a_dataset_is_stored() {
    let folder = temporary();
    save_whole(folder.path(), &[50, 70], number);
    let before = fs::read(folder.path().join("whole.npy")).unwrap();
    for (key, options, filters) in [
        ("a", "--chunk 7x70", vec![]),
        ("b", "--gzip 1", vec!["deflate"]),
        (
            "c",
            "--chunk 50x1 --shuffle --gzip 9",
            vec!["shuffle", "deflate"],
        ),
        (
            "d",
            "--chunk 9x9 --fletcher32 --checksums",
            vec!["fletcher32"],
        ),
        ("e", "--checksums", vec![]),
        ("f", "--chunk 1000x1000", vec![]),
    ] {
        let budget = "--budget 192KiB";
        dap(
            folder.path(),
            &format!("convert whole.npy all.h5:/{key} {options} --dist b --ranks 2 {budget}"),
        )
        .ok();
        let info = inspect_hdf5(folder.path().join("all.h5"), key).unwrap();
        assert_eq!(info.filters, filters, "{options}");
        assert_eq!(info.dim_data.map(|ranks| ranks.len()), Some(2));
        dap(
            folder.path(),
            &format!("convert all.h5:/{key} back.npy {budget}"),
        )
        .ok();
        assert!(
            fs::read(folder.path().join("back.npy")).unwrap() == before,
            "{options}"
        );
    }
    let said = dap(folder.path(), "check --contents all.h5:/d all.h5:/e").ok();
    assert_eq!(said.matches(" agree\n").count(), 2, "{said}");
    for (options, says) in [
        (
            "--chunk 7",
            "the shape of the chunks has 1 dimensions, the array 2",
        ),
        ("--chunk 0x7", "axis 0: chunks of 0 elements"),
        ("--chunk 50x70 --budget 64KiB", "dap: next: give --budget "),
    ] {
        let err = dap(folder.path(), &format!("convert whole.npy no.h5 {options}")).fails(1);
        assert!(err.contains(says), "{err}");
        assert!(
            !files(folder.path())
                .iter()
                .any(|name| name.contains("no.h5"))
        );
    }
}

#[test]
fn bfloat16_goes_between_datasets() {
    let folder = temporary();
    let d = Distribution::over(1).shape([9]).build().unwrap();
    let mine = part(&d, 0, |at| half::bf16::from_f32(at as f32));
    let one = dist_comm::SingleComm::new();
    let path = folder.path().join("a.h5");
    SaveHdf5::new(&path).key("a").save(&mine, &one).unwrap();
    dap(folder.path(), "convert a.h5:/a b.h5:/b --dist c --ranks 2").ok();
    let read = load_hdf5::<half::bf16>(folder.path().join("b.h5"), &d, "b", &one).unwrap();
    assert_eq!(read, mine);
    let err = dap(folder.path(), "convert a.h5:/a a.npy").fails(1);
    assert!(err.contains("bf16"), "{err}");
}

#[test]
fn files_and_groups_stand_for_their_datasets() {
    let folder = temporary();
    save_whole(folder.path(), &[3], number);
    dap(folder.path(), "convert whole.npy one.h5:/run/heat").ok();
    let said = dap(folder.path(), "convert one.h5 back.npy").ok();
    assert!(said.starts_with("one.h5:/run/heat -> back.npy"), "{said}");
    dap(folder.path(), "convert whole.npy one.h5:/run/cold").ok();
    dap(folder.path(), "convert whole.npy one.h5:/other").ok();
    let err = dap(folder.path(), "convert one.h5 back.npy").fails(1);
    let says = "one.h5: 3 datasets are in it (other, run/cold, run/heat), allowed: one\n\
                dap: next: name one, as in one.h5:/other\n";
    assert!(err.contains(says), "{err}");
    for verb in ["show", "check"] {
        let said = dap(folder.path(), &format!("{verb} one.h5:/run")).ok();
        assert!(said.contains("one.h5:/run/cold: "), "{said}");
        assert!(said.contains("one.h5:/run/heat: "), "{said}");
        assert!(!said.contains("one.h5:/other: "), "{said}");
    }
    let err = dap(folder.path(), "convert one.h5:/run back.npy").fails(1);
    assert!(err.contains("dap: next: dap show one.h5 lists"), "{err}");
    let alone = nobody_starts();
    let file = hdf5_metno::File::create(folder.path().join("empty.h5")).unwrap();
    file.close().unwrap();
    drop(alone);
    let said = dap(folder.path(), "check empty.h5").ok();
    assert!(said.contains("note: no dataset is in it"), "{said}");
}

#[test]
fn a_file_with_parts_is_packed_into_one() {
    let folder = temporary();
    save_whole(folder.path(), &[30, 7], number);
    let before = fs::read(folder.path().join("whole.npy")).unwrap();
    dap(
        folder.path(),
        "convert whole.npy run.h5:/a --parts --dist b --ranks 3",
    )
    .ok();
    dap(folder.path(), "convert whole.npy run.h5:/b").ok();
    let said = dap(folder.path(), "repack run.h5 one.h5").ok();
    assert_eq!(said, "run.h5 -> one.h5: one plain HDF5 file\n");
    assert_eq!(parts_folders(folder.path()).len(), 1);
    dap(folder.path(), "repack run.h5 run.h5").ok();
    assert!(parts_folders(folder.path()).is_empty());
    for name in ["one.h5", "run.h5"] {
        for key in ["a", "b"] {
            let info = inspect_hdf5(folder.path().join(name), key).unwrap();
            assert!(matches!(info.storage, Storage::Contiguous { .. }));
            dap(folder.path(), &format!("convert {name}:/{key} back.npy")).ok();
            assert!(fs::read(folder.path().join("back.npy")).unwrap() == before);
        }
    }
    for (arguments, says) in [
        ("repack none.h5 x.h5", "there is no such file"),
        ("repack whole.npy x.h5", "this is no HDF5 file"),
        ("repack run.h5 nowhere/x.h5", "next: mkdir -p nowhere"),
    ] {
        let err = dap(folder.path(), arguments).fails(1);
        assert!(err.contains(says), "{err}");
        assert!(!folder.path().join("x.h5").exists());
    }
}

/// What the command writes in chunks and in parts, read by h5py.
#[test]
fn h5py_reads_what_the_command_writes() {
    let python = std::env::var("DIST_IO_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has = Command::new(&python).args(["-c", "import h5py"]).output();
    if !has.is_ok_and(|output| output.status.success()) {
        println!("skipped: h5py is not in {python} (DIST_IO_PYTHON names another Python)");
        return;
    }
    let folder = temporary();
    save_whole(folder.path(), &[50, 70], number);
    for (key, options) in [
        ("chunks", "--chunk 8x9"),
        ("coded", "--chunk 8x9 --shuffle --gzip 4 --fletcher32"),
        ("parts", "--parts --dist b,b --grid 2x2"),
        ("dealt", "--parts --dist c,c:3 --grid 2x2"),
        ("plain", ""),
    ] {
        let to = format!("convert whole.npy all.h5:/{key} {options} --budget 64KiB");
        dap(folder.path(), &to).ok();
    }
    let script = "
import h5py, numpy
whole = numpy.load('whole.npy')
with h5py.File('all.h5') as file:
    for name, dataset in file.items():
        assert dataset.dtype == whole.dtype and (dataset[...] == whole).all(), name
        print(name, dataset.chunks, dataset.compression, dataset.compression_opts, dataset.shuffle, dataset.fletcher32, dataset.is_virtual)
";
    let mut command = Command::new(&python);
    let command = command.args(["-c", script]).current_dir(folder.path());
    let output = command.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}{errors}");
    let expected = "\
chunks (8, 9) None None False False False
coded (8, 9) gzip 4 True True False
dealt None None None False False True
parts None None None False False True
plain None None None False False False
";
    assert_eq!(printed, expected);
}
