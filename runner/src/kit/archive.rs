//! One host's files as a compressed archive, which contains no names of people and is the same for
//! the same files.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Component, Path};

use anyhow::{Context as _, Result, bail};
use tar::{Archive, Builder, EntryType, Header};

use super::contents;
use super::parcel::{self, Files, SUMS};
use super::personal::Personal;
use super::record::Record;
use crate::host::start_of;
use crate::stop::Stop;
use crate::system::whole_file;

/// How hard to compress: records are compressed already, so more gains nothing.
const LEVEL: i32 = 10;

/// More comes out of no archive that this runner wrote.
const MOST_BYTES: u64 = 1 << 28;

/// The end of an archive's name.
pub const ENDING: &str = ".tar.zst";

/// Reads the files of a host, whose own are in the folder `own` and whose sweeps are below
/// `results`, and refuses those that name people or the machine.
///
/// # Errors
/// [`Stop::BadInput`] for a personal word, with its file; disk errors.
pub fn gather(results: &Path, own: &Path, record: &Record, personal: &Personal) -> Result<Files> {
    let mut files = Files::new();
    let of_host = format!("hosts/{}/", record.host);
    for path in parcel::paths(record) {
        let place = path
            .strip_prefix(&of_host)
            .map_or_else(|| results.join(&path), |it| own.join(it));
        let content =
            fs::read(&place).with_context(|| format!("{} cannot be read", place.display()))?;
        refuse_personal(&place, &content, personal)?;
        files.insert(path, content);
    }
    Ok(files)
}

/// Refuses a file of results that names people or the machine.
///
/// # Errors
/// [`Stop::BadInput`] with the word and its file; if it is compressed and cannot be read.
pub fn refuse_personal(place: &Path, content: &[u8], personal: &Personal) -> Result<()> {
    let place = place.display().to_string();
    contents::lines(&place, content, |line| match personal.find(line) {
        None => Ok(()),
        Some(word) => bail!(Stop::BadInput(format!(
            "{place}: `{word}` stands in it, which seems to be your name or your machine's; nothing was packed. It \
             often comes from a path in RUSTFLAGS or ~/.cargo/config.toml: take that out and begin anew with --new. \
             If the word tells nobody who you are, say `--allow-word {word}`"
        ))),
    })
}

/// Writes an archive: the checksums, then the files in the order of their paths, without owners and
/// times.
///
/// # Errors
/// If the disk refuses; an older archive is then still there.
pub fn write(output: &Path, files: &Files) -> Result<()> {
    let write = |out: &mut dyn io::Write| {
        let mut tar = Builder::new(zstd::Encoder::new(out, LEVEL)?);
        add(&mut tar, SUMS, parcel::sums(files).as_bytes())?;
        for (path, content) in files {
            add(&mut tar, path, content)?;
        }
        tar.into_inner()?.finish()?.flush()
    };
    whole_file::write(output, |out| write(out))
        .with_context(|| format!("{} cannot be written", output.display()))
}

fn add(tar: &mut Builder<impl io::Write>, path: &str, content: &[u8]) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    tar.append_data(&mut header, path, content)
}

/// Reads an archive and checks all of it.
///
/// # Errors
/// [`Stop::BadInput`] if it is damaged, leads out of its folder, or is something else.
pub fn read(path: &Path) -> Result<(Record, Files)> {
    let name = path.display().to_string();
    let refused = |why: String| Stop::BadInput(format!("{name}: {why}; nothing was unpacked"));
    // If the file is no archive, the library's message quotes some of its bytes, of any kind.
    let damaged = |error: io::Error| {
        let why = start_of(&error.to_string());
        refused(format!("it is damaged, or no {ENDING} file: {why}"))
    };
    let file = File::open(path)
        .map_err(|error| Stop::BadInput(format!("{name} cannot be read: {error}")))?;
    let text = zstd::Decoder::new(file)
        .map_err(damaged)?
        .take(MOST_BYTES + 1);
    let mut tar = Archive::new(text);
    let mut files = Files::new();
    let mut sums = None;
    let mut seen = BTreeSet::new();
    for entry in tar.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let told = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if entry.header().entry_type() != EntryType::Regular {
            bail!(refused(format!(
                "`{told}` is no file but a link or something else"
            )));
        }
        let is_plain = |part: Component<'_>| match part {
            Component::Normal(word) => word.to_str().is_some_and(parcel::is_word),
            _ => false,
        };
        if told.contains("//") || !Path::new(&told).components().all(is_plain) {
            bail!(refused(format!(
                "`{told}` is no path that such a file may have"
            )));
        }
        if !seen.insert(told.clone()) {
            bail!(refused(format!("`{told}` is there twice")));
        }
        let mut content = Vec::new();
        entry.read_to_end(&mut content).map_err(damaged)?;
        if told == SUMS {
            sums = Some(String::from_utf8_lossy(&content).into_owned());
        } else {
            files.insert(told, content);
        }
    }
    // The bytes behind the archive's end are read, too: the checksum of the compressed data stands
    // there.
    let mut rest = tar.into_inner();
    io::copy(&mut rest, &mut io::sink()).map_err(damaged)?;
    if rest.limit() == 0 {
        bail!(refused(format!(
            "more than {} MB come out of it",
            MOST_BYTES >> 20
        )));
    }
    let Some(sums) = sums else {
        bail!(refused(format!(
            "it has no {SUMS}, so it is not of `cargo runner on-this-host`"
        )));
    };
    Ok((parcel::check(&name, &files, &sums)?, files))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::parcel::tests::files;
    use super::super::record::RECORD;
    use super::super::record::Step;
    use super::super::record::tests::record;
    use super::*;
    use crate::record::trials_file::PACKED;

    fn error_of(path: &Path) -> String {
        format!("{:#}", read(path).unwrap_err())
    }

    /// An archive of single entries, as no runner writes it.
    fn archive(folder: &Path, fill: impl FnOnce(&mut Builder<Vec<u8>>)) -> PathBuf {
        let mut tar = Builder::new(Vec::new());
        fill(&mut tar);
        let path = folder.join("made-up.tar.zst");
        fs::write(
            &path,
            zstd::encode_all(&*tar.into_inner().unwrap(), 1).unwrap(),
        )
        .unwrap();
        path
    }

    /// An entry whose path the library would refuse to write.
    fn raw(tar: &mut Builder<Vec<u8>>, path: &str, kind: EntryType) {
        let mut header = Header::new_gnu();
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_entry_type(kind);
        header.set_size(0);
        header.set_cksum();
        tar.append(&header, &[][..]).unwrap();
    }

    #[test]
    fn what_is_packed_comes_out_again_and_the_same_files_give_the_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other] = ["one.tar.zst", "other.tar.zst"].map(|name| folder.path().join(name));
        write(&one, &files()).unwrap();
        write(&other, &files()).unwrap();
        assert_eq!(read(&one).unwrap().1, files());
        assert_eq!(fs::read(one).unwrap(), fs::read(other).unwrap());
    }

    #[test]
    fn an_archive_cut_off_anywhere_or_changed_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tar.zst");
        write(&path, &files()).unwrap();
        let whole = fs::read(&path).unwrap();
        for length in [0, 3, whole.len() / 2, whole.len() - 1] {
            fs::write(&path, &whole[..length]).unwrap();
            let error = error_of(&path);
            assert!(
                error.contains("damaged") || error.contains("has no"),
                "{length}: {error}"
            );
        }
        let mut changed = whole.clone();
        let middle = changed.len() / 2;
        changed[middle] ^= 0x55;
        fs::write(&path, &changed).unwrap();
        assert!(error_of(&path).contains("nothing was unpacked"));
        fs::write(&path, "no archive").unwrap();
        assert!(error_of(&path).contains("no .tar.zst file"));
        let text = "a text of lines\n".repeat(100);
        fs::write(&path, zstd::encode_all(text.as_bytes(), 1).unwrap()).unwrap();
        let error = error_of(&path);
        assert!(error.contains("no .tar.zst file"), "{error}");
        assert_eq!(
            (error.lines().count(), error.matches("lines").count()),
            (1, 0)
        );
    }

    #[test]
    fn paths_that_lead_elsewhere_and_links_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for path in [
            "../up",
            "/etc/passwd",
            "hosts/../../up",
            "./x",
            "hosts/.hidden",
            "a b",
        ] {
            let error = error_of(&archive(folder.path(), |tar| {
                raw(tar, path, EntryType::Regular);
            }));
            assert!(error.contains(&format!("`{path}` is no path")), "{error}");
        }
        for kind in [
            EntryType::Symlink,
            EntryType::Link,
            EntryType::Directory,
            EntryType::Fifo,
        ] {
            let error = error_of(&archive(folder.path(), |tar| raw(tar, "hosts", kind)));
            assert!(error.contains("`hosts` is no file"), "{error}");
        }
    }

    #[test]
    fn a_path_that_is_there_twice_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = archive(folder.path(), |tar| {
            for _ in 0..2 {
                raw(tar, "hosts/a/b", EntryType::Regular);
            }
        });
        assert!(error_of(&path).contains("there twice"));
    }

    /// A results folder of a mock host whose manifest says `word`.
    fn results(word: &str) -> (tempfile::TempDir, Record) {
        let folder = tempfile::tempdir().unwrap();
        let record = record(&[(Step::Study, "2026-a-sweep")]);
        for path in parcel::paths(&record) {
            let place = folder.path().join(&path);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            let mut content = format!("{{\"rustflags\": \"-Clinker={word}\"}}").into_bytes();
            if path.ends_with(PACKED) {
                content = zstd::encode_all(&*content, 1).unwrap();
            } else if path.ends_with(RECORD) {
                content = serde_json::to_vec(&record).unwrap();
            }
            fs::write(place, content).unwrap();
        }
        (folder, record)
    }

    fn made_up() -> Personal {
        Personal::new(
            ["mzapp", "zaphod", "marie@example.org"].map(str::to_owned),
            &[],
        )
    }

    #[test]
    fn no_byte_of_an_archive_names_people_or_the_machine() {
        let (folder, record) = results("clang");
        let output = folder.path().join("out.tar.zst");
        let files = gather(
            folder.path(),
            &folder.path().join("hosts/1a2b3c"),
            &record,
            &made_up(),
        )
        .unwrap();
        write(&output, &files).unwrap();
        let bytes = zstd::decode_all(File::open(&output).unwrap()).unwrap();
        let mut texts = vec![String::from_utf8_lossy(&bytes).into_owned()];
        for (_, content) in files.iter().filter(|(path, _)| path.ends_with(PACKED)) {
            texts.push(String::from_utf8(zstd::decode_all(&**content).unwrap()).unwrap());
        }
        let own = Personal::of_this_host(folder.path(), &[]);
        for text in &texts {
            assert_eq!(made_up().find(text), None);
            assert_eq!(own.find(text), None);
        }
        // Owners, their names and times are empty in every header.
        for entry in Archive::new(&*bytes).entries().unwrap() {
            let header = entry.unwrap().header().clone();
            assert_eq!(
                (
                    header.uid().unwrap(),
                    header.gid().unwrap(),
                    header.mtime().unwrap()
                ),
                (0, 0, 0)
            );
            assert_eq!(
                (header.username(), header.groupname()),
                (Ok(Some("")), Ok(Some("")))
            );
        }
    }

    #[test]
    fn a_file_that_names_people_or_the_machine_is_not_packed() {
        for word in [
            "/home/mzapp/clang",
            "/net/zaphod/clang",
            "marie@example.org",
        ] {
            let (folder, record) = results(word);
            let error = format!(
                "{:#}",
                gather(
                    folder.path(),
                    &folder.path().join("hosts/1a2b3c"),
                    &record,
                    &made_up()
                )
                .unwrap_err()
            );
            assert!(error.contains("--allow-word"), "{error}");
        }
        let (_, record) = results("clang");
        let packed = |text: &str| zstd::encode_all(text.as_bytes(), 1).unwrap();
        let place = Path::new(PACKED);
        assert!(refuse_personal(place, &packed("panicked at /home/mzapp/x"), &made_up()).is_err());
        assert!(refuse_personal(place, &packed("fine"), &made_up()).is_ok());
        assert_eq!(record.sweeps().count(), 1);
    }
}
