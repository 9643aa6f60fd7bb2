//! What `DistArray` answers, where it is right, and what the protocol says where it is not.
//!
//! `fixtures/dim_data.json` and `fixtures/maps.json` were made by running `DistArray` 0.6 (commit
//! 0e014e4) under `NumPy` 1.23.5.

use std::collections::BTreeSet;
use std::sync::Arc;

use dap_protocol::{DimData, DimDict, Dist};
use dist_maps::{
    AxisDist, BlockCyclicMap, BlockMap, CompactIndex, CyclicMap, Distribution, GlobalDim,
    GlobalIndex, IndexMap, LocalIndex, MDMap, Padding, Slice, UnstructuredMap, compact_indices,
    map_from_dim_dict,
};
use serde_json::Value;

fn fixture(text: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(text).unwrap();
    all["cases"].as_array().unwrap().clone()
}

fn numbers<T: TryFrom<i64>>(value: &Value) -> Vec<T>
where
    T::Error: std::fmt::Debug,
{
    let list = value.as_array().unwrap().iter();
    list.map(|n| T::try_from(n.as_i64().unwrap()).unwrap())
        .collect()
}

fn number<T: TryFrom<i64>>(value: &Value) -> T
where
    T::Error: std::fmt::Debug,
{
    T::try_from(value.as_i64().unwrap()).unwrap()
}

/// Whether our dictionary is theirs; `n` is a block of one rank, and a missing block size 1.
fn same_dict(ours: &DimDict, theirs: &Value) -> bool {
    let at = |key: &str, default: i64| theirs[key].as_i64().unwrap_or(default);
    let same = |n: u64, key: &str, default| i64::try_from(n).unwrap() == at(key, default);
    let common = same(ours.size(), "size", -1)
        && same(ours.grid_size() as u64, "proc_grid_size", 1)
        && same(ours.grid_rank() as u64, "proc_grid_rank", 0);
    let kind = match (ours.dist(), theirs["dist_type"].as_str().unwrap()) {
        (Dist::Block { start, stop, .. }, "b" | "n") => {
            same(*start, "start", 0) && same(*stop, "stop", at("size", -1))
        }
        (Dist::Cyclic { start, block_size }, "c") => {
            same(*start, "start", -1) && same(*block_size, "block_size", 1)
        }
        (Dist::Unstructured { indices, .. }, "u") => {
            numbers::<i64>(&theirs["indices"]) == **indices
        }
        _ => false,
    };
    common && kind
}

fn dictionaries(d: &Distribution, rank: usize, theirs: &Value) -> bool {
    let ours = d.dim_data(rank).unwrap();
    let theirs = theirs.as_array().unwrap();
    ours.ndim() == theirs.len() && ours.dims().iter().zip(theirs).all(|(a, b)| same_dict(a, b))
}

#[test]
fn distributions_from_shapes() {
    let (mut local, mut global) = (0, 0);
    for case in fixture(include_str!("../fixtures/dim_data.json")) {
        let Some(dist) = case["dist"].as_str() else {
            continue;
        };
        let id = case["id"].as_str().unwrap();
        let shape: Vec<u64> = numbers(&case["shape"]);
        let ranks: usize = number(&case["nprocs"]);
        let grid: Option<Vec<usize>> = case["grid_shape"]
            .is_array()
            .then(|| numbers(&case["grid_shape"]));
        let made = Distribution::from_shape(&shape, dist, grid.as_deref(), ranks);
        if grid.as_ref().is_some_and(|g| g.contains(&0)) {
            assert!(made.is_err(), "{id}"); // nobody could be in such a grid
            continue;
        }
        if case["local_head"]["error"].is_string() {
            // What it cannot place, we can; but a grid of more ranks than there are stays an error.
            let too_large = grid
                .as_ref()
                .is_some_and(|g| g.iter().product::<usize>() > ranks);
            assert_eq!(made.is_err(), too_large, "{id}");
            continue;
        }
        let d = made.unwrap_or_else(|error| panic!("{id}: {error}"));
        for (rank, theirs) in case["local_head"].as_array().unwrap().iter().enumerate() {
            if theirs["outside_grid"] == true {
                assert_eq!(d.coords(rank), None, "{id}");
                continue;
            }
            assert_eq!(
                d.coords(rank).unwrap(),
                numbers::<usize>(&theirs["cart_coords"]),
                "{id}"
            );
            assert_eq!(
                d.grid().shape(),
                numbers::<usize>(&theirs["grid_shape"]),
                "{id}"
            );
            assert_eq!(
                d.local_shape(rank),
                numbers::<usize>(&theirs["local_shape"]),
                "{id}"
            );
            assert!(
                dictionaries(&d, rank, &theirs["dim_data"]),
                "{id} rank {rank}"
            );
            local += 1;
        }
        let head = &case["global_head"];
        if head["grid_shape"].is_array() {
            let small = if dist.contains('c') {
                d
            } else {
                d.drop_empty()
            };
            assert_eq!(
                small.grid().shape(),
                numbers::<usize>(&head["grid_shape"]),
                "{id}"
            );
            assert_eq!(small.targets(), numbers::<usize>(&head["targets"]), "{id}");
            for (place, &rank) in small.targets().iter().enumerate() {
                assert_eq!(
                    small.local_shape(rank),
                    numbers::<usize>(&head["localshapes"][place]),
                    "{id}"
                );
                assert!(
                    dictionaries(&small, rank, &head["dim_data"][place]),
                    "{id} rank {rank}"
                );
            }
            global += 1;
        }
    }
    assert!(local > 200 && global > 90, "{local} and {global}");
}

fn global_dim(theirs: &Value) -> GlobalDim {
    let at = |key: &str, default: i64| theirs[key].as_i64().unwrap_or(default);
    let pads = |key| {
        let width = at(key, 0).cast_unsigned();
        Padding::new(width, width)
    };
    match theirs["dist_type"].as_str().unwrap() {
        "b" => GlobalDim::Block {
            bounds: numbers(&theirs["bounds"]),
            comm_padding: pads("comm_padding"),
            boundary_padding: pads("boundary_padding"),
            periodic: false,
        },
        "c" => GlobalDim::Cyclic {
            size: at("size", 0).cast_unsigned(),
            grid_size: usize::try_from(at("proc_grid_size", 1)).unwrap(),
            block_size: at("block_size", 1).cast_unsigned(),
        },
        "n" => GlobalDim::Whole {
            size: at("size", 0).cast_unsigned(),
        },
        _ => GlobalDim::Unstructured {
            indices: theirs["indices"]
                .as_array()
                .unwrap()
                .iter()
                .map(|list| Arc::from(numbers::<i64>(list)))
                .collect(),
        },
    }
}

#[test]
fn distributions_from_global_dimensions() {
    let mut seen = 0;
    for case in fixture(include_str!("../fixtures/dim_data.json")) {
        let Some(dims) = case["global_dim_data"].as_array() else {
            continue;
        };
        let id = case["id"].as_str().unwrap();
        let dims: Vec<GlobalDim> = dims.iter().map(global_dim).collect();
        let d = Distribution::from_global_dim_data(&dims, number(&case["nprocs"])).unwrap();
        for (rank, truth) in case["protocol_local_indices"]
            .as_array()
            .unwrap()
            .iter()
            .enumerate()
        {
            let part = d.dim_data(rank).unwrap();
            for (axis, (dict, truth)) in part
                .dims()
                .iter()
                .zip(truth.as_array().unwrap())
                .enumerate()
            {
                let map = map_from_dim_dict(dict).unwrap();
                // Communication padding is stored besides: DistArray writes it without widening.
                let all: Vec<i64> = map.global_iter().map(GlobalIndex::get).collect();
                let coord = d.coords(rank).unwrap()[axis];
                let owned = &all[d.axes()[axis].owned_local(coord)];
                assert_eq!(owned, numbers::<i64>(truth), "{id} rank {rank} axis {axis}");
            }
            let plain = dims.iter().all(|dim| !matches!(dim, GlobalDim::Block { comm_padding, .. } if !comm_padding.is_none()));
            if plain {
                assert!(
                    dictionaries(&d, rank, &case["local_head"][rank]["dim_data"]),
                    "{id} rank {rank}"
                );
            }
            seen += 1;
        }
    }
    assert!(seen > 90, "{seen}");
}

fn dim_dict(theirs: &Value) -> Option<DimDict> {
    let at = |key: &str, default: i64| theirs[key].as_i64().unwrap_or(default);
    let size = at("size", 0).cast_unsigned();
    let ranks = usize::try_from(at("proc_grid_size", 1)).unwrap();
    let rank = usize::try_from(at("proc_grid_rank", 0)).unwrap();
    let start = at("start", 0).cast_unsigned();
    let dist = match theirs["dist_type"].as_str()? {
        "b" => return DimDict::block(size, ranks, rank, start..at("stop", 0).cast_unsigned()).ok(),
        "n" => return DimDict::whole(size).ok(),
        "c" => Dist::Cyclic {
            start,
            block_size: at("block_size", 1).cast_unsigned(),
        },
        "u" => Dist::Unstructured {
            indices: numbers(&theirs["indices"]).into(),
            one_to_one: false,
        },
        _ => return None,
    };
    DimDict::new(size, ranks, rank, dist).ok()
}

/// The indices and the dictionary of the map that the numbers of a dictionary make, and its kind; `None` for a list that a
/// map of any values takes alone.
fn made(dict: &DimDict) -> Option<(&'static str, Vec<i64>, DimDict)> {
    fn told(kind: &'static str, map: &impl IndexMap) -> (&'static str, Vec<i64>, DimDict) {
        let indices = map.global_iter().map(GlobalIndex::get).collect();
        (kind, indices, map.dim_dict().clone())
    }
    let (n, p, r) = (dict.size(), dict.grid_size(), dict.grid_rank());
    Some(match dict.dist() {
        Dist::Block { start, stop, .. } => {
            told("block", &BlockMap::new(n, p, r, *start, *stop).unwrap())
        }
        Dist::Cyclic {
            start,
            block_size: 1,
        } => told("cyclic", &CyclicMap::new(n, p, r, *start).unwrap()),
        Dist::Cyclic { start, block_size } => {
            let map = BlockCyclicMap::new(n, p, r, *start, *block_size);
            told("block-cyclic", &map.unwrap())
        }
        Dist::Unstructured { indices, .. } => {
            let map = UnstructuredMap::new(n, p, r, indices.clone());
            told("unstructured", &map.ok()?)
        }
    })
}

#[test]
fn index_tables_of_maps() {
    let (mut seen, mut agreed) = (0, 0);
    let mut kinds = BTreeSet::new();
    for case in fixture(include_str!("../fixtures/maps.json")) {
        if case["kind"] != "map1d" || !case["protocol_local_indices"].is_array() {
            continue;
        }
        let id = case["id"].as_str().unwrap();
        let Some(dict) = dim_dict(&case["dim_dict"]) else {
            continue;
        };
        let map = map_from_dim_dict(&dict).unwrap();
        let truth: Vec<i64> = numbers(&case["protocol_local_indices"]);
        assert!(
            map.global_iter()
                .map(GlobalIndex::get)
                .eq(truth.iter().copied()),
            "{id}"
        );
        if let Some((kind, indices, told)) = made(&dict) {
            assert_eq!(
                (indices, &told),
                (truth, map.dim_dict()),
                "{id} by its numbers"
            );
            kinds.insert(kind);
        }
        let letter = case["dim_dict"]["dist_type"].as_str();
        let letter = if letter == Some("n") {
            Some("b")
        } else {
            letter
        };
        assert_eq!(Some(map.dim_dict().dist_type()), letter, "{id}");
        seen += 1;
        if case["head_agrees_with_protocol"] == false || case["head"]["error"].is_string() {
            continue;
        }
        agreed += 1;
        let head = &case["head"];
        assert_eq!(map.size(), number::<usize>(&head["size"]), "{id}");
        let rows = |name: &str| {
            let values = head[name]["values"].as_array().unwrap().clone();
            numbers::<i64>(&head[name]["keys"])
                .into_iter()
                .zip(values)
                .collect::<Vec<_>>()
        };
        for (l, theirs) in rows("global_from_local") {
            // It takes negative positions, which wrap or lead outside; here there are none.
            let Ok(l) = usize::try_from(l) else { continue };
            let ours = map
                .global_from_local(LocalIndex::new(l))
                .map(GlobalIndex::get);
            assert_eq!(
                ours,
                theirs.as_i64().filter(|_| l < map.size()),
                "{id} local {l}"
            );
        }
        for (g, theirs) in rows("local_from_global") {
            let ours = map
                .local_from_global(GlobalIndex::new(g))
                .map(LocalIndex::get);
            // Its cyclic maps do not check the range, its lists refuse indices outside of it.
            let inside = (0..dict.size().cast_signed()).contains(&g);
            if !inside && dict.dist_type() == "u" {
                continue;
            }
            let theirs = theirs
                .as_u64()
                .filter(|_| inside)
                .map(|l| usize::try_from(l).unwrap());
            assert_eq!(ours, theirs, "{id} global {g}");
        }
    }
    assert!(seen >= 55 && agreed >= 50, "{seen}, {agreed}");
    assert_eq!(kinds.len(), 4, "{kinds:?}");
}

#[test]
fn owners_and_index_tables_of_arrays() {
    let mut seen = 0;
    for case in fixture(include_str!("../fixtures/maps.json")) {
        let id = case["id"].as_str().unwrap();
        if case["kind"] == "owners" && case["precise"] == true {
            let dims = [global_dim(&case["global_dim_data"])];
            let d = Distribution::from_global_dim_data(&dims, 16).unwrap();
            let axis: &AxisDist = &d.axes()[0];
            for row in case["index_owners"].as_array().unwrap() {
                let g: i64 = number(&row[0]);
                let inside = (0..axis.size().cast_signed()).contains(&g);
                let theirs: Vec<usize> = numbers(&row[1]);
                assert_eq!(
                    axis.owners(g),
                    if inside { theirs } else { Vec::new() },
                    "{id} {g}"
                );
            }
            seen += 1;
        }
        if case["kind"] == "md" {
            let shape: Vec<u64> = numbers(&case["shape"]);
            let grid: Vec<usize> = numbers(&case["grid_shape"]);
            let ranks = grid.iter().product();
            let d = Distribution::from_shape(
                &shape,
                case["dist"].as_str().unwrap(),
                Some(&grid),
                ranks,
            )
            .unwrap();
            for rank in 0..ranks {
                let map = MDMap::from_dim_data(&d.dim_data(rank).unwrap()).unwrap();
                assert_eq!(map.local_shape(), d.local_shape(rank), "{id} rank {rank}");
                let mut stored = 0;
                let table = case["local_from_global_c_order"][rank].as_array().unwrap();
                for (at, theirs) in table.iter().enumerate() {
                    let index = dist_maps::unpack_index(&shape, at as u64).unwrap();
                    let signed: Vec<i64> = index.iter().map(|&i| i.cast_signed()).collect();
                    let global: Vec<GlobalIndex> =
                        signed.iter().map(|&i| GlobalIndex::new(i)).collect();
                    let ours = map.local_from_global(&global);
                    if let Some(local) = &ours {
                        assert_eq!(map.global_from_local(local), Some(global), "{id} {index:?}");
                        stored += 1;
                    }
                    let ours = ours.map(|l| l.iter().map(|l| l.get()).collect::<Vec<_>>());
                    let expected = theirs.is_array().then(|| numbers::<usize>(theirs));
                    assert_eq!(ours, expected, "{id} rank {rank} {index:?}");
                    let owner = number::<usize>(&case["owning_ranks_c_order"][at]);
                    assert_eq!(d.owner(&signed), Some(owner), "{id} {index:?}");
                }
                let count: usize = map.local_shape().iter().product();
                assert_eq!(stored, count, "{id} rank {rank}");
            }
            seen += 1;
        }
    }
    assert_eq!(seen, 7);
}

fn slice_of(theirs: &Value) -> Slice {
    let at = |i: usize| theirs[i].as_i64();
    Slice::new(at(0), at(1), at(2).unwrap_or(1))
}

/// The positions that a slice with a positive step takes of `len`, one by one as Python has it.
fn taken(theirs: &Value, len: i64) -> Vec<usize> {
    let from_end = |at: i64| if at < 0 { at + len } else { at };
    let start = theirs[0].as_i64().map_or(0, from_end);
    let stop = theirs[1].as_i64().map_or(len, from_end);
    let step = theirs[2].as_i64().unwrap_or(1);
    let inside = |&at: &i64| at >= start && at < stop && (at - start) % step == 0;
    let all = (0..len).filter(inside);
    all.map(|at| usize::try_from(at).unwrap()).collect()
}

/// The axis of a block of which one coordinate is known.
fn axis_around(dict: &DimDict) -> Option<AxisDist> {
    let Dist::Block { start, stop, .. } = dict.dist() else {
        return None;
    };
    let bound = |c: usize| match c {
        0 => 0,
        c if c == dict.grid_size() => dict.size(),
        c if c <= dict.grid_rank() => *start,
        _ => *stop,
    };
    let bounds: Vec<u64> = (0..=dict.grid_size()).map(bound).collect();
    AxisDist::block_bounds(bounds).ok()
}

/// `local_from_global_slice`: what of a slice lies here. A slice that ends before the first index
/// held here gets a negative end there, which then counts from the back and takes elements that are
/// not of the slice (negative local indices are accepted and wrap). The right answer is nothing.
#[test]
fn index_maps_by_slice() {
    let (mut agreed, mut wrapped) = (0, Vec::new());
    for case in fixture(include_str!("../fixtures/maps.json")) {
        let Some(rows) = case["head"]["local_from_global_slice"].as_array() else {
            continue;
        };
        let id = case["id"].as_str().unwrap();
        let dict = dim_dict(&case["dim_dict"]).unwrap();
        let (ranks, here) = (dict.grid_size(), dict.grid_rank());
        let targets: Vec<usize> = (0..ranks).collect();
        let axis = axis_around(&dict).unwrap();
        let d = Distribution::from_axes(vec![axis], ranks, targets).unwrap();
        assert_eq!(
            d.dim_data(here).unwrap().dims(),
            std::slice::from_ref(&dict),
            "{id}"
        );
        for row in rows {
            let sliced = d.slice(&[slice_of(&row[0]).into()]).unwrap();
            let ours = sliced.local(here);
            let ours = ours.map_or_else(Vec::new, |parts| parts[0].positions());
            let answer = &row[1]["slice"];
            let theirs = taken(answer, dict.stored_len().cast_signed());
            if ours == theirs {
                agreed += 1;
            } else {
                let negative = answer[1].as_i64().is_some_and(|stop| stop < 0);
                assert!(negative && ours.is_empty(), "{id} {row}");
                wrapped.push(id.to_owned());
            }
        }
    }
    assert_eq!(agreed, 171);
    assert_eq!(wrapped, ["m010", "m010", "m025", "m025", "m091"]);
}

/// `global_slice`: a rank's indices as one slice. Its block-cyclic maps have no such attribute (an
/// `AttributeError`), its lists answer nothing; ours are slices where one enumerates the indices.
#[test]
fn global_slices() {
    let (mut agreed, mut broken, mut unanswered) = (0, 0, 0);
    for case in fixture(include_str!("../fixtures/maps.json")) {
        if case["kind"] != "map1d" || case["head"]["error"].is_string() {
            continue;
        }
        let id = case["id"].as_str().unwrap();
        let dict = dim_dict(&case["dim_dict"]).unwrap();
        let ours = compact_indices(&DimData::new(vec![dict.clone()])).unwrap();
        let enumerated: Vec<i64> = match &ours[0] {
            CompactIndex::Slice { start, stop, step } => {
                let step = usize::try_from(*step).unwrap();
                let all = (*start..*stop).step_by(step);
                all.map(u64::cast_signed).collect()
            }
            CompactIndex::List(list) => list.clone(),
        };
        let truth: Vec<i64> = numbers(&case["protocol_local_indices"]);
        assert_eq!(enumerated, truth, "{id}");
        let theirs = &case["head"]["global_slice"];
        match theirs {
            Value::Object(_) => {
                let theirs = taken(&theirs["slice"], dict.size().cast_signed());
                let theirs: Vec<i64> = theirs.iter().map(|&g| i64::try_from(g).unwrap()).collect();
                assert_eq!(enumerated, theirs, "{id}");
                let is_slice = matches!(ours[0], CompactIndex::Slice { .. });
                assert!(is_slice, "{id}");
                agreed += 1;
            }
            Value::String(error) => {
                assert_eq!((&**error, dict.dist_type()), ("AttributeError", "c"));
                broken += 1;
            }
            _ => {
                assert!(theirs.is_null() && dict.dist_type() == "u", "{id}");
                unanswered += 1;
            }
        }
    }
    assert_eq!((agreed, broken, unanswered), (37, 20, 4));
}

/// `slice_owners` and `slice_maps`: which coordinates a slice lies on, and its maps, without the
/// ranks that hold nothing. Its cyclic maps have neither (an `AttributeError`).
#[test]
fn owners_and_maps_of_slices() {
    let (mut owners, mut maps, mut broken) = (0, 0, 0);
    for case in fixture(include_str!("../fixtures/maps.json")) {
        if case["kind"] != "owners" {
            continue;
        }
        let id = case["id"].as_str().unwrap();
        let dims = [global_dim(&case["global_dim_data"])];
        let d = Distribution::from_global_dim_data(&dims, 16).unwrap();
        let sliced = |row: &Value| d.slice(&[slice_of(&row[0]).into()]).unwrap();
        let Some(rows) = case["slice_owners"].as_array() else {
            assert_eq!(case["global_dim_data"]["dist_type"], "c", "{id}");
            broken += 1;
            continue;
        };
        for row in rows {
            let sliced = sliced(row);
            let has = |&rank: &usize| {
                let local = sliced.local(rank);
                local.is_some_and(|parts| parts[0].len() > 0)
            };
            let ours: Vec<usize> = (0..d.ranks()).filter(has).collect();
            assert_eq!(ours, numbers::<usize>(&row[1]), "{id} {row}");
            owners += 1;
        }
        for row in case["slice_maps"].as_array().unwrap() {
            let new = sliced(row).into_distribution().drop_empty();
            let theirs = row[1].as_array().unwrap();
            assert_eq!(new.targets().len(), theirs.len(), "{id} {row}");
            for (&rank, theirs) in new.targets().iter().zip(theirs) {
                let ours = new.dim_data(rank).unwrap();
                assert!(same_dict(&ours.dims()[0], theirs), "{id} {row}");
                maps += 1;
            }
        }
    }
    assert_eq!((owners, maps, broken), (18, 23, 1));
}
