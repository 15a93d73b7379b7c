//! The key-value service itself: the handling of a request, and its measurements.

use std::collections::BTreeMap;
use std::mem;

use crossbeam_utils::CachePadded;
use parking_lot::Mutex;
use protocol::Metric;

use super::http::{self, CREATED, Method, NO_CONTENT, NOTHING_FOUND, Request, Response};
use super::parts::Noted;
use super::store::Store;
use crate::http::Status;
use crate::net::{Parsed, Service, Times};
use workloads::kinds::latency::Latencies;

/// How many requests of each method ended with each status.
pub(crate) type Counts = BTreeMap<(Method, Status), u64>;

pub(crate) struct KeyValue {
    pub(crate) store: Store,
    /// As many records as there are handlers, so that two connections seldom write to the same
    /// record.
    records: Vec<CachePadded<Mutex<Measured>>>,
    notes_each: bool,
}

impl KeyValue {
    /// With `notes_each`, the service records every request.
    pub(crate) fn new(store: Store, handlers: usize, notes_each: bool) -> Self {
        let records = (0..handlers).map(|_| CachePadded::default()).collect();
        Self {
            store,
            records,
            notes_each,
        }
    }

    pub(crate) fn take_measured(&self) -> Measured {
        let mut all = Measured::default();
        for record in &self.records {
            all.absorb(mem::take(&mut record.lock()));
        }
        all
    }
}

impl Service for KeyValue {
    type Request = Request;
    type Outcome = Status;

    fn parse(&self, input: &[u8]) -> Parsed<Request> {
        http::parse(input)
    }

    fn late(&self) -> Vec<u8> {
        let status = Status(408, "Request Timeout");
        http::refusal((status, "the request did not arrive in time\n"))
    }

    fn answer(&self, request: &Request, output: &mut Vec<u8>) -> (Status, bool) {
        let found;
        let (status, tag, body): (Status, Option<[u8; 16]>, &[u8]) = match request.method {
            Method::Get => {
                found = self.store.get(&request.key);
                match &found {
                    Some(document) => (Status::OK, Some(document.md5), &document.body),
                    None => (Status::NOT_FOUND, None, NOTHING_FOUND),
                }
            }
            Method::Post => match self.store.put(&request.key, &request.body) {
                (true, md5) => (CREATED, Some(md5), b""),
                (false, md5) => (Status::OK, Some(md5), b""),
            },
            Method::Delete if self.store.delete(&request.key) => (NO_CONTENT, None, b""),
            Method::Delete => (Status::NOT_FOUND, None, NOTHING_FOUND),
        };
        let keeps_alive = request.keeps_alive;
        Response {
            status,
            tag,
            body,
            keeps_alive,
        }
        .write(output);
        (status, keeps_alive)
    }

    fn answered(&self, connection: usize, request: &Request, status: Status, times: Times) {
        let mut record = self.records[connection % self.records.len()].lock();
        let took = times.ended - times.arrived;
        record.service[request.method as usize].count(took);
        record.wait.count(times.begun - times.arrived);
        *record.counts.entry((request.method, status)).or_insert(0) += 1;
        if self.notes_each {
            record.noted.push((times.arrived, took));
        }
    }
}

pub(crate) struct Measured {
    /// Times from arrival to the end of the answer, by method in the order of [`Method`].
    service: [Latencies; 3],
    /// Times from arrival until a handler began.
    wait: Latencies,
    pub(crate) counts: Counts,
    /// The times of each answered request, if the service records every request.
    pub(crate) noted: Vec<Noted>,
}

impl Default for Measured {
    fn default() -> Self {
        let names = ["service_get", "service_post", "service_delete"];
        Self {
            service: names.map(Latencies::new),
            wait: Latencies::new("wait"),
            counts: Counts::new(),
            noted: Vec::new(),
        }
    }
}

impl Measured {
    pub(crate) fn absorb(&mut self, other: Self) {
        for (own, it) in self.service.iter_mut().zip(&other.service) {
            own.absorb(it);
        }
        self.wait.absorb(&other.wait);
        for (key, count) in other.counts {
            *self.counts.entry(key).or_insert(0) += count;
        }
        self.noted.extend(other.noted);
    }

    pub(crate) fn metrics(&self) -> Vec<(String, Metric)> {
        let mut all = Latencies::new("service");
        self.service.iter().for_each(|method| all.absorb(method));
        let kinds = [&all, &self.wait].into_iter().chain(&self.service);
        kinds.flat_map(Latencies::summary).collect()
    }
}
