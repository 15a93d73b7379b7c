mod cpus;
mod faults;
mod fix;
mod sweeps;
mod tools;
