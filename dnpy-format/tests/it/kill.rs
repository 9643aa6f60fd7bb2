//! Saves that are killed at random moments: the old file or the new one, whole.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use dnpy_format::{load, save};

use crate::common::large_part;

/// How often a save is killed: `DNPY_KILLS`, 20 where it is not set.
fn kills() -> u32 {
    std::env::var("DNPY_KILLS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(20)
}

/// Runs the test `name` of this program as a child that saves into `dir` without end.
fn child(name: &str, dir: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env("DNPY_KILL_DIR", dir)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Says that the save of `value` is done, in one step.
fn done(dir: &Path, value: f64) {
    std::fs::write(dir.join("next"), value.to_string()).unwrap();
    std::fs::rename(dir.join("next"), dir.join("ready")).unwrap();
}

/// Whether what is found is the last save that was done, or the one after it.
fn is_old_or_new(found: f64, done: f64) -> bool {
    [done, done + 1.0]
        .map(f64::to_bits)
        .contains(&found.to_bits())
}

/// Kills children, each after another few milliseconds of saving, and looks each time, with the value of the last save that
/// was done.
fn kill_many(name: &str, dir: &Path, look: &mut dyn FnMut(f64)) {
    let ready = &dir.join("ready");
    let mut state = 0x2545_f491_4f6c_dd1d_u64; // xorshift: moments that are spread, and the same each run
    for _ in 0..kills() {
        let _ = std::fs::remove_file(ready);
        let mut child = child(name, dir);
        let begin = Instant::now();
        while !ready.exists() {
            assert!(
                begin.elapsed() < Duration::from_secs(60),
                "the child saves nothing"
            );
            std::thread::sleep(Duration::from_micros(200));
        }
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        std::thread::sleep(Duration::from_micros(state % 20_000));
        child.kill().unwrap(); // SIGKILL
        child.wait().unwrap();
        let done = std::fs::read_to_string(ready).unwrap();
        look(done.parse().unwrap());
    }
}

const LEN: usize = 40_000;

#[test]
fn child_saves_a_file() {
    let Some(dir) = std::env::var_os("DNPY_KILL_DIR") else {
        return; // only its parent runs it
    };
    let dir = Path::new(&dir);
    let mut value = 0.0;
    loop {
        value += 1.0;
        save(dir.join("part_0.dnpy"), &large_part(value, LEN)).unwrap();
        done(dir, value);
    }
}

#[test]
fn a_killed_save_leaves_the_old_file_or_the_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("part_0.dnpy");
    kill_many("kill::child_saves_a_file", dir.path(), &mut |done| {
        let part = load::<f64>(&path).unwrap();
        let first = part.buffer().data()[0];
        assert!(is_old_or_new(first, done), "{first} after {done}");
        assert_eq!(part, large_part(first, LEN));
    });
}

#[cfg(feature = "set")]
mod set {
    use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
    use dnpy_format::set::{Set, SetWriter};
    use dnpy_format::{DnpyError, SaveId};

    use super::{LEN, Path, done, is_old_or_new, kill_many};

    const RANKS: usize = 3;

    fn save_all(writer: &SetWriter, value: f64) {
        let n = LEN as u64;
        let records: Vec<_> = (0..RANKS)
            .map(|rank| {
                let r = rank as u64;
                let dim = DimDict::block(RANKS as u64 * n, RANKS, rank, r * n..(r + 1) * n);
                let array = HostArray::new(vec![LEN], vec![value; LEN]).unwrap();
                let part = DistBuffer::new(DimData::new(vec![dim.unwrap()]), array).unwrap();
                writer.save_part(rank, &part).unwrap()
            })
            .collect();
        writer.publish(&records).unwrap();
    }

    fn child(plain: bool) {
        let Some(dir) = std::env::var_os("DNPY_KILL_DIR") else {
            return; // only its parent runs it
        };
        let dir = Path::new(&dir);
        let mut value = 0.0;
        loop {
            value += 1.0;
            let writer = SetWriter::new(dir.join("run"), SaveId::random());
            let writer = if plain { writer.plain_names() } else { writer };
            save_all(&writer, value);
            done(dir, value);
        }
    }

    #[test]
    fn child_saves_a_set() {
        child(false);
    }

    #[test]
    fn child_saves_a_plain_set() {
        child(true);
    }

    /// All elements of the set, which must be of one save.
    fn whole(prefix: &Path) -> Result<f64, DnpyError> {
        let set = Set::open(prefix)?;
        set.verify()?;
        let n = (RANKS * LEN) as u64;
        let all = set.read::<f64>(&DimData::new(vec![DimDict::whole(n).unwrap()]))?;
        let data = all.part.buffer().data().to_vec();
        let bits = |x: &f64| x.to_bits() == data[0].to_bits();
        assert!(data.iter().all(bits), "two saves in one set");
        Ok(data[0])
    }

    #[test]
    fn a_killed_save_leaves_the_old_set_or_the_new_one() {
        let dir = tempfile::tempdir().unwrap();
        let prefix = dir.path().join("run");
        let mut last = 0.0;
        kill_many("kill::set::child_saves_a_set", dir.path(), &mut |done| {
            last = whole(&prefix).unwrap();
            assert!(is_old_or_new(last, done), "{last} after {done}");
        });
        // what the killed saves left is gone after the next one
        save_all(&SetWriter::new(&prefix, SaveId::random()), last + 1.0);
        let left = std::fs::read_dir(dir.path())
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.contains(".dnpy"))
            .count();
        assert_eq!(left, RANKS);
    }

    #[test]
    fn a_killed_save_under_plain_names_is_whole_or_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let prefix = dir.path().join("run");
        let name = "kill::set::child_saves_a_plain_set";
        kill_many(name, dir.path(), &mut |done| match whole(&prefix) {
            Ok(value) => assert!(is_old_or_new(value, done), "{value} after {done}"),
            Err(e) => {
                assert!(e.to_string().contains("two saves are mixed"), "{e}");
                assert!(e.to_string().contains("run_0.dnpy"), "{e}");
            }
        });
    }
}
