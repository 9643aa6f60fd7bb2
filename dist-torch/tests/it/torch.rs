//! Our draws are those of a real torch: `tests/data/torch_vectors.py` wrote them down.

use dist_torch::{
    DistributedSampler, Draws, LoaderDraw, Order, RandomSampler, TorchRng, WeightedRandomSampler,
};
use serde_json::Value;

fn vectors() -> Value {
    serde_json::from_str(include_str!("../data/torch_vectors.json")).expect("JSON")
}

fn list(value: &Value) -> Vec<u64> {
    value
        .as_array()
        .expect("a list")
        .iter()
        .map(number)
        .collect()
}

fn number(value: &Value) -> u64 {
    // bits of numbers are signed where torch wrote them
    value
        .as_u64()
        .unwrap_or_else(|| value.as_i64().expect("a number").cast_unsigned())
}

/// Compares a list with a stored one, or with what is stored of a long one.
fn check(ours: &[u64], torchs: &Value, what: &Value) {
    if torchs.is_array() {
        assert_eq!(ours, list(torchs), "{what}");
        return;
    }
    assert_eq!(ours.len() as u64, number(&torchs["len"]), "{what}");
    assert_eq!(ours[..8], list(&torchs["first"]), "{what}");
    assert_eq!(ours[ours.len() - 8..], list(&torchs["last"]), "{what}");
    let mix = |sum: u64, &n: &u64| (sum ^ n).wrapping_mul(0x100_0000_01b3);
    let sum = ours.iter().fold(0xcbf2_9ce4_8422_2325, mix);
    assert_eq!(sum, number(&torchs["fnv"]), "{what}");
}

fn cases<'a>(vectors: &'a Value, name: &str) -> &'a [Value] {
    let cases = vectors[name].as_array().expect("cases");
    assert!(!cases.is_empty());
    cases
}

#[test]
fn numbers_are_torchs() {
    let vectors = vectors();
    assert!(vectors["torch"].as_str().unwrap().starts_with("2.11"));
    for case in cases(&vectors, "numbers") {
        let mut rng = TorchRng::new(number(&case["seed"]));
        for expected in list(&case["random_"]) {
            assert_eq!(rng.random(), expected, "{case}");
        }
        for bits in list(&case["uniform_bits"]) {
            assert_eq!(rng.uniform().to_bits(), bits, "{case}");
        }
        for pair in case["randint"].as_array().unwrap() {
            for expected in list(&pair[1]) {
                assert_eq!(rng.randint(number(&pair[0])), expected, "{pair}");
            }
        }
    }
}

#[test]
fn permutations_are_torchs() {
    let vectors = vectors();
    for case in cases(&vectors, "randperm") {
        let rows = TorchRng::new(number(&case["seed"]))
            .randperm(number(&case["n"]))
            .unwrap();
        check(&rows, &case["rows"], case);
    }
    let case = &vectors["negative_seed"];
    let rows = TorchRng::new(number(&case["seed"])).randperm(10).unwrap();
    check(&rows, &case["rows"], case);
}

#[test]
fn random_samplers_are_torchs() {
    for case in cases(&vectors(), "random") {
        let mut sampler = RandomSampler::new(number(&case["n"]))
            .replacement(case["replacement"].as_bool().unwrap());
        if let Some(num_samples) = case["num_samples"].as_u64() {
            sampler = sampler.num_samples(num_samples);
        }
        let seed = number(&case["seed"]);
        let mut rng = TorchRng::new(seed);
        check(
            &sampler.draw(Draws::Given(&mut rng)).unwrap(),
            &case["given"],
            case,
        );
        assert_eq!(rng.random(), number(&case["given_next"]), "{case}");
        let mut rng = TorchRng::new(seed);
        check(
            &sampler.draw(Draws::Global(&mut rng)).unwrap(),
            &case["global"],
            case,
        );
        assert_eq!(rng.random(), number(&case["global_next"]), "{case}");
    }
}

#[test]
fn weighted_samplers_are_torchs() {
    for case in cases(&vectors(), "weighted") {
        let weights: Vec<f64> = list(&case["weight_bits"])
            .into_iter()
            .map(f64::from_bits)
            .collect();
        let sampler = WeightedRandomSampler::new(&weights, number(&case["num_samples"])).unwrap();
        let mut rng = TorchRng::new(number(&case["seed"]));
        check(&sampler.draw(&mut rng).unwrap(), &case["rows"], case);
        assert_eq!(rng.random(), number(&case["next"]), "{case}");
    }
}

#[test]
fn loaders_draw_as_torchs_do() {
    for case in cases(&vectors(), "loader") {
        let sampler = RandomSampler::new(number(&case["n"]));
        let mut rng = TorchRng::new(number(&case["seed"]));
        for epoch in cases(case, "epochs") {
            let draws = if case["given"] == true {
                Draws::Given(&mut rng)
            } else {
                Draws::Global(&mut rng)
            };
            let draw = LoaderDraw::new(&sampler, draws).unwrap();
            assert_eq!(draw.base_seed, number(&epoch["base_seed"]), "{case}");
            check(&draw.rows, &epoch["rows"], case);
        }
        assert_eq!(rng.random(), number(&case["next"]), "{case}");
    }
}

#[test]
fn distributed_samplers_are_torchs() {
    for case in cases(&vectors(), "distributed") {
        let int = |key: &str| number(&case[key]);
        let flag = |key: &str| case[key].as_bool().unwrap();
        let (n, replicas, rank) = (int("n"), int("replicas") as usize, int("rank") as usize);
        let sampler = DistributedSampler::new(n, replicas, rank)
            .unwrap()
            .shuffle(flag("shuffle"))
            .drop_last(flag("drop_last"))
            .seed(int("seed"))
            .epoch(int("epoch"));
        let rows = sampler.draw().unwrap();
        assert_eq!(rows.len() as u64, sampler.len());
        check(&rows, &case["rows"], case);
        // the order of an epoch is the same one: where nothing is repeated or left out, a rank reads the same rows
        if flag("shuffle") && n > 0 && n % replicas as u64 == 0 {
            let order = Order::Torch.epoch(n, int("seed"), int("epoch")).unwrap();
            let epoch = dist_torch::Epoch::new(order, 2 * replicas as u64).unwrap();
            let ours: Vec<u64> = (0..epoch.steps())
                .flat_map(|step| epoch.rows(step, rank, replicas))
                .collect();
            check(&ours, &case["rows"], case);
        }
    }
}

/// Takes 1.7 GB twice, and a minute: `cargo test --release -p dist-torch --test it -- --ignored long`.
#[test]
#[ignore = "takes 1.7 GB"]
fn long_permutations_are_torchs() {
    let vectors: Value =
        serde_json::from_str(include_str!("../data/torch_long.json")).expect("JSON");
    for case in cases(&vectors, "randperm") {
        let rows = TorchRng::new(number(&case["seed"]))
            .randperm(number(&case["n"]))
            .unwrap();
        let step = number(&case["step"]) as usize;
        assert!(
            rows.iter().step_by(step).copied().eq(list(&case["rows"])),
            "{case}"
        );
        assert_eq!(rows[..8], list(&case["first"]));
        assert_eq!(rows[rows.len() - 8..], list(&case["last"]));
    }
}
