document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  const ask = document.querySelector("[data-row]");
  const key = event.key.toLowerCase();
  if (!ask || key.length !== 1 || !ask.dataset.keys.includes(key)) return;
  event.preventDefault();
  emitEvent("label_key", { key: key, row: Number(ask.dataset.row) });
});
