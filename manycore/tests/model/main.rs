//! Results that the model must give, and its results where others have measured: limits by theory,
//! and published figures.
//!
//! `results/model.json` holds the points for pictures; `RENEW=1 cargo test -p manycore --test
//! model` writes it.

mod hardware_threads;
mod limits;
mod published;
mod schedule;

/// Decides which objects share a line.
#[global_allocator]
static HEAP: manycore::Heap = manycore::Heap;

/// Everything that `results/model.json` holds, a point a line.
fn points() -> String {
    let parts = [
        ("published", published::points()),
        ("hot_line", limits::hot_line_points()),
        ("greedy", limits::greedy_points()),
    ];
    let parts =
        parts.map(|(name, points)| format!("  {name:?}: [\n    {}\n  ]", points.join(",\n    ")));
    format!("{{\n{}\n}}\n", parts.join(",\n"))
}

#[test]
fn the_committed_points_are_what_the_model_says_today() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../results/model.json");
    if std::env::var_os("RENEW").is_some() {
        std::fs::write(file, points()).unwrap();
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), points());
}
