//! The committed catalogue, which tools read in the place of the workloads.

use std::collections::BTreeSet;

use protocol::Size;
use workloads::catalogue::as_json;

use crate::{CATALOGUE, RENEW, WRITTEN};

#[test]
fn the_committed_catalogue_is_what_the_workloads_say_of_themselves() {
    assert!(
        as_json(CATALOGUE) == WRITTEN,
        "the catalogue is not current; renew it: {RENEW}"
    );
}

#[test]
fn the_catalogue_offers_every_workload_in_every_size_with_valid_parameters() {
    let mut names = BTreeSet::new();
    for workload in CATALOGUE {
        let description = workload.description();
        assert!(
            names.insert(description.name),
            "`{}` occurs twice",
            description.name
        );
        let sizes: Vec<Size> = description.sizes.iter().map(|entry| entry.size).collect();
        assert_eq!(sizes, Size::ALL, "{}", description.name);
        for size in Size::ALL {
            // Spelled out as explicit parameters, a size passes the same checks as a user's
            // request.
            let values = description.resolve(size, &description.parameters_of(size), false);
            assert!(values.is_ok(), "{} {size:?}: {values:?}", description.name);
        }
    }
}
