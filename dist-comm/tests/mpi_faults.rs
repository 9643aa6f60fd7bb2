//! A rank that panics, is killed or leaves ends the job, quickly and with a word about it. Starts `mpirun` itself.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The example `faults`; Cargo builds it when no target is chosen by name.
fn example() -> PathBuf {
    let mut path = std::env::current_exe().expect("the path of this test");
    path.pop();
    path.pop();
    let path = path.join("examples/faults");
    assert!(
        path.exists(),
        "first: cargo build -p dist-comm --features mpi,testkit --example faults"
    );
    path
}

fn mpirun(ranks: usize, how: &str) -> Command {
    // `timeout` sees to it that a hang fails the test.
    let mut command = Command::new("timeout");
    command
        .args([
            "-k",
            "5",
            "60",
            "mpirun",
            "--oversubscribe",
            "--mca",
            "mpi_yield_when_idle",
            "1",
            "-n",
        ])
        .arg(ranks.to_string())
        .arg(example())
        .arg(how)
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command
}

fn texts(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn ends_badly(ranks: usize, how: &str, says: &[&str]) {
    ends_badly_with(ranks, how, says, &[]);
}

fn ends_badly_with(ranks: usize, how: &str, says: &[&str], variables: &[(&str, &str)]) {
    let began = Instant::now();
    let output = mpirun(ranks, how)
        .envs(variables.iter().copied())
        .output()
        .expect("mpirun starts (Debian package openmpi-bin)");
    let took = began.elapsed();
    let texts = texts(&output);
    assert!(
        !output.status.success(),
        "{how} on {ranks} ranks ended well: {texts}"
    );
    assert!(
        took < Duration::from_secs(10),
        "{how} on {ranks} ranks took {took:?}"
    );
    for text in says {
        assert!(
            texts.contains(text),
            "{how} on {ranks} ranks does not say {text:?}: {texts}"
        );
    }
}

#[test]
fn without_a_fault_all_is_well() {
    for how in ["", "outlives", "last-words"] {
        for ranks in [1, 2, 4] {
            let output = mpirun(ranks, how)
                .output()
                .expect("mpirun starts (Debian package openmpi-bin)");
            assert!(
                output.status.success(),
                "{how} on {ranks} ranks: {}",
                texts(&output)
            );
        }
    }
}

#[test]
fn a_communicator_opened_while_the_last_one_is_dropped_can_be_used() {
    let output = mpirun(1, "reopens")
        .output()
        .expect("mpirun starts (Debian package openmpi-bin)");
    assert!(output.status.success(), "{}", texts(&output));
}

#[test]
fn one_rank_may_keep_apart() {
    let mut command = mpirun(1, "");
    command
        .args([":", "-n", "1", "-x", "DIST_COMM_SHARED_MEMORY=0"])
        .arg(example());
    let output = command
        .output()
        .expect("mpirun starts (Debian package openmpi-bin)");
    assert!(output.status.success(), "{}", texts(&output));
}

#[test]
fn a_panic_ends_all_ranks() {
    for ranks in [2, 4] {
        let who = format!(
            "rank {} of {ranks} panicked outside communication: wing fell off",
            ranks - 1
        );
        ends_badly(ranks, "panic", &[&who]);
    }
}

#[test]
fn a_panic_in_a_call_names_it() {
    for ranks in [2, 4] {
        let who = format!(
            "rank {} of {ranks} panicked in lend: cannot read",
            ranks - 1
        );
        ends_badly(ranks, "panic-in-call", &[&who]);
        let who = format!(
            "rank {} of {ranks} panicked in exchange: no local part",
            ranks - 1
        );
        ends_badly(ranks, "panic-in-exchange", &[&who]);
    }
}

#[test]
fn a_panic_ends_all_ranks_whatever_the_hook() {
    for ranks in [2, 4] {
        let who = |call| format!("rank {} of {ranks} panicked in {call}", ranks - 1);
        ends_badly(ranks, "own-hook-panic-in-call", &[&who("lend")]);
        ends_badly(ranks, "own-hook-panic-in-exchange", &[&who("exchange")]);
        ends_badly(ranks, "own-hook-panic", &[]);
    }
}

#[test]
fn a_rank_that_leaves_is_named_to_who_waits_for_its_messages() {
    for ranks in [2, 4] {
        for call in ["recv", "send", "exchange"] {
            let who = format!(
                "rank 0: {call}: rank {} has left and will not take part",
                ranks - 1
            );
            ends_badly(ranks, &format!("leaves-{call}"), &[&who]);
        }
    }
}

#[test]
fn between_nodes_a_wait_has_a_limit() {
    let variables = [
        ("DIST_COMM_SHARED_MEMORY", "0"),
        ("DIST_COMM_TIMEOUT", "1.5"),
    ];
    for ranks in [2, 4] {
        for call in ["recv", "send", "exchange"] {
            let who = format!(
                "rank 0: {call}: gave up after 1.5s of waiting for ranks [{}]",
                ranks - 1
            );
            ends_badly_with(ranks, &format!("leaves-{call}"), &[&who], &variables);
        }
        let all: Vec<usize> = (0..ranks).collect();
        let who = format!("rank 0: barrier: gave up after 1.5s of waiting for ranks {all:?}");
        ends_badly_with(ranks, "leaves", &[&who], &variables);
    }
}

#[test]
fn on_one_node_a_wait_has_the_limit_that_is_set() {
    for ranks in [2, 3, 4] {
        // The last rank comes too late for the others, which give up together, and is told so too.
        let late = ranks - 1;
        let who = |rank| {
            format!("rank {rank}: barrier: gave up after 1.5s of waiting for ranks [{late}]")
        };
        let all: Vec<String> = (0..ranks).map(who).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        ends_badly_with(ranks, "late", &all, &[("DIST_COMM_TIMEOUT", "1.5")]);
    }
}

#[test]
fn a_rank_that_leaves_is_named() {
    for ranks in [2, 4] {
        let who = format!(
            "rank 0: barrier: rank {} has left and will not take part",
            ranks - 1
        );
        ends_badly(ranks, "leaves", &[&who]);
    }
}

/// Two ranks, the second of which has a gigabyte, for everything.
fn lacks_memory(how: &str, says: &[&str]) {
    let mut command = mpirun(1, how);
    let limited = r#"ulimit -v 1000000 && exec "$0" "$1""#;
    command.args([":", "-n", "1", "sh", "-c", limited]);
    let output = command
        .arg(example())
        .arg(how)
        .output()
        .expect("mpirun starts (Debian package openmpi-bin)");
    let texts = texts(&output);
    assert!(!output.status.success(), "{how}: {texts}");
    for text in says {
        assert!(texts.contains(text), "{how} does not say {text:?}: {texts}");
    }
}

#[test]
fn a_message_too_long_to_be_dropped_is_an_error() {
    let who = "rank 1: recv: rank 1 could not allocate 900000000 bytes";
    lacks_memory("too-long", &[who]);
}

#[test]
fn a_rank_without_memory_for_what_it_gets_is_an_error_on_all() {
    for (how, call) in [("gather", "gather_v"), ("all-to-all", "all_to_all_v")] {
        let who = |rank| format!("rank {rank}: {call}: rank 1 could not allocate 900000008 bytes");
        lacks_memory(how, &[&who(0), &who(1)]);
    }
}

#[test]
fn who_goes_on_after_a_rank_has_left_disturbs_nobody() {
    for ranks in [2, 3, 4] {
        let who = |rank| format!("rank {rank}: barrier: rank 0 has left and will not take part");
        let all: Vec<String> = (1..ranks).map(who).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        ends_badly(ranks, "leaves-reader", &all);
    }
}

#[test]
fn a_killed_rank_ends_all_ranks() {
    for ranks in [2, 4] {
        let mut job = mpirun(ranks, "killed")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("mpirun starts (Debian package openmpi-bin)");
        let stdout = job.stdout.take().expect("a pipe");
        let line = BufReader::new(stdout)
            .lines()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("kill ").map(ToOwned::to_owned))
            .expect("the number of the process to kill");
        // The shell's own: the program is not on every machine.
        let killed = Command::new("sh")
            .args(["-c", "kill -KILL \"$0\"", line.trim()])
            .status()
            .expect("a shell");
        assert!(killed.success());
        let began = Instant::now();
        let status = job.wait().expect("mpirun ends");
        assert!(!status.success());
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "took {:?}",
            began.elapsed()
        );
    }
}
