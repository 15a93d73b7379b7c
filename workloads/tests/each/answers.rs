use protocol::{Outcome, Program, SCHEMA};
use workloads::measure::run;

use crate::CATALOGUE;
use crate::common::request;

#[test]
fn both_programs_agree_and_an_outcome_has_all_fields_and_survives_serialization() {
    for workload in CATALOGUE.iter() {
        let name = &workload.description().name;
        let outcome = |program, threads| {
            let request = request(name, program, threads, 77);
            run("some-variant", CATALOGUE, &request)
                .unwrap_or_else(|failure| panic!("{request:?}: {failure:?}"))
        };
        let sequential = outcome(Program::Sequential, 1);
        // Numbers of threads: one, as many as small hosts have CPUs, an odd number, and more.
        for threads in [1, 2, 3, 8] {
            let parallel = outcome(Program::Parallel, threads);
            assert_eq!(parallel.answer, sequential.answer, "{name}, {threads}");
            assert_eq!(parallel.schema, SCHEMA);
            assert_eq!(parallel.variant, "some-variant");
            assert_eq!((parallel.warmup.len(), parallel.iterations.len()), (1, 2));
            let has_worked = parallel
                .iterations
                .iter()
                .all(|it| it.elapsed_ns > 0 && it.work_units > 0);
            assert!(has_worked && parallel.usage.max_rss_bytes > 0, "{name}");
            let line = serde_json::to_string(&parallel).unwrap();
            assert!(!line.contains('\n'));
            assert_eq!(serde_json::from_str::<Outcome>(&line).unwrap(), parallel);
        }
    }
}
