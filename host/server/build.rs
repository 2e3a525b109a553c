//! Puts the files of the web inbox into the binary, if `cargo xtask web` has built them. Nobody needs Node to build the crate.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Where `cargo xtask web` leaves them. Only a checkout has what they are made of.
const BUILT: &str = "web/dist";

fn main() -> Result<(), Box<dyn Error>> {
    let mut list = String::from("static FILES: &[File] = &[\n");
    if Path::new("web/package.json").exists() {
        let built = env::current_dir()?.join(BUILT);
        // That it is there says to cargo that nothing changed: a path that is missing means always "build again".
        fs::create_dir_all(&built)?;
        println!("cargo:rerun-if-changed={BUILT}");
        for file in files(&built)? {
            let path = file.strip_prefix(&built)?.to_str().ok_or("a file name is not UTF-8")?.replace('\\', "/");
            let media_type = media_type(&file);
            writeln!(list, "File {{ path: {path:?}, media_type: {media_type:?}, bytes: include_bytes!({file:?}) }},")?;
        }
    }
    println!("cargo:rerun-if-changed=build.rs");
    list.push_str("];\n");
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join("web_files.rs"), list)?;
    Ok(())
}

fn files(dir: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        match path.is_dir() {
            true => found.append(&mut files(&path)?),
            false => found.push(path),
        }
    }
    found.sort();
    Ok(found)
}

fn media_type(file: &Path) -> &'static str {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}
