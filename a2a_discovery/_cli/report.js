"use strict";
// Sorting, filtering and opening. Without it the page still says everything: all rows, all sections.
(() => {
  const table = document.querySelector("table.agents");
  const body = table.tBodies[0];
  let rows = Array.from(body.rows);
  let limit = 0;
  const heads = Array.from(table.tHead.rows[0].cells);
  const word = document.getElementById("word");
  const trust = document.getElementById("trust");
  const outcome = document.getElementById("outcome");
  const shown = document.getElementById("shown");
  const said = document.getElementById("said");
  const none = document.getElementById("none");
  const more = document.getElementById("more");
  const step = Number(more.dataset.step);
  const order = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));

  const value = (row, column) => row.cells[column].dataset.value ?? "";

  function sort(head, descending) {
    const column = heads.indexOf(head);
    const numbers = head.dataset.kind === "number";
    const sign = descending ? -1 : 1;
    const sorted = rows.map((row, at) => ({ row, at, value: value(row, column) }));
    sorted.sort((one, two) => {
      // What has no value stands last, whichever way.
      if (one.value === "" || two.value === "") return (one.value === "") - (two.value === "") || one.at - two.at;
      const by = numbers ? one.value - two.value : order.compare(one.value, two.value);
      return sign * by || one.at - two.at;
    });
    rows = sorted.map((each) => each.row);
    for (const row of rows) body.append(row);
    for (const each of heads) each.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    said.textContent = `Sorted by ${head.textContent.trim()}, ${descending ? "descending" : "ascending"}.`;
    show(step);
  }

  // Rows that fit, and of those no more than the limit: a browser takes seconds to lay out ten thousand.
  function show(most) {
    limit = most;
    const words = word.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      const fits =
        (!trust.value || row.dataset.trust === trust.value) &&
        (!outcome.value || row.dataset.outcome === outcome.value) &&
        words.every((each) => texts.get(row).includes(each));
      const late = count >= limit;
      count += fits;
      for (const each of [row, document.getElementById(row.dataset.section)]) {
        each.hidden = !fits;
        each.classList.toggle("late", late);
      }
    }
    none.hidden = count > 0;
    more.hidden = count <= limit;
    const first = count > limit ? `, the first ${limit} of them shown` : "";
    shown.textContent = `${count} of ${rows.length}${first}`;
  }

  function open() {
    const section = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!section || !section.matches("details.agent")) return;
    section.hidden = false;
    section.classList.remove("late");
    section.open = true;
    section.querySelector("summary").focus();
    section.scrollIntoView();
  }

  for (const head of heads) {
    head.querySelector("button").addEventListener("click", () => {
      const first = head.dataset.first === "descending";
      const now = head.getAttribute("aria-sort");
      sort(head, now === "none" ? first : now === "ascending");
    });
  }
  for (const control of [word, trust, outcome]) control.addEventListener("input", () => show(step));
  more.addEventListener("click", () => show(limit + step));
  document.getElementById("controls").addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", open);
  document.getElementById("controls").hidden = false;
  show(step);
  open();
})();
