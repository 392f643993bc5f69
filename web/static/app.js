// Built by web/ts/build.mjs, not edited. sources=c6138106261e6418ab16835b11551752a99ae25a3d3d724d1c7f368d610dafd1 body=99e7f7045e8d7f3532e31428d0f1f4406c140fbd19218bef5c80915d9fefdb01
"use strict";
(() => {
  // src/bands.ts
  var OPACITY = 0.22;
  function drawBands(plot, lines) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.globalAlpha = OPACITY;
    lines.forEach(({ band, stroke }, index) => {
      if (!band || !plot.series[index + 1]?.show) return;
      ctx.fillStyle = ctx.strokeStyle = stroke;
      for (const [from, to] of parts(band)) area(plot, band, from, to);
    });
    ctx.restore();
  }
  function area(plot, { x, low, high }, from, to) {
    const { ctx } = plot;
    const go = (at, values) => ctx.lineTo(plot.valToPos(x[at] ?? 0, "x", true), plot.valToPos(values[at] ?? 0, "y", true));
    ctx.beginPath();
    for (let at = from; at < to; at++) go(at, high);
    for (let at = to - 1; at >= from; at--) go(at, low);
    ctx.closePath();
    ctx.fill();
    if (to - from === 1) ctx.stroke();
  }
  function parts({ x, low }) {
    const found = [];
    for (let at = 0; at < x.length; at++) {
      const last = found.at(-1);
      if (low[at] == null) continue;
      if (last && last[1] === at) last[1]++;
      else found.push([at, at + 1]);
    }
    return found;
  }
  function extremes(plot, lines, [from, to]) {
    let [least, most] = [Infinity, -Infinity];
    lines.forEach(({ band }, index) => {
      if (!band || !plot.series[index + 1]?.show) return;
      band.x.forEach((time, at) => {
        if (time < from || time > to) return;
        least = Math.min(least, band.low[at] ?? least);
        most = Math.max(most, band.high[at] ?? most);
      });
    });
    return [least, most];
  }
  function write({ band, write: write4 }, time) {
    const at = band && time !== void 0 ? band.x.indexOf(time) : -1;
    const [low, high] = [band?.low[at], band?.high[at]];
    return low == null || high == null ? "" : ` (${write4(low)} to ${write4(high)})`;
  }

  // src/style.ts
  var COLOURS = 8;
  var DASHES = [[], [9, 3], [4, 2], [9, 3, 2, 3], [2, 2], [12, 2], [6, 2], [12, 2, 2, 2, 2, 2]];
  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }
  function line(index) {
    const dash = DASHES[Math.floor(index / COLOURS) % DASHES.length] ?? [];
    return { stroke: colour(`--c${index % COLOURS}`), dash };
  }
  var PREFIXES = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
  function digits(value, count = 4) {
    if (value === 0) return "0";
    const places = Math.max(0, count - 1 - Math.floor(Math.log10(Math.abs(value))));
    return String(Number(value.toFixed(Math.min(places, 12))));
  }
  function rate(value, unit = "bit/s", count = 4) {
    const [factor, prefix] = PREFIXES.find(([least]) => Math.abs(value) >= least) ?? [1, ""];
    return `${digits(value / factor, count)} ${prefix}${unit}`.trim();
  }
  var whole = (value) => Number.isInteger(value) ? String(value) : digits(value);

  // src/swatch.ts
  var SPACE = "http://www.w3.org/2000/svg";
  var WIDTH = 26;
  var HEIGHT = 10;
  function swatch({ stroke, dash, width, bare }) {
    const picture2 = document.createElementNS(SPACE, "svg");
    const path = document.createElementNS(SPACE, "path");
    const shape = bare ? `M${WIDTH / 2} 0v${HEIGHT}` : `M1 ${HEIGHT / 2}h${WIDTH - 2}`;
    for (const [name, value] of Object.entries({
      d: shape,
      stroke,
      "stroke-width": String(width * 1.3),
      "stroke-dasharray": dash.join(" "),
      fill: "none"
    })) path.setAttribute(name, value);
    for (const [name, value] of Object.entries({
      width: String(WIDTH),
      height: String(HEIGHT),
      class: "swatch",
      "aria-hidden": "true"
    })) picture2.setAttribute(name, value);
    picture2.append(path);
    return picture2;
  }
  function mark(legend, lines) {
    [...legend.querySelectorAll(".u-series")].slice(1).forEach((row, index) => {
      const line2 = lines[index];
      if (line2) row.querySelector(".u-marker")?.replaceChildren(swatch(line2));
    });
  }

  // src/chart.ts
  var MOST_MARKS = 80;
  var MOMENT_PX = 7;
  var HEIGHT2 = 190;
  var AXIS = 62;
  var DIGIT = 7;
  var MOST_DECADES = 4;
  var LEAST_DRAG_PX = 5;
  function element(tag, properties = {}, ...children) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  }
  var Chart = class {
    constructor(host, id, spec, group) {
      this.spec = spec;
      this.group = group;
      const name = spec.x ? `${spec.title}: ${spec.unit}` : `${spec.title}${spec.unit && ` in ${spec.unit}`} over time`;
      this.area.setAttribute("role", "group");
      this.area.setAttribute("aria-roledescription", "chart");
      this.area.setAttribute("aria-label", name);
      this.said.setAttribute("aria-live", "polite");
      this.table.setAttribute("role", "region");
      this.table.setAttribute("aria-label", `Values of ${spec.title}`);
      this.area.addEventListener("keydown", (event) => this.key(event));
      const caption = element(
        "figcaption",
        {},
        element("b", { textContent: spec.title }),
        element("span", { className: "dim", textContent: spec.unit }),
        this.note,
        this.tools
      );
      if (spec.hint) caption.append(element("small", { className: "dim", textContent: spec.hint }));
      this.details.append(element("summary", { textContent: "Show values" }), this.table);
      const figure = element("figure", { className: "chart", id: `chart-${id}` }, caption, this.area, this.said, this.details);
      host.append(figure);
      let width = 0;
      new ResizeObserver(() => {
        if (this.width === width) return;
        width = this.width;
        this.plot?.setSize({ width, height: this.spec.height ?? HEIGHT2 });
      }).observe(this.area);
    }
    spec;
    group;
    tools = element("span");
    note = element("span", { className: "dim" });
    area = element("div", { className: "plot", tabIndex: 0 });
    said = element("p", { className: "hidden" });
    table = element("div", { className: "scroll", tabIndex: 0 });
    details = element("details");
    plot;
    picture;
    made = "";
    get width() {
      return Math.max(Math.floor(this.area.clientWidth), 120);
    }
    focus() {
      this.area.scrollIntoView({ block: "center" });
      this.area.focus({ preventScroll: true });
    }
    /** Show a message instead of the curves. */
    say(text) {
      this.plot?.destroy();
      this.plot = this.picture = void 0;
      this.made = "";
      this.area.replaceChildren(element("p", { className: "message", textContent: text }));
      this.table.replaceChildren();
      this.note.textContent = "";
    }
    show(picture2) {
      if (!picture2.x.length) return this.say("No samples here.");
      const [min, max] = this.group.span();
      this.picture = picture2;
      this.note.textContent = picture2.note;
      this.tabulate(picture2, min, max);
      const data = [picture2.x, ...picture2.columns];
      const looks = JSON.stringify(picture2.lines.map(({ label, stroke, dash, bare }) => [label, stroke, dash, bare]));
      if (this.plot && looks === this.made) {
        const plot = this.plot;
        plot.batch(() => {
          plot.setData(data, false);
          plot.setScale("x", { min, max });
        });
        return;
      }
      this.plot?.destroy();
      this.area.replaceChildren();
      this.made = looks;
      this.plot = new uPlot(this.options(picture2), data, this.area);
      mark(this.area, picture2.lines);
      this.plot.setScale("x", { min, max });
    }
    /** Show another part of the time, with the present samples until new ones arrive. */
    reach(min, max) {
      this.plot?.setScale("x", { min, max });
    }
    /** Draw again what is shown, with other marks. */
    remark() {
      this.plot?.redraw(false, false);
    }
    /** Draw the chart again with new colours. */
    restyle() {
      this.made = "";
    }
    /** Put the cursor at a time, or remove it. */
    point(time) {
      const plot = this.plot;
      if (!plot) return;
      plot.setCursor({ left: time === null ? -10 : plot.valToPos(time, "x"), top: time === null ? -10 : 0 });
    }
    key(event) {
      const plot = this.plot;
      if (!plot || event.target !== this.area || event.ctrlKey || event.altKey || event.metaKey) return;
      const [min, max] = this.group.span();
      const at = plot.cursor.left !== void 0 && plot.cursor.left >= 0 ? plot.posToVal(plot.cursor.left, "x") : null;
      const step = (max - min) / 200 * (event.shiftKey ? 10 : 1);
      const middle = at ?? (min + max) / 2;
      const zoom = (factor) => this.group.zoom(middle - (middle - min) * factor, middle + (max - middle) * factor);
      const actions = {
        ArrowLeft: () => this.move(at === null ? max : Math.max(min, at - step)),
        ArrowRight: () => this.move(at === null ? min : Math.min(max, at + step)),
        Home: () => this.move(min),
        End: () => this.move(max),
        "+": () => zoom(0.5),
        "=": () => zoom(0.5),
        "-": () => zoom(2),
        Backspace: () => this.group.back(),
        Escape: () => (this.group.whole(), this.group.point(null))
      };
      const action = actions[event.key];
      if (!action) return;
      event.preventDefault();
      action();
    }
    move(time) {
      this.group.point(time);
      const plot = this.plot;
      if (!plot) return;
      const values = (this.picture?.lines ?? []).map((line2, index) => {
        const at = plot.cursor.idxs?.[index + 1];
        const value = at == null ? null : plot.data[index + 1]?.[at];
        const text = value == null ? "nothing" : line2.write(value) + write(line2, plot.data[0]?.[at]);
        return `${line2.label} ${text}`;
      });
      this.said.textContent = `${this.writeX(time, 2)}: ${values.join(", ")}`;
    }
    writeX(value, places) {
      return this.spec.x?.write(value) ?? `${value.toFixed(places)} s`;
    }
    tabulate(picture2, min, max) {
      const lines = picture2.lines.filter((line2) => line2.summary);
      this.details.hidden = !lines.length;
      const head = ["curve", "samples", "min", "mean", "max", "last"];
      const rows = lines.map((line2) => {
        const { min: min2, mean, max: max2, last } = line2.summary;
        const cells = [min2, mean, max2, last].map((value) => value === null ? "–" : line2.write(value));
        return element(
          "tr",
          {},
          element("th", { scope: "row", textContent: line2.label }),
          ...[String(line2.samples ?? "–"), ...cells].map((text) => element("td", { className: "n", textContent: text }))
        );
      });
      this.table.replaceChildren(element(
        "table",
        {},
        element("caption", { textContent: `${this.spec.title}, all samples from ${min.toFixed(2)} to ${max.toFixed(2)} s` }),
        element("thead", {}, element("tr", {}, ...head.map((text, index) => element("th", { scope: "col", className: index ? "n" : "", textContent: text })))),
        element("tbody", {}, ...rows)
      ));
    }
    options(picture2) {
      const { group, spec } = this;
      const axis = {
        stroke: colour("--dim"),
        grid: { stroke: colour("--grid"), width: 1 },
        ticks: { stroke: colour("--grid"), width: 1, size: 4 },
        font: "11.5px system-ui, sans-serif"
      };
      const all = (_, low, high) => [low ?? group.span()[0], high ?? group.span()[1]];
      return {
        width: this.width,
        height: spec.height ?? HEIGHT2,
        padding: [8, 12, 0, 0],
        legend: { markers: { width: 0 } },
        // see swatch.ts
        scales: {
          x: { time: false, range: all, distr: spec.x ? 3 : 1 },
          y: { range: (plot, low, high) => this.limits(plot, low, high) },
          none: { range: [0, 1] }
        },
        axes: [
          { ...axis, size: 26, gap: 3, ...spec.x ? { splits: (plot) => decades(plot), filter: (_, all2) => all2 } : {}, values: (_plot, ticks2) => ticks2.map((tick2) => tick2 == null ? null : spec.x?.write(tick2) ?? `${+tick2.toFixed(6)} s`) },
          { ...axis, size: (_plot, texts) => Math.max(AXIS, DIGIT * Math.max(0, ...(texts ?? []).map((text) => text?.length ?? 0)) + 14), gap: 4, values: (_plot, ticks2) => ticks2.map(spec.write) }
        ],
        series: [
          { label: spec.x?.label ?? "time", value: (_plot, value) => value == null ? "–" : this.writeX(value, 3) },
          ...picture2.lines.map((line2, index) => ({
            label: line2.label,
            stroke: line2.stroke,
            dash: line2.dash,
            width: line2.width,
            spanGaps: false,
            scale: line2.bare ? "none" : "y",
            points: { show: line2.bare ? false : void 0 },
            ...line2.bare ? { paths: () => null } : {},
            ...spec.x?.stepped || line2.stepped && !line2.bare ? { paths: uPlot.paths.stepped?.({ align: 1 }) } : {},
            // The present picture, because a unit may have changed since these options were made.
            value: (plot, value, _series, at) => this.legend(plot, this.picture?.lines[index], value, at)
          }))
        ],
        cursor: {
          y: false,
          drag: { x: true, y: false, setScale: false },
          points: { size: (_plot, index) => picture2.lines[index - 1]?.bare ? 0 : 6 },
          dataIdx: nearest,
          sync: {
            key: group.key,
            setSeries: false,
            filters: { pub: (type) => type === "mousemove" || type === "mouseleave" }
          },
          bind: { dblclick: () => () => (group.back(), null) }
        },
        hooks: {
          drawClear: [(plot) => this.shade(plot)],
          drawAxes: [
            (plot) => this.mark(plot),
            // above the grid, below the curves
            (plot) => drawBands(plot, this.picture?.lines ?? [])
          ],
          draw: [(plot) => this.picture && spec.draw?.(plot, this.picture), (plot) => this.markMoments(plot)],
          setSelect: [(plot) => {
            const { left, width } = plot.select;
            if (width < LEAST_DRAG_PX) return;
            plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            group.zoom(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
          }]
        }
      };
    }
    legend(plot, line2, value, at) {
      if (value == null || !line2) return "–";
      return line2.write(value) + write(line2, at === null ? void 0 : plot.data[0][at]);
    }
    limits(plot, lowest, highest) {
      if (this.spec.limits && this.picture) return this.spec.limits(this.picture, this.group.span());
      if (lowest === null || highest === null) return [0, 1];
      const [least, most] = extremes(plot, this.picture?.lines ?? [], this.group.span());
      const [low, high] = [Math.min(lowest, least), Math.max(highest, most)];
      const top = Math.max(high, this.picture?.reach ?? high);
      if (this.spec.fromZero) return [0, top > 0 ? top * 1.06 : 1];
      const margin = (top - low) * 0.06 || Math.abs(top) * 0.05 || 1;
      return [low - margin, top + margin];
    }
    /** Draw a line at each event that is in sight, or none if they are too many. */
    mark(plot) {
      const { ctx, bbox } = plot;
      const places = (this.group.marks ?? []).map((time) => Math.round(plot.valToPos(time, "x", true))).filter((x) => x >= bbox.left && x <= bbox.left + bbox.width);
      if (places.length > MOST_MARKS) return;
      ctx.save();
      ctx.fillStyle = colour("--event");
      places.forEach((x) => ctx.fillRect(x, bbox.top, Math.max(1, Math.round(devicePixelRatio)), bbox.height));
      ctx.restore();
    }
    /** Mark what happened to flows: a tick where it begins, a bar as long as it lasts. */
    markMoments(plot) {
      const { ctx, bbox } = plot;
      const [right, height] = [bbox.left + bbox.width, MOMENT_PX * devicePixelRatio];
      ctx.save();
      for (const { from, to, stroke, chosen } of this.group.moments ?? []) {
        const [start, end] = [plot.valToPos(from, "x", true), plot.valToPos(to, "x", true)];
        if (end < bbox.left || start > right) continue;
        ctx.fillStyle = stroke;
        const left = Math.max(start, bbox.left);
        ctx.fillRect(left, bbox.top, Math.min(end, right) - left, height / 3);
        if (start >= bbox.left) ctx.fillRect(Math.round(start), bbox.top, Math.max(2, devicePixelRatio), chosen ? bbox.height : height);
      }
      ctx.restore();
    }
    /** Draw a grey area over the warm-up, which the metrics leave out. */
    shade(plot) {
      const { ctx, bbox } = plot;
      const end = Math.min(plot.valToPos(this.group.warmup, "x", true), bbox.left + bbox.width);
      const start = Math.max(plot.valToPos(0, "x", true), bbox.left);
      if (end <= start) return;
      ctx.save();
      ctx.fillStyle = colour("--warmup");
      ctx.fillRect(start, bbox.top, end - start, bbox.height);
      ctx.restore();
    }
  };
  function decades({ scales: { x } }) {
    const [low, high] = [x?.min ?? 1, x?.max ?? 1];
    const powers = Array.from(
      { length: Math.max(Math.floor(Math.log10(high)) - Math.floor(Math.log10(low)) + 1, 1) },
      (_, at) => 10 ** (Math.floor(Math.log10(low)) + at)
    );
    const steps = powers.length > MOST_DECADES ? [1] : [1, 2, 5];
    return powers.flatMap((power) => steps.map((step) => step * power)).filter((one) => one >= low && one <= high);
  }
  function nearest(plot, series, index) {
    const values = plot.data[series];
    const times = plot.data[0];
    if (!values || values[index] !== void 0) return index;
    let before = index, after = index;
    while (before > 0 && values[before] === void 0) before--;
    while (after < values.length - 1 && values[after] === void 0) after++;
    if (values[before] === void 0) return after;
    if (values[after] === void 0) return before;
    const at = times[index] ?? 0;
    return at - (times[before] ?? 0) <= (times[after] ?? 0) - at ? before : after;
  }

  // src/series.ts
  function join(series, text, reach) {
    const filled = series.filter(({ time_s }) => time_s.length);
    const bin_s = Math.max(...filled.map((one) => one.bin_s ?? 0), 0);
    const bins = bin_s ? `mean over ${digits(bin_s, 3)} s, shaded from least to largest` : "";
    const note = [bins, text].filter(Boolean).join("; ");
    const lines = filled.flatMap(({ columns: columns2 }) => columns2.map((column2) => column2.line));
    if (!filled.length) return { x: [], columns: [], lines, note, reach };
    const tables = filled.map(({ time_s, columns: columns2 }) => [time_s, ...columns2.map(({ values }) => values)]);
    const [x, ...columns] = tables.length > 1 ? uPlot.join(tables) : tables[0];
    return { x, columns, lines, note, reach };
  }
  var scaled = (values, factor) => values.map((value) => value === null ? null : value * factor);
  function column(of, field, look2, write4, factor = 1) {
    const { min, mean, max, last } = of.summary[field] ?? { min: null, mean: null, max: null, last: null };
    const [a, b, c, d] = scaled([min, mean, max, last], factor);
    const [low, high] = [of.low?.[field], of.high?.[field]];
    const band = low && high && { x: of.time_s, low: scaled(low, factor), high: scaled(high, factor) };
    return {
      line: { ...look2, write: write4, band, samples: of.samples, summary: { min: a, mean: b, max: c, last: d } },
      values: factor === 1 ? of.fields[field] ?? [] : scaled(of.fields[field] ?? [], factor)
    };
  }

  // src/algorithm.ts
  var keyOf = ([name, unit]) => JSON.stringify([name, unit]);
  var write2 = (value) => digits(value, 5);
  var AlgorithmCharts = class {
    /** Make the charts of the fields that `data-shown` of the flows' boxes declares. */
    constructor(section, boxes, group) {
      this.boxes = boxes;
      const controls = /* @__PURE__ */ new Map();
      for (const box of boxes) {
        const fields = JSON.parse(box.dataset.shown ?? "[]");
        this.fields.set(box.value, fields);
        for (const field of fields) {
          const one = controls.get(keyOf(field)) ?? { field, names: /* @__PURE__ */ new Set() };
          one.names.add(box.dataset.control ?? "");
          controls.set(keyOf(field), one);
        }
      }
      [...controls].forEach(([key, { field: [name, unit], names }], at) => {
        const spec = { title: `${name} of ${[...names].join(", ")}`, unit, fromZero: false, write: write2 };
        this.shown.push({ key, chart: new Chart(section, `algorithm-${at}`, spec, group) });
      });
    }
    boxes;
    fields = /* @__PURE__ */ new Map();
    shown = [];
    found = [];
    get charts() {
      return this.shown.map(({ chart }) => chart);
    }
    /** Get the samples of the ticked flows: one request for all flows with equally many fields. */
    async load(get) {
      const groups = /* @__PURE__ */ new Map();
      for (const box of this.boxes.filter(({ checked }) => checked)) {
        const count = this.fields.get(box.value)?.length ?? 0;
        if (count) groups.set(count, [...groups.get(count) ?? [], box.value]);
      }
      const answers = await Promise.all([...groups].map(([count, names]) => get([
        ["fields", Array.from({ length: count }, (_, slot) => `congestion_${slot}`).join(",")],
        ...names.map((name) => ["flow", name])
      ])));
      this.found = answers.flatMap(({ flows }) => flows);
    }
    draw(look2) {
      for (const { key, chart } of this.shown) {
        chart.show(join(this.found.flatMap((flow) => {
          const slot = this.fields.get(flow.name)?.findIndex((field) => keyOf(field) === key) ?? -1;
          if (slot < 0) return [];
          return [{
            time_s: flow.time_s,
            bin_s: flow.bin_s,
            columns: [column(flow, `congestion_${slot}`, { ...look2(flow.name), label: flow.name }, write2)]
          }];
        }), ""));
      }
    }
  };

  // src/api.ts
  async function fetchJson(url, signal) {
    const response = await fetch(url, signal ? { signal } : {});
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error?.message ?? response.statusText);
    return answer;
  }

  // src/address.ts
  var KEYS = ["t", "run", "flow", "link", "kind", "ssthresh", "unit"];
  var read = () => new URLSearchParams(location.hash.slice(1));
  function kept(key) {
    const values = read().getAll(key);
    return values.length ? values : void 0;
  }
  function keep(values) {
    const before = read();
    const after = new URLSearchParams();
    for (const key of KEYS) {
      for (const value of (key in values ? values[key] : before.getAll(key)) ?? []) after.append(key, value);
    }
    const [whole3, text] = [location.pathname + location.search, String(after)];
    if (!text && !KEYS.some((key) => before.has(key))) return;
    history.replaceState(null, "", text ? `${whole3}#${text}` : whole3);
  }
  function tick(key, boxes, nameOf2) {
    const names = kept(key);
    for (const box of boxes) box.checked = names ? names.includes(nameOf2(box)) : box.defaultChecked;
  }
  function ticked(boxes, nameOf2) {
    if (boxes.every((box) => box.checked === box.defaultChecked)) return void 0;
    const names = boxes.filter((box) => box.checked).map(nameOf2);
    return names.length ? names : [""];
  }

  // src/moments.ts
  var LISTED = 200;
  var AROUND_S = 0.1;
  function startMoments(timeline, look2, redraw, goThere) {
    const place = document.getElementById("moments");
    const form = place?.querySelector("form");
    if (!place || !form) return async () => {
    };
    const closer = JSON.parse(place.dataset.traces ?? "[]");
    const [count, rows, said] = ["count", "rows", "said"].map((name) => place.querySelector(`[data-${name}]`));
    const choices = { kind: form.elements.namedItem("kind"), flow: form.elements.namedItem("flow") };
    const wanted = { kind: kept("kind")?.[0] ?? "", flow: "" };
    const { group } = timeline;
    let answer;
    let chosen;
    let running2;
    async function load() {
      running2?.abort();
      running2 = new AbortController();
      const { signal } = running2;
      const [from, to] = timeline.span;
      const filters = Object.entries(wanted).filter(([, value]) => value);
      const trace = place?.dataset.trace ? [["trace", place.dataset.trace]] : [];
      try {
        answer = await fetchJson(`${place?.dataset.api}?${new URLSearchParams(
          [["from", String(from)], ["to", String(to)], ...filters, ...trace]
        )}`, signal);
        show2();
      } catch (error) {
        if (!signal.aborted && count) count.textContent = `cannot be shown: ${error.message}`;
      }
    }
    function show2() {
      if (!answer || !rows || !count) return;
      const { found, moments } = answer;
      options(choices.kind, answer.kinds, wanted.kind);
      options(choices.flow, answer.flows, wanted.flow);
      const listed = Math.min(moments.length, LISTED);
      count.textContent = `${found} in sight${found > moments.length ? `, the first ${moments.length} marked` : ""}${found > listed ? `, the first ${listed} listed` : ""}`;
      const focused = rows.contains(document.activeElement);
      rows.replaceChildren(...moments.slice(0, LISTED).map(row));
      if (focused) rows.children[moments.findIndex(isChosen)]?.querySelector("button")?.focus({ preventScroll: true });
      mark2();
    }
    function row(moment) {
      const button = element("button", { type: "button", textContent: `${moment.time_s.toFixed(6)} s` });
      button.addEventListener("click", () => choose(moment));
      const name = element("td", {}, swatch(look2(moment.flow)), ` ${moment.flow}`);
      return element(
        "tr",
        {},
        element("th", { scope: "row" }, button),
        name,
        element("td", { textContent: moment.kind }),
        element("td", { className: "wrap", textContent: moment.text })
      );
    }
    const isChosen = (one) => one.time_s === chosen?.time_s && one.flow === chosen.flow && one.kind === chosen.kind;
    function choose(moment) {
      chosen = moment;
      const end = moment.until_s ?? moment.time_s;
      const around = Math.max(AROUND_S, (end - moment.time_s) / 2);
      const [from, to] = [Math.max(0, moment.time_s - around), end + around];
      said?.replaceChildren(element("p", { textContent: `At ${moment.time_s.toFixed(6)} s ${moment.text}.` }), ...wayThere(), ...lookCloser(moment, from, to));
      group.zoom(from, to);
      mark2();
    }
    function wayThere() {
      if (!goThere) return [];
      const button = element("button", { type: "button", textContent: "Show in the charts" });
      button.addEventListener("click", goThere);
      return [element("p", {}, button)];
    }
    function lookCloser(moment, from, to) {
      if (place?.dataset.trace) return [];
      const one = closer.find(({ from_s, to_s }) => from_s <= moment.time_s && moment.time_s < to_s);
      if (one) {
        const hash = new URLSearchParams({ t: `${Math.max(from, one.from_s).toFixed(4)}..${Math.min(to, one.to_s).toFixed(4)}`, flow: moment.flow });
        return [element("p", {}, element("a", { href: `${one.url}#${hash}`, textContent: `Look closer in trace ${one.number}` }))];
      }
      const window2 = `${from.toFixed(3)}s..${Math.min(to, Number(place?.dataset.end)).toFixed(3)}s`;
      return [
        element("p", { className: "dim", textContent: "No stored trace has its packets. This command makes one:" }),
        element("pre", { className: "command", textContent: `${place?.dataset.zoom} --window ${window2}` })
      ];
    }
    function mark2() {
      group.moments = answer?.moments.map((one) => ({
        from: one.time_s,
        to: one.until_s ?? one.time_s,
        stroke: look2(one.flow).stroke,
        chosen: isChosen(one)
      }));
      redraw();
    }
    for (const name of ["kind", "flow"]) {
      choices[name].addEventListener("change", () => {
        wanted[name] = choices[name].value;
        if (name === "kind") keep({ kind: wanted.kind ? [wanted.kind] : void 0 });
        void load();
      });
    }
    form.addEventListener("submit", (event) => event.preventDefault());
    return load;
  }
  function options(select, counts, value) {
    const names = Object.keys(counts);
    if (value && !names.includes(value)) names.push(value);
    select.replaceChildren(
      element("option", { value: "", textContent: "all" }),
      ...names.sort().map((name) => element("option", { value: name, textContent: `${name} (${counts[name] ?? 0})` }))
    );
    select.value = value;
  }

  // src/pictures.ts
  var MOST_NAMES = 3;
  var ms = (value) => `${digits(value, 4)} ms`;
  var percent = (value) => `${digits(value, 3)} %`;
  var hasSsthresh = (flow) => flow.summary.snd_ssthresh_segments?.max != null;
  function windows(flows, look2, ssthresh) {
    return join(flows.map((flow) => ({
      time_s: flow.time_s,
      bin_s: flow.bin_s,
      columns: [
        column(flow, "snd_cwnd_segments", { ...look2(flow.name), label: `${flow.name} cwnd` }, whole),
        ...ssthresh && hasSsthresh(flow) ? [withoutBand(column(
          flow,
          "snd_ssthresh_segments",
          { ...look2(flow.name), label: `${flow.name} ssthresh`, dash: [1.5, 3], width: 1.2 },
          whole
        ))] : []
      ]
    })), "");
  }
  var withoutBand = (one) => ({ ...one, line: { ...one.line, band: void 0 } });
  function roundTrips(flows, look2, known) {
    const picture2 = join(flows.map((flow) => ({
      time_s: flow.time_s,
      bin_s: flow.bin_s,
      columns: [column(flow, "rtt_us", { ...look2(flow.name), label: flow.name }, ms, 1e-3)]
    })), "");
    const drawn = new Set(flows.filter(({ time_s }) => time_s.length).map(({ name }) => name));
    return withBase(picture2, known.filter(({ name }) => drawn.has(name)), look2);
  }
  function withBase(picture2, flows, look2) {
    const groups = /* @__PURE__ */ new Map();
    for (const { name, baseRttS } of flows) {
      if (baseRttS !== void 0) groups.set(baseRttS, [...groups.get(baseRttS) ?? [], name]);
    }
    const levels = [...groups].map(([base, names]) => ({
      line: {
        label: `base RTT${groups.size > 1 ? ` of ${several(names)}` : ""}`,
        stroke: names.length === 1 && groups.size > 1 ? look2(names[0] ?? "").stroke : colour("--dim"),
        dash: [2, 4],
        width: 1.2,
        write: ms
      },
      values: picture2.x.map(() => base * 1e3)
    }));
    return {
      ...picture2,
      lines: [...picture2.lines, ...levels.map(({ line: line2 }) => line2)],
      columns: [...picture2.columns, ...levels.map(({ values }) => values)]
    };
  }
  var several = (names) => names.length > MOST_NAMES ? `${names.length} flows` : names.join(", ");
  function goodputs(answer, look2) {
    const estimated = answer.flows.some((flow) => flow.source === "sender" && flow.time_s.length);
    const note = `mean over ${digits(answer.bin_s)} s` + (estimated ? "; where no receiver was sampled, acknowledged bytes" : "");
    return join(answer.flows.map((flow) => ({
      time_s: flow.time_s,
      columns: [{
        line: { ...look2(flow.name), label: flow.name, write: rate, samples: flow.time_s.length, summary: flow.summary.goodput_bps },
        values: flow.goodput_bps
      }]
    })), note);
  }
  function delays(answer, look2) {
    return join(answer.flows.map((flow) => ({
      time_s: flow.time_s,
      columns: [column(flow, "one_way_delay_s", { ...look2(flow.name), label: flow.name }, ms, 1e3)]
    })), `mean over ${digits(answer.bin_s)} s, shaded from least to largest`);
  }
  function losses(answer, look2) {
    return join(answer.flows.map((flow) => ({
      time_s: flow.time_s,
      columns: [column(flow, "loss_ratio", { ...look2(flow.name), label: flow.name }, percent, 100)]
    })), `over ${digits(answer.bin_s)} s, of the datagrams that were expected`);
  }

  // src/queues.ts
  var UNITS = ["packets", "kB", "ms"];
  var FIELDS = {
    packets: ["backlog_packets", 1],
    kB: ["backlog_bytes", 1e-3],
    ms: ["queue_delay_s", 1e3]
  };
  var QUEUE_COLOUR = 6;
  var TICK = 9;
  var queueLine = (index) => ({ ...line(QUEUE_COLOUR + index), width: 1.5 });
  function limitOf(queue, unit) {
    if (unit === "packets") return queue.limit_packets ?? 0;
    const bytes = queue.limit_bytes ?? 0;
    if (unit === "kB") return bytes * 1e-3;
    return queue.rate_bps && !queue.rate_steps.length ? bytes * 8e3 / queue.rate_bps : 0;
  }
  function drops(queue) {
    const counter = queue.high?.drops ?? queue.fields.drops ?? [];
    const before = queue.low?.drops?.[0];
    return counter.map((value, at) => {
      const last = at ? counter[at - 1] : before;
      return value === null || last === void 0 ? null : value - (last ?? value);
    });
  }
  function backlogs(queues, unit) {
    const used = queues.filter((queue) => queue.direction === "forward" || (queue.summary.backlog_packets?.max ?? 0) > 0);
    const [field, factor] = FIELDS[unit];
    const write4 = unit === "packets" ? whole : (value) => `${digits(value)} ${unit}`;
    const series = used.map((queue, index) => {
      const look2 = queueLine(index);
      const ticks2 = { ...look2, label: `${queue.name} drops`, stroke: colour("--drop"), dash: [], bare: true, write: whole };
      return {
        time_s: queue.time_s,
        bin_s: queue.bin_s,
        columns: [
          column(queue, field, { ...look2, label: queue.name }, write4, factor),
          { line: ticks2, values: drops(queue) }
        ]
      };
    });
    const most = Math.max(...used.map((queue) => queue.summary.backlog_packets?.max ?? 0), 1);
    const limit = Math.max(...used.map((queue) => limitOf(queue, unit)), 0);
    const near = unit !== "packets" || limit <= 4 * most;
    return join(series, "red ticks above: drops", limit && near ? limit : void 0);
  }
  function drawQueue(plot, picture2) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.lineWidth = devicePixelRatio;
    if (picture2.reach) {
      const y = Math.round(plot.valToPos(picture2.reach, "y", true));
      ctx.strokeStyle = colour("--dim");
      ctx.setLineDash([2 * devicePixelRatio, 4 * devicePixelRatio]);
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
      ctx.setLineDash([]);
    }
    ctx.strokeStyle = colour("--drop");
    ctx.beginPath();
    picture2.lines.forEach((line2, at) => {
      if (!line2.bare || !plot.series[at + 1]?.show) return;
      picture2.columns[at]?.forEach((count, index) => {
        if (!count) return;
        const x = Math.round(plot.valToPos(picture2.x[index] ?? 0, "x", true));
        if (x < bbox.left || x > bbox.left + bbox.width) return;
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + TICK * devicePixelRatio);
      });
    });
    ctx.stroke();
    ctx.restore();
  }

  // src/stories.ts
  function startStories(look2) {
    const place = document.getElementById("stories");
    const [rows, said] = [place?.querySelector("tbody"), place?.querySelector("[role=status]")];
    if (!(place instanceof HTMLDetailsElement) || !rows || !said) return;
    let state = "closed";
    place.addEventListener("toggle", () => void (place.open && state === "closed" && load()));
    if (place.open) void load();
    async function load() {
      if (!place || !rows || !said) return;
      state = "loading";
      place.setAttribute("aria-busy", "true");
      said.textContent = "The trace is read.";
      try {
        const { flows } = await fetchJson(place.dataset.api ?? "");
        rows.replaceChildren(...flows.map(row));
        said.textContent = flows.length === 1 ? "1 flow" : `${flows.length} flows`;
        state = "shown";
      } catch (error) {
        said.textContent = `Cannot be shown: ${error.message}`;
        state = "closed";
      }
      place.removeAttribute("aria-busy");
    }
    function row({ flow, limited_by, costliest }) {
      const shares = Object.entries(limited_by ?? {}).map(([what, share2]) => element("div", { textContent: `${what} ${digits(100 * share2, 3)}%` }));
      return element(
        "tr",
        {},
        element("th", { scope: "row" }, swatch(look2(flow)), ` ${flow}`),
        element("td", {}, ...limited_by ? shares : ["–"]),
        element("td", { className: "wrap" }, ...costliest.map((one) => element("div", { textContent: sentence(one) })))
      );
    }
  }
  function sentence({ time_s, until_s, is_back, cost_bytes, level_bps, kinds, events }) {
    const cost = rate(Number(cost_bytes.toPrecision(2)), "B", 2);
    const [what, begin, end] = [kinds.join(", "), `${time_s.toFixed(6)} s`, `${until_s.toFixed(6)} s`];
    const back = is_back ? "" : ", when it was not yet back";
    if (events > 1) return `From ${begin} a chain of ${events} events (${what}), ${rate(level_bps)} before it: ${cost} less in all, until ${end}${back}.`;
    if (kinds.includes("handshake")) return `At ${begin} ${what}: ${cost} less than at the mean rate of ${rate(level_bps)} after it, until ${end}.`;
    return `At ${begin} ${what}: ${cost} less than at the ${rate(level_bps)} before, until ${end}${back}.`;
  }

  // src/timeline.ts
  var LEAST_SPAN_S = 1e-4;
  var QUIET_MS = 80;
  var Timeline = class {
    /** `charts` are those to move, and `load` is called when samples of another part are needed. */
    constructor(section, key, charts, load) {
      this.charts = charts;
      this.load = load;
      this.start = Number(section.dataset.start ?? 0);
      this.duration = Number(section.dataset.duration);
      this.shown = this.fromHash();
      this.group = {
        key,
        warmup: Number(section.dataset.warmup),
        marks: JSON.parse(section.dataset.events ?? "[]"),
        span: () => this.shown,
        zoom: (from, to) => {
          this.past.push(this.shown);
          this.go([Math.max(this.start, from), Math.min(this.duration, to)]);
        },
        back: () => this.go(this.past.pop() ?? [this.start, this.duration]),
        whole: () => {
          this.past = [];
          this.go([this.start, this.duration]);
        },
        point: (time) => this.charts().forEach((chart) => chart.point(time))
      };
      this.buttons = [...section.querySelectorAll("button[data-go]")];
      this.buttons.forEach((button) => button.addEventListener("click", () => this.press(button.dataset.go)));
      window.addEventListener("hashchange", () => this.go(this.fromHash()));
      this.say();
    }
    charts;
    load;
    group;
    start;
    // 0, or where a trace begins
    duration;
    buttons;
    range = document.getElementById("range");
    past = [];
    shown;
    timer = 0;
    /** The shown part in seconds. */
    get span() {
      return this.shown;
    }
    /** Load samples when nothing has changed for a moment. */
    later() {
      clearTimeout(this.timer);
      this.timer = window.setTimeout(this.load, QUIET_MS);
    }
    press(action) {
      const [from, to] = this.shown;
      const part = to - from;
      const by = (start, length) => {
        const kept2 = Math.min(Math.max(start, this.start), Math.max(this.duration - length, this.start));
        this.group.zoom(kept2, kept2 + length);
      };
      if (action === "in") by(from + part / 4, part / 2);
      else if (action === "out") by(from - part / 2, part * 2);
      else if (action === "earlier") by(from - part / 2, part);
      else if (action === "later") by(from + part / 2, part);
      else this.group.whole();
    }
    go([from, to]) {
      if (to - from < LEAST_SPAN_S) return;
      this.shown = [from, to];
      this.charts().forEach((chart) => chart.reach(from, to));
      this.say();
      this.later();
    }
    say() {
      const [from, to] = this.shown;
      const part = from > this.start || to < this.duration;
      this.buttons.forEach((button) => button.disabled = button.dataset.go !== "in" && !part);
      this.range.textContent = part ? `${from.toFixed(3)}–${to.toFixed(3)} s` : `${digits(this.start)}–${digits(this.duration)} s`;
      keep({ t: part ? [`${from.toFixed(4)}..${to.toFixed(4)}`] : void 0 });
    }
    /** Return the part of the time in the address, such as `#t=12.5..20`, or the whole time. */
    fromHash() {
      const found = /^([\d.]+)\.\.([\d.]+)$/.exec(kept("t")?.[0] ?? "");
      const [from, to] = [Number(found?.[1]), Number(found?.[2])];
      return from >= this.start && to <= this.duration && to - from >= LEAST_SPAN_S ? [from, to] : [this.start, this.duration];
    }
  };

  // src/transfers.ts
  var LEAST_S = 1e-9;
  var share = (value) => digits(value, 3);
  var seconds = (value) => `${digits(value, 3)} s`;
  var TransferChart = class {
    chart;
    whole = [LEAST_S, 1];
    span = this.whole;
    constructor(section) {
      const go = (span) => {
        this.span = [Math.max(span[0], this.whole[0]), Math.min(span[1], this.whole[1])];
        this.chart.reach(...this.span);
      };
      const group = {
        key: "transfers",
        warmup: 0,
        span: () => this.span,
        zoom: (from, to) => go([from, to]),
        back: () => go(this.whole),
        whole: () => go(this.whole),
        point: (time) => this.chart.point(time)
      };
      const spec = {
        title: "Completion times of transfers",
        unit: "share of those complete",
        fromZero: true,
        write: share,
        x: { label: "completion time", write: seconds, stepped: true }
      };
      this.chart = new Chart(section, "transfers", spec, group);
    }
    draw({ flows }, look2) {
      const filled = flows.filter(({ fct_s }) => fct_s.length);
      const ends = filled.flatMap(({ fct_s }) => [fct_s[0] ?? LEAST_S, fct_s.at(-1) ?? 1]);
      if (ends.length) {
        const [least, most] = [Math.max(Math.min(...ends), LEAST_S), Math.max(...ends, LEAST_S)];
        this.span = this.whole = [least / 1.05, most * 1.05];
      }
      const open = flows.reduce((sum, flow) => sum + flow.transfers - flow.completed, 0);
      const note = "of transfers begun in the shown time" + (open ? `; ${open} did not complete` : "");
      this.chart.show(join(filled.map((flow) => ({
        time_s: flow.fct_s,
        columns: [{ line: { ...look2(flow.name), label: flow.name, write: share }, values: flow.share }]
      })), note));
    }
  };

  // src/charts.ts
  var PIXELS_PER_BIN = 3;
  var SAMPLES_PER_BIN = 3;
  var GOODPUT_BINS = "300";
  var ms2 = (value) => digits(value, 4);
  var BURSTS = "Bytes count when they can be read in order. After a loss none do until the gap is filled; then all that came meanwhile count at once, as a burst.";
  var SPECS = {
    cwnd: { title: "Congestion window and ssthresh", unit: "segments", fromZero: true, write: whole },
    rtt: { title: "Smoothed RTT", unit: "ms", fromZero: false, write: ms2 },
    goodput: { title: "Goodput", unit: "bit/s", fromZero: true, write: (value) => rate(value, ""), hint: BURSTS },
    queue: { title: "Queue backlog and drops", unit: "", fromZero: true, write: whole, draw: drawQueue },
    delay: { title: "One-way delay of UDP", unit: "ms", fromZero: false, write: ms2 },
    loss: { title: "Loss of UDP", unit: "%", fromZero: true, write: (value) => digits(value, 3) }
  };
  function startCharts(section) {
    const api = section.dataset.api ?? "";
    const boxes = [...document.querySelectorAll("#flows input[name=flow]")];
    let answers;
    let usual;
    let wanted = [];
    let running2;
    const timeline = new Timeline(section, "run", () => all, () => void load());
    const { group } = timeline;
    const make = (id) => new Chart(section, id, SPECS[id], group);
    const some = (name) => boxes.filter((box) => box.hasAttribute(name)).map((box) => box.value);
    const known = boxes.map(({ value, dataset }) => ({ name: value, baseRttS: dataset.base === void 0 ? void 0 : Number(dataset.base) }));
    const [datagrams, transfers] = [some("data-udp"), some("data-transfers")];
    const charts = { cwnd: make("cwnd"), rtt: make("rtt"), goodput: make("goodput"), queue: make("queue") };
    const algorithm = new AlgorithmCharts(section, boxes, group);
    const udp = datagrams.length ? { delay: make("delay"), loss: make("loss") } : void 0;
    const all = [...Object.values(charts), ...Object.values(udp ?? {}), ...algorithm.charts];
    const completion = transfers.length ? new TransferChart(section) : void 0;
    const ssthresh = element("input", { type: "checkbox", checked: true });
    const unit = element("select", {}, ...UNITS.map((name) => element("option", { textContent: name })));
    unit.setAttribute("aria-label", "Unit of the backlog");
    charts.cwnd.tools.append(element("label", { className: "draw" }, ssthresh, "ssthresh (dotted)"));
    charts.queue.tools.append(unit);
    const index = new Map(boxes.map((box) => [box.value, Number(box.dataset.index)]));
    const look2 = (name) => ({ ...line(index.get(name) ?? 0), width: 1.5 });
    const moments = startMoments(timeline, look2, () => all.forEach((chart) => chart.remark()), () => charts.cwnd.focus());
    startStories(look2);
    async function load() {
      void moments();
      running2?.abort();
      running2 = new AbortController();
      const { signal } = running2;
      section.setAttribute("aria-busy", "true");
      const detail = detailOf(charts.cwnd);
      const time = { from: String(timeline.span[0]), to: String(timeline.span[1]) };
      const get = (path, more) => fetchJson(`${api}/${path}?${new URLSearchParams([...Object.entries(time), ...more])}`, signal);
      const ticked2 = boxes.filter((box) => box.checked).map((box) => box.value);
      const named = (names) => names.map((name) => ["flow", name]);
      const of = (path, chosen, more, none) => {
        const names = ticked2.filter((name) => chosen.includes(name));
        return names.length ? get(path, [...more, ...named(names)]) : Promise.resolve(none);
      };
      try {
        const [tcp, goodput, queues, packets, completed] = await Promise.all([
          of("tcp", ticked2, detail, { flows: [] }),
          of("goodput", ticked2, [["points", GOODPUT_BINS]], { bin_s: 0, flows: [] }),
          get("queues", [...detail, ...wanted.map((name) => ["queue", name])]),
          of("datagrams", datagrams, [["points", GOODPUT_BINS]], { bin_s: 0, flows: [] }),
          of("transfers", transfers, [], { flows: [] })
        ]);
        usual ??= queues.queues.map(({ name }) => name);
        answers = { tcp, goodput, queues, datagrams: packets, transfers: completed };
        draw();
        await algorithm.load((more) => get("tcp", [...detail, ...more]));
        algorithm.draw(look2);
        section.dataset.loads = String(Number(section.dataset.loads ?? 0) + 1);
      } catch (error) {
        if (!signal.aborted) all.forEach((chart) => chart.say(`Cannot be shown: ${error.message}`));
      } finally {
        if (!signal.aborted) section.removeAttribute("aria-busy");
      }
    }
    function draw() {
      if (!answers) return;
      const { tcp, goodput, queues } = answers;
      completion?.draw(answers.transfers, look2);
      udp?.delay.show(delays(answers.datagrams, look2));
      udp?.loss.show(losses(answers.datagrams, look2));
      charts.cwnd.show(windows(tcp.flows, look2, ssthresh.checked));
      charts.rtt.show(roundTrips(tcp.flows, look2, known));
      charts.goodput.show(goodputs(goodput, look2));
      charts.queue.show(backlogs(queues.queues, unit.value));
    }
    boxes.forEach((box) => box.addEventListener("change", () => timeline.later()));
    ssthresh.addEventListener("change", draw);
    unit.addEventListener("change", draw);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      [...all, ...completion ? [completion.chart] : []].forEach((chart) => chart.restyle());
      draw();
      algorithm.draw(look2);
    });
    void load();
    return (names) => {
      const all2 = [.../* @__PURE__ */ new Set([...usual ?? [], ...wanted, ...names])];
      if (all2.length > (answers?.queues.queues.length ?? 0)) {
        wanted = all2;
        timeline.later();
      }
      charts.queue.focus();
    };
  }
  function detailOf(chart) {
    const bins = Math.min(Math.max(Math.floor(chart.width / PIXELS_PER_BIN), 10), 2e3);
    return [["points", String(bins * SAMPLES_PER_BIN)], ["bins", String(bins)]];
  }

  // src/compare.ts
  var COLOURS2 = 8;
  var DASHES2 = 8;
  var DRAWN_RUNS = 6;
  var DRAWN_LINES = 12;
  function startComparison(section) {
    const runs = JSON.parse(section.dataset.runs ?? "[]");
    const names = [...new Set(runs.flatMap(({ flows }) => flows.map(({ name }) => name)))];
    const place = section.querySelector(".choices");
    const shownRuns = Math.min(runs.length, DRAWN_RUNS);
    const shownFlows = Math.max(1, Math.floor(DRAWN_LINES / shownRuns));
    const runBoxes = ticks2("Runs", runs.map(({ label }) => label), shownRuns, (at) => look(at, 0));
    const flowBoxes = ticks2("Flows", names, shownFlows, (at) => ({ ...look(0, at), stroke: "currentColor" }));
    const numberOf = (box) => String(runBoxes.indexOf(box) + 1);
    let answers = [];
    let running2;
    const timeline = new Timeline(section, "compare", () => all, () => void load());
    const make = (id) => new Chart(section, id, { ...SPECS[id], ...id === "queue" ? { title: "Queue backlog", draw: void 0 } : {} }, timeline.group);
    const charts = { cwnd: make("cwnd"), rtt: make("rtt"), goodput: make("goodput"), queue: make("queue") };
    const all = Object.values(charts);
    const ssthresh = element("input", { type: "checkbox" });
    const unit = element("select", {}, ...UNITS.map((name) => element("option", { textContent: name })));
    unit.setAttribute("aria-label", "Unit of the backlog");
    charts.cwnd.tools.append(element("label", { className: "draw" }, ssthresh, "ssthresh (dotted)"));
    charts.queue.tools.append(unit);
    function ticks2(title, texts, usual, of) {
      const boxes = texts.map((text, at) => element("input", { type: "checkbox", value: text, defaultChecked: at < usual }));
      const labels = boxes.map((box, at) => element("label", { className: "draw" }, box, swatch(of(at)), box.value));
      if (boxes.length > 1) place?.append(element("fieldset", { className: "flows" }, element("legend", { textContent: title }), ...labels));
      return boxes;
    }
    function restore() {
      tick("run", runBoxes, numberOf);
      tick("flow", flowBoxes, ({ value }) => value);
      tick("ssthresh", [ssthresh], () => "yes");
      unit.selectedIndex = Math.max(UNITS.findIndex((name) => name === kept("unit")?.[0]), 0);
    }
    function remember() {
      keep({
        run: ticked(runBoxes, numberOf),
        flow: ticked(flowBoxes, ({ value }) => value),
        ssthresh: ticked([ssthresh], () => "yes"),
        unit: unit.selectedIndex ? [unit.value] : void 0
      });
    }
    async function load() {
      running2?.abort();
      running2 = new AbortController();
      const { signal } = running2;
      section.setAttribute("aria-busy", "true");
      const detail = detailOf(charts.cwnd);
      const time = [["from", String(timeline.span[0])], ["to", String(timeline.span[1])]];
      const of = async (run) => {
        const get = (path, more) => fetchJson(`${run.api}/${path}?${new URLSearchParams([...time, ...more])}`, signal);
        const there = run.flows.filter(({ name }) => isTicked(flowBoxes, names.indexOf(name)));
        const flows = there.map(({ name }) => ["flow", name]);
        const [tcp, goodput, queues] = await Promise.all([
          flows.length ? get("tcp", [...detail, ...flows]) : { flows: [] },
          flows.length ? get("goodput", [["points", GOODPUT_BINS], ...flows]) : { bin_s: 0, flows: [] },
          get("queues", detail)
        ]);
        return { tcp, goodput, queues };
      };
      try {
        answers = await Promise.all(runs.map((run, at) => isTicked(runBoxes, at) ? of(run) : void 0));
        draw();
        section.dataset.loads = String(Number(section.dataset.loads ?? 0) + 1);
      } catch (error) {
        if (!signal.aborted) all.forEach((chart) => chart.say(`Cannot be shown: ${error.message}`));
      } finally {
        if (!signal.aborted) section.removeAttribute("aria-busy");
      }
    }
    function draw() {
      const looks = /* @__PURE__ */ new Map();
      const named = (of2) => answers.flatMap((answer, at) => (answer ? of2(answer) : []).map((one) => {
        const name = nameOf2(at, one.name);
        looks.set(name, look(at, names.indexOf(one.name)));
        return { ...one, name };
      }));
      const nameOf2 = (at, flow) => names.length > 1 ? `${runs[at]?.label}: ${flow}` : runs[at]?.label ?? "";
      const of = (name) => looks.get(name) ?? look(0, 0);
      const known = runs.flatMap(({ flows }, at) => flows.map((flow) => ({ ...flow, name: nameOf2(at, flow.name) })));
      const tcp = named((answer) => answer.tcp.flows);
      const rates = named((answer) => answer.goodput.flows);
      const widths = answers.flatMap((answer) => answer?.goodput.flows.length ? [answer.goodput.bin_s] : []);
      charts.cwnd.show(windows(tcp, of, ssthresh.checked));
      charts.rtt.show(roundTrips(tcp, of, known));
      charts.goodput.show(goodputs({ bin_s: Math.max(...widths, 0), flows: rates }, of));
      charts.queue.show(backlogs2(answers.map((answer) => answer?.queues.queues ?? []), runs, unit.value));
    }
    [...runBoxes, ...flowBoxes].forEach((box) => box.addEventListener("change", () => {
      remember();
      timeline.later();
    }));
    [ssthresh, unit].forEach((one) => one.addEventListener("change", () => {
      remember();
      draw();
    }));
    window.addEventListener("hashchange", () => {
      restore();
      timeline.later();
    });
    const form = document.querySelector("form.filter");
    form?.addEventListener("submit", () => form.action = location.pathname + location.hash);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      all.forEach((chart) => chart.restyle());
      draw();
    });
    restore();
    void load();
  }
  var isTicked = (boxes, at) => boxes[at]?.checked ?? false;
  function look(run, flow) {
    const dash = (Math.max(flow, 0) + 2 * Math.floor(run / COLOURS2)) % DASHES2;
    return { ...line(run % COLOURS2 + COLOURS2 * dash), width: 1.5 };
  }
  function backlogs2(queues, runs, unit) {
    const [field, factor] = FIELDS[unit];
    const write4 = unit === "packets" ? whole : (value) => `${digits(value)} ${unit}`;
    const series = queues.flatMap((all, run) => {
      const used = all.filter((queue) => queue.direction === "forward" || (queue.summary.backlog_packets?.max ?? 0) > 0);
      return used.map((queue, index) => {
        const label = used.length > 1 ? `${runs[run]?.label}: ${queue.name}` : runs[run]?.label ?? "";
        return {
          time_s: queue.time_s,
          bin_s: queue.bin_s,
          columns: [column(queue, field, { ...look(run, index), label }, write4, factor)]
        };
      });
    });
    return join(series, "");
  }

  // src/live.ts
  var PERIOD_MS = 1e3;
  var RETRY_MS = 5e3;
  var SHARE = 4;
  var LINGER_MS = 12e4;
  var live = () => document.getElementById("live");
  var shown = "";
  async function fetchLive(url, signal) {
    try {
      const response = await fetch(url, { signal });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      if (response.ok) return { fresh: page.getElementById("live") ?? void 0 };
      return { problem: page.querySelector(".message")?.textContent ?? response.statusText };
    } catch {
      return {};
    }
  }
  function show(fresh) {
    const now = live();
    if (!now || fresh.outerHTML === shown) return;
    shown = fresh.outerHTML;
    const ticked2 = new Set(ticks(now).filter((box) => box.checked).map((box) => box.value));
    const open = new Set(openDetails(now).filter((one) => one.open).map(nameOf));
    const focus = keyOf2(document.activeElement);
    const places = new Map(regions(now).map((one) => [keyOf2(one), [one.scrollLeft, one.scrollTop]]));
    const charts = now.querySelector("#running");
    const space = fresh.querySelector("#running");
    if (charts && space) space.replaceWith(charts);
    now.replaceWith(fresh);
    for (const one of regions(fresh)) one.scrollTo(...places.get(keyOf2(one)) ?? [0, 0]);
    for (const box of ticks(fresh)) box.checked = ticked2.has(box.value);
    for (const one of openDetails(fresh)) one.open ||= open.has(nameOf(one));
    if (focus && now.contains(document.activeElement) !== true) {
      const same = [...fresh.querySelectorAll("a, input, button, summary, [tabindex]")];
      same.find((one) => keyOf2(one) === focus)?.focus({ preventScroll: true });
    }
    addCopyButtons(fresh);
  }
  var ticks = (root) => [
    ...root.querySelectorAll("input[type=checkbox]:is([name=run], [name=variant])")
  ];
  var regions = (root) => [...root.querySelectorAll(".scroll")];
  var openDetails = (root) => [...root.querySelectorAll("details")];
  var nameOf = (one) => one.querySelector("summary")?.textContent ?? "";
  function keyOf2(element2) {
    if (element2 instanceof HTMLAnchorElement) return `a ${element2.href}`;
    if (element2 instanceof HTMLInputElement) return `input ${element2.name} ${element2.value}`;
    if (element2 instanceof HTMLButtonElement) return `button ${element2.textContent}`;
    if (element2?.hasAttribute("aria-label")) return `named ${element2.getAttribute("aria-label")}`;
    return element2?.tagName === "SUMMARY" ? `summary ${element2.textContent}` : "";
  }
  function addCopyButtons(root = document) {
    for (const command of root.querySelectorAll("pre.command")) {
      const text = command.textContent ?? "";
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.textContent = "Copy";
      button.setAttribute("aria-label", `Copy: ${command.getAttribute("aria-label") ?? "command"}`);
      button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      });
      command.before(button);
    }
  }
  function startPolling(ended) {
    shown = live()?.outerHTML ?? "";
    let until = live()?.hasAttribute("data-poll") ? Infinity : 0;
    let timer = 0;
    const wait = (ms3) => {
      clearTimeout(timer);
      timer = window.setTimeout(poll, ms3);
    };
    async function poll() {
      if (performance.now() > until) return;
      if (document.hidden) {
        document.addEventListener("visibilitychange", poll, { once: true });
        return;
      }
      const [requested, began] = [location.href, performance.now()];
      const { fresh } = await fetchLive(requested);
      if (!fresh) return wait(RETRY_MS);
      const took = performance.now() - began;
      const [running2, isRun] = [fresh.hasAttribute("data-poll"), fresh.hasAttribute("data-run")];
      if (requested === location.href) show(fresh);
      if (isRun && !running2) return ended();
      if (running2) until = Infinity;
      else if (until === Infinity) until = performance.now() + LINGER_MS;
      wait(running2 ? Math.max(PERIOD_MS, SHARE * took) : RETRY_MS);
    }
    if (until) wait(PERIOD_MS);
  }
  function isUsual(form) {
    const boxes = [...form.querySelectorAll("input[name=column]")];
    return boxes.every((box) => box.checked === box.hasAttribute("data-usual"));
  }
  function startFilter() {
    const form = document.getElementById("filter");
    if (!(form instanceof HTMLFormElement)) return;
    form.querySelector("button")?.remove();
    const problem = document.createElement("output");
    problem.className = "problem";
    form.append(problem);
    let timer = 0;
    let running2;
    async function apply() {
      running2?.abort();
      running2 = new AbortController();
      const usual = isUsual(form);
      const fields = [...new FormData(form)].filter(([name, value]) => value !== "" && !(usual && name === "column"));
      const query = new URLSearchParams(fields).toString();
      const url = location.pathname + (query && `?${query}`);
      const { signal } = running2;
      const fetched = await fetchLive(url, signal);
      if (signal.aborted) return;
      problem.textContent = fetched.problem ?? "";
      if (!fetched.fresh) return;
      history.replaceState(null, "", url);
      show(fetched.fresh);
    }
    const soon = () => {
      clearTimeout(timer);
      timer = window.setTimeout(apply, 150);
    };
    const isWhole = (event) => event.target.hasAttribute("data-whole");
    form.addEventListener("input", (event) => isWhole(event) || soon());
    form.addEventListener("change", (event) => isWhole(event) && soon());
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      soon();
    });
  }

  // src/network.ts
  var read2 = (element2, name) => JSON.parse(element2.getAttribute(name) ?? "[]");
  function startNetwork(showQueues) {
    const drawing = document.querySelector("svg.network");
    if (!drawing) return;
    const parts2 = [...drawing.querySelectorAll("[data-links]")].map((part) => ({ part, links: new Set(read2(part, "data-links")) }));
    function mark2(channels) {
      const links = channels.map((name) => name.slice(0, name.lastIndexOf(":")));
      for (const { part, links: own } of parts2) part.classList.toggle("marked", links.some((name) => own.has(name)));
    }
    for (const box of document.querySelectorAll("#flows [data-path]")) {
      const row = box.closest("tr");
      const show2 = () => mark2(read2(box, "data-path"));
      row?.addEventListener("mouseenter", show2);
      row?.addEventListener("focusin", show2);
      row?.addEventListener("mouseleave", () => mark2([]));
      row?.addEventListener("focusout", () => mark2([]));
    }
    for (const anchor of drawing.querySelectorAll("a[data-queues]")) {
      anchor.addEventListener("click", (event) => {
        event.preventDefault();
        showQueues(read2(anchor, "data-queues"));
      });
    }
  }

  // src/running.ts
  var PHASES = {
    boot: "booting",
    setup: "building the topology",
    probes: "checking the topology",
    traffic: "running traffic",
    done: "collecting",
    storing: "judging and storing"
  };
  var whole2 = (value) => digits(value, 4);
  var SPECS2 = {
    cwnd: { title: "Congestion window", unit: "segments", fromZero: true, write: whole2 },
    rtt: { title: "Smoothed RTT", unit: "ms", fromZero: false, write: whole2 },
    goodput: { title: "Goodput", unit: "bit/s", fromZero: true, write: (value) => rate(value, ""), hint: BURSTS },
    queue: { title: "Queue backlog, largest", unit: "packets", fromZero: true, write: whole2 }
  };
  var WRITERS = { rtt: ms, goodput: rate };
  function startRunning(section) {
    const duration = Number(section.dataset.duration);
    const bar = section.querySelector("progress");
    let span = [0, duration];
    let charts;
    let boxes;
    let last;
    const go = (from, to) => {
      span = [Math.max(0, from), Math.min(duration, to)];
      Object.values(charts ?? {}).forEach((chart) => chart.reach(...span));
    };
    const group = {
      key: "running",
      warmup: Number(section.dataset.warmup),
      span: () => span,
      zoom: go,
      back: () => go(0, duration),
      whole: () => go(0, duration),
      point: (time) => Object.values(charts ?? {}).forEach((chart) => chart.point(time))
    };
    const say = (name, text) => {
      const place = section.querySelector(`[data-show=${name}]`);
      if (place && place.textContent !== text) place.textContent = text;
    };
    function choice(flows) {
      const made = flows.map(({ name }, index) => element("input", {
        type: "checkbox",
        name: "flow",
        value: name,
        checked: index < Number(section.dataset.most),
        onchange: () => last && draw(last)
      }));
      const labels = made.map((box, index) => element("label", { className: "draw" }, box, swatch({ ...line(index), width: 1.5 }), box.value));
      if (flows.length) section.append(element("fieldset", { className: "flows" }, element("legend", { textContent: "Flows drawn" }), ...labels));
      return made;
    }
    function draw(state) {
      last = state;
      say("phase", PHASES[state.phase] ?? state.phase);
      say("progress", progress(state));
      if (bar) bar.value = state.simulated_s;
      if (state.time_s.length < 2) return;
      boxes ??= choice(state.flows);
      charts ??= Object.fromEntries(Object.entries(SPECS2).map(([id, spec]) => [id, new Chart(section, `live-${id}`, spec, group)]));
      for (const [id, chart] of Object.entries(charts)) chart.show(picture(id, state, boxes));
      section.dataset.drawn = String(Number(section.dataset.drawn ?? 0) + 1);
    }
    const source = new EventSource(section.dataset.stream ?? "");
    source.addEventListener("state", (event) => draw(JSON.parse(event.data)));
    source.addEventListener("end", () => source.close());
    source.addEventListener("error", () => {
      if (source.readyState === EventSource.CLOSED) say("progress", "No live view: the server refused it.");
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      Object.values(charts ?? {}).forEach((chart) => chart.restyle());
      if (last) draw(last);
    });
  }
  function progress(state) {
    if (state.problem) return `${digits(state.simulated_s, 3)} s simulated. No live samples: ${state.problem}`;
    const words = [`${digits(state.simulated_s, 3)} of ${digits(state.duration_s)} s simulated`];
    if (state.speed) words.push(`${digits(state.speed, 3)} simulated seconds per second`);
    if (state.left_s !== null && state.phase === "traffic") words.push(`${Math.ceil(state.left_s)} s left`);
    return words.join(", ");
  }
  function picture(id, { time_s, flows, queues }, boxes) {
    if (id === "queue") {
      return {
        x: time_s,
        columns: queues.map((queue) => queue.backlog_packets),
        lines: queues.map((queue, index) => ({ ...queueLine(index), label: queue.name, write: whole2 })),
        note: ""
      };
    }
    const places = new Map(flows.map(({ name }, index) => [name, index]));
    const look2 = (name) => ({ ...line(places.get(name) ?? 0), width: 1.5 });
    const drawn = flows.filter((_, index) => boxes[index]?.checked);
    const values = (flow) => id === "cwnd" ? flow.cwnd_segments : id === "rtt" ? flow.rtt_ms : flow.goodput_bps;
    const curves = {
      x: time_s,
      columns: drawn.map(values),
      lines: drawn.map(({ name }) => ({ ...look2(name), label: name, write: WRITERS[id] ?? whole2 })),
      note: ""
    };
    if (id !== "rtt") return curves;
    return withBase(curves, drawn.map(({ name, base_rtt_s }) => ({ name, baseRttS: base_rtt_s ?? void 0 })), look2);
  }

  // src/packets.ts
  var CROSS_PX = 3;
  var AREA_ALPHA = 0.35;
  var ROOM = 0.05;
  var MOST_FLOWS = 8;
  var write3 = (value) => value === 0 ? "0" : `${rate(value, "B")}`;
  function held(time_s, values, end) {
    const last = time_s.at(-1);
    if (last === void 0 || last >= end) return [time_s, values];
    return [[...time_s, end], [...values, values.at(-1) ?? null]];
  }
  function stepped(time_s, values, line2, span) {
    const [x, y] = held(time_s, values, span[1]);
    return { time_s: x, columns: [{ line: { ...line2, stepped: true }, values: y }] };
  }
  function sequencePicture(of, span) {
    const bare = (label, stroke, width) => ({ label, stroke, dash: [], width, bare: true, write: write3 });
    const acked = { label: "acknowledged", stroke: colour("--c2"), dash: [], width: 1.3, write: write3 };
    const edge2 = { label: "receive window", stroke: colour("--c4"), dash: [], width: 1.3, write: write3 };
    const spans = [
      [of.new, bare("sent", colour("--ink"), 1.2)],
      [of.sacks, bare("SACK", colour("--c7"), 1)],
      [of.again, bare("sent again", colour("--drop"), 1.8)]
    ];
    const shown2 = spans.filter(([{ time_s }]) => time_s.length);
    const picture2 = join([
      stepped(of.time_s, of.acked, acked, span),
      stepped(of.time_s, of.edge, edge2, span),
      ...shown2.map(([bytes, line2]) => ({ time_s: bytes.time_s, columns: [{ line: line2, values: bytes.end }] }))
    ], [
      `${of.new.found} segments, ${of.again.found} sent again`,
      of.has_segments ? "" : "the trace has no packets: only those that were sent again are shown",
      of.has_sacks || !of.has_segments ? "" : "the trace has no packets, so no SACK",
      of.connections > 1 ? `one of ${of.connections} connections` : ""
    ].filter(Boolean).join("; "));
    return { ...picture2, spans: shown2.map(([bytes], at) => ({ of: bytes, line: 2 + at })) };
  }
  function sequenceLimits(picture2, [from, to]) {
    const { spans, x, columns } = picture2;
    let [low, high] = [Infinity, -Infinity];
    const see = (time, first, end) => {
      if (time < from || time > to) return;
      low = Math.min(low, first);
      high = Math.max(high, end);
    };
    for (const { of } of spans) of.time_s.forEach((time, at) => see(time, of.first[at] ?? 0, of.end[at] ?? 0));
    columns[0]?.forEach((value, at) => value != null && see(x[at] ?? 0, value, value));
    if (low > high) return [0, 1];
    const room = (high - low) * ROOM || 1;
    return [low - room, high + room];
  }
  function drawSequence(plot, picture2) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    for (const { of, line: line2 } of picture2.spans) {
      if (!plot.series[line2 + 1]?.show) continue;
      const look2 = picture2.lines[line2];
      ctx.strokeStyle = look2?.stroke ?? "";
      ctx.lineWidth = (look2?.width ?? 1) * devicePixelRatio;
      ctx.beginPath();
      of.time_s.forEach((time, at) => {
        const x = plot.valToPos(time, "x", true);
        const [first, end] = [plot.valToPos(of.first[at] ?? 0, "y", true), plot.valToPos(of.end[at] ?? 0, "y", true)];
        ctx.moveTo(x, first);
        ctx.lineTo(x, Math.min(end, first - devicePixelRatio));
      });
      ctx.stroke();
    }
    ctx.restore();
  }
  function queuePicture(of, look2, span) {
    const all = { label: "all", stroke: colour("--ink"), dash: [], width: 1, write: whole };
    const lines = of.flows.map(({ name }) => ({ ...look2(name), dash: [], label: name, bare: true, write: whole }));
    const picture2 = join([
      stepped(of.time_s, of.packets, all, span),
      ...of.flows.map(({ packets }, at) => stepped(of.time_s, packets, lines[at], span))
    ], [
      of.channel,
      `${of.lost.found} packets dropped or lost`,
      of.marks.found ? `${of.marks.found} marked` : ""
    ].filter(Boolean).join(", "), Math.max(...of.packets, 1));
    const strokeOf = (flow) => flow === null ? colour("--dim") : look2(flow).stroke;
    return { ...picture2, queue: of, fills: lines.map(({ stroke }) => stroke), strokeOf };
  }
  function drawQueuePackets(plot, picture2) {
    const { queue, fills, strokeOf } = picture2;
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top - CROSS_PX * devicePixelRatio, bbox.width, bbox.height + CROSS_PX * devicePixelRatio);
    ctx.clip();
    const right = bbox.left + bbox.width;
    const below = queue.time_s.map(() => 0);
    const area2 = (values, fill) => {
      const above = below.map((value, at) => value + (values[at] ?? 0));
      ctx.globalAlpha = AREA_ALPHA;
      ctx.fillStyle = fill;
      ctx.beginPath();
      edge(plot, queue.time_s, above, right, false);
      edge(plot, queue.time_s, below, right, true);
      ctx.fill();
      above.forEach((value, at) => below[at] = value);
    };
    queue.flows.forEach(({ packets }, at) => {
      if (plot.series[at + 2]?.show) area2(packets, fills[at] ?? "");
      else packets.forEach((value, index) => below[index] = (below[index] ?? 0) + value);
    });
    area2(queue.packets.map((value, at) => Math.max(value - (below[at] ?? 0), 0)), colour("--dim"));
    ctx.globalAlpha = 1;
    ctx.lineWidth = 1.4 * devicePixelRatio;
    points(plot, queue.lost, strokeOf, (x, y, size) => {
      ctx.moveTo(x - size, y - size);
      ctx.lineTo(x + size, y + size);
      ctx.moveTo(x + size, y - size);
      ctx.lineTo(x - size, y + size);
    });
    points(plot, queue.marks, strokeOf, (x, y, size) => {
      ctx.moveTo(x + size, y);
      ctx.arc(x, y, size, 0, 2 * Math.PI);
    });
    ctx.restore();
  }
  function edge(plot, time_s, values, right, back) {
    const { ctx } = plot;
    const corners = [];
    values.forEach((value, at) => {
      const y = plot.valToPos(value, "y", true);
      const next = time_s[at + 1];
      corners.push(
        [plot.valToPos(time_s[at] ?? 0, "x", true), y],
        [next === void 0 ? right : plot.valToPos(next, "x", true), y]
      );
    });
    if (back) corners.reverse();
    corners.forEach(([x, y], at) => at || back ? ctx.lineTo(x, y) : ctx.moveTo(x, y));
  }
  function points(plot, of, strokeOf, shape) {
    const size = CROSS_PX * devicePixelRatio;
    for (const flow of new Set(of.flow)) {
      plot.ctx.strokeStyle = strokeOf(flow);
      plot.ctx.beginPath();
      of.time_s.forEach((time, at) => {
        if (of.flow[at] === flow) shape(plot.valToPos(time, "x", true), plot.valToPos(of.packets[at] ?? 0, "y", true), size);
      });
      plot.ctx.stroke();
    }
  }
  function windowsPicture(flows, look2, span) {
    const shown2 = flows.slice(0, MOST_FLOWS);
    const series = shown2.flatMap((of) => {
      const base = look2(of.name);
      const dotted = { ...base, dash: [2, 3], width: 1, label: `${of.name} ssthresh`, write: digits };
      return [
        stepped(of.time_s, of.cwnd_segments, { ...base, label: of.name, write: whole }, span),
        ...of.ssthresh_segments.some((value) => value !== null) ? [stepped(of.time_s, of.ssthresh_segments, dotted, span)] : []
      ];
    });
    const left = flows.length - shown2.length;
    return join(series, ["dotted: ssthresh", left ? `${left} more flows are not drawn` : ""].filter(Boolean).join("; "));
  }

  // src/trace.ts
  var POINTS_PER_PIXEL = 2;
  var SPECS3 = {
    sequence: {
      title: "Sequence numbers at the sender",
      unit: "bytes",
      fromZero: false,
      write: write3,
      draw: drawSequence,
      limits: sequenceLimits,
      height: 320,
      hint: "Vertical lines are segments as they are sent and blocks of SACK as they come, from their first byte to their last."
    },
    queue: {
      title: "Queue packet by packet",
      unit: "packets",
      fromZero: true,
      write: whole,
      draw: drawQueuePackets,
      hint: "Areas are the packets of each flow. A cross is a packet that is dropped or lost, a circle one that is marked."
    },
    acks: { title: "Congestion window after each ACK", unit: "segments", fromZero: true, write: whole }
  };
  function startTrace(section) {
    const api = section.dataset.api ?? "";
    const names = JSON.parse(section.dataset.flows ?? "[]");
    const kinds = JSON.parse(section.dataset.kinds ?? "[]");
    const [flow, link] = ["flow", "link"].map((name) => document.getElementById(name));
    const look2 = (name) => ({ ...line(Math.max(names.indexOf(name), 0)), width: 1.5 });
    let running2;
    let answers = {};
    const timeline = new Timeline(section, "trace", () => all, () => void load());
    const make = (id) => new Chart(section, id, SPECS3[id], timeline.group);
    const charts = {
      sequence: kinds.includes("acks") && flow ? make("sequence") : void 0,
      queue: kinds.includes("queue") && link ? make("queue") : void 0,
      acks: kinds.includes("acks") ? make("acks") : void 0
    };
    const all = Object.values(charts).filter((chart) => chart !== void 0);
    const moments = startMoments(timeline, look2, () => all.forEach((chart) => chart.remark()));
    async function load() {
      void moments();
      running2?.abort();
      running2 = new AbortController();
      const { signal } = running2;
      section.setAttribute("aria-busy", "true");
      const [from, to] = timeline.span;
      const points2 = String(Math.min(Math.max((all[0]?.width ?? 500) * POINTS_PER_PIXEL, 100), 4e3));
      const part = [["from", String(from)], ["to", String(to)], ["points", points2]];
      const get = async (chart, path, more) => {
        if (!chart) return void 0;
        try {
          return await fetchJson(`${api}/${path}?${new URLSearchParams([...part, ...more])}`, signal);
        } catch (error) {
          if (!signal.aborted) chart.say(`Cannot be shown: ${error.message}`);
          return void 0;
        }
      };
      const [sequence, queue, acks] = await Promise.all([
        get(charts.sequence, "sequence", [["flow", flow?.value ?? ""]]),
        get(charts.queue, "queue", [["link", link?.value ?? ""]]),
        get(charts.acks, "acks", [])
      ]);
      if (signal.aborted) return;
      answers = { sequence, queue, acks };
      draw();
      section.removeAttribute("aria-busy");
      section.dataset.loads = String(Number(section.dataset.loads ?? 0) + 1);
    }
    function draw() {
      const { sequence, queue, acks } = answers;
      if (sequence?.connections === 0) charts.sequence?.say(`The trace has no ACK of ${sequence.flow}.`);
      else if (sequence) charts.sequence?.show(sequencePicture(sequence, timeline.span));
      if (queue) charts.queue?.show(queuePicture(queue, look2, timeline.span));
      if (acks) charts.acks?.show(windowsPicture(acks.flows, look2, timeline.span));
    }
    function restore() {
      for (const [key, select] of [["flow", flow], ["link", link]]) {
        const value = kept(key)?.[0];
        if (select && value !== void 0 && [...select.options].some((one) => one.value === value)) select.value = value;
      }
    }
    for (const [key, select] of [["flow", flow], ["link", link]]) {
      select?.addEventListener("change", () => {
        keep({ [key]: [select.value] });
        void load();
      });
    }
    window.addEventListener("hashchange", () => {
      restore();
      timeline.later();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      all.forEach((chart) => chart.restyle());
      draw();
    });
    restore();
    void load();
  }

  // src/main.ts
  function startRun() {
    const section = document.getElementById("charts");
    startNetwork(section ? startCharts(section) : () => {
    });
  }
  startFilter();
  startPolling(startRun);
  addCopyButtons();
  startRun();
  var compared = document.getElementById("compared");
  if (compared) startComparison(compared);
  var running = document.getElementById("running");
  if (running) startRunning(running);
  var traced = document.getElementById("traced");
  if (traced) startTrace(traced);
})();
