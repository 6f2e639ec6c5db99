"use strict";
(function () {
  // Cells of the confusion matrix open their texts. Texts are written as text, never as HTML.
  const source = document.getElementById("cells");
  const panel = document.getElementById("texts");
  if (!source || !panel) return;
  const cells = JSON.parse(source.textContent);
  let opened = null;

  function element(tag, text, kind) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  }

  function close() {
    panel.replaceChildren();
    if (opened) {
      opened.removeAttribute("aria-expanded");
      opened.focus();
    }
    opened = null;
  }

  function open(button) {
    const cell = cells[button.dataset.cell];
    if (opened) opened.removeAttribute("aria-expanded");
    opened = button;
    button.setAttribute("aria-expanded", "true");
    const shut = element("button", "close", "plain close");
    shut.type = "button";
    shut.addEventListener("click", close);
    const n = cell.texts.length;
    const shown = n === cell.size ? (n === 1 ? "" : "all rows") : n + " rows, drawn at random";
    const list = element("ol");
    for (const [row, sure, text] of cell.texts) {
      const item = element("li");
      item.append(element("span", "row " + row + ", confidence " + Math.round(100 * sure) + " %", "interval"), "\n" + text);
      list.append(item);
    }
    panel.replaceChildren(
      shut, element("h3", cell.title),
      element("p", cell.share + (shown ? "; " + shown + ", the most confident first." : "."), "note"), list,
    );
    panel.focus({ preventScroll: true });
    panel.scrollIntoView({ block: "nearest" });
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-cell]");
    if (button) (button === opened ? close : open)(button);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && opened) close();
    const move = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    const at = move && event.target.closest && event.target.closest(".matrix [data-cell]");
    if (!at) return;
    let [row, column] = [at.closest("tr"), at.closest("td")];
    for (;;) { // the next cell in that direction that is not empty
      if (move[0]) {
        const index = column.cellIndex;
        row = move[0] > 0 ? row.nextElementSibling : row.previousElementSibling;
        column = row && row.cells[index];
      } else {
        column = move[1] > 0 ? column.nextElementSibling : column.previousElementSibling;
      }
      if (!column) return;
      const next = column.querySelector("[data-cell]");
      if (next) {
        next.focus();
        event.preventDefault();
        return;
      }
    }
  });
})();
