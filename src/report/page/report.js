'use strict';
// Draws the report from the JSON in #report-data. Every text goes in as a text node, never as markup.

const report = JSON.parse(document.getElementById('report-data').textContent);
const LEGEND_LIMIT = 16;  // more series than this are drawn without a legend
// The first that has a bar: programs have times in all modes, and PyTorch's on the wall clock alone.
let mode = (report.tallies.find(row => row.geomean_ratio > 0) ?? report.tallies[0])?.mode ?? 'device';

const FINDING_CLASSES = {faster: 'good', slower: 'bad', same: ''};

// Four digits, whole microseconds from 1,000 on.
function microseconds(value) {
  if (typeof value !== 'number' || !(value > 0)) return '-';
  return value < 1000 ? value.toPrecision(4) : Math.round(value).toLocaleString('en');
}
const winner = shape => shape.winners.find(row => row.mode === mode);
const isGemm = report.shapes.every(shape => shape.label.startsWith('hgemm-'));
// An axis needs no name that all share: "hgemm-TN 64x64x64" is "64x64x64" there.
const gemms = new Set(report.shapes.map(shape => shape.label.split(' ')[0]));
const short = shape => isGemm && gemms.size === 1 ? shape.label.split(' ').slice(1).join(' ') : shape.label;
const percentOfFloor = (floor, us) => floor > 0 && us > 0 ? 100 * floor / us : null;

function classOf(row) {
  if (row.below_floor) return 'warn';
  return FINDING_CLASSES[row.finding] ?? 'warn';
}
function colourOf(row) {
  return themeColour({good: 'good', bad: 'bad', warn: 'warn'}[classOf(row)] || 'same');
}

function ratioChart() {
  const shapes = report.shapes.filter(shape => winner(shape)?.ratio > 0);
  if (!shapes.length) return;
  const rows = shapes.map(winner);
  const bars = [...new Set(rows.map(row => row.bar))].join(', ');
  chart('Ratio to ' + bars + ' by ' + (isGemm ? 'shape' : 'task'),
    'Time of that baseline over ours, with its interval; above 1 ours is faster. Green: shown faster. Red: shown slower. '
      + 'Grey: the same within the band. Amber: not shown either way, or below the roofline bound.',
    {type: 'line', plugins: [referenceLine, errorBars],
     data: {labels: shapes.map(short), datasets: [{
       data: rows.map((row, i) => ({x: short(shapes[i]), y: row.ratio, lo: row.lo, hi: row.hi})),
       errorBars: true, showLine: false, pointRadius: shapes.length > 200 ? 1.5 : 3, pointHoverRadius: 6,
       pointBackgroundColor: rows.map(colourOf), pointBorderColor: rows.map(colourOf)}]},
     options: chartOptions({legend: false, y: 'ratio', line: {value: 1, label: 'as fast'},
       xAxis: {offset: true},
       yAxis: {suggestedMin: Math.min(0.95, ...rows.map(row => row.lo)) - 0.02,
               suggestedMax: Math.max(1.05, ...rows.map(row => row.hi)) + 0.02},
       tooltip: {label: item => {
         const row = rows[item.dataIndex];
         return [number(row.ratio, 3) + '  [' + number(row.lo, 3) + ', ' + number(row.hi, 3) + ']  ' + row.finding,
                 microseconds(row.ours_us) + ' µs, baseline ' + microseconds(row.bar_us) + ' µs', row.config];
       }}})}, true);
}

function progressChart() {
  const shapes = report.shapes.filter(shape => shape.progress.length);
  if (!shapes.length) return;
  const datasets = shapes.map((shape, i) => {
    const colour = PALETTE[i % PALETTE.length];
    const points = shape.progress.map(point => ({x: point.evaluations, y: point.best_ratio}));
    const last = points[points.length - 1];
    if (last.x < shape.evaluations) points.push({x: shape.evaluations, y: last.y});
    return {label: short(shape), data: points, stepped: true, borderColor: colour, backgroundColor: colour,
            borderWidth: shapes.length > LEGEND_LIMIT ? 1 : 2, pointRadius: 0, pointHitRadius: 6};
  });
  chart('Best ratio so far over evaluations',
    'Every candidate tried counts as one evaluation, those that failed too. As screened during the search.',
    {type: 'line', data: {datasets}, plugins: [referenceLine],
     options: chartOptions({legend: shapes.length <= LEGEND_LIMIT, x: 'evaluations', y: 'best ratio so far',
       xAxis: {type: 'linear', min: 0},
       yAxis: {suggestedMax: 1.05 * Math.max(...shapes.flatMap(shape => shape.progress.map(point => point.best_ratio)))},
       line: {value: 1, label: 'baseline'}})}, true);
}

function floorChart() {
  const shapes = report.shapes.filter(shape => winner(shape)?.floor_us > 0);
  if (!shapes.length) return;
  const series = (label, colour, time) => ({
    label, backgroundColor: colour, maxBarThickness: 26,
    data: shapes.map(shape => percentOfFloor(winner(shape).floor_us, time(winner(shape))))});
  chart('Percent of the roofline bound',
    'The least time that memory and arithmetic allow, over the measured time: 100 % would be a kernel that nothing but the hardware limits.',
    {type: 'bar', plugins: [referenceLine],
     data: {labels: shapes.map(short), datasets: [
       series('ours', PALETTE[0], row => row.ours_us),
       series('baseline', translucent(PALETTE[8], 0.75), row => row.bar_us)]},
     options: chartOptions({y: '% of the bound', yAxis: {min: 0, suggestedMax: 110}, line: {value: 100, label: 'bound'},
       tooltip: {label: item => item.dataset.label + ': ' + number(item.parsed.y, 1) + ' %'}})});
}

function failureChart() {
  const kinds = [...new Set(report.shapes.flatMap(shape => shape.failures.map(row => row.kind)))].sort();
  if (!kinds.length) return;
  const count = (shape, kind) => shape.failures.find(row => row.kind === kind)?.count || 0;
  chart('Where candidates failed', 'Candidates that did not pass, by what stopped them. Declined: the model gave no kernel.',
    {type: 'bar',
     data: {labels: report.shapes.map(short), datasets: kinds.map((kind, i) => ({
       label: kind, backgroundColor: PALETTE[(i + 1) % PALETTE.length], maxBarThickness: 34,
       data: report.shapes.map(shape => count(shape, kind))}))},
     options: chartOptions({y: 'candidates', xAxis: {stacked: true}, yAxis: {stacked: true, min: 0}})});
}

// A model looks good on what it was fitted to: say so at each plot and table of it.
const FITTED = report.proposers.some(row => row.proposer === 'guided')
  ? ' Guided uses a cost model that was fitted to these spaces, too; on shapes that it had not seen: data/hgemm/model_h200_search.csv.' : '';

function proposerChart(fraction) {
  const rows = report.proposers.filter(row => row.fraction === fraction);
  const spaces = [...new Set(rows.map(row => row.space))];
  const names = [...new Set(rows.map(row => row.proposer))];
  const of = (space, name) => rows.find(row => row.space === space && row.proposer === name);
  const label = space => space.replace(/^hgemm-/, '');
  chart('Proposers: evaluations to ' + Math.round(100 * fraction) + ' % of the best',
    'Middle half of ' + rows[0].seeds + ' seeded searches over the same recorded space, tick: median. Lower is better.' + FITTED,
    {type: 'bar', plugins: [medianTicks],
     data: {labels: spaces.map(label), datasets: names.map((name, i) => ({
       label: name, backgroundColor: translucent(PALETTE[i], 0.75), maxBarThickness: 20, minBarLength: 2,
       data: spaces.map(space => of(space, name) ? [of(space, name).lower_quartile, of(space, name).upper_quartile] : null),
       medians: spaces.map(space => of(space, name)?.median ?? null)}))},
     options: chartOptions({y: 'evaluations (log)', yAxis: {type: 'logarithmic', min: 1},
       tooltip: {label: item => {
         const row = of(spaces[item.dataIndex], item.dataset.label);
         return row.proposer + ': median ' + row.median + ' (' + row.lower_quartile + ' to ' + row.upper_quartile + ')';
       }}})});
}

function drawCharts() {
  clearCharts();
  ratioChart();
  progressChart();
  floorChart();
  failureChart();
  [...new Set(report.proposers.map(row => row.fraction))].sort().forEach(proposerChart);
}

function resultTable() {
  const rows = report.shapes.map(shape => ({shape, row: winner(shape)}));
  const cell = show => ({row}) => row ? show(row) : '-';
  const compared = show => ({row}) => row?.ratio > 0 ? show(row) : '-';
  table('Results', MODE_TITLES[mode] || mode, [
    [isGemm ? 'shape' : 'task', '', ({shape}) => shape.label],
    ['ours, µs', 'number', cell(row => microseconds(row.ours_us))],
    ['baseline, µs', 'number', cell(row => microseconds(row.bar_us))],
    ['ratio', 'number', compared(row => number(row.ratio, 3))],
    ['interval', 'number', compared(row => number(row.lo, 3) + ' to ' + number(row.hi, 3))],
    ['finding', '', cell(row => row.below_floor || row.ratio > 0
      ? element('span', {class: 'finding ' + classOf(row)}, row.below_floor ? 'below the bound: check' : row.finding)
      : '-')],
    ['roofline bound, µs', 'number', cell(row => microseconds(row.floor_us) + ' (' + number(percentOfFloor(row.floor_us, row.ours_us), 1) + ' %)')],
    ...(rows.some(({row}) => row?.aa_noise > 0) ? [['A/A noise', 'number', cell(row => row.aa_noise > 0 ? number(100 * row.aa_noise, 2) + ' %' : '-')]] : []),
    ['level', '', cell(row => row.level)],
    ['evaluations', 'number', ({shape}) => number(shape.evaluations)],
    [isGemm ? 'best configuration' : 'file', 'code', ({row}) => row ? row.config : 'nothing passed'],
  ], rows);
}

function baselineTable() {
  const names = [...new Set(report.shapes.flatMap(shape => shape.baselines.map(row => row.name)))];
  const time = (shape, name) => shape.baselines.find(row => row.name === name && row.mode === mode)?.us;
  if (!names.length) return;
  table('Baselines', 'Median microseconds, measured beside the winner.', [
    [isGemm ? 'shape' : 'task', '', shape => shape.label],
    ...names.map(name => [name, 'number', shape => microseconds(time(shape, name))]),
  ], report.shapes);
}

function failureTable() {
  table('Failures', 'Candidates that did not pass, with the first of each kind.', [
    [isGemm ? 'shape' : 'task', '', row => row.label], ['outcome', '', row => row.kind],
    ['count', 'number', row => number(row.count)], ['first one', 'text', row => row.example],
  ], report.shapes.flatMap(shape => shape.failures.map(row => ({...row, label: shape.label}))));
}

function proposerTable() {
  table('Proposers compared', 'Evaluations to a fraction of the best score of a recorded space.' + FITTED, [
    ['space', '', row => row.space], ['proposer', '', row => row.proposer],
    ['target', 'number', row => number(100 * row.fraction, 0) + ' %'],
    ['lower quartile', 'number', row => number(row.lower_quartile)],
    ['median', 'number', row => number(row.median)],
    ['upper quartile', 'number', row => number(row.upper_quartile)],
    ['seeds', 'number', row => number(row.seeds)],
  ], report.proposers);
}

// The winner's source, and its changes from the first candidate that passed.
function sourceCard() {
  const kernels = report.shapes.filter(shape => shape.source);
  if (!kernels.length) return;
  card('Kernels', 'The fastest kernel of each task, and what changed since the first that passed: lines with - went, lines with + came.',
    ...kernels.flatMap(({label, source, first_source}) => {
      const lines = differences(first_source.split('\n'), source.split('\n'));
      const count = sign => lines.filter(line => line[0] === sign).length;
      const changes = lines.filter((line, i) => lines.slice(Math.max(0, i - 3), i + 4).some(near => near[0] !== ' '));
      return [['source, ' + source.split('\n').length + ' lines', element('pre', {}, source)],
              ['changes, +' + count('+') + ' \u2212' + count('-') + ' lines', changedLines(changes)]]
        .map(([what, shown]) => element('details', {}, element('summary', {}, label + ': ' + what), shown));
    }));
}

function originCard() {
  const origin = report.origin;
  const facts = [
    ['measured', origin.recording ? 'replayed from the recording ' + origin.recording : 'live, on this device'],
    ['device', origin.device], ['driver', origin.driver], ['toolkit', origin.toolkit],
    ['baseline library', origin.baseline_library], ['date', origin.date], ['command', origin.command],
    ['program', origin.program],
  ].filter(([, text]) => text);
  card('Evidence', '', factList(facts));
}

function drawTables() {
  document.getElementById('tables').replaceChildren();
  resultTable();
  baselineTable();
  failureTable();
  sourceCard();
  proposerTable();
  originCard();
}

function drawTiles() {
  const tally = report.tallies.find(row => row.mode === mode);
  const total = field => report.shapes.reduce((sum, shape) => sum + shape[field], 0);
  const tiles = [tile(number(report.shapes.length), isGemm ? 'shapes' : 'tasks')];
  if (tally?.geomean_ratio > 0) {
    tiles.push(
      tile(number(tally.geomean_ratio, 3), 'geometric mean of ratios', tally.geomean_ratio >= 1 ? 'good' : 'bad'),
      tile(number(tally.faster), 'shown faster', tally.faster ? 'good' : ''),
      tile(number(tally.same + tally.not_shown), 'same, or not shown either way'),
      tile(number(tally.slower), 'shown slower', tally.slower ? 'bad' : ''));
    if (tally.nothing_passed) tiles.push(tile(number(tally.nothing_passed), 'without a result', 'bad'));
  } else if (tally) {
    tiles.push(tile('-', 'nothing to compare with in this mode'));
  }
  tiles.push(tile(number(total('evaluations')), 'candidates evaluated, ' + number(total('passed')) + ' passed'));
  document.getElementById('tiles').replaceChildren(...tiles);
}

function drawModes() {
  const modes = report.tallies.map(row => row.mode);
  document.getElementById('modes').replaceChildren(...(modes.length < 2 ? [] : modes.map(name => {
    const button = element('button', {type: 'button', 'aria-pressed': name === mode}, MODE_TITLES[name] || name);
    button.addEventListener('click', () => { mode = name; draw(); });
    return button;
  })));
}

function draw() {
  drawModes();
  drawTiles();
  drawCharts();
  drawTables();
}

drawOrigin(report.origin, report.origin.baseline_library);
draw();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
