//! Sets: N files on M ranks, manifests, mixtures.

use std::fs;
use std::path::Path;

use dap_protocol::{DimData, DimDict, DistBuffer, HostArray, ProtocolVersion};
use dist_maps::Distribution;
use dnpy_format::set::{Note, PartRecord, Set, SetError, SetWriter};
use dnpy_format::{DnpyError, SaveId, npy, save};
use proptest::prelude::*;

use crate::parts::{Kind, case, config, distribution, flat, is_owned, kind, value};

/// The part of a rank with the values of its flat indices; what it does not own is -9.
fn part(dist: &Distribution, rank: usize) -> DistBuffer<HostArray<i32>> {
    let dim_data = dist.dim_data(rank).unwrap();
    let data: Vec<i32> = flat(&dim_data)
        .iter()
        .map(|&(at, mine)| if mine { value(at) } else { -9 })
        .collect();
    DistBuffer::new(
        dim_data,
        HostArray::new(dist.local_shape(rank), data).unwrap(),
    )
    .unwrap()
}

fn save_set(writer: &SetWriter, dist: &Distribution) {
    let records: Vec<PartRecord> = (0..dist.ranks())
        .map(|rank| {
            let record = writer.save_part(rank, &part(dist, rank)).unwrap();
            PartRecord::from_bytes(&record.to_bytes()).unwrap()
        })
        .collect();
    writer.publish(&records).unwrap();
}

fn check(set: &Set, target: &Distribution) {
    for rank in 0..target.ranks() {
        let dim_data = target.dim_data(rank).unwrap();
        let expected = flat(&dim_data);
        let values: Vec<i32> = expected.iter().map(|&(at, _)| value(at)).collect();
        let stored = set.read::<i32>(&dim_data).unwrap();
        assert_eq!(stored.part.buffer().data(), values);
        assert_eq!(
            stored.bytes_read,
            4 * values.len() as u64,
            "only what is needed"
        );
        let owned = set.read_owned::<i32>(&dim_data).unwrap();
        let values: Vec<i32> = expected
            .iter()
            .map(|&(at, mine)| if mine { value(at) } else { 0 })
            .collect();
        assert_eq!(owned.part.buffer().data(), values);
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_set_is_read_into_any_distribution(
        (shape, kinds, grid) in case(),
        other in prop::collection::vec((kind(), 1_usize..4), 3),
        plain: bool,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let prefix = dir.path().join("run");
        let source = distribution(&shape, &kinds, &grid);
        let writer = SetWriter::new(&prefix, SaveId::random());
        save_set(&if plain { writer.plain_names() } else { writer }, &source);
        let (kinds, grid): (Vec<Kind>, Vec<usize>) = other.into_iter().take(shape.len()).unzip();
        let target = distribution(&shape, &kinds, &grid);
        let set = Set::open(&prefix).unwrap();
        prop_assert_eq!(set.ranks(), source.ranks());
        prop_assert_eq!(set.global_shape(), shape);
        prop_assert!(set.notes().is_empty());
        set.verify().unwrap();
        check(&set, &target);
    }
}

fn blocks(ranks: usize) -> Distribution {
    Distribution::over(ranks)
        .shape([12, 5])
        .block(0)
        .build()
        .unwrap()
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn old_parts_are_removed_after_publishing_and_others_stay() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("run");
    for other in [
        "run_.dnpy",
        "run_x_0.dnpy",
        "run2_0123456789abcdef_0.dnpy",
        "running.npy",
    ] {
        fs::write(dir.path().join(other), "").unwrap();
    }
    let first = SetWriter::new(&prefix, SaveId::random());
    save_set(&first, &blocks(3));
    // a save that was killed before it published
    let killed = SetWriter::new(&prefix, SaveId::random());
    killed.save_part(0, &part(&blocks(2), 0)).unwrap();
    let set = Set::open(&prefix).unwrap();
    assert_eq!(set.manifest().unwrap().save(), first.save());
    check(&set, &blocks(4));

    let second = SetWriter::new(&prefix, SaveId::random());
    save_set(&second, &blocks(2));
    let id = second.save();
    assert_eq!(
        names(dir.path()),
        [
            "run.manifest.json".to_owned(),
            "run2_0123456789abcdef_0.dnpy".to_owned(),
            format!("run_{id}_0.dnpy"),
            format!("run_{id}_1.dnpy"),
            "run_.dnpy".to_owned(),
            "run_x_0.dnpy".to_owned(),
            "running.npy".to_owned(),
        ]
        .into_iter()
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .collect::<Vec<_>>()
    );
    check(&Set::open(&prefix).unwrap(), &blocks(5));
}

fn set_error(e: DnpyError) -> SetError {
    match e {
        DnpyError::Set(e) => e,
        other => panic!("{other}"),
    }
}

#[test]
fn a_mixture_of_plain_names_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("run");
    let old = SetWriter::new(&prefix, SaveId::random()).plain_names();
    save_set(&old, &blocks(3));
    assert_eq!(
        names(dir.path()),
        [
            "run.manifest.json",
            "run_0.dnpy",
            "run_1.dnpy",
            "run_2.dnpy"
        ]
    );
    check(&Set::open(&prefix).unwrap(), &blocks(2));

    // the next save is killed after its first part: same shape, same size, other values
    let other = part(&blocks(3), 1);
    let (_, dim_data, array) = other.into_parts();
    let (shape, data, _) = array.into_parts();
    let data = data.iter().map(|v| v + 1).collect();
    let other = DistBuffer::new(dim_data, HostArray::new(shape, data).unwrap()).unwrap();
    let new = SetWriter::new(&prefix, SaveId::random()).plain_names();
    new.save_part(1, &other).unwrap();
    let e = set_error(Set::open(&prefix).unwrap_err());
    let SetError::Mixed { files, save } = &e else {
        panic!("{e}")
    };
    assert_eq!(*files, [dir.path().join("run_1.dnpy")]);
    assert_eq!(*save, old.save());
    assert!(e.to_string().contains("run_1.dnpy is not of save"), "{e}");
}

#[test]
fn sets_without_a_manifest_load_with_a_note() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("part");
    for rank in 0..3 {
        let path = dir.path().join(format!("part_{rank}.dnpy"));
        save(path, &part(&blocks(3), rank)).unwrap();
    }
    let set = Set::open(&prefix).unwrap();
    assert_eq!(set.notes(), [Note::NoManifest]);
    assert!(set.manifest().is_none());
    check(&set, &blocks(2));
    assert_eq!(set.distribution().unwrap().ranks(), 3);

    // a part of a save by four ranks among them
    save(dir.path().join("part_1.dnpy"), &part(&blocks(4), 1)).unwrap();
    let e = set_error(Set::open(&prefix).unwrap_err());
    assert!(matches!(e, SetError::Inconsistent { .. }), "{e}");
    assert!(e.to_string().contains("part_1.dnpy"), "{e}");

    fs::remove_file(dir.path().join("part_1.dnpy")).unwrap();
    let e = set_error(Set::open(&prefix).unwrap_err());
    assert!(
        matches!(&e, SetError::Missing { path, .. } if path.ends_with("part_1.dnpy")),
        "{e}"
    );
}

#[test]
fn parts_left_by_a_larger_save_are_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("part");
    for rank in 0..4 {
        let path = dir.path().join(format!("part_{rank}.dnpy"));
        save(path, &part(&blocks(4), rank)).unwrap();
    }
    for rank in 0..3 {
        let path = dir.path().join(format!("part_{rank}.dnpy"));
        save(path, &part(&blocks(3), rank)).unwrap();
    }
    let e = Set::open(&prefix).unwrap_err().to_string();
    assert!(e.contains("part_3.dnpy"), "{e}");
}

#[test]
fn other_element_types_and_missing_sets_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("part");
    let e = set_error(Set::open(&prefix).unwrap_err());
    assert!(matches!(e, SetError::NotFound { .. }), "{e}");
    assert!(Set::open("/").is_err());
    // the name of a part instead of the prefix
    let e = Set::open(dir.path().join("part_0.dnpy")).unwrap_err();
    assert!(e.to_string().contains("give the prefix"), "{e}");

    save(dir.path().join("part_0.dnpy"), &part(&blocks(2), 0)).unwrap();
    let dim_data = blocks(2).dim_data(1).unwrap();
    let floats = HostArray::new(vec![6, 5], vec![0.0_f32; 30]).unwrap();
    let floats = DistBuffer::new(dim_data, floats).unwrap();
    save(dir.path().join("part_1.dnpy"), &floats).unwrap();
    let e = set_error(Set::open(&prefix).unwrap_err());
    assert!(matches!(e, SetError::ElementType { .. }), "{e}");

    save(dir.path().join("part_1.dnpy"), &part(&blocks(2), 1)).unwrap();
    let set = Set::open(&prefix).unwrap();
    assert!(set.read::<f32>(&blocks(1).dim_data(0).unwrap()).is_err());
    let other = DimData::new(vec![
        DimDict::whole(12).unwrap(),
        DimDict::whole(6).unwrap(),
    ]);
    assert!(matches!(
        set.read::<i32>(&other),
        Err(DnpyError::GlobalShape { .. })
    ));
}

#[test]
fn manifests_that_are_none_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("run");
    let writer = SetWriter::new(&prefix, SaveId::random());
    save_set(&writer, &blocks(2));
    let path = dir.path().join("run.manifest.json");
    let good = fs::read_to_string(&path).unwrap();
    for (from, to) in [
        ("dnpy-set", "else"),
        ("\"version\": 1", "\"version\": 2"),
        ("\"rank\": 1", "\"rank\": 0"),
        ("\"file\": \"run_", "\"file\": \"../run_"),
        ("\"bytes\": ", "\"bytes\": -"),
        ("\"sha256\": \"", "\"sha256\": \"0"),
        ("\"save\": \"", "\"save\": \"g"),
        ("{", "["),
        ("}", ""),
    ] {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good);
        fs::write(&path, bad).unwrap();
        let e = set_error(Set::open(&prefix).unwrap_err());
        assert!(matches!(e, SetError::Manifest { .. }), "{from}: {e}");
        assert!(e.to_string().contains("run.manifest.json"), "{e}");
    }
    for len in 0..good.trim_end().len() {
        fs::write(&path, &good[..len]).unwrap();
        assert!(Set::open(&prefix).is_err(), "{len}");
    }
    fs::write(&path, &good).unwrap();
    Set::open(&prefix).unwrap().verify().unwrap();

    // a part that changed: found by its size at once, by its hash when asked
    let part_path = dir.path().join(format!("run_{}_1.dnpy", writer.save()));
    let mut bytes = fs::read(&part_path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&part_path, &bytes).unwrap();
    let e = set_error(Set::open(&prefix).unwrap().verify().unwrap_err());
    assert!(matches!(e, SetError::Mixed { .. }), "{e}");
    bytes.push(0);
    fs::write(&part_path, &bytes).unwrap();
    let e = set_error(Set::open(&prefix).unwrap_err());
    assert!(matches!(e, SetError::Mixed { .. }), "{e}");
}

#[test]
fn a_manifest_cannot_have_other_files_removed() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("run");
    let important = dir.path().join("important.txt");
    fs::write(&important, "keep").unwrap();
    let writer = SetWriter::new(&prefix, SaveId::random());
    save_set(&writer, &blocks(2));
    let path = dir.path().join("run.manifest.json");
    let good = fs::read_to_string(&path).unwrap();
    let own = format!("run_{}_1.dnpy", writer.save());
    let other = format!("run_{}_1.dnpy", SaveId::random());
    for name in ["important.txt", "run_1.dnpy", "run.manifest.json", &other] {
        fs::write(&path, good.replace(&own, name)).unwrap();
        let e = set_error(Set::open(&prefix).unwrap_err());
        assert!(matches!(e, SetError::Manifest { .. }), "{name}: {e}");
        assert!(e.to_string().contains(&own), "{e}");
        let next = SetWriter::new(&prefix, SaveId::random());
        let record = next.save_part(0, &part(&blocks(1), 0)).unwrap();
        assert!(next.publish(&[record]).is_err());
        assert_eq!(fs::read_to_string(&important).unwrap(), "keep");
    }
}

#[test]
fn files_behind_a_gap_in_the_ranks_are_no_part_and_noted() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("run");
    let path = |rank: &str| dir.path().join(format!("run_{rank}.dnpy"));
    for rank in 0..3 {
        save(path(&rank.to_string()), &part(&blocks(3), rank)).unwrap();
    }
    for name in ["18446744073709551615", "20240101", "4"] {
        fs::write(path(name), "something else").unwrap();
    }
    let set = Set::open(&prefix).unwrap();
    assert_eq!(set.ranks(), 3);
    let files = vec![path("4"), path("20240101"), path("18446744073709551615")];
    assert_eq!(set.notes(), [Note::NoManifest, Note::Apart { files }]);
    assert!(set.notes()[1].to_string().contains("run_4.dnpy"));
    check(&set, &blocks(2));
}

#[test]
fn long_dealt_axes_without_elements_take_no_memory() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("run");
    let n = 1 << 61;
    let dims = |rank| {
        let dealt = DimDict::cyclic(n, 2, rank, 1).unwrap();
        DimData::new(vec![DimDict::whole(0).unwrap(), dealt])
    };
    for rank in 0..2 {
        let array = HostArray::new(vec![0, 1 << 60], Vec::<bool>::new()).unwrap();
        let part = DistBuffer::new(dims(rank), array).unwrap();
        save(dir.path().join(format!("run_{rank}.dnpy")), &part).unwrap();
    }
    let set = Set::open(&prefix).unwrap();
    assert_eq!(set.global_shape(), [0, n]);
    let read = set.read::<bool>(&dims(1)).unwrap();
    assert_eq!((read.bytes_read, read.reads), (0, 0));
    let whole = DimData::new(vec![DimDict::whole(0).unwrap(), DimDict::whole(n).unwrap()]);
    let read = set.read_owned::<bool>(&whole).unwrap();
    assert!(read.part.buffer().data().is_empty());

    let path = dir.path().join("whole.npy");
    let array = HostArray::new(vec![0, 1 << 61], Vec::<bool>::new()).unwrap();
    npy::save(&path, &array).unwrap();
    let read = npy::read_owned::<bool>(&path, &dims(0)).unwrap();
    assert_eq!((read.bytes_read, read.reads), (0, 0));
}

#[test]
fn ranks_without_a_place_may_come_first() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("run");
    // one element, dealt to two places that ranks 1 and 2 have: rank 0 has none, rank 2 no element
    let dist = Distribution::over(3)
        .shape([1])
        .cyclic(0)
        .grid([2])
        .targets([1, 2])
        .build()
        .unwrap();
    assert!(dist.coords(0).is_none() && dist.is_empty_on(2));
    save_set(&SetWriter::new(&prefix, SaveId::random()), &dist);
    let set = Set::open(&prefix).unwrap();
    assert_eq!(set.distribution().unwrap().targets(), [1, 2]);
    let whole = DimData::new(vec![DimDict::whole(1).unwrap()]);
    assert_eq!(
        set.read::<i32>(&whole).unwrap().part.buffer().data(),
        [value(0)]
    );
}

#[test]
fn a_part_that_is_replaced_after_opening_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("run");
    let old = SetWriter::new(&prefix, SaveId::random()).plain_names();
    save_set(&old, &blocks(2));
    let set = Set::open(&prefix).unwrap();
    check(&set, &blocks(3));
    // the same headers, the same length, another save
    let new = SetWriter::new(&prefix, SaveId::random()).plain_names();
    new.save_part(1, &part(&blocks(2), 1)).unwrap();
    let whole = blocks(1).dim_data(0).unwrap();
    let e = set_error(set.read::<i32>(&whole).unwrap_err());
    let path = dir.path().join("run_1.dnpy");
    assert_eq!(e, SetError::Replaced { path: path.clone() });
    let first = blocks(2).dim_data(0).unwrap();
    set.read::<i32>(&first).unwrap();

    // one that is written to in place
    let set = Set::of_files(vec![dir.path().join("run_0.dnpy"), path.clone()]).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::thread::sleep(std::time::Duration::from_millis(20)); // the clock of file times is coarse
    fs::write(&path, &bytes).unwrap();
    let e = set_error(set.read::<i32>(&whole).unwrap_err());
    assert_eq!(e, SetError::Replaced { path });
}

#[test]
fn a_first_save_under_plain_names_that_is_killed_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("run");
    // what `DistArray` left, without a manifest
    for rank in 0..2 {
        let path = dir.path().join(format!("run_{rank}.dnpy"));
        save(path, &part(&blocks(2), rank)).unwrap();
    }
    assert_eq!(Set::open(&prefix).unwrap().notes(), [Note::NoManifest]);
    let killed = SetWriter::new(&prefix, SaveId::random()).plain_names();
    killed.save_part(1, &part(&blocks(2), 1)).unwrap();
    let e = set_error(Set::open(&prefix).unwrap_err());
    let marker = dir.path().join("run.saving");
    assert!(e.to_string().contains("run.saving"), "{e}");
    assert_eq!(e, SetError::Unfinished { marker });

    let next = SetWriter::new(&prefix, SaveId::random()).plain_names();
    save_set(&next, &blocks(2));
    assert_eq!(
        names(dir.path()),
        ["run.manifest.json", "run_0.dnpy", "run_1.dnpy"]
    );
    let set = Set::open(&prefix).unwrap();
    assert!(set.notes().is_empty());
    check(&set, &blocks(3));
}

#[test]
fn an_index_that_no_part_has_is_an_error_where_it_is_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("run");
    let lists: [&[i64]; 2] = [&[5, 0, 1], &[2, 4, 5]]; // 3 is on no rank
    for (rank, list) in lists.iter().enumerate() {
        let dim = DimDict::unstructured(6, 2, rank, list.to_vec(), false).unwrap();
        let array = HostArray::new(vec![3], list.iter().map(|&i| value(i)).collect()).unwrap();
        let part = DistBuffer::new(DimData::new(vec![dim]), array).unwrap();
        save(dir.path().join(format!("run_{rank}.dnpy")), &part).unwrap();
    }
    let set = Set::open(&prefix).unwrap();
    let block = |range| DimData::new(vec![DimDict::block(6, 2, 0, range).unwrap()]);
    let read = set.read::<i32>(&block(0..3)).unwrap();
    assert_eq!(read.part.buffer().data(), [0, 1, 2].map(value));
    let e = set.read::<i32>(&block(0..5)).unwrap_err();
    assert!(
        matches!(
            e,
            DnpyError::Index {
                axis: 0,
                index: 3,
                size: 6
            }
        ),
        "{e}"
    );
}

#[test]
fn places_without_a_part_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let path = |rank: usize| dir.path().join(format!("run_{rank}.dnpy"));
    // one column: ranks 1 and 2 have none
    let dist = Distribution::over(3)
        .shape([4, 1])
        .block(1)
        .grid([1, 3])
        .build()
        .unwrap();
    for rank in 0..3 {
        save(path(rank), &part(&dist, rank)).unwrap();
    }
    for (files, filled) in [(vec![0, 1], 2), (vec![0, 1, 1], 2), (vec![1, 2, 2], 2)] {
        let e = set_error(Set::of_files(files.into_iter().map(path).collect()).unwrap_err());
        assert_eq!(e, SetError::Places { filled, ranks: 3 });
        assert!(e.to_string().contains("2 of the 3 places"), "{e}");
    }
    let set = Set::of_files((0..3).map(path).collect()).unwrap();
    check(&set, &blocks_of(&[4, 1], 1));
}

#[test]
fn records_of_other_saves_are_not_published() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("run");
    let writer = SetWriter::new(&prefix, SaveId::random());
    let other = SetWriter::new(&prefix, SaveId::random());
    let record =
        |writer: &SetWriter, rank| writer.save_part(rank, &part(&blocks(2), rank)).unwrap();
    let (zero, one) = (record(&writer, 0), record(&other, 1));
    for records in [
        vec![],
        vec![zero.clone()],
        vec![zero.clone(), zero.clone()],
        vec![zero.clone(), one],
    ] {
        let e = writer.publish(&records).unwrap_err();
        assert!(matches!(e, DnpyError::Set(_)), "{e}");
        assert!(!dir.path().join("run.manifest.json").exists());
    }
    writer.publish(&[record(&writer, 1), zero]).unwrap();
    check(&Set::open(&prefix).unwrap(), &blocks(3));
    assert!(PartRecord::from_bytes(b"{}").is_err());
}

#[test]
fn more_ranks_than_places_and_scalars() {
    let dir = tempfile::tempdir().unwrap();
    // 7 ranks on a grid of 2 × 3: one has no place
    let dist = Distribution::over(7)
        .shape([4, 6])
        .block(0)
        .cyclic(1)
        .grid([2, 3])
        .build()
        .unwrap();
    assert!(dist.coords(6).is_none());
    let prefix = dir.path().join("grid");
    save_set(&SetWriter::new(&prefix, SaveId::random()), &dist);
    let set = Set::open(&prefix).unwrap();
    assert_eq!(set.ranks(), 7);
    check(&set, &blocks_of(&[4, 6], 5));

    let scalar = HostArray::new(vec![], vec![7_i32]).unwrap();
    let scalar = DistBuffer::new(DimData::default(), scalar).unwrap();
    let prefix = dir.path().join("scalar");
    let writer = SetWriter::new(&prefix, SaveId::random());
    let record = writer.save_part(0, &scalar).unwrap();
    writer.publish(&[record]).unwrap();
    let read = Set::open(&prefix)
        .unwrap()
        .read::<i32>(&DimData::default())
        .unwrap();
    assert_eq!(read.part.buffer().data(), [7]);
}

fn blocks_of(shape: &[u64], ranks: usize) -> Distribution {
    Distribution::over(ranks)
        .shape(shape.to_vec())
        .block(1)
        .build()
        .unwrap()
}

#[test]
fn an_index_that_two_ranks_hold_is_read_once() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("run");
    let lists: [&[i64]; 2] = [&[5, 0, 1, 2], &[2, 3, 4, 5]];
    for (rank, list) in lists.iter().enumerate() {
        let dim = DimDict::unstructured(6, 2, rank, list.to_vec(), false).unwrap();
        let array = HostArray::new(vec![4], list.iter().map(|&i| value(i)).collect()).unwrap();
        let part = DistBuffer::new(DimData::new(vec![dim]), array).unwrap();
        save(dir.path().join(format!("run_{rank}.dnpy")), &part).unwrap();
    }
    let set = Set::open(&prefix).unwrap();
    let target = DimData::new(vec![DimDict::whole(6).unwrap()]);
    let read = set.read::<i32>(&target).unwrap();
    assert_eq!(
        read.part.buffer().data(),
        (0..6).map(value).collect::<Vec<_>>()
    );
    assert_eq!(read.bytes_read, 24);
}

#[test]
fn parts_in_fortran_order_and_old_versions_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("run");
    for rank in 0..2 {
        let (_, dim_data, array) = part(&blocks(2), rank).into_parts();
        // the same elements column by column
        let c = array.data();
        let fortran: Vec<i32> = (0..30).map(|k| c[k % 6 * 5 + k / 6]).collect();
        let array =
            HostArray::with_order(vec![6, 5], fortran, dap_protocol::Order::Fortran).unwrap();
        let part = DistBuffer::with_version(ProtocolVersion::V0_9_0, dim_data, array).unwrap();
        save(dir.path().join(format!("run_{rank}.dnpy")), &part).unwrap();
    }
    let set = Set::open(&prefix).unwrap();
    check(&set, &blocks(5));
    let columns = Distribution::over(3)
        .shape([12, 5])
        .cyclic(1)
        .build()
        .unwrap();
    check(&set, &columns);
}

/// Whether some padding along the first axis is wider than what the neighbour owns, or has no
/// counterpart of the same width there because the array ends.
fn is_wide(dist: &Distribution) -> bool {
    let dims: Vec<DimDict> = (0..dist.ranks())
        .map(|rank| dist.dim_data(rank).unwrap()[0].clone())
        .filter(|dim| dim.stored_len() > 0)
        .collect();
    let owned = |dim: &DimDict| is_owned(dim).into_iter().filter(|&mine| mine).count() as u64;
    dims.windows(2).any(|pair| {
        let (upper, lower) = (pair[0].padding().upper, pair[1].padding().lower);
        upper > owned(&pair[1]) || lower > owned(&pair[0]) || upper != lower
    })
}

#[test]
fn halos_over_several_neighbours_are_read_and_noted() {
    let padded = |n: u64, ranks: usize, width: u64| {
        let dist = Distribution::over(ranks).shape([n, 3]).block_balanced(0);
        let dist = dist.padding_of(0, width, width).grid([ranks, 1]);
        dist.build().unwrap()
    };
    let mut wide = 0;
    for n in [1, 5, 8, 12] {
        for ranks in 1..6 {
            for width in 0..6 {
                let dir = tempfile::tempdir().unwrap();
                let prefix = dir.path().join("run");
                let dist = padded(n, ranks, width);
                save_set(&SetWriter::new(&prefix, SaveId::random()), &dist);
                let set = Set::open(&prefix).unwrap();
                assert_eq!(
                    !set.notes().is_empty(),
                    is_wide(&dist),
                    "{n} {ranks} {width}"
                );
                wide += usize::from(is_wide(&dist));
                check(&set, &padded(n, 3, 1));
                check(&set, &padded(n, 4, 5));
            }
        }
    }
    assert!(wide > 20);

    // 3 + 3 + 2 elements and 4 of padding: each rank stores more than its neighbour owns, or less
    // than its neighbour does
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("run");
    let writer = SetWriter::new(&prefix, SaveId::random());
    save_set(&writer, &padded(8, 3, 4));
    let set = Set::open(&prefix).unwrap();
    assert_eq!(set.notes().len(), 3);
    for (rank, (note, padding)) in set.notes().iter().zip([4, 3, 4]).enumerate() {
        let file = format!("run_{}_{rank}.dnpy: S", writer.save());
        let read = format!(
            "rank {rank}: padding is {padding}, read as {padding}, over several neighbours"
        );
        let note = note.to_string();
        assert!(note.contains(&file) && note.contains(&read), "{note}");
    }
}

#[test]
fn wide_halos_do_not_excuse_ranks_that_disagree_on_who_owns_what() {
    let dir = tempfile::tempdir().unwrap();
    // six rows on three ranks, two columns on two; in the second column the middle rank says that it
    // owns the rows that the last one owns in the first
    let rows = |column: usize| {
        let (upper, lower) = if column == 0 { (2, 2) } else { (0, 4) };
        [(0..4, 0, 1), (2..6, 1, upper), (2..6, lower, 0)]
    };
    let mut paths = Vec::new();
    for rank in 0..6 {
        let (row, column) = (rank / 2, rank % 2);
        let (range, lower, upper) = rows(column)[row].clone();
        let dim = DimDict::block(6, 3, row, range.clone()).unwrap();
        let dim = dim.with_padding(lower, upper).unwrap();
        let start = column as u64;
        let other = DimDict::block(2, 2, column, start..start + 1).unwrap();
        let array = HostArray::new(vec![range.count(), 1], vec![7_i32; 4]).unwrap();
        let part = DistBuffer::new(DimData::new(vec![dim, other]), array).unwrap();
        let path = dir.path().join(format!("part_{rank}.dnpy"));
        save(&path, &part).unwrap();
        paths.push(path);
    }
    let e = Set::of_files(paths).unwrap_err();
    assert!(matches!(e, DnpyError::Map(_)), "{e}");
}
