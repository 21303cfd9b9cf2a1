/* Sorting and filters of the table of verdicts, sections that open by link and for print. */
"use strict";

(() => {
  const find = (selector) => document.querySelector(selector);
  const each = (selector, action) => document.querySelectorAll(selector).forEach(action);

  function verdicts() {
    const table = find("#table");
    if (!table) return;
    const head = table.tHead.rows[0].cells;
    const verdict = [...head].findIndex((cell) => cell.hasAttribute("aria-sort"));
    const numbers = [...head].flatMap((cell, index) => (cell.classList.contains("number") ? [index] : []));
    const sorter = new DataTable(table, {
      autoWidth: false,
      paging: false,
      layout: { topStart: null, topEnd: null, bottomStart: null, bottomEnd: null },
      order: [[verdict, "asc"]],
      columnDefs: [
        { targets: "_all", orderSequence: ["asc", "desc"] },
        { targets: [...numbers, verdict], type: "num" },
      ],
    });
    const search = find("#search");
    const choices = [...document.querySelectorAll("select[data-field]")];
    const words = [...document.querySelectorAll("button[data-word]")];
    const pressed = () => words.filter((word) => word.getAttribute("aria-pressed") === "true");

    function filter() {
      const wanted = pressed().map((word) => word.dataset.word);
      sorter.search.fixed("choices", (text, data, index) => {
        const row = sorter.row(index).node().dataset;
        return (!wanted.length || wanted.includes(row.word))
          && choices.every((choice) => !choice.value || row[choice.dataset.field] === choice.value);
      });
      sorter.search(search.value).draw();
    }
    function count() {
      const { recordsDisplay: shown, recordsTotal: total } = sorter.page.info();
      find("#shown").textContent = `${shown} of ${total} shown`;
    }
    sorter.on("draw", count);
    search.addEventListener("input", filter);
    choices.forEach((choice) => choice.addEventListener("change", filter));
    words.forEach((word) => word.addEventListener("click", () => {
      word.setAttribute("aria-pressed", String(word.getAttribute("aria-pressed") !== "true"));
      filter();
    }));
    find("#reset").addEventListener("click", () => {
      search.value = "";
      choices.forEach((choice) => { choice.value = ""; });
      words.forEach((word) => word.setAttribute("aria-pressed", "false"));
      filter();
    });
    count();
  }

  const open = (element) => {
    for (let box = element?.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
  };

  function follow() {
    let name = location.hash.slice(1);
    try {
      name = decodeURIComponent(name);
    } catch { /* not a link of ours */ }
    const target = name && document.getElementById(name);
    if (!target) return;
    open(target);
    target.scrollIntoView();
  }

  function sections() {
    find("#open-all")?.addEventListener("click", () => each("details.test", (box) => { box.open = true; }));
    find("#close-all")?.addEventListener("click", () => each("details.test", (box) => { box.open = false; }));
    addEventListener("hashchange", follow);
    follow();
  }

  function print() {
    let opened = [];
    const before = () => {
      const closed = [...document.querySelectorAll("details:not([open]):not(.data)")];
      closed.forEach((box) => { box.open = true; });
      opened = opened.concat(closed);
      drawing.now();
    };
    const after = () => {
      opened.forEach((box) => { box.open = false; });
      opened = [];
    };
    addEventListener("beforeprint", before);
    addEventListener("afterprint", after);
    matchMedia("print").addEventListener("change", (media) => (media.matches ? before() : after()));
  }

  verdicts();
  sections();
  print();
  each(".controls[hidden]", (controls) => { controls.hidden = false; });
  drawing.lazily();
  document.documentElement.dataset.ready = "yes";
  performance.mark("interactive");
})();
