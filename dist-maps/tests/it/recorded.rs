//! Redistributions that `DistArray` carried out, and some that it refuses.

use dist_maps::{AxisDist, Distribution, Redistribution};
use serde_json::Value;

use crate::plan::messages;

fn number(v: &Value) -> u64 {
    v.as_u64().unwrap()
}

fn list(v: &Value) -> Vec<i64> {
    v.as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_i64().unwrap())
        .collect()
}

/// A distribution from the dictionaries of all ranks.
fn distribution(parts: &Value, ranks: usize) -> Distribution {
    let parts = parts.as_array().unwrap();
    let ndim = parts[0].as_array().unwrap().len();
    let axis = |i: usize| {
        let size = number(&parts[0][i]["size"]);
        let grid = usize::try_from(number(&parts[0][i]["proc_grid_size"])).unwrap();
        let at = |coord: usize| {
            let here = |p: &&Value| number(&p[i]["proc_grid_rank"]) == coord as u64;
            &parts.iter().find(here).unwrap()[i]
        };
        match parts[0][i]["dist_type"].as_str().unwrap() {
            "n" => AxisDist::whole(size),
            "b" => {
                let ends = (0..grid).map(|c| number(&at(c)["stop"]));
                AxisDist::block_bounds([0].into_iter().chain(ends).collect::<Vec<_>>())
            }
            "c" => AxisDist::cyclic(size, grid, at(0)["block_size"].as_u64().unwrap_or(1)),
            "u" => AxisDist::unstructured(size, (0..grid).map(|c| list(&at(c)["indices"]))),
            other => panic!("{other}"),
        }
        .unwrap()
    };
    let axes: Vec<AxisDist> = (0..ndim).map(axis).collect();
    let targets: Vec<usize> = (0..parts.len()).collect();
    let dist = Distribution::from_axes(axes, ranks, targets).unwrap();
    for (rank, part) in parts.iter().enumerate() {
        let coords = dist.coords(rank).unwrap();
        for (i, coord) in coords.into_iter().enumerate() {
            assert_eq!(number(&part[i]["proc_grid_rank"]), coord as u64);
        }
    }
    dist
}

#[test]
fn the_recorded_redistributions() {
    let text = include_str!("../fixtures/redist.json");
    let root: Value = serde_json::from_str(text).unwrap();
    let cases = root["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 26);
    for case in cases {
        let id = case["id"].as_str().unwrap();
        let count = |key: &str| case[key].as_array().unwrap().len();
        let ranks = count("source").max(count("dest"));
        let (src, dst) = (
            distribution(&case["source"], ranks),
            distribution(&case["dest"], ranks),
        );
        let change = Redistribution::between(&src, &dst);
        let same = src.global_shape() == dst.global_shape();
        let change = if same { change } else { change.reshaped() };
        let plans: Vec<_> = (0..ranks).map(|r| change.plan(r).unwrap()).collect();
        let buffers = |key: &str| -> Vec<Vec<i64>> {
            let mut all: Vec<_> = case[key].as_array().unwrap().iter().map(list).collect();
            all.resize(ranks, Vec::new());
            all
        };
        let (before, after) = (buffers("before"), buffers("after"));
        let mut got: Vec<Vec<i64>> = after.iter().map(|b| vec![-1; b.len()]).collect();
        for (rank, plan) in plans.iter().enumerate() {
            for t in plan.recvs().iter().chain(plan.local()) {
                let from = plans[t.peer()].src_layout().unwrap();
                let to = plan.dst_layout().unwrap();
                t.copy(&before[t.peer()], &from, &mut got[rank], &to)
                    .unwrap();
            }
        }
        assert_eq!(got, after, "{id}");
        if let Some(recorded) = case["messages"].as_array() {
            let mut ours = messages(&change);
            ours.sort_unstable();
            let triple = |v: &Value| {
                let m = list(v);
                let rank = |i: usize| usize::try_from(m[i]).unwrap();
                (rank(0), rank(1), m[2].cast_unsigned())
            };
            let recorded: Vec<_> = recorded.iter().map(triple).collect();
            assert_eq!(ours, recorded, "{id}");
        }
    }
}
