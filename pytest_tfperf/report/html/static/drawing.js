/* When charts are drawn: as they come near the window, or for print. */
"use strict";

const drawing = (() => {
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
      const { looks, spec } = specifications[place.dataset.kind](data, place.clientWidth || 600);
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
