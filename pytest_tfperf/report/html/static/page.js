/* Sections that open by link and for print, and charts that are drawn as they come near. */
"use strict";

(() => {
  const find = (selector) => document.querySelector(selector);
  const each = (selector, action) => document.querySelectorAll(selector).forEach(action);

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

  sections();
  print();
  each(".controls[hidden]", (controls) => { controls.hidden = false; });
  drawing.lazily();
  performance.mark("complete");
  document.documentElement.dataset.ready = "yes";
})();
