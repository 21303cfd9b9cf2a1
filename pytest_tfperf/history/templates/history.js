"use strict";
// Each chart is drawn when it comes near the window, and all of them before printing: a page may have thousands.
(() => {
  const data = JSON.parse(document.getElementById("history-data").textContent);
  const hosts = Array.from(document.querySelectorAll("[data-chart]"));
  const drawn = new Map();

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function specification(chart) {
    const states = ["open", "acknowledged", "recovered", "explained", "improved"];
    const colours = ["--bad", "--open", "--neutral", "--neutral", "--better"].map(colour);
    const x = { field: "date", type: "temporal", scale: { type: "utc" }, axis: { title: null, format: "%d %b", tickCount: 6 } };
    const y = { field: "value", type: "quantitative", scale: { zero: false, padding: 12 }, axis: { title: chart.unit || null, tickCount: 4, labelExpr: "join(split(datum.label, ','), ' ')" } };
    const tooltip = [
      { field: "day", title: "night" },
      { field: "shown", title: chart.label },
      { field: "commit", title: "commit" },
      { field: "verdict", title: "verdict" },
    ];
    // An explicit UTC time: a bare date would be read as one thing and shown as another west of Greenwich.
    const utc = (day) => day + "T00:00:00Z";
    const changes = {
      data: { values: chart.changes.map((each) => ({ ...each, date: utc(each.date), day: each.date })) },
      mark: { type: "rule", strokeWidth: 2, strokeDash: [6, 3] },
      encoding: {
        x,
        color: { field: "state", type: "nominal", scale: { domain: states, range: colours }, legend: null },
        tooltip: [{ field: "day", title: "change" }, { field: "text", title: "size" }],
      },
    };
    return {
      $schema: "https://vega.github.io/schema/vega-lite/v6.json",
      width: "container",
      height: 150,
      autosize: { type: "fit", contains: "padding" },
      // An empty layer has no scale, and Vega warns of it.
      layer: [
        ...(chart.changes.length ? [changes] : []),
        {
          data: { values: chart.levels.map((each) => ({ value: each.value, date: utc(each.first), end: utc(each.last) })) },
          mark: { type: "rule", strokeWidth: 2, color: colour("--baseline") },
          encoding: { x, x2: { field: "end" }, y },
        },
        {
          data: { values: chart.nights.map((each) => ({ ...each, date: utc(each.date), day: each.date, gate: each.verdict === "regressed" })) },
          mark: { type: "point", filled: true, size: 45, opacity: 1 },
          encoding: {
            x,
            y,
            shape: { field: "gate", type: "nominal", scale: { domain: [false, true], range: ["circle", "triangle-down"] }, legend: null },
            fill: { condition: { test: "datum.gate", value: colour("--bad") }, value: colour("--measured") },
            tooltip,
          },
        },
      ],
      config: {
        background: "transparent",
        font: "system-ui, sans-serif",
        view: { stroke: null },
        axis: { labelColor: colour("--muted"), titleColor: colour("--muted"), gridColor: colour("--grid"), domainColor: colour("--line"), tickColor: colour("--line") },
      },
    };
  }

  async function draw(host) {
    if (drawn.has(host)) {
      return drawn.get(host);
    }
    const options = { actions: false, renderer: "svg", ast: true };
    const making = vegaEmbed(host, specification(data[Number(host.dataset.chart)]), options);
    drawn.set(host, making);
    await making;
    host.dataset.state = "drawn";
    return making;
  }

  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) {
        watcher.unobserve(entry.target);
        draw(entry.target);
      }
    }
  }, { rootMargin: "600px" });
  hosts.forEach((host) => watcher.observe(host));

  window.addEventListener("beforeprint", () => hosts.forEach(draw));
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    const again = Array.from(drawn.keys());
    again.forEach((host) => drawn.get(host).then((made) => made.finalize()));
    drawn.clear();
    again.forEach(draw);
  });
})();
