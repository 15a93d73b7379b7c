//! Checks the CPUs that a sweep may use, and the settings of the kernel that concern them.

use super::Severity::{Note, Unfit, Warning};
use super::{Circumstances, Diagnosis, Stacking};
use crate::host::frequency::kinds;
use crate::host::{CPUS, Host, cpu_list, kernel_options, show_cpus};
use crate::text::words::count;

/// With fewer CPUs, a sweep shows that the tool works, but little of how a pool scales. A guess.
const FEW: usize = 4;

/// The doctor recommends pinning if two conditions hold. At least the share `STACKED` of unpinned
/// ticks had both threads on one CPU. Unpinned ticks took at least `GAIN` times as long as pinned
/// ticks. Both values are guesses.
const STACKED: f64 = 0.1;
const GAIN: f64 = 1.1;

pub(super) fn check(host: &Host, diagnosis: &mut Diagnosis) {
    virtual_machine(host, diagnosis);
    siblings(host, diagnosis);
    strengths(host, diagnosis);
    quota(host, diagnosis);
    affinity(host, diagnosis);
    isolated(host, diagnosis);
    memory_nodes(host, diagnosis);
    kernel(host, diagnosis);
}

pub(super) fn check_number(around: &Circumstances, diagnosis: &mut Diagnosis) {
    let Some(cpus) = diagnosis.known(ALLOWED, around.usable_cpus.clone()) else {
        return;
    };
    let seen = format!("{} can be used", count(cpus, "CPU", "CPUs"));
    if cpus >= FEW {
        return diagnosis.good(seen);
    }
    diagnosis.add(
        Warning,
        "few-cpus",
        format!("{seen}, by affinity and quota"),
        "higher thread counts are oversubscribed: they show how threads share a CPU, not how a pool scales",
        format!("use a machine with more CPUs; on this one, `--threads 1..={cpus}`"),
    );
}

const ALLOWED: &str = "the CPUs that may be used";

fn allowed(host: &Host, diagnosis: &mut Diagnosis) -> Option<Vec<usize>> {
    diagnosis.known(ALLOWED, host.allowed_cpus())
}

pub(super) fn check_stacking(around: &Circumstances, diagnosis: &mut Diagnosis) {
    let Some(Stacking {
        ticks,
        stacked,
        free_us,
        pinned_us,
    }) = around.stacking
    else {
        let reason = "they are measured on the running system only, with two CPUs or more";
        return diagnosis.unknown("stacked wake-ups", reason);
    };
    let share = f64::from(stacked) / f64::from(ticks);
    let seen = format!(
        "in {stacked} of {ticks} ticks two woken threads ran on one CPU; a tick took \
         {free_us:.0} us unpinned and {pinned_us:.0} us pinned (medians)"
    );
    if share < STACKED || free_us < GAIN * pinned_us {
        return diagnosis.good(seen);
    }
    diagnosis.add(
        Warning,
        "stacked-wake-ups",
        seen,
        "the kernel puts a woken worker on the CPU of a running one, and leaves another CPU idle. Loads that \
         sleep between their ticks then gain little from more threads",
        "`--placement pinned`, which keeps worker i on the i-th CPU, or `both`, to see its effect",
    );
}

pub(super) fn check_fences(around: &Circumstances, diagnosis: &mut Diagnosis) {
    match around.has_membarrier {
        Some(true) => diagnosis.good("a process can fence for all its threads (membarrier)"),
        Some(false) => diagnosis.add(
            Warning,
            "no-membarrier",
            "the kernel does not offer the system call membarrier, or a sandbox refuses it",
            "branches with `demand`, among them `champion`, execute a full fence in each push and pop",
            "Linux from 4.14 on; in a container, a seccomp profile that allows membarrier",
        ),
        None => diagnosis.unknown(
            "membarrier",
            "files do not show it, and the running system is another host",
        ),
    }
}

fn virtual_machine(host: &Host, diagnosis: &mut Diagnosis) {
    match diagnosis.known("a hypervisor beneath", host.hypervisor()) {
        None => {}
        Some(None) => diagnosis.good("no hypervisor beneath"),
        Some(Some(seen)) => diagnosis.add(
            Warning,
            "virtual-machine",
            seen,
            "the hypervisor decides when, where and at what clock a CPU runs. Waking a sleeping CPU costs a VM \
             exit",
            "repeat on bare metal what you want to assert about bare metal",
        ),
    }
}

fn siblings(host: &Host, diagnosis: &mut Diagnosis) {
    let file = format!("{CPUS}/smt/active");
    let Some(active) = diagnosis.known("CPUs that share a core", host.flag(&file)) else {
        return;
    };
    let (mut shares, mut shown) = (active, String::new());
    if let (Ok(cpus), Ok(cores)) = (host.allowed_cpus(), host.cores()) {
        // Kernels that cannot switch siblings off show 0 even if there are siblings.
        shares |= cores < cpus.len();
        let (cpus, cores) = (
            count(cpus.len(), "CPU", "CPUs"),
            count(cores, "core", "cores"),
        );
        shown = format!(" ({cpus} that may be used, on {cores})");
    }
    if !shares {
        return diagnosis.good("no two CPUs share a core, as far as the kernel knows");
    }
    let off = format!("echo off | sudo tee /{CPUS}/smt/control, or ");
    diagnosis.add(
        Warning,
        "smt",
        format!("/{file} = {}{shown}", u8::from(active)),
        "two threads may share a core although another is free, and a searching thread slows its sibling",
        if active { off } else { String::new() } + "`--threads 1..=cores`",
    );
}

fn strengths(host: &Host, diagnosis: &mut Diagnosis) {
    let Some(allowed) = allowed(host, diagnosis) else {
        return;
    };
    let kinds = kinds::of(host, &allowed);
    let Some(kinds) = diagnosis.known("whether the CPUs are equally strong", kinds) else {
        return;
    };
    if kinds.len() < 2 {
        return diagnosis.good("all CPUs are equally strong");
    }
    let seen: Vec<String> = kinds
        .iter()
        .map(|kind| format!("{} ({})", kind.sign, count(kind.cpus.len(), "CPU", "CPUs")))
        .collect();
    diagnosis.add(
        Warning,
        "unequal-cpus",
        seen.join(", "),
        "a trial's time depends on the CPUs that its threads happen to get",
        format!(
            "taskset -c {} cargo runner sweep …",
            show_cpus(kinds::to_choose(&kinds))
        ),
    );
}

fn quota(host: &Host, diagnosis: &mut Diagnosis) {
    let Some(quotas) = diagnosis.known("a CPU quota", host.cpu_quotas()) else {
        return;
    };
    let Some(quota) = quotas.first() else {
        return diagnosis.good("no CPU quota that this process can see");
    };
    let throttled = host.throttled(&quota.counts);
    let throttled = diagnosis.known("how often the quota was used up", throttled);
    let so_far = throttled.map_or(String::new(), |it| {
        format!("; used up in {} periods so far", it.periods)
    });
    let cpus = allowed(host, diagnosis).map(|cpus| cpus.len());
    let is_tight = cpus.is_none_or(|cpus| quota.cpus < cpus as f64);
    let cpus = cpus.map_or_else(
        || "an unknown number of CPUs".to_owned(),
        |cpus| count(cpus, "CPU", "CPUs"),
    );
    diagnosis.add(
        if is_tight { Unfit } else { Note },
        "quota",
        format!(
            "/{} = {} ({:.2} CPUs' time for {cpus}){so_far}",
            quota.file, quota.printed, quota.cpus
        ),
        "once the quota is used up, all threads stop for the rest of a period, commonly 100 ms, so times measure the \
         quota",
        "run without a quota: no `--cpus` of docker, no CPU limit of the pod, `systemctl set-property UNIT CPUQuota=`",
    );
}

fn affinity(host: &Host, diagnosis: &mut Diagnosis) {
    let allowed = allowed(host, diagnosis);
    let online = diagnosis.known("the CPUs that are online", host.cpus());
    let Some((allowed, online)) = allowed.zip(online) else {
        return;
    };
    if allowed.len() >= online.len() {
        return;
    }
    diagnosis.add(
        Note,
        "affinity",
        format!(
            "/proc/self/status allows {} of {}",
            allowed.len(),
            count(online.len(), "CPU", "CPUs")
        ),
        "trials run on these CPUs only, and other programs may keep the other CPUs busy",
        "if you did not intend that: start the runner without `taskset` or cpuset",
    );
}

/// Reports CPUs over which the scheduler does not balance threads. The system's start or the
/// runner's control group may have isolated these CPUs.
fn isolated(host: &Host, diagnosis: &mut Diagnosis) {
    const WHAT: &str = "CPUs without load balancing";
    let file = format!("{CPUS}/isolated");
    let isolated = diagnosis.known(WHAT, host.cpus_in(&file));
    let group = diagnosis.known(WHAT, host.unbalanced_group());
    let Some(allowed) = allowed(host, diagnosis) else {
        return;
    };
    let used = isolated.iter().flatten();
    let used = used.filter(|cpu| allowed.contains(cpu)).count();
    let seen = match (group, isolated) {
        (Some(Some(group)), _) => format!("{group}, and the runner is in this control group"),
        (_, Some(all)) if used > 0 => {
            let all = show_cpus(&all);
            format!("/{file} = {all}, and {used} of these CPUs are among the usable ones")
        }
        (Some(None), Some(_)) => {
            return diagnosis.good(
                "the scheduler balances threads over the CPUs, as far as this process can see",
            );
        }
        _ => return,
    };
    diagnosis.add(
        Unfit,
        "isolated",
        seen,
        "the kernel does not spread threads over isolated CPUs: a pool's threads stay on one CPU",
        "start the runner on other CPUs (`taskset`), or use a cpuset partition of type `root`, which balances",
    );
}

fn memory_nodes(host: &Host, diagnosis: &mut Diagnosis) {
    let folder = "sys/devices/system/node";
    let file = format!("{folder}/online");
    let some = |text: &str| cpu_list(text).filter(|nodes| !nodes.is_empty());
    let nodes = host.parsed(&file, "a list of memory nodes", some);
    let Some(all) = diagnosis.known("memory nodes", nodes) else {
        return;
    };
    let nodes = all.len();
    if nodes < 2 {
        return diagnosis.good("there is one memory node");
    }
    // A memory node may have no CPUs.
    let with_cpus = host
        .cpus_in(&format!("{folder}/has_cpu"))
        .unwrap_or_default();
    // `numactl` refuses a node whose CPUs this process may not use.
    let allowed = host.allowed_cpus().unwrap_or_default();
    let has_allowed = |node: &&usize| {
        let cpus = host.cpus_in(&format!("{folder}/node{node}/cpulist"));
        cpus.is_ok_and(|cpus| cpus.iter().any(|cpu| allowed.contains(cpu)))
    };
    let node = all.iter().find(has_allowed);
    let node = node.or(with_cpus.first()).unwrap_or(&all[0]);
    let file = "proc/sys/kernel/numa_balancing";
    let balancing = diagnosis.known("whether the kernel moves pages", host.read(file));
    let balancing = balancing.unwrap_or_else(|| "unknown".to_owned());
    diagnosis.add(
        if balancing == "0" { Note } else { Warning },
        "memory-nodes",
        format!("/sys/devices/system/node/online: {nodes} nodes; /{file} = {balancing}"),
        "a stolen job may find its data on another node, and the kernel may move pages during a trial",
        format!("echo 0 | sudo tee /{file}; for one node: numactl --cpunodebind={node} --membind={node} cargo runner …"),
    );
}

fn kernel(host: &Host, diagnosis: &mut Diagnosis) {
    addresses(host, diagnosis);
    let file = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    let what = "a clock source that the doctor knows";
    let source = host.parsed(file, what, |source| match source {
        "tsc"
        | "kvm-clock"
        | "hyperv_clocksource_tsc_page"
        | "arch_sys_counter"
        | "riscv_clocksource"
        | "timebase"
        | "tod" => Some(None),
        "hpet" | "acpi_pm" | "jiffies" | "pit" | "xen" | "refined-jiffies" => {
            Some(Some(source.to_owned()))
        }
        _ => None,
    });
    match diagnosis.known("cost of reading the time", source) {
        Some(None) => diagnosis.good("the time is read without a system call"),
        Some(Some(source)) => diagnosis.add(
            Warning,
            "clock-source",
            format!("/{file} = {source}"),
            "reading the time takes a microsecond instead of some nanoseconds",
            format!(
                "see `dmesg | grep -i tsc`; if the kernel trusted the TSC once: echo tsc | sudo tee /{file}"
            ),
        ),
        None => {}
    }
    options(host, diagnosis);
    facts(host, diagnosis);
}

/// Reports addresses that are not random. The kernel may choose random addresses in general, but
/// not for this process and its children, if a debugger or `setarch -R` started the runner.
fn addresses(host: &Host, diagnosis: &mut Diagnosis) {
    const NOT_RANDOM: u32 = 0x0004_0000;
    const WHAT: &str = "whether addresses are random";
    let (of_all, own) = (
        "proc/sys/kernel/randomize_va_space",
        "proc/self/personality",
    );
    let Some(value) = diagnosis.known(WHAT, host.number(of_all)) else {
        return;
    };
    let (seen, remedy) = if value == 2 {
        let bits = |text: &str| u32::from_str_radix(text, 16).ok();
        let personality = host.parsed(own, "a personality", bits);
        match diagnosis.known(WHAT, personality) {
            None => return,
            Some(bits) if bits & NOT_RANDOM == 0 => {
                return diagnosis.good("addresses are random, so trials average over them");
            }
            Some(bits) => (
                format!(
                    "/{own} = {bits:08x}: the program that started the runner turned random addresses off"
                ),
                "start the runner without `setarch -R`, and not in a debugger".to_owned(),
            ),
        }
    } else {
        let remedy = format!("echo 2 | sudo tee /{of_all}");
        (format!("/{of_all} = {value}"), remedy)
    };
    diagnosis.add(
        Warning,
        "addresses",
        seen,
        "every trial gets the same addresses, so trials do not average over their effects",
        remedy,
    );
}

/// Reports options that mainline Linux does not have. The kernel of a cloud may choose the CPU of a
/// woken thread in its own way.
fn options(host: &Host, diagnosis: &mut Diagnosis) {
    let Some(line) = diagnosis.known("the kernel's options", host.read("proc/cmdline")) else {
        return;
    };
    let foreign = kernel_options::foreign(&line);
    if foreign.is_empty() {
        return diagnosis.good("the kernel's options for scheduling are those of mainline Linux");
    }
    diagnosis.add(
        Note,
        "kernel-options",
        format!(
            "/proc/cmdline: options that the doctor does not know from mainline Linux: {}",
            foreign.join(" ")
        ),
        "the kernel may have its own policy for woken threads, so results on sleeping may hold on such kernels \
         only",
        "repeat on a mainline kernel what you want to assert about Linux",
    );
}

/// Reports settings that are a matter of choice: no value is wrong, but different values make the
/// results of two hosts differ.
fn facts(host: &Host, diagnosis: &mut Diagnosis) {
    let weaknesses = format!("{CPUS}/vulnerabilities");
    let mut mitigated = host.names_in(&weaknesses);
    mitigated.retain(|name| {
        let text = host.read(&format!("{weaknesses}/{name}"));
        text.is_ok_and(|text| text.starts_with("Mitigation"))
    });
    let files = [
        "sys/kernel/mm/transparent_hugepage/enabled",
        "proc/self/timerslack_ns",
    ];
    let seen = files.iter().filter_map(|file| {
        let text = host.read(file).ok()?;
        Some(format!("/{file} = {text}"))
    });
    let mut seen: Vec<String> = seen.collect();
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
        "huge pages change the cost of memory, timer slack delays wake-ups with a time limit, and mitigations \
         raise the cost of system calls",
        "compare only hosts with equal settings (`host.json` lists them)",
    );
}
