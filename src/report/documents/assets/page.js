"use strict";
(function () {
  const root = document.documentElement;
  const themes = ["auto", "light", "dark"];
  const button = document.getElementById("theme");
  const show = function (theme) {
    if (theme === "auto") { root.removeAttribute("data-theme"); } else { root.setAttribute("data-theme", theme); }
    button.textContent = "theme: " + theme;
    button.dataset.now = theme;
  };
  button.hidden = false;
  button.addEventListener("click", function () {
    show(themes[(themes.indexOf(button.dataset.now) + 1) % themes.length]);
  });
  show("auto");

  const key = function (row, column) {
    const cell = row.cells[column];
    return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
  };
  const compare = function (a, b) {
    if (typeof a === "number" && typeof b === "number") { return a - b; }
    // what has no number comes after what has one
    if (typeof a === "number") { return -1; }
    if (typeof b === "number") { return 1; }
    return a.localeCompare(b, undefined, { numeric: true });
  };
  document.querySelectorAll("table.sortable").forEach(function (table) {
    const heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach(function (head, column) {
      const sorter = document.createElement("button");
      sorter.type = "button";
      sorter.textContent = head.textContent;
      head.replaceChildren(sorter);
      sorter.addEventListener("click", function () {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const body = table.tBodies[0];
        const rows = Array.from(body.rows);
        rows.sort(function (a, b) { const order = compare(key(a, column), key(b, column)); return down ? -order : order; });
        body.append(...rows);
      });
    });
  });
})();
