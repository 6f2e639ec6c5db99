// A point is sent again only when the last one was drawn: the page never falls behind the pointer.
(() => {
  let held = null, next = null, busy = false, focused = null;
  const send = () => { if (next && !busy) { busy = true; emitEvent("learn_point", next); next = null; } };
  const limit = (v, low, high) => Math.min(high, Math.max(low, v));
  const move = (svg, point, x, y) => {
    const [a, b, c, d] = svg.dataset.axes.split(",").map(Number);
    next = { point: Number(point), x: limit(x, a, b), y: limit(y, c, d) };
    send();
  };
  document.addEventListener("pointerdown", (event) => {
    const dot = event.target.closest("[data-point]");
    if (!dot) return;
    event.preventDefault();
    const svg = dot.ownerSVGElement;
    held = { svg, point: dot.dataset.point, inverse: svg.getScreenCTM().inverse() };
    document.getElementById("figure").setPointerCapture(event.pointerId);
  });
  document.addEventListener("pointermove", (event) => {
    if (!held) return;
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(held.inverse);
    const [a, b, c, d, left, right, bottom, top] = held.svg.dataset.axes.split(",").map(Number);
    move(held.svg, held.point, a + ((at.x - left) / (right - left)) * (b - a), c + ((bottom - at.y) / (bottom - top)) * (d - c));
  });
  for (const end of ["pointerup", "pointercancel"]) document.addEventListener(end, () => { held = null; });
  const keys = { ArrowLeft: [-0.2, 0], ArrowRight: [0.2, 0], ArrowUp: [0, 0.2], ArrowDown: [0, -0.2] };
  document.addEventListener("keydown", (event) => {
    const dot = event.target.closest("[data-point]"), step = keys[event.key];
    if (!dot || !step) return;
    event.preventDefault();
    focused = dot.dataset.point;
    const [x, y] = dot.dataset.at.split(",").map(Number);
    move(dot.ownerSVGElement, focused, x + step[0], y + step[1]);
  });
  new MutationObserver(() => {
    busy = false;
    if (focused !== null && document.activeElement === document.body) {
      document.querySelector(`#figure [tabindex][data-point="${focused}"]`)?.focus();
    } else if (!document.activeElement.closest("#figure")) focused = null;
    send();
  }).observe(document.body, { childList: true, subtree: true });
})();
