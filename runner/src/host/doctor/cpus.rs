//! Which CPUs there are, and how many of them a sweep may use.

use super::Severity::{Note, Unfit, Warning};
use super::{Circumstances, Diagnosis, Stacking};
use crate::host::{CPUS, Host, cpu_list};

/// Below so many CPUs a sweep shows that the tool works and little of how a pool scales. A guess.
const FEW: usize = 4;

/// Above this share of ticks it is no chance that both threads were on one CPU, and from this gain
/// on pins are worth their while: where all CPUs are busy, sharing one may be the best that can be
/// had. Guesses.
const STACKED: f64 = 0.1;
const GAIN: f64 = 1.1;

pub(super) fn check(host: &Host, diagnosis: &mut Diagnosis) {
    virtual_machine(host, diagnosis);
    siblings(host, diagnosis);
    capacities(host, diagnosis);
    quota(host, diagnosis);
    affinity(host, diagnosis);
    isolated(host, diagnosis);
    memory_nodes(host, diagnosis);
    kernel(host, diagnosis);
}

pub(super) fn check_number(around: &Circumstances, diagnosis: &mut Diagnosis) {
    let cpus = around.usable_cpus;
    if cpus >= FEW {
        return diagnosis.good(format!("{cpus} CPUs may be used"));
    }
    diagnosis.add(
        Warning,
        "few-cpus",
        format!("{cpus} CPUs may be used, by affinity and quota"),
        "thread counts above that are oversubscribed: they are marked, drawn apart, and say how threads share \
         a CPU, not how a pool scales",
        format!("a machine with more CPUs; here `--threads 1..={cpus}`"),
    );
}

pub(super) fn check_stacking(around: &Circumstances, diagnosis: &mut Diagnosis) {
    let Some(Stacking {
        ticks,
        stacked,
        free_us,
        pinned_us,
    }) = around.stacking
    else {
        return;
    };
    let share = f64::from(stacked) / f64::from(ticks);
    let seen = format!(
        "in {stacked} of {ticks} ticks two threads that were woken to work were on one CPU; a tick took \
         {free_us:.0} us free and {pinned_us:.0} us pinned (medians)"
    );
    if share < STACKED || free_us < GAIN * pinned_us {
        return diagnosis.good(seen);
    }
    diagnosis.add(
        Warning,
        "stacked-wake-ups",
        seen,
        "the kernel puts a worker that wakes up beside one that runs and leaves another CPU idle: loads that \
         sleep between their ticks then measure the kernel's choice more than the pool, and gain little or \
         nothing from more threads",
        "for such loads `--placement pinned`, which keeps worker i on the i-th CPU, or `both`, to see what it \
         moves",
    );
}

pub(super) fn check_fences(around: &Circumstances, diagnosis: &mut Diagnosis) {
    if around.has_membarrier {
        return diagnosis.good("a process may fence for all its threads (membarrier)");
    }
    diagnosis.add(
        Warning,
        "no-membarrier",
        "the kernel does not offer the system call membarrier, or a sandbox refuses it",
        "branches with `demand` or `asymmetric-fence`, so `champion`, too, make a full fence in each push and pop, \
         and gain less than elsewhere",
        "Linux from 4.14 on; in a container, a seccomp profile that allows membarrier",
    );
}

fn virtual_machine(host: &Host, diagnosis: &mut Diagnosis) {
    if !host.is_virtual() {
        return diagnosis.good("no hypervisor beneath");
    }
    diagnosis.add(
        Warning,
        "virtual-machine",
        "/proc/cpuinfo: `flags` has `hypervisor`",
        "the hypervisor decides when a CPU runs, on which core, beside whom and at what clock; waking a \
         sleeping CPU costs an exit to it, unlike on the machine itself",
        "repeat on the machine itself what is to be claimed of it; here, trust only what leaves the A/A band",
    );
}

fn siblings(host: &Host, diagnosis: &mut Diagnosis) {
    let file = format!("{CPUS}/smt/active");
    match host.read(&file).as_deref() {
        Ok("1") => diagnosis.add(
            Warning,
            "smt",
            format!("/{file} = 1 ({} CPUs on {} cores)", host.cpus().len(), host.cores()),
            "two threads may share a core although another is free, and a searching one slows its neighbour; \
             beyond the number of cores a curve shows the cores' sharing, too",
            format!("echo off | sudo tee /{CPUS}/smt/control, or `--threads 1..=cores`"),
        ),
        Ok(_) => diagnosis.good("no two CPUs share a core, as far as the kernel knows"),
        Err(_) => {}
    }
}

fn capacities(host: &Host, diagnosis: &mut Diagnosis) {
    let mut kinds: Vec<(u64, Vec<String>)> = Vec::new();
    for cpu in host.allowed_cpus() {
        let Some(capacity) = host.number(&format!("{CPUS}/cpu{cpu}/cpu_capacity")) else {
            continue;
        };
        match kinds.iter_mut().find(|(known, _)| *known == capacity) {
            Some((_, cpus)) => cpus.push(cpu.to_string()),
            None => kinds.push((capacity, vec![cpu.to_string()])),
        }
    }
    let Some((_, strongest)) = kinds.iter().max_by_key(|(capacity, _)| *capacity) else {
        return;
    };
    if kinds.len() == 1 {
        return diagnosis.good("all CPUs are equally strong");
    }
    let seen: Vec<String> = kinds
        .iter()
        .map(|(capacity, cpus)| {
            format!(
                "/{CPUS}/cpu{}/cpu_capacity = {capacity} ({} CPUs)",
                cpus[0],
                cpus.len()
            )
        })
        .collect();
    diagnosis.add(
        Warning,
        "unequal-cpus",
        seen.join(", "),
        "a trial's time depends on which CPUs its threads happen to get",
        format!("taskset -c {} cargo runner sweep …", strongest.join(",")),
    );
}

fn quota(host: &Host, diagnosis: &mut Diagnosis) {
    let Some(quota) = host.cpu_quota() else {
        return diagnosis.good("no CPU quota");
    };
    let cpus = host.allowed_cpus().len().max(1);
    let throttled = host.throttle_file().and_then(|file| host.throttled(&file));
    let so_far = throttled.map_or(String::new(), |throttled| {
        format!("; used up in {} periods so far", throttled.periods)
    });
    let severity = if quota.cpus < cpus as f64 {
        Unfit
    } else {
        Note
    };
    diagnosis.add(
        severity,
        "quota",
        format!("/{} = {} ({:.2} CPUs' time for {cpus} CPUs){so_far}", quota.file, quota.printed, quota.cpus),
        "when it is used up, all threads stand still for the rest of a period, commonly 100 ms: a spinning \
         design then looks slower than it is, and times measure the quota",
        "run outside of it: `docker run` without --cpus, a pod without a CPU limit, or \
         `systemctl set-property UNIT CPUQuota=`",
    );
}

fn affinity(host: &Host, diagnosis: &mut Diagnosis) {
    let (allowed, online) = (host.allowed_cpus(), host.cpus());
    if allowed.is_empty() || online.is_empty() || allowed.len() >= online.len() {
        return;
    }
    diagnosis.add(
        Note,
        "affinity",
        format!(
            "/proc/self/status allows {} of {} CPUs",
            allowed.len(),
            online.len()
        ),
        "trials run on these CPUs alone, others may be busy beside them; `cores` counts all",
        "if that is not meant: start the runner without `taskset` or cpuset",
    );
}

fn isolated(host: &Host, diagnosis: &mut Diagnosis) {
    let file = format!("{CPUS}/isolated");
    let Ok(text) = host.read(&file) else { return };
    let allowed = host.allowed_cpus();
    let used = cpu_list(&text)
        .into_iter()
        .filter(|cpu| allowed.contains(cpu))
        .count();
    if used == 0 {
        return;
    }
    diagnosis.add(
        Unfit,
        "isolated",
        format!("/{file} = {text}, and {used} of these CPUs may be used"),
        "the kernel does not spread threads over isolated CPUs: all of a pool's threads stay on the one where \
         they began",
        "start the runner on other CPUs (`taskset`), or isolate them by a cpuset partition of type `root`, \
         which balances, in the place of `isolcpus=`",
    );
}

fn memory_nodes(host: &Host, diagnosis: &mut Diagnosis) {
    let nodes = cpu_list(
        &host
            .read("sys/devices/system/node/online")
            .unwrap_or_default(),
    );
    if nodes.len() < 2 {
        return;
    }
    let file = "proc/sys/kernel/numa_balancing";
    let balancing = host.read(file).unwrap_or_else(|_| "unknown".to_owned());
    diagnosis.add(
        if balancing == "0" { Note } else { Warning },
        "memory-nodes",
        format!("/sys/devices/system/node/online: {} nodes; /{file} = {balancing}", nodes.len()),
        "a stolen job may find its data on another node, and the kernel may move pages between nodes during a \
         trial",
        format!("echo 0 | sudo tee /{file}; for one node: numactl --cpunodebind=0 --membind=0 cargo runner …"),
    );
}

fn kernel(host: &Host, diagnosis: &mut Diagnosis) {
    let file = "proc/sys/kernel/randomize_va_space";
    match host.read(file).as_deref() {
        Ok("2") => diagnosis.good("addresses are random, so no lucky one decides"),
        Ok(value) => diagnosis.add(
            Warning,
            "addresses",
            format!("/{file} = {value}"),
            "every trial gets the same addresses, so their luck does not average out over trials",
            format!("echo 2 | sudo tee /{file}"),
        ),
        Err(_) => {}
    }
    let file = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    match host.read(file).as_deref() {
        Ok("tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page" | "arch_sys_counter") => {
            diagnosis.good("the time is read without a system call");
        }
        Ok(value) => diagnosis.add(
            Warning,
            "clock-source",
            format!("/{file} = {value}"),
            "reading the time takes a microsecond instead of some nanoseconds",
            format!(
                "see `dmesg | grep -i tsc`; if it was trusted once: echo tsc | sudo tee /{file}"
            ),
        ),
        Err(_) => {}
    }
    facts(host, diagnosis);
}

/// Settings that are a choice: nothing is wrong with them, but results of two hosts differ by them.
fn facts(host: &Host, diagnosis: &mut Diagnosis) {
    let read = |file: &str| Some(format!("/{file} = {}", host.read(file).ok()?));
    let weaknesses = format!("{CPUS}/vulnerabilities");
    let mitigated = host.names_in(&weaknesses).into_iter().filter(|name| {
        let text = host.read(&format!("{weaknesses}/{name}"));
        text.is_ok_and(|text| text.starts_with("Mitigation"))
    });
    let mitigated: Vec<String> = mitigated.collect();
    let mut seen: Vec<String> = [
        read("sys/kernel/mm/transparent_hugepage/enabled"),
        read("proc/self/timerslack_ns"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !mitigated.is_empty() {
        seen.push(format!("/{weaknesses}: mitigated {}", mitigated.join(", ")));
    }
    if seen.is_empty() {
        return;
    }
    diagnosis.add(
        Note,
        "settings",
        seen.join("; "),
        "huge pages change the cost of memory, timer slack how late a sleeper with a time limit wakes, \
         mitigations the cost of every system call, and so of sleeping and waking",
        "nothing to do; compare only hosts on which they are alike (host.json has them)",
    );
}
