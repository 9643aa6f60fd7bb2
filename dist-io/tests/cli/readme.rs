//! The commands of docs/dap.md, and what they print.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use dist_maps::Distribution;

use crate::support::{number, part, save_whole, temporary};

#[test]
fn what_the_readme_shows_is_what_the_command_prints() {
    let folder = temporary();
    save_whole(folder.path(), &[4, 6], number);
    let theirs = Distribution::over(2)
        .shape([4, 6])
        .block(0)
        .padding(1)
        .build();
    let theirs = theirs.unwrap();
    for rank in 0..2 {
        let path = folder.path().join(format!("their_{rank}.dnpy"));
        dnpy_format::save(path, &part(&theirs, rank, number)).unwrap();
    }
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/dap.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let mut found = 0;
    let mut paths: Vec<OsString> = vec![
        Path::new(env!("CARGO_BIN_EXE_dap"))
            .parent()
            .unwrap()
            .into(),
    ];
    paths.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()).map(Into::into));
    let path = env::join_paths(paths).unwrap();
    for block in readme.split("```console\n").skip(1) {
        let (block, _) = block.split_once("```").unwrap();
        for step in block.split("$ ").skip(1) {
            let (command, expected) = step.split_once('\n').unwrap();
            let output = Command::new("sh")
                .args(["-c", command])
                .current_dir(folder.path())
                .env("PATH", &path)
                .output()
                .unwrap();
            let printed = [output.stdout, output.stderr].concat();
            let printed = String::from_utf8_lossy(&printed);
            assert_eq!(printed.trim_end(), expected.trim_end(), "{command}");
            found += 1;
        }
    }
    assert!(found >= 5, "{found} commands");
}
