'use strict';
// Draws a knowledge base from the JSON in #report-data.

const base = JSON.parse(document.getElementById('report-data').textContent);
const LISTED_TECHNIQUES = 24;  // bars of one state's chart
const attempts = tally => tally.measured + Object.values(tally.failures).reduce((sum, n) => sum + n, 0);
const failed = tally => attempts(tally) - tally.measured;
const times = value => typeof value === 'number' ? number(value, 3) + 'x' : '-';
const described = new Map(base.techniques.map(technique => [technique.name, technique]));

// The state with most evidence first, then the one with most guesses.
let chosen = [...base.states].sort((a, b) =>
  attempts(b.tally) - attempts(a.tally) || b.expected.length - a.expected.length)[0];

function failureText(failures) {
  return Object.entries(failures).map(([kind, count]) => count + ' ' + kind).join(', ') || '-';
}

// ---- evidence: "run:<id>#<step>" is a link to its row where the row is on this page --------------
const evidenceRows = new Map();
base.outcomes.forEach((outcome, i) => {
  if (!evidenceRows.has(outcome.evidence)) evidenceRows.set(outcome.evidence, 'evidence-' + i);
});

function evidenceLink(evidence) {
  if (!evidence) return '-';
  const row = evidenceRows.get(evidence);
  return row ? element('a', {href: '#' + row}, evidence) : evidence;
}

// Twice as fast is as far from 1 as half as fast.
const GAIN_TICKS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
function gainAxis(lowest, highest) {
  return {type: 'logarithmic', min: Math.max(...GAIN_TICKS.filter(tick => tick <= Math.min(0.5, lowest)), 0.01),
          max: Math.min(...GAIN_TICKS.filter(tick => tick >= Math.max(2, highest)), 1000),
          afterBuildTicks: axis => {
            axis.ticks = GAIN_TICKS.filter(tick => tick >= axis.min && tick <= axis.max).map(value => ({value}));
          },
          ticks: {color: themeColour('muted'), callback: value => value + 'x'}};
}

function gainChart() {
  if (!chosen || !chosen.expected.length) return;
  const shown = chosen.expected.slice(0, LISTED_TECHNIQUES);
  const colour = row => attempts(row.here) + row.elsewhere === 0 ? themeColour('same')
    : row.lo > 1 ? themeColour('good') : row.hi < 1 ? themeColour('bad') : themeColour('warn');
  chart('What is expected of techniques when the kernel is held back by ' + chosen.name,
    chosen.description + '. Old time over new, with its 90 % interval. Grey: a guess, nothing was measured. '
      + 'Green: shown to gain. Red: shown to lose. Amber: measured, not shown either way.',
    {type: 'line', plugins: [referenceLine, errorBars],
     data: {labels: shown.map(row => row.technique), datasets: [{
       data: shown.map(row => ({x: row.technique, y: row.gain, lo: row.lo, hi: row.hi})),
       errorBars: true, showLine: false, pointRadius: 4, pointHoverRadius: 6,
       pointBackgroundColor: shown.map(colour), pointBorderColor: shown.map(colour)}]},
     options: chartOptions({legend: false, y: 'expected gain', line: {value: 1, label: 'no gain'}, xAxis: {offset: true},
       yAxis: gainAxis(Math.min(...shown.map(row => row.lo)), Math.max(...shown.map(row => row.hi))),
       tooltip: {label: item => {
         const row = shown[item.dataIndex];
         return [times(row.gain) + '  [' + times(row.lo) + ', ' + times(row.hi) + ']',
                 'measured ' + row.here.measured + ', failed ' + failed(row.here) + ', elsewhere ' + row.elsewhere];
       }}})}, true);
}

function evidenceChart() {
  const states = base.states.filter(state => attempts(state.tally));
  if (!states.length) return;
  const kinds = [...new Set(states.flatMap(state => Object.keys(state.tally.failures)))].sort();
  const series = (label, colour, count) => ({
    label, backgroundColor: colour, maxBarThickness: 34, data: states.map(state => count(state.tally))});
  chart('Attempts by state', 'Over all contexts: what was measured, and how the rest failed.',
    {type: 'bar', data: {labels: states.map(state => state.name), datasets: [
       series('measured', PALETTE[0], tally => tally.measured),
       ...kinds.map((kind, i) => series(kind, PALETTE[(i + 4) % PALETTE.length], tally => tally.failures[kind] || 0))]},
     options: chartOptions({y: 'attempts', xAxis: {stacked: true}, yAxis: {stacked: true, min: 0}})}, true);
}

function transitionChart() {
  const pays = row => row.after.mean_gain / row.otherwise.mean_gain;
  const rows = base.transitions.filter(row => row.after.measured && row.otherwise.measured)
    .sort((a, b) => pays(b) - pays(a)).slice(0, 16);
  if (!rows.length) return;
  const label = row => row.previous + ' \u2192 ' + row.technique;
  const series = (name, colour, gain) => ({
    label: name, backgroundColor: colour, borderColor: colour, showLine: false, pointRadius: 5, pointHoverRadius: 7,
    data: rows.map(gain)});
  const gains = rows.flatMap(row => [row.after.mean_gain, row.otherwise.mean_gain]);
  chart('What pays after what', 'Mean gain of a technique right after another, beside what it brings otherwise. '
      + 'Most is gained where nothing was done before, which counts as otherwise.',
    {type: 'line', plugins: [referenceLine], data: {labels: rows.map(label), datasets: [
       series('after', PALETTE[2], row => row.after.mean_gain),
       series('otherwise', PALETTE[8], row => row.otherwise.mean_gain)]},
     options: chartOptions({y: 'mean gain', pointLegend: true, line: {value: 1}, yAxis: gainAxis(Math.min(...gains), Math.max(...gains)),
       xAxis: {offset: true, ticks: {autoSkip: false, maxRotation: 60, color: themeColour('muted')}},
       tooltip: {label: item => {
         const side = item.datasetIndex === 0 ? rows[item.dataIndex].after : rows[item.dataIndex].otherwise;
         return item.dataset.label + ' ' + times(side.mean_gain) + ', measured ' + side.measured;
       }}})}, true);
}

function discountText(row) {
  const foreign = row.evidence.filter(one => one.differs.length);
  if (!foreign.length) return '-';
  return foreign.map(one => attempts(one) + ' differ in ' + one.differs.join(', ') + ': count '
    + number(one.counts, 1)).join('; ');
}

function expectedTable() {
  if (!chosen) return;
  table('Techniques for ' + chosen.name, 'The most promising first. What differs from the context that the base is seen from '
      + 'counts less, and never more than a cap.', [
    ['technique', 'name', row => row.technique],
    ['what it is', 'text', row => described.get(row.technique)?.description || ''],
    ['gain', 'number', row => times(row.gain)],
    ['90 % interval', 'number', row => number(row.lo, 3) + ' to ' + number(row.hi, 3)],
    ['succeeds', 'number', row => number(100 * row.succeeds, 0) + ' %'],
    ['measured', 'number', row => number(row.here.measured)],
    ['mean', 'number', row => times(row.here.mean_gain)],
    ['failed', '', row => failureText(row.here.failures)],
    ['elsewhere, discounted', '', discountText],
    ['guess', 'number', row => row.guess_weight ? number(row.guess_weight, 1) : '-'],
  ], chosen.expected);
}

function stateTable() {
  table('States', 'What a kernel can suffer from. Choose one above.', [
    ['state', 'name', state => state.name], ['what it means', 'text', state => state.description],
    ['origin', '', state => state.origin], ['measured', 'number', state => number(state.tally.measured)],
    ['mean gain', 'number', state => times(state.tally.mean_gain)],
    ['failed', '', state => failureText(state.tally.failures)],
    ['most promising', 'name', state => state.expected[0]?.technique || '-'],
    ['its gain', 'number', state => times(state.expected[0]?.gain)],
  ], base.states);
}

function transitionTable() {
  table('Transitions', 'A technique right after another.', [
    ['after', 'name', row => row.previous], ['technique', 'name', row => row.technique],
    ['mean gain', 'number', row => times(row.after.mean_gain)],
    ['measured', 'number', row => number(row.after.measured)], ['failed', '', row => failureText(row.after.failures)],
    ['mean gain otherwise', 'number', row => times(row.otherwise.mean_gain)],
    ['measured otherwise', 'number', row => number(row.otherwise.measured)],
  ], base.transitions);
}

function failureTable() {
  table('Failures', 'What hung, crashed, was wrong or was rejected is not tried again blindly on the same task.', [
    ['state', 'name', row => row.state], ['technique', 'name', row => row.technique],
    ['how', '', row => element('span', {class: 'finding bad'}, row.failure)],
    ['reason', 'text', row => row.reasons.join(' / ') || '-'],
    ['evidence', 'name', row => evidenceLink(row.evidence)],
  ], base.outcomes.filter(row => row.failure));
}

function noteTable() {
  table('Notes', 'Words on states and techniques, and the evidence they rest on.', [
    ['state', 'name', note => note.state || 'any'], ['technique', 'name', note => note.technique || 'any'],
    ['note', 'text', note => note.text], ['by', '', note => note.role],
    ['evidence', 'name', note => evidenceLink(note.evidence)],
  ], base.notes);
}

function techniqueTable() {
  table('Where techniques come from', 'Descriptions are ours; the source says where to read more.', [
    ['technique', 'name', technique => technique.name], ['what it is', 'text', technique => technique.description],
    ['source', 'text', technique => technique.source || '-'],
  ], base.techniques);
}

function outcomeTable() {
  const left = base.outcomes_in_all - base.outcomes.length;
  const named = new Set();  // an id is given once
  const namedOnce = evidence => {
    const id = named.has(evidence) ? {} : {id: evidenceRows.get(evidence)};
    named.add(evidence);
    return element('span', id, evidence);
  };
  table('Evidence', 'Every number above is a sum over these outcomes, each of a step of a run or of a verdict.'
      + (left ? ' The newest; ' + number(left) + ' more are in the base.' : ''), [
    ['evidence', 'name', row => namedOnce(row.evidence)],
    ['state', 'name', row => row.state], ['technique', 'name', row => row.technique],
    ['after', 'name', row => row.previous || '-'],
    ['gain', 'number', row => row.failure ? '-' : times(row.gain)], ['failure', '', row => row.failure || '-'],
    ['context', '', row => [row.architecture, row.dtype, row.toolchain].join(', ')],
    ['task', 'name', row => row.task.slice(0, 12)], ['date', '', row => row.date],
  ], base.outcomes);
}

function drawTiles() {
  const discovered = base.states.filter(state => state.origin === 'discovered').length;
  document.getElementById('tiles').replaceChildren(
    tile(number(base.states.length), 'states, ' + discovered + ' of them discovered'),
    tile(number(base.techniques.length), 'techniques'),
    tile(number(base.guesses), 'guesses from documentation'),
    tile(number(base.total.measured), 'outcomes measured, on ' + number(base.tasks) + ' tasks'),
    tile(number(failed(base.total)), 'attempts that failed', failed(base.total) ? 'bad' : ''),
    tile(number(base.notes.length), 'notes'));
}

function drawStates() {
  document.getElementById('modes').replaceChildren(...base.states.map(state => {
    const count = attempts(state.tally);
    const button = element('button', {type: 'button', 'aria-pressed': state === chosen},
      state.name + (count ? ' (' + number(count) + ')' : ''));
    button.addEventListener('click', () => { chosen = state; draw(); });
    return button;
  }));
}

function drawHeader() {
  const seen = Object.entries(base.viewpoint).map(([name, value]) => (name === 'previous' ? 'after' : name) + ' ' + (value || 'none'));
  document.getElementById('badge').textContent = base.total.measured ? 'with evidence' : 'guesses only';
  document.getElementById('badge').className = 'badge ' + (base.total.measured ? 'live' : 'recorded');
  document.getElementById('subtitle').textContent = seen.length
    ? 'Seen from ' + seen.join(', ') + ': evidence from elsewhere is discounted.'
    : 'Seen from no context in particular: all evidence counts whole.';
  drawFooter(base.program);
}

function draw() {
  drawStates();
  drawTiles();
  clearCharts();
  gainChart();
  evidenceChart();
  transitionChart();
  document.getElementById('tables').replaceChildren();
  for (const part of [expectedTable, stateTable, transitionTable, failureTable, noteTable, outcomeTable, techniqueTable]) part();
}

drawHeader();
draw();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
