'use strict';
// Draws a comparison of runs from the JSON in #report-data.

const comparison = JSON.parse(document.getElementById('report-data').textContent);
const sides = comparison.sides;
const colourOf = side => PALETTE[sides.indexOf(side) % PALETTE.length];
const LABELS = new Map(sides.flatMap(side => side.tasks.map(task => [task.key, task.label])));
const KEYS = [...LABELS.keys()];
const FINDING_CLASSES = {faster: 'good', slower: 'bad', same: ''};

const times = value => typeof value === 'number' ? number(value, 3) + 'x' : '-';
const reached = task => task ? task.certified || task.screened : null;
const taskOf = (side, key) => side.tasks.find(task => task.key === key);
const interval = spread => typeof spread.hi === 'number' ? number(spread.lo, 3) + ' to ' + number(spread.hi, 3) : '-';

function curveChart() {
  const drawnSides = sides.filter(side => side.curve.length);
  if (!drawnSides.length) return;
  const datasets = drawnSides.map(side => ({
    label: side.name, stepped: true, borderColor: colourOf(side), backgroundColor: colourOf(side),
    borderWidth: 2, pointRadius: 0, pointHitRadius: 6,
    data: side.curve.map(point => ({x: point.evaluations, y: point.geomean}))}));
  const common = KEYS.filter(key => sides.every(side => taskOf(side, key)?.progress.length)).length;
  chart('Learning curve: best ratio so far over evaluations',
    'Geometric mean over the ' + common + ' tasks in which every run passed something, from where all of them had. '
      + 'Evaluations are of each task; those that failed count too. As screened.',
    {type: 'line', data: {datasets}, plugins: [referenceLine],
     options: chartOptions({x: 'evaluations of a task', y: 'best ratio so far', xAxis: {type: 'linear', min: 0},
       line: {value: 1, label: 'baseline'}})}, true);
}

function taskChart() {
  if (!KEYS.length) return;
  const values = sides.flatMap(side => side.tasks.map(reached)).filter(Boolean);
  const datasets = sides.map(side => ({
    label: side.name, errorBars: true, showLine: false, pointRadius: 4, pointHoverRadius: 6,
    backgroundColor: colourOf(side), pointBackgroundColor: colourOf(side), pointBorderColor: colourOf(side),
    data: KEYS.map(key => {
      const result = reached(taskOf(side, key));
      return result ? {x: LABELS.get(key), y: result.ratio, lo: result.lo, hi: result.hi} : {x: LABELS.get(key), y: null};
    })}));
  chart('Ratio to the baseline, task by task', 'Certified where it was, else as screened; above 1 is faster than it.',
    {type: 'line', data: {labels: KEYS.map(key => LABELS.get(key)), datasets}, plugins: [referenceLine, errorBars],
     options: chartOptions({y: 'ratio', pointLegend: true, xAxis: {offset: true}, line: {value: 1, label: 'baseline'},
       yAxis: {suggestedMin: Math.min(0.9, ...values.map(row => row.lo)),
               suggestedMax: Math.max(1.1, ...values.map(row => row.hi))}})}, true);
}

function pairChart() {
  const pairs = comparison.pairs.filter(pair => typeof pair.ratio.hi === 'number');
  if (!pairs.length) return;
  const labels = pairs.map(pair => pair.side);
  const colours = pairs.map(pair => themeColour({faster: 'good', slower: 'bad', same: 'same'}[pair.finding] || 'warn'));
  chart('Against ' + pairs[0].against + ', paired by task',
    'Geometric mean of the ratio of speeds on the same tasks, with its 95 % interval. Green: faster. Red: slower. Amber: not shown either way.',
    {type: 'line', plugins: [referenceLine, errorBars],
     data: {labels, datasets: [{
       errorBars: true, showLine: false, pointRadius: 5, pointBackgroundColor: colours, pointBorderColor: colours,
       data: pairs.map(pair => ({x: pair.side, y: pair.ratio.geomean, lo: pair.ratio.lo, hi: pair.ratio.hi}))}]},
     options: chartOptions({legend: false, y: 'ratio', xAxis: {offset: true}, line: {value: 1, label: 'as fast'},
       yAxis: {suggestedMin: Math.min(0.95, ...pairs.map(pair => pair.ratio.lo)) - 0.02,
               suggestedMax: Math.max(1.05, ...pairs.map(pair => pair.ratio.hi)) + 0.02}})});
}

function tokenChart() {
  const spent = sides.filter(side => side.cost.tokens > 0);
  if (!spent.length) return;
  chart('Speed for tokens', 'Each point is a task: tokens spent on it, and the ratio reached.',
    {type: 'scatter', plugins: [referenceLine],
     data: {datasets: spent.map(side => ({
       label: side.name, backgroundColor: colourOf(side), pointRadius: 4,
       data: side.tasks.filter(reached).map(task => ({x: task.cost.tokens, y: reached(task).ratio}))}))},
     options: chartOptions({x: 'tokens', y: 'ratio', pointLegend: true, xAxis: {type: 'linear', min: 0},
       line: {value: 1, label: 'baseline'}})});
}

function techniqueChart() {
  const uses = new Map();
  sides.forEach(side => side.techniques.forEach(row => uses.set(row.technique, (uses.get(row.technique) || 0) + row.uses)));
  const names = [...uses.keys()].sort((a, b) => uses.get(b) - uses.get(a)).slice(0, 16);
  if (!names.length) return;
  const row = (side, name) => side.techniques.find(one => one.technique === name);
  chart('Techniques: how often used, how often they gained', 'Full bar: used. Dark part: the candidate was faster than what it changed.',
    {type: 'bar', data: {labels: names, datasets: sides.flatMap(side => [
       {label: side.name + ', gained', stack: side.name, backgroundColor: colourOf(side), maxBarThickness: 26,
        data: names.map(name => row(side, name)?.gained || 0)},
       {label: side.name + ', not', stack: side.name, backgroundColor: translucent(colourOf(side), 0.3), maxBarThickness: 26,
        data: names.map(name => (row(side, name)?.uses || 0) - (row(side, name)?.gained || 0))}])},
     options: chartOptions({y: 'attempts', xAxis: {stacked: true}, yAxis: {stacked: true, min: 0}})}, true);
}

function sideTable() {
  const pairOf = side => comparison.pairs.find(pair => pair.side === side.name);
  table('Runs', 'Ratios are to the baseline; tokens for each doubling of speed over the first kernel that passed.', [
    ['run', 'name', side => side.name], ['proposer', '', side => side.proposer],
    ['valid', 'number', side => side.valid + ' of ' + side.tasks.length],
    ['geomean', 'number', side => times(side.reached.geomean || null)],
    ['95 % interval', 'number', side => interval(side.reached)],
    ['against the first', 'number', side => pairOf(side) ? times(pairOf(side).ratio.geomean || null) : '-'],
    ['paired interval', 'number', side => pairOf(side) ? interval(pairOf(side).ratio) : '-'],
    ['finding', '', side => pairOf(side) ? element('span', {class: 'finding ' + (FINDING_CLASSES[pairOf(side).finding] ?? 'warn')},
      pairOf(side).finding) : '-'],
    ['evaluations', 'number', side => number(side.cost.evaluations)],
    ['GPU s', 'number', side => number(side.cost.gpu_seconds, 1)],
    ['tokens', 'number', side => number(side.cost.tokens)],
    ['tokens a doubling', 'number', side => side.tokens_a_doubling ? number(Math.round(side.tokens_a_doubling)) : '-'],
    ['states a task', 'number', side => number(side.states_a_task, 1)],
  ], sides);
}

function taskTable() {
  const cell = (side, key) => {
    const task = taskOf(side, key);
    const result = reached(task);
    return result ? times(result.ratio) + (task.certified ? '' : ' (screened)') : task ? 'nothing passed' : '-';
  };
  table('Tasks', 'What each run reached, and the states it met on the way.', [
    ['task', '', key => LABELS.get(key)],
    ...sides.map(side => [side.name, 'number', key => cell(side, key)]),
    ...sides.filter(side => side.states_a_task).map(side => [side.name + ': states', 'text', key => taskOf(side, key)?.states.join(', ') || '-']),
  ], KEYS);
}

function useTables() {
  for (const side of sides) {
    table('Techniques of ' + side.name, 'Gained: the candidate was faster than what it changed.', [
      ['technique', 'name', row => row.technique], ['used', 'number', row => number(row.uses)],
      ['passed', 'number', row => number(row.passed)], ['gained', 'number', row => number(row.gained)],
      ['mean gain', 'number', row => times(row.mean_gain)],
      ['failed', '', row => Object.entries(row.failures).map(([kind, count]) => count + ' ' + kind).join(', ') || '-'],
    ], side.techniques);
    table('Transitions of ' + side.name, 'A technique right after another, the most profitable first.', [
      ['after', 'name', row => row.previous], ['technique', 'name', row => row.technique],
      ['used', 'number', row => number(row.uses)], ['measured', 'number', row => number(row.measured)],
      ['mean gain', 'number', row => times(row.mean_gain)],
    ], side.transitions);
  }
}

function drawTiles() {
  document.getElementById('tiles').replaceChildren(...sides.map(side =>
    tile(times(side.reached.geomean || null), side.name + ': geometric mean, ' + side.valid + ' of ' + side.tasks.length + ' valid',
      side.reached.geomean >= 1 ? 'good' : '')),
    ...comparison.pairs.map(pair => tile(times(pair.ratio.geomean || null), pair.side + ' against ' + pair.against + ': ' + pair.finding,
      FINDING_CLASSES[pair.finding] || '')));
}

function draw() {
  drawTiles();
  clearCharts();
  for (const part of [curveChart, taskChart, pairChart, tokenChart, techniqueChart]) part();
  document.getElementById('tables').replaceChildren();
  sideTable();
  taskTable();
  useTables();
}

drawOrigin(comparison.origin, comparison.origin.toolkit);
draw();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
