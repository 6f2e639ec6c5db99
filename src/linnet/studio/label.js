document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  const ask = document.querySelector("[data-row]");
  const key = event.key.toLowerCase();
  if (!ask || key.length !== 1 || !ask.dataset.keys.includes(key)) return;
  event.preventDefault();
  emitEvent("label_key", { key: key, row: Number(ask.dataset.row) });
});

function shownChoices() {
  return [...document.querySelectorAll("[data-choice]:not([hidden])")];
}
document.addEventListener("input", (event) => {
  if (event.target.id !== "find") return;
  const asked = event.target.value.trim().toLowerCase();
  for (const one of document.querySelectorAll("[data-choice]"))
    one.hidden = asked ? !one.textContent.toLowerCase().includes(asked) : !one.querySelector("kbd");
});
document.addEventListener("keydown", (event) => {
  if (event.target.id === "find" && event.key === "Enter") {
    const first = shownChoices()[0];
    if (first && event.target.value.trim()) {
      event.target.value = "";
      event.target.dispatchEvent(new Event("input", { bubbles: true }));
      first.click();
    }
  } else if (event.key === "/" && document.activeElement.id !== "find") {
    const find = document.querySelector("#find");
    if (find) {
      event.preventDefault();
      find.focus();
    }
  }
});
