/* Vega-Lite specifications of the charts, and when they are drawn: as they come near the window, or for print.
   Colours are CSS variables, so a chart that is drawn already follows the scheme of screen or paper. */
"use strict";

const drawing = (() => {
  const SHAPES = [
    "M-.9,0A.9,.9,0,1,1,.9,0A.9,.9,0,1,1,-.9,0Z",
    "M0,-1.1L1.1,0L0,1.1L-1.1,0Z",
    "M-.8,-.8L.8,-.8L.8,.8L-.8,.8Z",
    "M0,-1L1,.8L-1,.8Z",
    "M0,1L1,-.8L-1,-.8Z",
    "M-.3,-1L.3,-1L.3,-.3L1,-.3L1,.3L.3,.3L.3,1L-.3,1L-.3,.3L-1,.3L-1,-.3L-.3,-.3Z",
  ];
  const DASHES = [[1, 0], [6, 3], [2, 3], [8, 3, 2, 3]];
  const IDEAL = "ideal, N x T(1)";
  const NOW = "now";
  const FLOOR = "floor";

  /* How a series looks: colour, shape of its points and dash of its line. */
  function look(name, index) {
    if (name === NOW) return { colour: "var(--measured)", shape: SHAPES[0], dash: DASHES[0] };
    if (name === IDEAL) return { colour: "var(--ideal)", shape: null, dash: DASHES[1] };
    if (name === FLOOR) return { colour: "var(--floor)", shape: null, dash: DASHES[2] };
    if (name.startsWith("versus ")) {
      return { colour: `var(--series-${3 + (index % 3)})`, shape: SHAPES[2 + (index % 4)], dash: DASHES[3] };
    }
    return { colour: "var(--baseline)", shape: SHAPES[1], dash: DASHES[0] };
  }

  function arms(names) {
    return names.map((name, index) => ({
      name,
      colour: `var(--series-${1 + (index % 8)})`,
      shape: SHAPES[index % SHAPES.length],
      dash: null,
    }));
  }

  const scale = (looks, what) => ({ domain: looks.map((each) => each.name), range: looks.map((each) => each[what]) });
  const colour = (looks) => ({ field: "series", type: "nominal", scale: scale(looks, "colour"), legend: null });
  const shape = (looks) => {
    const shapes = looks.map((each) => ({ ...each, shape: each.shape ?? SHAPES[0] }));
    return { field: "series", type: "nominal", scale: scale(shapes, "shape"), legend: null };
  };
  /* A layer without data has no extent, which Vega warns of. */
  const filled = (layers) => layers.filter((layer) => layer.data.values.length);
  const titled = (...pairs) => pairs.map(([field, title]) => ({ field, title, type: "nominal" }));

  function scaling(data) {
    const looks = data.series.map((name, index) => ({ name, ...look(name, index) }));
    const counts = [...new Set(data.points.map((point) => point.n))].sort((a, b) => a - b);
    const wide = counts[counts.length - 1] >= 16;
    const axis = { type: "quantitative", axis: { title: "replicas", values: counts, format: "d", grid: false } };
    const y = { type: "quantitative", title: "examples/s of the whole job" };
    const scales = wide ? { x: { type: "log", base: 2 }, y: { type: "log" } } : { x: { zero: true }, y: { zero: true } };
    const x = { field: "n", ...axis, scale: scales.x };
    const at = (points, mark, encoding) => ({ data: { values: points }, mark, encoding: { x, ...encoding } });
    const noisy = data.points.filter((point) => point.low !== null && point.high !== null);
    const measured = data.points.filter((point) => look(point.series, 0).shape);
    const value = { field: "value", ...y, scale: scales.y };
    const tooltip = titled(["series", "series"], ["n", "replicas"], ["text", "examples/s"]);
    const dash = { field: "series", type: "nominal", scale: scale(looks, "dash"), legend: null };
    return {
      looks,
      spec: {
        height: 240,
        layer: filled([
          at(data.points, { type: "line", strokeWidth: 2 }, { y: value, color: colour(looks), strokeDash: dash }),
          at(noisy, { type: "rule", strokeWidth: 2 }, {
            y: { field: "low", ...y, scale: scales.y }, y2: { field: "high" }, color: colour(looks),
          }),
          at(measured, { type: "point", filled: true, size: 80, opacity: 1 }, {
            y: value, color: colour(looks), shape: shape(looks), tooltip,
          }),
        ]),
      },
    };
  }

  function efficiency(data) {
    const looks = data.series.map((name, index) => ({ name, ...look(name, index) }));
    const x = { field: "n", type: "ordinal", axis: { title: "replicas", labelAngle: 0 } };
    const y = { type: "quantitative", title: "E(N)", scale: { domainMin: 0 } };
    const bars = data.points.filter((point) => point.series === NOW);
    const floors = data.points.filter((point) => point.series === FLOOR);
    const others = data.points.filter((point) => point.series !== NOW && point.series !== FLOOR);
    const tooltip = titled(["series", "series"], ["n", "replicas"], ["text", "E(N)"]);
    const noisy = (points) => points.filter((point) => point.low !== null && point.high !== null);
    const at = (points, mark, encoding) => ({ data: { values: points }, mark, encoding: { x, ...encoding } });
    const value = { field: "value", ...y };
    const interval = { y: { field: "low", ...y }, y2: { field: "high" } };
    looks[0] = { ...looks[0], shape: SHAPES[2], dash: null };
    looks.push({ name: "ideal, 1", colour: "var(--ideal)", shape: null, dash: DASHES[1] });
    return {
      looks,
      spec: {
        height: 240,
        layer: filled([
          at(bars, { type: "bar", color: "var(--measured)", width: { band: 0.6 } }, { y: value, tooltip }),
          at(noisy(bars), { type: "rule", strokeWidth: 2, color: "var(--text)" }, interval),
          at(noisy(others), { type: "rule", strokeWidth: 2, color: "var(--baseline)", xOffset: 12 }, interval),
          at(floors, { type: "tick", thickness: 3, width: { band: 0.8 }, color: "var(--floor)" }, { y: value, tooltip }),
          at(others, {
            type: "point", filled: true, size: 100, opacity: 1, shape: SHAPES[1], xOffset: 12,
            color: "var(--baseline)", stroke: "var(--ground)", strokeWidth: 1,
          }, { y: value, tooltip }),
          {
            data: { values: [{ value: 1 }] },
            mark: { type: "rule", strokeDash: DASHES[1], color: "var(--ideal)", strokeWidth: 2 },
            encoding: { y: value },
          },
        ]),
      },
    };
  }

  function runs(data) {
    const looks = arms(data.series);
    const x = { field: "round", type: "ordinal", axis: { title: "round", labelAngle: 0 } };
    const offset = { field: "series", type: "nominal", scale: { domain: data.series } };
    const y = { field: "value", type: "quantitative", title: "% from the arm's mean" };
    const tooltip = titled(["series", "arm"], ["round", "round"], ["text", "throughput"], ["value", "% from mean"]);
    const points = (values, mark) => ({
      data: { values },
      mark: { type: "point", size: 70, opacity: 1, ...mark },
      encoding: { x, xOffset: offset, y, color: colour(looks), shape: shape(looks), tooltip },
    });
    const hollow = data.points.filter((point) => point.disturbed);
    if (hollow.length) looks.note = "hollow: disturbed";
    return {
      looks,
      spec: {
        height: 240,
        layer: filled([
          {
            data: { values: [{ value: 0 }] },
            mark: { type: "rule", color: "var(--ideal)", strokeDash: DASHES[1] },
            encoding: { y },
          },
          points(data.points.filter((point) => !point.disturbed), { filled: true }),
          points(hollow, { filled: false, strokeWidth: 2 }),
        ]),
      },
    };
  }

  function steps(data, width) {
    const looks = arms(data.series).map((each) => ({ ...each, shape: "M-.15,-1L.15,-1L.15,1L-.15,1Z" }));
    const longest = Math.max(...data.ranks.flatMap((rank) => [...rank.values, rank.own ?? 0]));
    const [unit, factor] = longest >= 1 ? ["s", 1] : longest >= 1e-3 ? ["ms", 1e3] : ["us", 1e6];
    const values = data.ranks.flatMap((rank) =>
      rank.values.map((value) => ({ row: rank.row, series: rank.arm, value: value * factor })));
    const whole = data.ranks.map((rank) => ({
      row: rank.row, series: rank.arm, value: rank.median * factor, text: rank.text, own: rank.own_text,
    }));
    const own = data.ranks.filter((rank) => rank.own !== null)
      .map((rank) => ({ row: rank.row, series: rank.arm, value: rank.own * factor, text: rank.own_text }));
    const all = [...values, ...own].map((each) => each.value);
    const [least, most] = [Math.min(...all), Math.max(...all)];
    const margin = Math.max(0.05 * (most - least), 0.01 * most);
    const y = {
      field: "row", type: "nominal", sort: null, title: null,
      scale: { domain: data.ranks.map((rank) => rank.row) }, axis: { labelLimit: 0.4 * width, grid: true },
    };
    const x = {
      field: "value", type: "quantitative", title: `step time, ${unit}`,
      scale: { domain: [Math.max(0, least - margin), most + margin], nice: false, zero: false },
    };
    const layer = [
      {
        data: { values },
        mark: { type: "tick", thickness: 1.5, opacity: 0.55, height: { band: 0.7 } },
        encoding: { x, y, color: colour(looks) },
      },
      {
        data: { values: whole },
        mark: { type: "tick", thickness: 4, opacity: 1, height: { band: 0.9 } },
        encoding: { x, y, color: colour(looks), tooltip: titled(["row", "rank"], ["text", "median"], ["own", "own step time"]) },
      },
      {
        data: { values: own },
        mark: {
          type: "point", filled: true, size: 60, opacity: 1, shape: SHAPES[1], color: "var(--text)",
          stroke: "var(--ground)", strokeWidth: 1,
        },
        encoding: { x, y, tooltip: titled(["row", "rank"], ["text", "own step time"]) },
      },
    ];
    if (own.length) looks.push({ name: "own step time", colour: "var(--text)", shape: SHAPES[1], dash: null });
    looks.note = "thin: a window, thick: the median";
    return { looks, spec: { height: data.ranks.length * (data.ranks.length > 40 ? 12 : 18), layer: filled(layer) } };
  }

  const KINDS = { scaling, efficiency, runs, steps };

  const CONFIG = {
    background: null,
    font: "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
    view: { stroke: null },
    axis: {
      labelColor: "var(--muted)", titleColor: "var(--muted)", gridColor: "var(--grid)", domainColor: "var(--line)",
      tickColor: "var(--line)", labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal",
    },
  };
  const OPTIONS = {
    mode: "vega-lite",
    renderer: "svg",
    actions: false,
    ast: true, // interpreted, as the page's policy forbids eval
    defaultStyle: false,
    formatLocale: { decimal: ".", thousands: "\u00a0", grouping: [3], currency: ["", ""] },
    config: CONFIG,
  };

  function svg(name, attributes, parent) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    parent.append(element);
    return element;
  }

  /* The key is text of the page: it wraps on a phone, where a legend in the chart would be cut. */
  function key(looks) {
    const list = document.createElement("ul");
    list.className = "key";
    for (const each of looks) {
      const item = document.createElement("li");
      const sign = svg("svg", { viewBox: "-15 -8 30 16", width: 30, height: 16 }, item);
      if (each.dash) {
        const line = { x1: -14, x2: 14, y1: 0, y2: 0, style: `stroke: ${each.colour}`, "stroke-width": 2 };
        svg("line", each.dash[1] ? { ...line, "stroke-dasharray": each.dash.join(" ") } : line, sign);
      }
      if (each.shape) svg("path", { d: each.shape, transform: "scale(6)", style: `fill: ${each.colour}` }, sign);
      item.append(each.name);
      list.append(item);
    }
    if (looks.note) {
      const item = document.createElement("li");
      item.append(looks.note);
      list.append(item);
    }
    return list;
  }

  async function draw(place) {
    if (place.dataset.state) return;
    place.dataset.state = "drawing";
    const data = JSON.parse(place.querySelector("script").textContent);
    try {
      const { looks, spec } = KINDS[place.dataset.kind](data, place.clientWidth || 600);
      const box = document.createElement("div");
      place.append(key(looks), box);
      const width = place.clientWidth ? "container" : 600;
      const autosize = { type: width === "container" ? "fit-x" : "pad", contains: "padding" };
      await vegaEmbed(box, { ...spec, width, autosize }, OPTIONS);
      place.dataset.state = "drawn";
    } catch (error) {
      place.dataset.state = "failed";
      place.textContent = `This chart could not be drawn (${error}); its data are in the table beneath.`;
      console.error(error);
    }
  }

  const all = () => document.querySelectorAll(".chart");

  /* One after the other, so that the page answers in between. */
  const waiting = [];
  async function work() {
    while (waiting.length) {
      await draw(waiting[0]);
      await new Promise((resume) => setTimeout(resume));
      waiting.shift();
    }
  }

  function lazily() {
    const watcher = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        watcher.unobserve(entry.target);
        if (waiting.push(entry.target) === 1) work();
      }
    }, { rootMargin: "600px 0px" });
    for (const place of all()) watcher.observe(place);
  }

  return { lazily, now: () => Promise.all([...all()].map(draw)) };
})();
