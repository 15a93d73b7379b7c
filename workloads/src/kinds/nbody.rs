//! `nbody`: simulates bodies that all attract each other, in steps of time.
//!
//! Each step is a flat parallel map over all bodies, a parallel reduction that fixes the length of
//! the step, and a short parallel update. With steps of one length and few bodies, a step is two
//! small fork-join regions. Other projects compare pools by such regions (`fork_union` with 128
//! bodies).

use std::array;
use std::ops::{Add, Mul, Sub};
use std::sync::Mutex;

use protocol::Refusal;
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::kinds::fingerprint::fingerprint;
use crate::machine::add_cost;
use crate::random::Random;
use crate::workload::{Instance, Mismatch, Setup};

pub(super) fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let mut random = Random::new(setup.seed);
    let mut vector = || Vector([(); 3].map(|()| random.unit()));
    let initial: Vec<Body> = (0..setup.values.whole("bodies"))
        .map(|_| Body {
            position: vector(),
            velocity: vector() * 0.1,
        })
        .collect();
    let steps = setup.values.whole("steps");
    let fixed = (setup.values.word("length") == "fixed").then_some(FIXED_LENGTH);
    let split = match setup.values.word("tasks") {
        "body" => Split::Tasks(1),
        "thread" => Split::Tasks(initial.len().div_ceil(setup.threads)),
        "share" => Split::Shares(initial.len().div_ceil(setup.threads)),
        _ => Split::Any,
    };
    let mut expected = initial.clone();
    for _ in 0..steps {
        step_by_pairs(&mut expected, fixed);
    }
    Ok(Box::new(Cloud {
        accelerations: vec![Vector::ZERO; initial.len()],
        bodies: initial.clone(),
        initial,
        expected,
        steps,
        fixed,
        split,
        is_inside: setup.values.word("from") == "inside",
    }))
}

#[derive(Clone, Copy, Debug)]
struct Vector([f64; 3]);

impl Vector {
    const ZERO: Self = Self([0.0; 3]);

    fn zip(self, other: Self, operation: impl Fn(f64, f64) -> f64) -> Self {
        Self(array::from_fn(|axis| {
            operation(self.0[axis], other.0[axis])
        }))
    }

    fn square(self) -> f64 {
        self.0.iter().map(|x| x * x).sum()
    }
}

impl Add for Vector {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }
}

impl Sub for Vector {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }
}

impl Mul<f64> for Vector {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self(self.0.map(|x| x * factor))
    }
}

#[derive(Clone, Copy, Debug)]
struct Body {
    position: Vector,
    velocity: Vector,
}

impl Body {
    fn advance(&mut self, acceleration: Vector, time: f64) {
        self.velocity = self.velocity + acceleration * time;
        self.position = self.position + self.velocity * time;
    }
}

/// Added to the square of a distance, so that the attraction of near bodies has a limit.
const SOFTENING: f64 = 0.01;

/// Acceleration of a body by another body of mass 1 at this distance.
fn attraction(distance: Vector) -> Vector {
    let square = distance.square() + SOFTENING;
    distance * (1.0 / (square * square.sqrt()))
}

/// The acceleration of `body` by all bodies. The sum has the order of the bodies, so it has the
/// same bits on any number of threads.
fn acceleration(bodies: &[Body], body: &Body) -> Vector {
    add_cost(bodies.len() as u64);
    bodies.iter().fold(Vector::ZERO, |sum, other| {
        sum + attraction(other.position - body.position)
    })
}

const FIXED_LENGTH: f64 = 1e-6;

/// The length of a step in which the strongest acceleration, given by its square, adds a velocity
/// of less than 0.001.
fn step_length(greatest_square: f64) -> f64 {
    0.001 / (1.0 + greatest_square.sqrt())
}

#[derive(Clone, Copy)]
enum Split {
    Any,
    /// Loops are split into tasks of this many bodies.
    Tasks(usize),
    /// Loops are broadcasts in which each worker has a share of this many bodies.
    Shares(usize),
}

struct Cloud {
    initial: Vec<Body>,
    /// The bodies after the last step, computed pair by pair.
    expected: Vec<Body>,
    bodies: Vec<Body>,
    accelerations: Vec<Vector>,
    steps: u64,
    /// The length of each step; `None` if a parallel reduction computes it.
    fixed: Option<f64>,
    split: Split,
    is_inside: bool,
}

impl Cloud {
    fn interactions(&self) -> u64 {
        self.steps * (self.bodies.len() as u64).pow(2)
    }

    fn run_steps(&mut self, enter: impl Fn(&mut Self, &(dyn Fn(&mut Self) -> f64 + Sync)) -> f64) {
        for _ in 0..self.steps {
            enter(self, &|cloud| {
                cloud.accelerate();
                0.0
            });
            let time = self
                .fixed
                .unwrap_or_else(|| enter(self, &|cloud| cloud.step_length()));
            enter(self, &|cloud| {
                cloud.advance(time);
                0.0
            });
        }
    }

    fn accelerate(&mut self) {
        let Self {
            bodies,
            accelerations,
            split,
            ..
        } = self;
        let bodies = &*bodies;
        let accelerate = |some: &[Body], results: &mut [Vector]| {
            for (body, result) in some.iter().zip(results) {
                *result = acceleration(bodies, body);
            }
        };
        match *split {
            Split::Any => bodies
                .par_iter()
                .map(|body| acceleration(bodies, body))
                .collect_into_vec(accelerations),
            Split::Tasks(task) => bodies
                .par_chunks(task)
                .zip(accelerations.par_chunks_mut(task))
                .with_max_len(1)
                .for_each(|(some, results)| accelerate(some, results)),
            Split::Shares(share) => {
                in_shares(accelerations, share, |first, results| {
                    accelerate(&bodies[first..], results);
                });
            }
        }
    }

    fn step_length(&self) -> f64 {
        let squares = self.accelerations.par_iter().map(|a| a.square());
        step_length(squares.reduce(|| 0.0, f64::max))
    }

    fn advance(&mut self, time: f64) {
        let advance =
            |(body, acceleration): (&mut Body, &Vector)| body.advance(*acceleration, time);
        match self.split {
            Split::Any => self
                .bodies
                .par_iter_mut()
                .zip(&self.accelerations)
                .for_each(advance),
            Split::Tasks(task) => {
                self.bodies
                    .par_chunks_mut(task)
                    .zip(self.accelerations.par_chunks(task))
                    .with_max_len(1)
                    .for_each(|(bodies, accelerations)| {
                        bodies.iter_mut().zip(accelerations).for_each(advance);
                    });
            }
            Split::Shares(share) => {
                let accelerations = &self.accelerations;
                in_shares(&mut self.bodies, share, |first, bodies| {
                    bodies
                        .iter_mut()
                        .zip(&accelerations[first..])
                        .for_each(advance);
                });
            }
        }
    }
}

fn in_shares<T: Send>(items: &mut [T], share: usize, work: impl Fn(usize, &mut [T]) + Sync) {
    // Each worker takes its own lock once. The locks only pass the mutable shares to the workers.
    let shares: Vec<Mutex<&mut [T]>> = items.chunks_mut(share).map(Mutex::new).collect();
    rayon::broadcast(|worker| {
        if let Some(items) = shares.get(worker.index()) {
            work(
                worker.index() * share,
                &mut items.lock().expect("no other worker takes this lock"),
            );
        }
    });
}

impl Instance for Cloud {
    fn reset(&mut self) {
        self.bodies.copy_from_slice(&self.initial);
    }

    fn run_sequential(&mut self) -> u64 {
        for _ in 0..self.steps {
            for (body, result) in self.bodies.iter().zip(&mut self.accelerations) {
                *result = acceleration(&self.bodies, body);
            }
            let time = self.fixed.unwrap_or_else(|| {
                step_length(
                    self.accelerations
                        .iter()
                        .map(|a| a.square())
                        .fold(0.0, f64::max),
                )
            });
            for (body, acceleration) in self.bodies.iter_mut().zip(&self.accelerations) {
                body.advance(*acceleration, time);
            }
        }
        self.interactions()
    }

    fn run_on(&mut self, pool: &ThreadPool) -> u64 {
        if self.is_inside {
            pool.install(|| self.run_steps(|cloud, each_loop| each_loop(cloud)));
        } else {
            self.run_steps(|cloud, each_loop| pool.install(|| each_loop(cloud)));
        }
        self.interactions()
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        let distance = |(body, other): (&Body, &Body)| (body.position - other.position).square();
        let greatest = self
            .bodies
            .iter()
            .zip(&self.expected)
            .map(distance)
            .fold(0.0, f64::max);
        let words = self
            .bodies
            .iter()
            .flat_map(|body| body.position.0)
            .map(f64::to_bits);
        let contents = fingerprint(words);
        let expected = format!("as pair by pair, positions {contents:016x}");
        // Rounding differs by some 1e-16 per addition; a forgotten interaction moves a body by
        // 1e-6.
        let actual = if greatest.sqrt() < 1e-9 {
            expected.clone()
        } else {
            format!(
                "a body is off by {:e}, positions {contents:016x}",
                greatest.sqrt()
            )
        };
        Mismatch::unless_equal(&expected, &actual)
    }
}

/// Computes a step, with the attraction of each pair of bodies only once (Newton's third law).
fn step_by_pairs(bodies: &mut [Body], fixed: Option<f64>) {
    let mut accelerations = vec![Vector::ZERO; bodies.len()];
    for (later, body) in bodies.iter().enumerate() {
        for (earlier, other) in bodies[..later].iter().enumerate() {
            let attraction = attraction(other.position - body.position);
            accelerations[later] = accelerations[later] + attraction;
            accelerations[earlier] = accelerations[earlier] - attraction;
        }
    }
    let time = fixed.unwrap_or_else(|| {
        step_length(accelerations.iter().map(|a| a.square()).fold(0.0, f64::max))
    });
    for (body, acceleration) in bodies.iter_mut().zip(accelerations) {
        body.advance(acceleration, time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cloud(steps: u64) -> Cloud {
        let mut random = Random::new(5);
        let mut vector = || Vector([(); 3].map(|()| random.unit()));
        let initial: Vec<Body> = (0..50)
            .map(|_| Body {
                position: vector(),
                velocity: Vector::ZERO,
            })
            .collect();
        let mut expected = initial.clone();
        (0..steps).for_each(|_| step_by_pairs(&mut expected, None));
        Cloud {
            accelerations: vec![Vector::ZERO; 50],
            bodies: initial.clone(),
            initial,
            expected,
            steps,
            fixed: None,
            split: Split::Any,
            is_inside: true,
        }
    }

    #[test]
    fn a_step_too_few_and_a_moved_body_are_rejected() {
        let mut cloud = cloud(3);
        cloud.run_sequential();
        assert!(cloud.check().is_ok());
        cloud.bodies[7].position.0[1] += 1e-6;
        assert!(cloud.check().unwrap_err().actual.contains("off by"));
        cloud.reset();
        cloud.steps = 2;
        cloud.run_sequential();
        assert!(cloud.check().is_err());
    }
}
