// The chooser: draws one measure of one workload for the branches and thread counts that are ticked, and lists its rows.
"use strict";
(() => {
  const source = document.getElementById("exploration");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const root = document.getElementById("explore");
  const [measureChoice, panelChoice] = root.querySelectorAll("select");
  const chart = root.querySelector(".chart"), body = root.querySelector("tbody"), said = root.querySelector(".said");
  const WIDTH = 720, HEIGHT = 320, LEFT = 58, RIGHT = 12, TOP = 14, BOTTOM = 44;
  const MOST_INTERVALS = 4; // more of them hide each other

  const element = (name, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const words = {
    change: (value) => {
      const change = Math.round((value - 1) * 1000) / 10;
      return (change > 0 ? "+" : change < 0 ? "−" : "±") + Math.abs(change).toFixed(1) + "\u00a0%";
    },
    times: (value) => value.toFixed(3),
    share: (value) => value.toFixed(3),
  };
  const ticked = (name) =>
    new Set([...root.querySelectorAll(`input[name=${name}]:checked`)].map((box) => Number(box.value)));

  // About six round numbers between two ends.
  const steps = (low, high) => {
    const rough = (high - low) / 6, power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
    const found = [];
    for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at += 1) found.push(at * step);
    return found;
  };

  // Lines of one branch may be told apart only by dashes, as in all other figures.
  const draw = (measure, rows) => {
    const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": measure.label });
    const threads = [...new Set(rows.map((row) => row[2]))].sort((a, b) => a - b);
    const values = rows.map((row) => row[3]);
    const bands = rows.filter((row) => row[6] !== null).map((row) => row[6]);
    let low = Math.min(...values), high = Math.max(...values);
    if (measure.kind === "change") {
      const reach = Math.max(1.03, high, 1 / low, ...bands);
      [low, high] = [2 - (1 + (reach - 1) * 1.15), 1 + (reach - 1) * 1.15];
    } else {
      [low, high] = [Math.min(0, low), high * 1.1 || 1];
    }
    const x = (count) => LEFT + (WIDTH - LEFT - RIGHT) * ((threads.indexOf(count) + 0.5) / threads.length);
    const clamped = (value) => Math.min(high, Math.max(low, value));
    const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - (clamped(value) - low) / (high - low));
    const half = (WIDTH - LEFT - RIGHT) / threads.length / 2;

    const beyond = data.cpus === null ? -1 : threads.findIndex((count) => count > data.cpus);
    if (beyond >= 0) {
      const from = LEFT + 2 * half * beyond;
      svg.append(element("rect", { x: from, y: TOP, width: WIDTH - RIGHT - from, height: HEIGHT - TOP - BOTTOM, class: "beyond" }));
      svg.append(element("text", { x: from + 5, y: TOP + 12, class: "faint" }, `over ${data.cpus} CPUs`));
    }
    if (measure.kind === "change") {
      for (const count of threads) {
        const band = Math.max(...rows.filter((row) => row[2] === count && row[6] !== null).map((row) => row[6]));
        if (!isFinite(band)) continue;
        const top = y(band), bottom = y(1 / band);
        svg.append(element("rect", { x: x(count) - half + 1, y: top, width: 2 * half - 2, height: bottom - top, class: "band" }));
      }
    }
    for (const at of measure.kind === "change" ? steps(low - 1, high - 1).map((step) => step + 1) : steps(low, high)) {
      const level = y(at);
      svg.append(element("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: level, y2: level, class: Math.abs(at - 1) < 1e-9 && measure.kind === "change" ? "zero" : "grid" }));
      svg.append(element("text", { x: LEFT - 6, y: level + 4, "text-anchor": "end" }, measure.kind === "change" ? words.change(at) : String(Math.round(at * 1000) / 1000)));
    }
    for (const count of threads) {
      svg.append(element("text", { x: x(count), y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, count));
    }
    svg.append(element("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 6, "text-anchor": "middle", class: "faint" }, "threads"));

    const present = [...new Set(rows.map((row) => row[1]))].sort((a, b) => data.branches[b].bold - data.branches[a].bold);
    present.forEach((index, place) => {
      const branch = data.branches[index];
      const own = rows.filter((row) => row[1] === index).sort((a, b) => a[2] - b[2]);
      // Beside each other, or points would hide each other.
      const shift = present.length > 1 ? half * 1.2 * (place / (present.length - 1) - 0.5) : 0;
      const group = element("g", { "data-branch": branch.name, style: `--own: ${branch.colour}` });
      const points = own.map((row) => `${x(row[2]) + shift},${y(row[3])}`).join(" ");
      group.append(element("polyline", { points, "stroke-dasharray": branch.dashed ? "5 3" : "none", "stroke-width": branch.bold ? 3 : 1.4 }));
      for (const row of own) {
        const at = x(row[2]) + shift;
        if (present.length <= MOST_INTERVALS && row[4] !== null && row[5] !== null) group.append(element("line", { x1: at, x2: at, y1: y(row[4]), y2: y(row[5]), class: "interval" }));
        const claimed = row[7] === "faster" || row[7] === "slower" || row[7] === null;
        const dot = element("circle", { cx: at, cy: y(row[3]), r: 3.6, class: claimed ? "full" : "hollow" });
        const range = row[4] === null ? "" : ` (${words[measure.kind](row[4])} to ${words[measure.kind](row[5])})`;
        dot.append(element("title", {}, `${branch.name}, ${row[2]} threads: ${words[measure.kind](row[3])}${range}${row[7] ? ", " + row[7] : ""}`));
        group.append(dot);
      }
      svg.append(group);
    });
    chart.replaceChildren(svg);
  };

  const list = (measure, rows) => {
    body.replaceChildren(...rows.map((row) => {
      const line = document.createElement("tr");
      const number = (value) => (value === null ? "" : words[measure.kind](value));
      const texts = [data.branches[row[1]].name, row[2], number(row[3]), number(row[4]), number(row[5]), row[7] ?? ""];
      texts.forEach((text) => {
        const cell = document.createElement("td");
        cell.textContent = text;
        line.append(cell);
      });
      if (row[7] === "faster" || row[7] === "slower") line.className = row[7];
      return line;
    }));
    for (const head of root.querySelectorAll("th")) head.removeAttribute("aria-sort");
  };

  const show = () => {
    const measure = data.measures[measureChoice.value];
    const branches = ticked("branch"), threads = ticked("threads"), panel = Number(panelChoice.value);
    const rows = measure.rows.filter((row) => row[0] === panel && branches.has(row[1]) && threads.has(row[2]));
    said.textContent = rows.length ? "" : "Nothing to draw: this workload has no such figure for what is ticked.";
    if (rows.length) draw(measure, rows); else chart.replaceChildren();
    list(measure, rows);
  };

  const option = (value, text) => new Option(text, value);
  const box = (name, value, text, swatch) => {
    const label = document.createElement("label"), input = document.createElement("input");
    Object.assign(input, { type: "checkbox", name, value, checked: true });
    label.append(input, ...(swatch ? [swatch] : []), text);
    return label;
  };
  const swatch = (branch) => {
    const svg = element("svg", { width: 26, height: 8, "aria-hidden": "true" });
    svg.append(element("line", { x1: 0, x2: 26, y1: 4, y2: 4, style: `stroke: ${branch.colour}`, "stroke-width": branch.bold ? 4 : 2.5, "stroke-dasharray": branch.dashed ? "5 3" : "none" }));
    return svg;
  };
  measureChoice.append(...data.measures.map((measure, index) => option(index, measure.label)));
  panelChoice.append(...data.panels.map((name, index) => option(index, name)));
  root.querySelector(".branches").append(...data.branches.map((branch, index) => box("branch", index, branch.name, swatch(branch))));
  const counts = [...new Set(data.measures.flatMap((measure) => measure.rows.map((row) => row[2])))].sort((a, b) => a - b);
  root.querySelector(".threads").append(...counts.map((count) => box("threads", count, String(count))));
  root.addEventListener("change", show);
  for (const button of root.querySelectorAll("button[data-tick]")) {
    button.addEventListener("click", () => {
      for (const input of root.querySelectorAll(`input[name=${button.dataset.of}]`)) input.checked = button.dataset.tick === "all";
      show();
    });
  }
  root.querySelector("button.save").addEventListener("click", () => {
    const lines = [...root.querySelectorAll("table tr")].map((row) =>
      [...row.cells].map((cell) => `"${cell.textContent.trim().replaceAll('"', '""')}"`).join(","));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/csv" }));
    link.download = "chosen.csv";
    link.click();
    URL.revokeObjectURL(link.href);
  });
  root.hidden = false;
  show();
})();
