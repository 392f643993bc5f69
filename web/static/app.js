// Built by web/ts/build.mjs, not edited. sources=f858d5f7e9ff5ec187746a9856356efae8d7aa78e6cc5b9663c13766745b3c6f body=766bfabb8ea4a74083e7eccc4fc007f95ae06f766902efd943c7c1698216f838
"use strict";
(() => {
  // src/style.ts
  var COLOURS = 8;
  var DASHES = [[], [9, 3], [4, 2], [9, 3, 2, 3], [2, 2]];
  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }
  function line(index) {
    return { stroke: colour(`--c${index % COLOURS}`), dash: DASHES[index % DASHES.length] ?? [] };
  }
  var PREFIXES = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
  function digits(value, count = 4) {
    if (value === 0) return "0";
    const places = Math.max(0, count - 1 - Math.floor(Math.log10(Math.abs(value))));
    return String(Number(value.toFixed(Math.min(places, 12))));
  }
  function rate(value, unit = "bit/s") {
    const [factor, prefix] = PREFIXES.find(([least]) => Math.abs(value) >= least) ?? [1, ""];
    return `${digits(value / factor)} ${prefix}${unit}`.trim();
  }

  // src/chart.ts
  var MOST_MARKS = 80;
  var HEIGHT = 190;
  var AXIS = 62;
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
      const name = `${spec.title}${spec.unit && ` in ${spec.unit}`} over time`;
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
      const details = element("details", {}, element("summary", { textContent: "Show values" }), this.table);
      const figure = element("figure", { className: "chart", id: `chart-${id}` }, caption, this.area, this.said, details);
      host.append(figure);
      let width = 0;
      new ResizeObserver(() => {
        if (this.width === width) return;
        width = this.width;
        this.plot?.setSize({ width, height: HEIGHT });
      }).observe(this.area);
    }
    spec;
    group;
    tools = element("span");
    note = element("span", { className: "dim" });
    area = element("div", { className: "plot", tabIndex: 0 });
    said = element("p", { className: "hidden" });
    table = element("div", { className: "scroll", tabIndex: 0 });
    plot;
    picture;
    made = "";
    get width() {
      return Math.max(Math.floor(this.area.clientWidth), 120);
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
      const looks = JSON.stringify(picture2.lines.map(({ label, stroke, dash }) => [label, stroke, dash]));
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
      this.plot.setScale("x", { min, max });
    }
    /** Show another part of the time, with the present samples until new ones arrive. */
    reach(min, max) {
      this.plot?.setScale("x", { min, max });
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
        return `${line2.label} ${value == null ? "nothing" : line2.write(value)}`;
      });
      this.said.textContent = `${time.toFixed(2)} s: ${values.join(", ")}`;
    }
    tabulate(picture2, min, max) {
      const lines = picture2.lines.filter((line2) => line2.summary);
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
      const all = (_, low, high) => [low ?? 0, high ?? 1];
      return {
        width: this.width,
        height: HEIGHT,
        padding: [8, 12, 0, 0],
        legend: { markers: { width: 2, stroke: (_plot, index) => picture2.lines[index - 1]?.stroke ?? "" } },
        scales: {
          x: { time: false, range: all },
          y: { range: (_plot, low, high) => this.limits(low, high) },
          none: { range: [0, 1] }
        },
        axes: [
          { ...axis, size: 26, gap: 3, values: (_plot, ticks2) => ticks2.map((tick) => `${+tick.toFixed(6)} s`) },
          { ...axis, size: AXIS, gap: 4, values: (_plot, ticks2) => ticks2.map(spec.write) }
        ],
        series: [
          { label: "time", value: (_plot, value) => value == null ? "–" : `${value.toFixed(3)} s` },
          ...picture2.lines.map((line2, index) => ({
            label: line2.label,
            stroke: line2.stroke,
            dash: line2.dash,
            width: line2.width,
            spanGaps: false,
            scale: line2.bare ? "none" : "y",
            points: { show: line2.bare ? false : void 0 },
            ...line2.bare ? { paths: () => null } : {},
            // The present picture, because a unit may have changed since these options were made.
            value: (_plot, value) => value == null ? "–" : this.picture?.lines[index]?.write(value) ?? ""
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
          drawAxes: [(plot) => this.mark(plot)],
          // above the grid, below the curves
          draw: [(plot) => this.picture && spec.draw?.(plot, this.picture)],
          setSelect: [(plot) => {
            const { left, width } = plot.select;
            if (width < LEAST_DRAG_PX) return;
            plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            group.zoom(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
          }]
        }
      };
    }
    limits(low, high) {
      if (low === null || high === null) return [0, 1];
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
  function join(series, note, reach) {
    const filled = series.filter(({ time_s }) => time_s.length);
    const lines = filled.flatMap(({ columns: columns2 }) => columns2.map((column2) => column2.line));
    if (!filled.length) return { x: [], columns: [], lines, note, reach };
    const tables = filled.map(({ time_s, columns: columns2 }) => [time_s, ...columns2.map(({ values }) => values)]);
    const [x, ...columns] = tables.length > 1 ? uPlot.join(tables) : tables[0];
    return { x, columns, lines, note, reach };
  }
  var scaled = (values, factor) => values.map((value) => value === null ? null : value * factor);
  function column(of, field, look, write2, factor = 1) {
    const { min, mean, max, last } = of.summary[field] ?? { min: null, mean: null, max: null, last: null };
    const [a, b, c, d] = scaled([min, mean, max, last], factor);
    return {
      line: { ...look, write: write2, samples: of.samples, summary: { min: a, mean: b, max: c, last: d } },
      values: factor === 1 ? of.fields[field] ?? [] : scaled(of.fields[field] ?? [], factor)
    };
  }

  // src/algorithm.ts
  var keyOf = ([name, unit]) => JSON.stringify([name, unit]);
  var write = (value) => digits(value, 5);
  var AlgorithmCharts = class {
    /** Make the charts of the fields that `data-shown` of the flows' boxes declares. */
    constructor(section2, boxes, group) {
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
        const spec = { title: `${name} of ${[...names].join(", ")}`, unit, fromZero: false, write };
        this.shown.push({ key, chart: new Chart(section2, `algorithm-${at}`, spec, group) });
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
    draw(look) {
      for (const { key, chart } of this.shown) {
        chart.show(join(this.found.flatMap((flow) => {
          const slot = this.fields.get(flow.name)?.findIndex((field) => keyOf(field) === key) ?? -1;
          if (slot < 0) return [];
          return [{
            time_s: flow.time_s,
            columns: [column(flow, `congestion_${slot}`, { ...look(flow.name), label: flow.name }, write)]
          }];
        }), ""));
      }
    }
  };

  // src/api.ts
  async function fetchJson(url, signal) {
    const response = await fetch(url, { signal });
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error?.message ?? response.statusText);
    return answer;
  }

  // src/charts.ts
  var POINTS_PER_PIXEL = 3;
  var LEAST_SPAN_S = 1e-4;
  var QUIET_MS = 80;
  var QUEUE_COLOUR = 6;
  var whole = (value) => Number.isInteger(value) ? String(value) : digits(value);
  var ms = (value) => digits(value, 4);
  var SPECS = {
    cwnd: { title: "Congestion window and ssthresh", unit: "segments", fromZero: true, write: whole },
    rtt: { title: "Smoothed RTT", unit: "ms", fromZero: false, write: ms },
    goodput: { title: "Goodput", unit: "bit/s", fromZero: true, write: (value) => rate(value, "") },
    queue: { title: "Queue backlog and drops", unit: "", fromZero: true, write: whole, draw: drawQueue }
  };
  function startCharts(section2) {
    const api = section2.dataset.api ?? "";
    const duration = Number(section2.dataset.duration);
    const boxes = [...document.querySelectorAll("#flows input[name=flow]")];
    const range = document.getElementById("range");
    const buttons = [...section2.querySelectorAll("button[data-go]")];
    const past = [];
    let span = fromHash(duration);
    let answers;
    let running2;
    let timer = 0;
    const group = {
      key: "run",
      warmup: Number(section2.dataset.warmup),
      marks: JSON.parse(section2.dataset.events ?? "[]"),
      span: () => span,
      zoom: (from, to) => {
        past.push(span);
        go([Math.max(0, from), Math.min(duration, to)]);
      },
      back: () => go(past.pop() ?? [0, duration]),
      whole: () => {
        past.length = 0;
        go([0, duration]);
      },
      point: (time) => all.forEach((chart) => chart.point(time))
    };
    const make = (id) => new Chart(section2, id, SPECS[id], group);
    const charts = { cwnd: make("cwnd"), rtt: make("rtt"), goodput: make("goodput"), queue: make("queue") };
    const algorithm = new AlgorithmCharts(section2, boxes, group);
    const all = [...Object.values(charts), ...algorithm.charts];
    const ssthresh = element("input", { type: "checkbox", checked: true });
    const unit = element("select", {}, ...["packets", "kB", "ms"].map((name) => element("option", { textContent: name })));
    unit.setAttribute("aria-label", "Unit of the backlog");
    charts.cwnd.tools.append(element("label", { className: "draw" }, ssthresh, "ssthresh (dotted)"));
    charts.queue.tools.append(unit);
    function press(action) {
      const [from, to] = span;
      const part = to - from;
      const by = (start, length) => {
        const kept = Math.min(Math.max(start, 0), Math.max(duration - length, 0));
        group.zoom(kept, kept + length);
      };
      if (action === "in") by(from + part / 4, part / 2);
      else if (action === "out") by(from - part / 2, part * 2);
      else if (action === "earlier") by(from - part / 2, part);
      else if (action === "later") by(from + part / 2, part);
      else group.whole();
    }
    function go([from, to]) {
      if (to - from < LEAST_SPAN_S) return;
      span = [from, to];
      all.forEach((chart) => chart.reach(from, to));
      showSpan();
      later();
    }
    function showSpan() {
      const [from, to] = span;
      const part = from > 0 || to < duration;
      buttons.forEach((button) => button.disabled = button.dataset.go !== "in" && !part);
      range.textContent = part ? `${from.toFixed(3)}–${to.toFixed(3)} s` : `0–${digits(duration)} s`;
      history.replaceState(null, "", part ? `#t=${from.toFixed(4)}..${to.toFixed(4)}` : location.pathname);
    }
    function later() {
      clearTimeout(timer);
      timer = window.setTimeout(load, QUIET_MS);
    }
    async function load() {
      running2?.abort();
      running2 = new AbortController();
      const { signal } = running2;
      section2.setAttribute("aria-busy", "true");
      const points = Math.min(2e4, charts.cwnd.width * POINTS_PER_PIXEL);
      const time = { from: String(span[0]), to: String(span[1]) };
      const get = (path, more) => fetchJson(`${api}/${path}?${new URLSearchParams([...Object.entries(time), ...more])}`, signal);
      const flows = boxes.filter((box) => box.checked).map((box) => ["flow", box.value]);
      try {
        const [tcp, goodput, queues] = await Promise.all([
          flows.length ? get("tcp", [["points", String(points)], ...flows]) : { flows: [] },
          flows.length ? get("goodput", [["points", "300"], ...flows]) : { bin_s: 0, flows: [] },
          get("queues", [["points", String(points)]])
        ]);
        answers = { tcp, goodput, queues };
        draw();
        await algorithm.load((more) => get("tcp", [["points", String(points)], ...more]));
        algorithm.draw(look);
        section2.dataset.loads = String(Number(section2.dataset.loads ?? 0) + 1);
      } catch (error) {
        if (!signal.aborted) all.forEach((chart) => chart.say(`Cannot be shown: ${error.message}`));
      } finally {
        if (!signal.aborted) section2.removeAttribute("aria-busy");
      }
    }
    const index = new Map(boxes.map((box) => [box.value, Number(box.dataset.index)]));
    const look = (name) => ({ ...line(index.get(name) ?? 0), width: 1.5 });
    function draw() {
      if (!answers) return;
      const { tcp, goodput, queues } = answers;
      charts.cwnd.show(windows(tcp.flows, look, ssthresh.checked));
      charts.rtt.show(roundTrips(tcp.flows, look));
      charts.goodput.show(goodputs(goodput, look));
      charts.queue.show(backlogs(queues.queues, unit.value));
    }
    boxes.forEach((box) => box.addEventListener("change", later));
    ssthresh.addEventListener("change", draw);
    unit.addEventListener("change", draw);
    buttons.forEach((button) => button.addEventListener("click", () => press(button.dataset.go)));
    window.addEventListener("hashchange", () => go(fromHash(duration)));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      all.forEach((chart) => chart.restyle());
      draw();
      algorithm.draw(look);
    });
    showSpan();
    void load();
  }
  function fromHash(duration) {
    const found = /^#t=([\d.]+)\.\.([\d.]+)$/.exec(location.hash);
    const [from, to] = [Number(found?.[1]), Number(found?.[2])];
    return from >= 0 && to <= duration && to - from >= LEAST_SPAN_S ? [from, to] : [0, duration];
  }
  var hasSsthresh = (flow) => flow.summary.snd_ssthresh_segments?.max != null;
  function windows(flows, look, ssthresh) {
    return join(flows.map((flow) => ({
      time_s: flow.time_s,
      columns: [
        column(flow, "snd_cwnd_segments", { ...look(flow.name), label: `${flow.name} cwnd` }, whole),
        ...ssthresh && hasSsthresh(flow) ? [column(
          flow,
          "snd_ssthresh_segments",
          { ...look(flow.name), label: `${flow.name} ssthresh`, dash: [1.5, 3], width: 1.2 },
          whole
        )] : []
      ]
    })), "");
  }
  function roundTrips(flows, look) {
    return join(flows.map((flow) => ({
      time_s: flow.time_s,
      columns: [column(flow, "rtt_us", { ...look(flow.name), label: flow.name }, (value) => `${ms(value)} ms`, 1e-3)]
    })), "");
  }
  function goodputs(answer, look) {
    const estimated = answer.flows.some((flow) => flow.source === "sender");
    const note = `mean over ${digits(answer.bin_s)} s` + (estimated ? "; where no receiver was sampled, acknowledged bytes" : "");
    return join(answer.flows.map((flow) => ({
      time_s: flow.time_s,
      columns: [{
        line: { ...look(flow.name), label: flow.name, write: rate, samples: flow.time_s.length, summary: flow.summary.goodput_bps },
        values: flow.goodput_bps
      }]
    })), note);
  }
  function limitOf(queue, unit) {
    if (unit === "packets") return queue.limit_packets ?? 0;
    const bytes = queue.limit_bytes ?? 0;
    if (unit === "kB") return bytes * 1e-3;
    return queue.rate_bps && !queue.rate_steps.length ? bytes * 8e3 / queue.rate_bps : 0;
  }
  function backlogs(queues, unit) {
    const used = queues.filter((queue) => queue.direction === "forward" || (queue.summary.backlog_packets?.max ?? 0) > 0);
    const limits = [];
    const series = used.map((queue, index) => {
      const field = { packets: "backlog_packets", kB: "backlog_bytes", ms: "queue_delay_s" }[unit];
      const factor = { packets: 1, kB: 1e-3, ms: 1e3 }[unit];
      limits.push(limitOf(queue, unit));
      const look = { ...line(QUEUE_COLOUR + index), dash: index ? line(index).dash : [], width: 1.5 };
      const write2 = unit === "packets" ? whole : (value) => `${digits(value)} ${unit}`;
      const counts = (queue.fields.drops ?? []).map((value, at, counter) => at && value !== null ? value - (counter[at - 1] ?? value) : null);
      return {
        time_s: queue.time_s,
        columns: [
          column(queue, field, { ...look, label: queue.name }, write2, factor),
          { line: { ...look, label: `${queue.name} drops`, stroke: colour("--drop"), dash: [], bare: true, write: whole }, values: counts }
        ]
      };
    });
    const most = Math.max(...used.map((queue) => queue.summary.backlog_packets?.max ?? 0), 1);
    const limit = Math.max(...limits, 0);
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
        ctx.lineTo(x, bbox.top + 9 * devicePixelRatio);
      });
    });
    ctx.stroke();
    ctx.restore();
  }

  // src/live.ts
  var PERIOD_MS = 1e3;
  var RETRY_MS = 5e3;
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
    const ticked = new Set(ticks(now).filter((box) => box.checked).map((box) => box.value));
    const open = new Set(openDetails(now).filter((one) => one.open).map(nameOf));
    const focus = keyOf2(document.activeElement);
    now.replaceWith(fresh);
    for (const box of ticks(fresh)) box.checked = ticked.has(box.value);
    for (const one of openDetails(fresh)) one.open ||= open.has(nameOf(one));
    if (focus && now.contains(document.activeElement) !== true) {
      const same = [...fresh.querySelectorAll("a, input, button, summary")];
      same.find((one) => keyOf2(one) === focus)?.focus({ preventScroll: true });
    }
    addCopyButtons(fresh);
  }
  var ticks = (root) => [
    ...root.querySelectorAll("input[type=checkbox][name=run]")
  ];
  var openDetails = (root) => [...root.querySelectorAll("details")];
  var nameOf = (one) => one.querySelector("summary")?.textContent ?? "";
  function keyOf2(element2) {
    if (element2 instanceof HTMLAnchorElement) return `a ${element2.href}`;
    if (element2 instanceof HTMLInputElement) return `input ${element2.name} ${element2.value}`;
    if (element2 instanceof HTMLButtonElement) return `button ${element2.textContent}`;
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
  function startPolling() {
    shown = live()?.outerHTML ?? "";
    const wait = (ms2) => setTimeout(poll, ms2);
    async function poll() {
      if (!live()?.hasAttribute("data-poll")) return;
      if (document.hidden) {
        document.addEventListener("visibilitychange", poll, { once: true });
        return;
      }
      const requested = location.href;
      const { fresh } = await fetchLive(requested);
      if (fresh && requested === location.href) {
        const stays = fresh.hasAttribute("data-keep") || document.getElementById("filter");
        const ended = !fresh.hasAttribute("data-poll") && !stays;
        if (ended) return location.reload();
        show(fresh);
      }
      wait(fresh ? PERIOD_MS : RETRY_MS);
    }
    wait(PERIOD_MS);
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
      const fields = [...new FormData(form)].filter(([, value]) => value !== "");
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

  // src/running.ts
  var PHASES = {
    boot: "booting",
    setup: "building the topology",
    probes: "checking the topology",
    traffic: "running traffic",
    done: "collecting",
    storing: "judging and storing"
  };
  var QUEUE_COLOUR2 = 6;
  var whole2 = (value) => digits(value, 4);
  var SPECS2 = {
    cwnd: { title: "Congestion window", unit: "segments", fromZero: true, write: whole2 },
    rtt: { title: "Smoothed RTT", unit: "ms", fromZero: false, write: whole2 },
    goodput: { title: "Goodput", unit: "bit/s", fromZero: true, write: (value) => rate(value, "") },
    queue: { title: "Queue backlog, largest", unit: "packets", fromZero: true, write: whole2 }
  };
  var WRITERS = { rtt: (value) => `${whole2(value)} ms`, goodput: rate };
  function startRunning(section2) {
    const duration = Number(section2.dataset.duration);
    const bar = section2.querySelector("progress");
    let span = [0, duration];
    let charts;
    let last;
    const go = (from, to) => {
      span = [Math.max(0, from), Math.min(duration, to)];
      Object.values(charts ?? {}).forEach((chart) => chart.reach(...span));
    };
    const group = {
      key: "running",
      warmup: Number(section2.dataset.warmup),
      span: () => span,
      zoom: go,
      back: () => go(0, duration),
      whole: () => go(0, duration),
      point: (time) => Object.values(charts ?? {}).forEach((chart) => chart.point(time))
    };
    const say = (name, text) => {
      const place = section2.querySelector(`[data-show=${name}]`);
      if (place && place.textContent !== text) place.textContent = text;
    };
    function draw(state) {
      last = state;
      say("phase", PHASES[state.phase] ?? state.phase);
      say("progress", progress(state));
      if (bar) bar.value = state.simulated_s;
      if (state.time_s.length < 2) return;
      charts ??= Object.fromEntries(Object.entries(SPECS2).map(([id, spec]) => [id, new Chart(section2, `live-${id}`, spec, group)]));
      for (const [id, chart] of Object.entries(charts)) chart.show(picture(id, state));
      section2.dataset.drawn = String(Number(section2.dataset.drawn ?? 0) + 1);
    }
    const source = new EventSource(section2.dataset.stream ?? "");
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
  function picture(id, { time_s, flows, queues }) {
    const look = (index) => ({ ...line(index), width: 1.5, write: whole2 });
    if (id === "queue") {
      return {
        x: time_s,
        columns: queues.map((queue) => queue.backlog_packets),
        lines: queues.map((queue, index) => ({ ...look(QUEUE_COLOUR2 + index), label: queue.name })),
        note: ""
      };
    }
    const values = (flow) => id === "cwnd" ? flow.cwnd_segments : id === "rtt" ? flow.rtt_ms : flow.goodput_bps;
    return {
      x: time_s,
      columns: flows.map(values),
      lines: flows.map((flow, index) => ({ ...look(index), label: flow.name, write: WRITERS[id] ?? whole2 })),
      note: ""
    };
  }

  // src/main.ts
  startFilter();
  startPolling();
  addCopyButtons();
  var section = document.getElementById("charts");
  if (section) startCharts(section);
  var running = document.getElementById("running");
  if (running) startRunning(running);
})();
