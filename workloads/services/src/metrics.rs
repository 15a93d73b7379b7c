//! Metrics of the services.

use protocol::Metric;

pub(crate) fn metric(name: &str, value: f64, unit: &str) -> (String, Metric) {
    let unit = unit.to_owned();
    (name.to_owned(), Metric { value, unit })
}
