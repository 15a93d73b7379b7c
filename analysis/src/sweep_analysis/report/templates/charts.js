// Draws times by threads, and where the time went, of each `figure.live` from the JSON inside it; folds what it shows.
"use strict";
const made = (space) => (name, attributes = {}, ...inside) => {
  const element = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...inside);
  return element;
};
const html = made("http://www.w3.org/1999/xhtml"), svg = made("http://www.w3.org/2000/svg");
const UNITS = [["s", 1e6], ["ms", 1e3], ["µs", 1]];
const amount = (us) => {
  const [unit, size] = UNITS.find(([, least]) => us >= least) ?? UNITS[2];
  return `${Number((us / size).toPrecision(3))} ${unit}`;
};
const threadsOf = (number) => `${number} thread${number === 1 ? "" : "s"}`;
const line = ([colour, dashed, bold], x1, x2, y) => svg("line", { x1, x2, y1: y, y2: y, stroke: colour,
  "stroke-width": bold ? 4 : 2.5, ...(dashed && { "stroke-dasharray": "5 3" }) });
const sample = (look) => svg("svg", { width: 34, height: 8, "aria-hidden": true }, line(look, 0, 34, 4));

// Round numbers of a logarithmic axis: as few of them as tell at least three heights.
const STEPS = [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 5, 7], [1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9]];
const heights = (low, high) => {
  const between = (steps) => {
    const found = [];
    for (let ten = 10 ** Math.floor(Math.log10(low)); ten <= high; ten *= 10)
      found.push(...steps.map((step) => step * ten).filter((it) => it >= low && it <= high));
    return found;
  };
  return STEPS.map(between).find((found) => found.length >= 3) ?? between(STEPS.at(-1));
};

const alive = (figure) => {
  const data = JSON.parse(figure.querySelector("script").textContent);
  const state = { machine: 0, quantity: "", workload: "", at: -1, shown: new Set(data.shown) };
  const parts = Object.fromEntries(["choosers", "plot", "told", "key", "bars"].map((name) =>
    [name, html(name === "told" ? "p" : "div", { class: name })]));
  parts.told.setAttribute("aria-live", "polite");
  const heading = html("h4"), spentKey = html("ul", { class: "legend" }), spentTold = html("p", { class: "told below" });
  figure.append(...Object.values(parts).slice(0, 4), heading, spentKey, parts.bars, spentTold);
  const machine = () => data.machines[state.machine];
  const drawn = (by) => Object.keys(data.looks).filter((name) => state.shown.has(name) && by?.[name]);

  const choose = (name, options, value, chosen) => {
    if (options.length < 2) return [];
    const select = html("select", { name }, ...options.map(([key, text]) =>
      html("option", { value: key, ...(key === value && { selected: "" }) }, text)));
    select.addEventListener("change", () => {
      chosen(select.value);
      draw();
      parts.choosers.querySelector(`[name=${name}]`).focus(); // this one was replaced
    });
    return [html("label", {}, name, select)];
  };

  const drawChoosers = () => {
    const quantities = Object.keys(machine().times);
    if (!quantities.includes(state.quantity)) state.quantity = quantities[0] ?? "";
    const workloads = Object.keys(machine().times[state.quantity] ?? machine().spent);
    if (!workloads.includes(state.workload)) state.workload = workloads[0];
    parts.choosers.replaceChildren(
      ...choose("workload", workloads.map((name) => [name, name]), state.workload, (it) => { state.workload = it; }),
      ...choose("machine", data.machines.map((it, at) => [String(at), it.name]), String(state.machine),
        (it) => { state.machine = Number(it); state.at = -1; }),
      ...choose("what", quantities.map((name) => [name, data.quantities[name]]), state.quantity,
        (it) => { state.quantity = it; }),
      ...(data.machines.length < 2 ? [html("span", { class: "label" }, machine().name)] : []));
  };

  const drawKey = () => {
    const by = (machine().times[state.quantity] ?? machine().spent)[state.workload];
    const branches = Object.keys(data.looks).filter((name) => by?.[name]);
    parts.key.className = "key legend";
    parts.key.replaceChildren(...branches.map((name) => {
      const box = html("input", { type: "checkbox" });
      box.checked = state.shown.has(name);
      box.addEventListener("change", () => { state.shown[box.checked ? "add" : "delete"](name); drawPlot(); drawBars(); });
      return html("label", {}, box, sample(data.looks[name]), name);
    }));
  };

  const tell = (by) => {
    const { threads, cpus } = machine(), names = drawn(by).filter((name) => by[name][state.at] != null);
    const values = names.map((name) => `${name} ${amount(by[name][state.at])}`);
    const beyond = cpus && threads[state.at] > cpus ? ` (more than there are CPUs)` : "";
    parts.told.textContent = names.length ? `${threadsOf(threads[state.at])}${beyond}: ${values.join(" · ")}` : "";
  };

  const drawPlot = () => {
    const by = machine().times[state.quantity]?.[state.workload];
    parts.plot.hidden = parts.told.hidden = !by;
    if (!by) return;
    const { threads, cpus } = machine(), names = drawn(by);
    const values = names.flatMap((name) => by[name]).filter((value) => value > 0);
    if (state.at < 0) state.at = threads.length - 1;
    const width = Math.max(parts.plot.clientWidth, 260), height = Math.min(340, Math.max(230, width * .55));
    const [left, right, top, bottom] = [58, 14, 12, 40];
    // Noise is not blown up to a mountain: the axis spans a factor of two at least.
    const middle = Math.sqrt(Math.min(...values) * Math.max(...values)), room = Math.sqrt(2);
    const low = Math.min(Math.min(...values) / 1.08, middle / room), high = Math.max(Math.max(...values) * 1.08, middle * room);
    const wide = Math.log2(threads.at(-1) / threads[0]) || 1;
    const x = (number) => left + Math.log2(number / threads[0]) / wide * (width - left - right);
    const y = (value) => height - bottom - Math.log(value / low) / Math.log(high / low) * (height - top - bottom);
    const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, height, tabindex: 0, role: "img",
      "aria-label": `${data.quantities[state.quantity]} of ${state.workload} by threads, ${machine().name}; arrow keys choose the threads` });
    if (cpus && cpus < threads.at(-1)) {
      const from = x(Math.max(cpus, threads[0]));
      picture.append(svg("rect", { class: "beyond", x: from, y: top, width: width - right - from, height: height - top - bottom }));
    }
    if (names.length) for (const value of heights(low, high)) picture.append(
      svg("line", { class: "axis", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
      svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, amount(value)));
    let end = -Infinity;
    for (const number of threads) {
      if (x(number) - end < 24) continue;
      end = x(number);
      picture.append(svg("text", { x: end, y: height - bottom + 16, "text-anchor": "middle" }, String(number)));
    }
    picture.append(svg("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, "threads"));
    const at = svg("line", { class: "at", y1: top, y2: height - bottom });
    picture.append(at);
    for (const name of names) {
      const [colour, dashed, bold] = data.looks[name];
      const points = by[name].map((value, it) => [x(threads[it]), y(value), value]).filter(([, , value]) => value > 0);
      picture.append(svg("polyline", { points: points.map(([across, up]) => `${across},${up}`).join(" "), fill: "none",
        stroke: colour, "stroke-width": bold ? 4 : 2, ...(dashed && { "stroke-dasharray": "5 3" }) }),
        ...points.map(([cx, cy]) => svg("circle", { cx, cy, r: 3, fill: colour })));
    }
    const move = (to) => {
      state.at = Math.min(Math.max(to, 0), threads.length - 1);
      at.setAttribute("x1", x(threads[state.at]));
      at.setAttribute("x2", x(threads[state.at]));
      tell(by);
    };
    const nearest = (event) => {
      const box = picture.getBoundingClientRect(), across = (event.clientX - box.left) * width / box.width;
      const away = threads.map((number) => Math.abs(x(number) - across));
      move(away.indexOf(Math.min(...away)));
    };
    picture.addEventListener("pointermove", nearest);
    picture.addEventListener("pointerdown", nearest);
    picture.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step) { event.preventDefault(); move(state.at + step); }
    });
    move(state.at);
    parts.plot.replaceChildren(picture);
  };

  const drawBars = () => {
    const by = machine().spent[state.workload];
    for (const part of [heading, spentKey, parts.bars, spentTold]) part.hidden = !by;
    if (!by) return;
    heading.textContent = `Where the time of all cores went: ${state.workload}, ${machine().name}`;
    spentKey.replaceChildren(...data.spent.map(([name, colour]) =>
      html("li", {}, html("span", { class: "swatch", style: `background: ${colour}` }), name)));
    spentTold.textContent = "A bar tells its shares when it is touched.";
    parts.bars.replaceChildren(...machine().threads.map((number, it) => {
      const bars = drawn(by).filter((name) => by[name][it]).map((name) => {
        const shares = by[name][it];
        const told = `${name} on ${threadsOf(number)}: ` + data.spent.map(([kind], at) => [kind, shares[at]])
          .filter(([, share]) => share >= .001).map(([kind, share]) => `${kind} ${(share * 100).toFixed(1)} %`).join(", ");
        const bar = html("button", { class: "bar", type: "button", "aria-label": told }, sample(data.looks[name]),
          html("span", {}, ...shares.map((share, at) => html("i", { style: `width: ${share * 100}%; background: ${data.spent[at][1]}` }))));
        for (const event of ["pointerenter", "click", "focus"]) bar.addEventListener(event, () => { spentTold.textContent = told; });
        return bar;
      });
      return html("div", {}, ...(bars.length ? [threadsOf(number), ...bars] : []));
    }).filter((group) => group.childNodes.length));
  };

  const draw = () => { drawChoosers(); drawKey(); drawPlot(); drawBars(); };
  figure.hidden = false;
  draw();
  let last = parts.plot.clientWidth;
  new ResizeObserver(() => {
    if (parts.plot.clientWidth === last) return;
    last = parts.plot.clientWidth;
    drawPlot();
  }).observe(parts.plot);
};

for (const figure of document.querySelectorAll("figure.live")) alive(figure);
for (const fold of document.querySelectorAll("details.charted")) fold.open = false;
// On a phone the contents would fill the first screen.
const contents = document.querySelector(".findings nav details"), desk = matchMedia("(min-width: 64rem)");
const fold = () => { contents.open = desk.matches; };
document.body.classList.add("scripted");
desk.addEventListener("change", fold);
contents.addEventListener("click", (event) => { if (event.target.closest("a")) fold(); });
fold();
