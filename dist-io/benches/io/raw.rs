//! The limits: files written and read at offsets, by the operating system alone.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use dist_comm::Communicator;
use dist_io::IoPlan;
use large_pages::prefer_large_pages;

/// Bytes that are neighbours in a file and in a rank's buffer: where they begin in the file, and which they are of the buffer.
pub type Piece = (u64, Range<usize>);

/// What a rank owns, as runs.
pub fn pieces(plan: &IoPlan, rank: usize) -> Vec<Piece> {
    let part = plan.part(rank).expect("a rank of the plan");
    let item = plan.item_size();
    let piece =
        |run: dist_io::FileRun| (run.offset, run.local * item..(run.local + run.len) * item);
    part.runs().map(piece).collect()
}

/// A new file, as a save makes it: written by all ranks beside its name, synced, and renamed. Collective.
pub fn save(comm: &impl Communicator, path: &Path, len: u64, pieces: &[Piece], bytes: &[u8]) {
    let beside = path.with_extension("tmp");
    if comm.rank() == 0 {
        let file = File::create(&beside).expect("a new file");
        file.set_len(len).expect("room");
    }
    comm.barrier().expect("barrier");
    let file = File::options().read(true).write(true).open(&beside);
    let file = file.expect("the new file");
    for (offset, range) in pieces {
        let written = file.write_all_at(&bytes[range.clone()], *offset);
        written.expect("written");
    }
    file.sync_data().expect("synced");
    comm.barrier().expect("barrier");
    if comm.rank() == 0 {
        file.sync_all().expect("synced");
        std::fs::rename(&beside, path).expect("renamed");
        sync_folder(path);
    }
    comm.barrier().expect("barrier");
}

/// Memory that nobody has touched, in large pages, as what is loaded has it.
pub fn fresh(len: usize) -> Vec<u8> {
    let mut fresh = vec![0; len];
    prefer_large_pages(&mut fresh);
    fresh
}

/// Reads pieces. Local.
pub fn read(path: &Path, pieces: &[Piece], bytes: &mut [u8]) {
    let file = File::open(path).expect("a file");
    for (offset, range) in pieces {
        let read = file.read_exact_at(&mut bytes[range.clone()], *offset);
        read.expect("read");
    }
}

pub fn sync_folder(path: &Path) {
    let folder = path.parent().expect("a folder");
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .expect("synced");
}
