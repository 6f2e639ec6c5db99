// ---- the page: classify and mark the text as it is typed

const $ = id => document.getElementById(id), box = $("text"), marked = $("marked"), bars = $("bars"), list = $("features");
let picked = null;

function show() {
  const text = box.value, answer = predict(text);
  const because = explain(text, picked);
  const said = answer.labels.length ? answer.labels.join(", ") : multilabel ? "no label" : "no answer";
  $("answer").textContent = text.trim() ? said : "";
  const order = labels.map((_, k) => k).sort((a, b) => answer.probabilities[b] - answer.probabilities[a]).slice(0, 12);
  bars.replaceChildren(...order.map(k => {
    const row = document.createElement("li"), button = document.createElement("button"), track = document.createElement("span");
    const bar = document.createElement("span"), figure = document.createElement("span");
    button.type = "button"; button.className = "name"; button.textContent = labels[k];
    button.setAttribute("aria-pressed", String(labels[k] === because.label));
    button.onclick = () => { picked = picked === labels[k] ? null : labels[k]; show(); };
    track.className = "track"; bar.className = "bar"; bar.style.width = 100 * answer.probabilities[k] + "%";
    figure.className = "figure"; figure.textContent = (100 * answer.probabilities[k]).toFixed(1) + " %";
    track.append(bar); row.append(button, track, figure);
    return row;
  }));
  $("why").textContent = `Blue speaks for ${because.label}, orange against it.`;
  mark(text, because.characters);
  list.replaceChildren(...because.contributions.slice(0, 10).map(({ value, spans }) => {
    const row = document.createElement("tr"), name = document.createElement("td"), figure = document.createElement("td");
    name.textContent = text.slice(...spans[0]) + (spans.length > 1 ? ` ×${spans.length}` : "");
    figure.className = "n"; figure.textContent = (value >= 0 ? "+" : "−") + Math.abs(value).toFixed(3);
    row.append(name, figure);
    return row;
  }));
}

function mark(text, values) {   // a piece is a word, or what lies between two
  const pieces = [...text.matchAll(/\s+|[\p{L}\p{N}\p{M}_'’]+|[^\p{L}\p{N}\p{M}_\s'’]+/gu)];
  const sums = pieces.map(m => { let sum = 0; for (let k = m.index; k < m.index + m[0].length; k++) sum += values[k]; return sum; });
  const most = Math.max(1e-9, ...sums.map(Math.abs));
  marked.replaceChildren(...pieces.map((m, k) => {
    const share = Math.abs(sums[k]) / most;
    if (!m[0].trim() || share < 0.04) return document.createTextNode(m[0]);
    const piece = document.createElement("mark");
    piece.textContent = m[0];
    piece.title = (sums[k] >= 0 ? "+" : "−") + Math.abs(sums[k]).toFixed(3);
    piece.style.background = `rgba(var(--${sums[k] >= 0 ? "blue" : "orange"}),${(0.08 + 0.5 * share).toFixed(3)})`;
    return piece;
  }));
}

let waiting = 0;
box.addEventListener("input", () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(show); });
window.linnet = { predict, explain, labels };
show();
