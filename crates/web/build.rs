//! Puts what `npm run build` made of `web/app` into the binary. Where it was not made, there is nothing, and the server says so.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// From here, as cargo runs it.
const APP: &str = "../../web/app";
const DIST: &str = "../../web/app/dist";
/// Files in this folder have a hash of their content in their name, so a name never changes its meaning.
const HASHED: &str = "assets/";

fn main() -> io::Result<()> {
    let dist = Path::new(DIST);
    // Cargo treats a missing path as changed and would rerun this script each time.
    println!("cargo::rerun-if-changed={}", if dist.exists() { DIST } else { APP });
    let mut files = Vec::new();
    if dist.join("index.html").exists() {
        find(dist, &mut files)?;
        files.sort();
    }
    let mut table = String::from("&[\n");
    for file in files.iter().filter(|file| !is_compressed(file)) {
        describe(dist, file, &mut table)?;
    }
    table.push(']');
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo gives no OUT_DIR"))?;
    fs::write(Path::new(&out).join("assets.rs"), table)
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// A compressed copy, which is in the folder of its original.
fn is_compressed(file: &Path) -> bool {
    matches!(extension(file), "br" | "gz") && file.with_extension("").exists()
}

fn extension(file: &Path) -> &str {
    file.extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}

fn describe(dist: &Path, file: &Path, table: &mut String) -> io::Result<()> {
    let relative = file.strip_prefix(dist).map_err(io::Error::other)?;
    let path = relative.to_str().ok_or_else(|| io::Error::other("a file name that is not text"))?;
    let bytes = fs::read(file)?;
    let mut hash = DefaultHasher::new();
    bytes.hash(&mut hash);
    let written = writeln!(
        table,
        "Asset {{ path: {path:?}, content_type: {:?}, tag: {:?}, is_immutable: {}, plain: {}, gzip: {}, brotli: {} }},",
        content_type(file)?,
        // A weak one, as it stands for the compressed forms too.
        format!("W/\"{:016x}\"", hash.finish()),
        path.starts_with(HASHED),
        include(file)?,
        compressed(file, "gz")?,
        compressed(file, "br")?,
    );
    written.map_err(io::Error::other)
}

fn include(file: &Path) -> io::Result<String> {
    Ok(format!("include_bytes!({:?})", fs::canonicalize(file)?))
}

fn compressed(file: &Path, ending: &str) -> io::Result<String> {
    let mut name = file.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    let compressed = PathBuf::from(name);
    Ok(if compressed.exists() { format!("Some({})", include(&compressed)?) } else { "None".into() })
}

/// The content type by file extension, so that browsers need not guess.
fn content_type(file: &Path) -> io::Result<&'static str> {
    Ok(match extension(file) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "webmanifest" => "application/manifest+json",
        "json" => "application/json",
        "woff2" => "font/woff2",
        other => return Err(io::Error::other(format!("no content type is known for .{other} files"))),
    })
}
