// ---- the runtime: text to tokens, tokens to fingerprints, fingerprints to weights, weights to probabilities.
// It is the same for every model; what a model knows stands above. It follows linnet's kernels step by step. A 64-bit number is
// two of 32 bits, the high half first; what a function of such numbers returns is left in H and L.

const WORD = 1, MARK = 2, SPACE = 4, ALONE = 8, IGNORE = 16, PYSPACE = 32;
let H = 0, L = 0;

function bytes(text) {
  const raw = atob(text), out = new Uint8Array(raw.length);
  for (let k = 0; k < raw.length; k++) out[k] = raw.charCodeAt(k);
  return out;
}

function numbers(text) {   // 7 bits a byte, the lowest first, the top bit set where more follow
  const out = [];
  let value = 0, size = 1;
  for (const byte of bytes(text)) {
    value += (byte & 127) * size;
    size *= 128;
    if (byte < 128) { out.push(value); value = 0; size = 1; }
  }
  return out;
}

const classes = new Uint8Array(0x110000);
{ let at = 0; const runs = numbers(UNICODE.classes); for (let k = 0; k < runs.length; k += 2) { classes.fill(runs[k + 1], at, at + runs[k]); at += runs[k]; } }

function caseMap(text) {   // pairs: how far the next character is, how many it becomes, and those
  const map = new Map(), all = numbers(text);
  for (let k = 0, at = 0; k < all.length; k += 2 + all[k + 1]) map.set(at += all[k], all.slice(k + 2, k + 2 + all[k + 1]));
  return map;
}
const cases = [new Map(), caseMap(UNICODE.fold), caseMap(UNICODE.lower)];

// ---- weights: keys stand at their top bits or behind, in order, as in linnet's own table

const width = MODEL.b.length + 1, nRows = MODEL.features, bits = 64 - MODEL.shift;
const data = bytes(MODEL.weights).buffer;
const keys = new Uint32Array(data, 0, 2 * nRows), rows = new Float32Array(data, 8 * nRows, width * nRows);
const home = (high, low) => bits <= 32 ? high >>> (32 - bits) : high * 2 ** (bits - 32) + (low >>> (64 - bits));
const table = new Int32Array(2 ** bits + nRows + 1);   // the number of a row, from 1 on
for (let k = 0, at = -1; k < nRows; k++) { at = Math.max(at + 1, home(keys[2 * k + 1], keys[2 * k])); table[at] = k + 1; }

function find(high, low) {   // the number of the row of a fingerprint, or -1
  if (MODEL.hashed) {
    if (bits <= 32) { low = 0; high = bits === 32 ? high : high >>> (32 - bits) << (32 - bits); } else low = low >>> (64 - bits) << (64 - bits);
    low |= 1;
  }
  high |= MODEL.ignored / 2 ** 32; low |= MODEL.ignored;
  high >>>= 0; low >>>= 0;
  for (let at = home(high, low); table[at]; at++) {
    const k = 2 * (table[at] - 1);
    if (keys[k] === low && keys[k + 1] === high) return table[at] - 1;
  }
  return -1;
}

// ---- hashes

function times(ah, al, bh, bl) {
  const a0 = al & 0xffff, a1 = al >>> 16, b0 = bl & 0xffff, b1 = bl >>> 16;
  const t = a0 * b0, u = a1 * b0 + (t >>> 16), v = a0 * b1 + (u & 0xffff);
  H = (a1 * b1 + (u >>> 16) + (v >>> 16) + Math.imul(ah, bl) + Math.imul(al, bh)) | 0;
  L = (v << 16) | (t & 0xffff);
}
function absorb(h, l, ch, cl) { times(h ^ ch, l ^ cl, 0x9E3779B9, 0x7F4A7C15); L ^= H; }
function join(h, l, th, tl) { times(h ^ th, l ^ tl, 0xD6E8FEB8, 0x6659FD93); L ^= H; }
function mix(h, l) {
  times(h ^ (h >>> 30), l ^ ((l >>> 30) | (h << 2)), 0xBF58476D, 0x1CE4E5B9);
  h = H; l = L;
  times(h ^ (h >>> 27), l ^ ((l >>> 27) | (h << 5)), 0x94D049BB, 0x133111EB);
  h = H; l = L;
  H = h ^ (h >>> 31); L = l ^ ((l >>> 31) | (h << 1));
}

class Token {
  constructor(start) { this.start = this.end = start; this.codes = []; this.starts = []; this.ends = []; this.h = 0; this.l = 0; }

  add(code, start, end, mode) {
    for (const c of cases[mode].get(code) || [code]) { this.codes.push(c); this.starts.push(start); this.ends.push(end); }
  }

  close(end) {   // the hash is that of the UTF-8 bytes, eight at a time, and their number
    let h = 0, l = 0, th = 0, tl = 0, n = 0;
    const byte = c => {
      if ((n & 7) < 4) tl |= c << (8 * (n & 3)); else th |= c << (8 * (n & 3));
      if ((++n & 7) === 0) { absorb(h, l, th, tl); h = H; l = L; th = tl = 0; }
    };
    for (const c of this.codes) {
      if (c < 0x80) { byte(c); continue; }
      if (c < 0x800) byte(0xC0 | c >> 6);
      else {
        if (c < 0x10000) byte(0xE0 | c >> 12); else { byte(0xF0 | c >> 18); byte(0x80 | c >> 12 & 0x3F); }
        byte(0x80 | c >> 6 & 0x3F);
      }
      byte(0x80 | c & 0x3F);
    }
    if (n & 7) { absorb(h, l, th, tl); h = H; l = L; }
    mix(h, l ^ n);
    this.h = H; this.l = L; this.end = end;
    return this;
  }
}

// ---- tokens; places count UTF-16 units, as JavaScript does

const size = c => c > 0xffff ? 2 : 1;
const apostrophe = c => c === 0x27 || c === 0x2019 || c === 0xFF07;
const plain = c => apostrophe(c) ? 0x27 : c;
function charAt(text, i) { const c = text.codePointAt(i); return c >= 0xD800 && c < 0xE000 ? 0xFFFD : c; }   // half a pair

function words(text, mode) {
  const out = [], n = text.length;
  let i = 0;
  while (i < n) {
    const c = charAt(text, i), kind = classes[c], token = new Token(i);
    if (kind & (SPACE | IGNORE)) { i += size(c); continue; }
    if (!(kind & ALONE) && kind & (WORD | MARK)) {
      let end = i;
      while (i < n) {
        const d = charAt(text, i), k = classes[d], next = i + size(d);
        if (k & IGNORE) { i = next; continue; }
        if (k & (WORD | MARK) && !(k & ALONE)) { token.add(d, i, next, mode); i = end = next; continue; }
        if (!apostrophe(d) || next >= n) break;
        const after = classes[charAt(text, next)];
        if (!(after & WORD) || after & ALONE) break;
        token.add(0x27, i, next, 0);
        i = next;
      }
      out.push(token.close(end));
      continue;
    }
    token.add(plain(c), i, i += size(c), mode);
    for (let d = 0, last; i < n; i += size(d)) {
      last = d;
      d = charAt(text, i);
      const k = classes[d];
      if (!((!(kind & ALONE) && d === c) || k & MARK || (last === 0x200D && !(k & (WORD | SPACE | IGNORE))))) break;
      token.add(plain(d), i, i + size(d), mode);
    }
    out.push(token.close(i));
  }
  return out;
}

function runs(text, mode, pattern) {
  const out = [], n = text.length;
  for (let i = 0; i < n; i++) {
    const token = new Token(i);
    let count = 0, c = 0;
    for (; i < n; i += size(c), count++) {
      c = charAt(text, i);
      if (pattern ? !(classes[c] & WORD) : classes[c] & PYSPACE) break;
      token.add(c, i, i + size(c), mode);
    }
    if (count > (pattern ? 1 : 0)) out.push(token.close(i));
    if (i < n) i += size(c) - 1;
  }
  return out;
}

function each(text, mode, bytewise) {
  const out = [], encoder = new TextEncoder();
  for (let i = 0; i < text.length;) {
    const c = charAt(text, i), end = i + size(c);
    for (const d of bytewise ? encoder.encode(String.fromCodePoint(c)) : [c]) {   // the first byte stands for the character
      const token = new Token(i);
      token.add(d, i, end, bytewise && d >= 0x80 ? 0 : mode);
      out.push(token.close(end));
      i = end;
    }
  }
  return out;
}

function across(text, mode) {   // all characters as one token; a run of blanks is one, those at the ends none
  const token = new Token(0);
  let blank = null;
  for (let i = 0, c; i < text.length; i += size(c)) {
    c = charAt(text, i);
    if (classes[c] & (SPACE | PYSPACE)) { if (!blank && token.codes.length) blank = [i, i + size(c)]; continue; }
    if (classes[c] & IGNORE) continue;
    if (blank) token.add(32, ...blank, 0);   // now it is known that the text goes on
    blank = null;
    token.add(plain(c), i, i + size(c), mode);
  }
  return [token];
}

function tokenise(text, block) {
  if (block.kind === "across") return across(text, block.case);
  if (block.tokens === 0) return words(text, block.case);
  return block.tokens >= 3 ? each(text, block.case, block.tokens === 4) : runs(text, block.case, block.tokens === 1);
}

// ---- features: visit(high, low, start, end) for every n-gram

function emit(tokens, block, visit) {
  const seedHigh = Number(BigInt(block.seed) >> 32n) | 0, seedLow = Number(BigInt(block.seed) & 0xffffffffn) | 0;
  tokens.forEach((token, t) => {
    if (block.kind === "skips") {
      join(seedHigh, seedLow, token.h, token.l);
      const h = H, l = L;
      for (let k = 1 + block.low; k <= 1 + block.high && t + k < tokens.length; k++) {
        join(h, l, tokens[t + k].h, tokens[t + k].l);
        visit(H, H | L ? L : 1, token.start, tokens[t + k].end);
      }
      return;
    }
    if (block.kind === "across") {
      const { codes, starts, ends } = token;
      for (let i = 0; i < codes.length; i++) {
        H = seedHigh; L = seedLow;
        for (let k = i; k < i + block.high && k < codes.length; k++) {
          join(H, L, 0, codes[k]);
          if (k + 1 - i >= block.low) visit(H, H | L ? L : 1, starts[i], ends[k]);
        }
      }
      return;
    }
    if (block.kind !== "chars") {
      H = seedHigh; L = seedLow;
      if (block.kind === "position") join(H, L, 0, 0x504F53 + (4 * t < tokens.length ? 0 : 4 * t < 3 * tokens.length ? 1 : 2));
      for (let k = 0; k < block.high && t + k < tokens.length; k++) {
        join(H, L, tokens[t + k].h, tokens[t + k].l);
        if (k + 1 >= block.low) visit(H, H | L ? L : 1, token.start, tokens[t + k].end);
      }
      return;
    }
    const { codes, starts, ends } = token, n = codes.length, first = Math.min(block.low, n + 2);
    for (let i = 0; i + first <= n + 2; i++) {
      H = seedHigh; L = seedLow;
      for (let k = i; k < i + block.high && k < n + 2; k++) {
        join(H, L, 0, k === 0 || k === n + 1 ? 32 : codes[k - 1]);
        if (k + 1 - i >= first) {
          visit(H, H | L ? L : 1, i > n ? ends[n - 1] : starts[i ? i - 1 : 0], k ? ends[k > n ? n - 1 : k - 1] : starts[0]);
        }
      }
    }
  });
}

/** Return the known features of a text: a row, how much it counts, and its places. */
function features(text) {
  const out = [];
  let tokens = null;
  MODEL.blocks.forEach((block, number) => {
    const before = MODEL.blocks[number - 1], found = new Map();
    if (!before || before.tokens !== block.tokens || before.case !== block.case || (before.kind === "across") !== (block.kind === "across")) tokens = tokenise(text, block);
    emit(tokens, block, (high, low, start, end) => {
      const row = find(high, low);
      if (row < 0) return;
      if (!found.has(row)) found.set(row, { row, factor: 0, spans: [] });
      found.get(row).spans.push([start, end]);
    });
    let norm = 0;
    for (const f of found.values()) {
      const t = MODEL.tf === 0 ? 1 : MODEL.tf === 1 ? f.spans.length : 1 + Math.log(f.spans.length), w = rows[f.row * width];
      f.factor = t;
      norm += MODEL.norm === 2 ? t * w : t * t * w * w;
    }
    const scale = block.share / (MODEL.norm && norm > 0 ? (MODEL.norm === 2 ? norm : Math.sqrt(norm)) : 1);
    for (const f of found.values()) { f.factor *= scale; out.push(f); }
  });
  return out;
}

// ---- probabilities

function scoresOf(found) {
  const scores = MODEL.b.slice();
  for (const f of found) for (let c = 0; c < scores.length; c++) scores[c] += f.factor * rows[f.row * width + 1 + c];
  return scores;
}

function onCurve(x) {
  const p = MODEL.curve;
  if (p.length === 1) return p[0][1];
  x = Math.min(Math.max(x, p[0][0]), p[p.length - 1][0]);
  let k = 1;
  while (k < p.length - 1 && p[k][0] <= x) k++;
  const gap = p[k][0] - p[k - 1][0];
  return p[k - 1][1] + (x - p[k - 1][0]) / (gap > 0 ? gap : 1) * (p[k][1] - p[k - 1][1]);
}

const sigmoid = x => { const e = Math.exp(-Math.abs(x)); return x >= 0 ? 1 / (1 + e) : e / (1 + e); };
const largest = x => x.reduce((best, value, k) => value > x[best] ? k : best, 0);

function probabilitiesOf(scores) {
  const s = scores.slice(), top = largest(s);
  if (MODEL.curve.length && (s.length === 1 || MODEL.multilabel)) s.forEach((x, k) => { s[k] = onCurve(x); });
  else if (MODEL.curve.length) {
    const others = s.filter((_, k) => k !== top), second = others[largest(others)];
    const rest = second + Math.log(others.reduce((sum, x) => sum + Math.exp(x - second), 0));
    s[top] = Math.max(rest + onCurve(s[top] - rest), second + 1e-9);
  }
  if (MODEL.multilabel) return s.map(sigmoid);
  if (s.length === 1) return [1 - sigmoid(s[0]), sigmoid(s[0])];
  const powers = s.map(x => Math.exp(x - s[top])), sum = powers.reduce((a, b) => a + b, 0);
  return powers.map(x => x / sum);
}

function answer(p) {   // the number of the label, or -1
  let first = -1, rest = -1, best = 0;
  p.forEach((x, k) => {
    const cut = MODEL.thresholds[k];
    if (cut < 0) { if (rest < 0 || x > p[rest]) rest = k; } else if (x >= cut && x > 0 && (first < 0 || x / cut > best)) { first = k; best = x / cut; }
  });
  const found = first >= 0 ? first : rest;
  return found >= 0 && p[found] >= MODEL.least ? found : -1;
}

/** The labels, in the order of the probabilities. */
export const labels = MODEL.labels;

/** Whether a text may have several labels, or none. */
export const multilabel = MODEL.multilabel;

/** Classify a text: {label, labels, probability, probabilities}; label is null where the model does not answer. */
export function predict(text) {
  const probabilities = probabilitiesOf(scoresOf(features(String(text))));
  const best = MODEL.multilabel ? largest(probabilities) : answer(probabilities);
  const chosen = MODEL.multilabel ? labels.filter((_, k) => probabilities[k] >= MODEL.thresholds[k]) : best < 0 ? [] : [labels[best]];
  return { label: best < 0 ? null : labels[best], labels: chosen, probability: best < 0 ? 0 : probabilities[best], probabilities };
}

/** Say what each feature of a text adds to the score of a label (by default the most probable): {label, probability, score,
 * intercept, contributions: [{value, spans}], characters}. The intercept and the values add up to the score; characters has
 * what each UTF-16 unit of the text adds. Without the calibration curve, where there is one. */
export function explain(text, label = null) {
  text = String(text);
  const found = features(text), scores = scoresOf(found), probabilities = probabilitiesOf(scores);
  const column = label === null ? largest(probabilities) : labels.indexOf(label);
  if (column < 0) throw new RangeError(`no label ${label}; choose one of: ${labels.join(", ")}`);
  const two = scores.length === 1 && labels.length === 2, output = two ? 0 : column, sign = two && column === 0 ? -1 : 1;
  const characters = new Float64Array(text.length);
  const contributions = found.map(f => ({ value: sign * f.factor * rows[f.row * width + 1 + output], spans: f.spans }));
  for (const { value, spans } of contributions) {
    const real = spans.filter(([a, b]) => b > a);
    for (const [a, b] of real) {
      let at = [];
      for (let k = a; k < b; k++) if (!(classes[text.charCodeAt(k)] & PYSPACE)) at.push(k);
      if (!at.length) at = Array.from({ length: b - a }, (_, k) => a + k);
      for (const k of at) characters[k] += value / (real.length * at.length);
    }
  }
  contributions.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  return { label: labels[column], probability: probabilities[column], score: sign * scores[output], intercept: sign * MODEL.b[output], contributions, characters };
}
