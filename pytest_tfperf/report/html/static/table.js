/* Sorting and filters of the table of verdicts. It follows the table at once, so that this works before the rest of a
   long page has come. */
"use strict";

(() => {
  const find = (selector) => document.querySelector(selector);
  const table = find("#table");
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
  document.querySelectorAll(".controls.verdicts").forEach((controls) => { controls.hidden = false; });
  performance.mark("interactive");
})();
