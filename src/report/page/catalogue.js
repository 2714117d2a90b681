'use strict';
// Draws a catalogue's kernels against the sizes of their shapes, from the JSON in #report-data.

const page = JSON.parse(document.getElementById('report-data').textContent);

// ---- what a configuration comes to, in terms that hold for every family ------------------------
// The product of the parameters that the family has; undefined where it has none of them.
function product(config, ...names) {
  const values = names.map(name => config[name]).filter(value => value !== undefined);
  return values.length ? values.reduce((a, b) => a * b) : undefined;
}
const tileRows = c => c.tile_m ?? product(c, 'warp_m', 'tile_warps_m');
const tileColumns = c => c.tile_n ?? product(c, 'warp_n', 'tile_warps_n');
const kBlock = c => c.tile_k ?? 32 * c.unroll;  // tiny loads `unroll` blocks of 32 at a time
const ringKib = c => c.stages * kBlock(c) * (tileRows(c) + tileColumns(c)) * 2 / 1024;  // 2 bytes each
const sharingCtas = c => product(c, 'splits', 'slices', 'cluster_slices');
const sharingWarps = c => product(c, 'slice_warps', 'warps_k');

// A trait's value is [text, order]; null where the family has nothing of the kind.
const counted = value => Number.isFinite(value) ? [String(value), value] : null;
const pairOf = (rows, columns) =>  // by area, then by rows
  Number.isFinite(rows * columns) ? [rows + ' x ' + columns, rows * columns + rows / 2 ** 20] : null;

function whereKMeets(c) {
  const split = c.splits > 1, inCluster = (c.split_cluster ?? 1) !== 0;
  const places = [['warps', sharingWarps(c) > 1], ['cluster', c.cluster_slices > 1 || split && inCluster],
                  ['second kernel', c.slices > 1 || split && !inCluster]];
  return [places.filter(([, is]) => is).map(([name]) => name).join(' + ') || 'not shared',
          places.reduce((order, [, is], i) => order + (is ? 2 ** i : 0), 0)];
}

function turnsOf(c) {
  if (!c.persistent) return ['a CTA a tile', 0];
  return ['persistent' + (c.ping_pong ? ', ping-pong' : '') + (c.even_rounds ? ', even rounds' : ''),
          1 + (c.even_rounds ? 1 : 0) + (c.ping_pong ? 2 : 0)];
}

function rasterOf(c) {
  if (c.raster_group === undefined) return null;
  const along = c.raster_along_m;
  return ['groups of ' + c.raster_group + (along === undefined ? '' : along ? ', along M' : ', along N'),
          4 * c.raster_group + (along === undefined ? 0 : 1 + along)];
}

function overlapOf(c) {
  if (c.overlap === undefined) return null;
  return [c.overlap + ([': after it', ': early'][c.overlap] ?? ': early, lets next in'), c.overlap];
}

function storeOf(c) {
  const [place, order] = c.tma_store ? ['TMA', 4] : c.staged_store ? ['shared memory', 2] : ['registers', 0];
  return c.stream_c ? [place + ', leaves L2 first', order + 1] : [place, order];
}

// `use`: what kernels do whose order is above `plain`; absent where the trait is no matter of more
// or less. `ordered`: neighbouring orders are alike and drawn as shades of one colour. `quantities`:
// numbers of a configuration that can rise and fall with a shape's sizes.
const TRAITS = [
  {name: 'family', title: 'Kernel family', about: 'Which of the kernel templates the configuration is of.',
   of: (c, family) => [family, (['tiny', 'mma_sync', 'wgmma'].indexOf(family) + 4) % 4], quantities: {}},
  {name: 'tile', title: 'Tile of a CTA', about: 'Rows and columns of C that one CTA works on at a time.', ordered: true,
   of: c => pairOf(tileRows(c), tileColumns(c)),
   quantities: {'tile rows': tileRows, 'tile columns': tileColumns, 'tile area': c => tileRows(c) * tileColumns(c),
                'tile rows / columns': c => tileRows(c) / tileColumns(c)}},
  {name: 'k-block', title: 'k-block', ordered: true, of: c => counted(kBlock(c)), quantities: {'k-block': kBlock},
   about: 'Steps of K that are fetched together: a stage of the ring, or what is in flight to registers.'},
  {name: 'stages', title: 'Stages', ordered: true, of: c => counted(c.stages),
   about: 'k-blocks in the ring of shared memory, loaded ahead of the products.',
   quantities: {'stages': c => c.stages, 'ring, KiB': ringKib}},
  {name: 'split', title: 'CTAs that share K', ordered: true, of: c => counted(sharingCtas(c)),
   about: "A tile's K is divided between so many CTAs, summed in order.",
   use: "share a tile's K between CTAs", plain: 1, quantities: {'CTAs that share K': sharingCtas}},
  {name: 'meeting', title: 'Where the parts of K meet', of: whereKMeets,
   about: "In a CTA between warps, in a cluster's shared memory, or in global memory, where a second kernel adds.",
   use: 'share K in one way or another', plain: 0, quantities: {'warps that share K': sharingWarps}},
  {name: 'cluster', title: 'Cluster', ordered: true,
   about: 'Tiles along M and N whose CTAs receive the same operands by multicast.',
   of: c => pairOf(c.cluster_m, c.cluster_n), use: 'share loads in a cluster', plain: 1.5,
   quantities: {'tiles of a cluster': c => product(c, 'cluster_m', 'cluster_n')}},
  {name: 'turns', title: 'Persistence and turns', of: turnsOf, use: 'are persistent', plain: 0,
   about: 'Whether CTAs walk over several tiles, and whether two warpgroups take turns at multiplying and storing.',
   quantities: {'persistent (1) or not (0)': c => c.persistent}},
  {name: 'raster', title: 'Raster (block swizzle)', ordered: true, of: rasterOf,
   about: 'The order of tiles: how many are walked side by side, and along which side of C, for reuse in L2.',
   quantities: {'raster group': c => c.raster_group}},
  {name: 'overlap', title: 'Overlap with the launch ahead', ordered: true, of: overlapOf,
   about: 'Whether a launch takes its place on the SMs before the one ahead of it has ended (1), and once that has '
     + 'ended lets the next one take its place (2).',
   use: 'begin before the launch ahead has ended', plain: 0, quantities: {'overlap': c => c.overlap}},
  {name: 'store', title: 'Store of C', about: 'How results leave the registers.', of: storeOf,
   use: 'do more than store from registers', plain: 0, quantities: {}},
];

// ---- statistics --------------------------------------------------------------------------------
const mean = values => values.reduce((a, b) => a + b, 0) / values.length;
const geomean = values => values.length ? Math.exp(mean(values.map(Math.log))) : null;

function median(values) {
  const sorted = [...values].sort((a, b) => a - b), last = sorted.length - 1;
  return (sorted[last >> 1] + sorted[last - (last >> 1)]) / 2;
}

// Equal values share the mean of their ranks.
function ranks(values) {
  const first = new Map(), last = new Map();
  [...values].sort((a, b) => a - b).forEach((value, i) => {
    if (!first.has(value)) first.set(value, i);
    last.set(value, i);
  });
  return values.map(value => (first.get(value) + last.get(value)) / 2);
}

// Spearman's, in [-1, 1]; null for fewer than eight pairs, and where one side never changes.
function rankCorrelation(xs, ys) {
  if (xs.length < 8) return null;
  const middle = (xs.length - 1) / 2, x = ranks(xs), y = ranks(ys);
  const sum = (a, b) => a.reduce((total, value, i) => total + (value - middle) * (b[i] - middle), 0);
  const spread = Math.sqrt(sum(x, x) * sum(y, y));
  return spread ? Math.min(1, Math.max(-1, sum(x, y) / spread)) : null;
}

// What pairs that have nothing to do with each other reach in one draw of 500, either way: 3.09
// standard deviations, each of 1 / sqrt(pairs - 1).
const chanceCorrelation = pairs => pairs < 2 ? 1 : 3.09 / Math.sqrt(pairs - 1);

const SIZES = ['M', 'N', 'K', 'MNK', 'M / N'];
function sizesOf({sizes: [m, n, k]}) { return [m, n, k, m * n * k, m / n]; }

// How a quantity goes with the sizes, over the rows that have it.
function trendOf(rows, name, of) {
  const having = rows.filter(row => Number.isFinite(of(row.config)));
  const values = having.map(row => of(row.config));
  const correlations = SIZES.map((_, i) => rankCorrelation(having.map(row => sizesOf(row)[i]), values));
  return {name, of, rows: having, values, correlations};
}

// By order; kernels that have nothing of the kind come first, as "none".
function valuesOf(rows, trait) {
  const values = new Map();
  for (const row of rows) {
    const value = trait.of(row.config, row.family);
    const [text, order] = value ?? ['none', -Infinity];
    if (!values.has(text)) values.set(text, {text, order, isNone: !value, rows: []});
    values.get(text).rows.push(row);
  }
  return [...values.values()].sort((a, b) => a.order - b.order || (a.text < b.text ? -1 : 1));
}

// ---- sentences ---------------------------------------------------------------------------------
const ratioText = value => value.toFixed(3);
const numberText = value => Math.abs(value) >= 1000 ? value.toFixed(0) : String(Number(value.toPrecision(4)));
const signedText = value => (value < 0 ? '' : '+') + value.toFixed(2);
const sizesText = row => row.sizes.join('x');
const shapesText = count => count + (count === 1 ? ' shape' : ' shapes');
const percent = (part, whole) => Math.round(100 * part / whole) + ' %';
const share = (part, whole) => whole ? part + ' of ' + whole + ' shapes (' + percent(part, whole) + ')' : 'no shapes';
const joined = parts => parts.length < 2 ? parts.join() : parts.slice(0, -1).join(', ') + ' and ' + parts.at(-1);
const inClass = (rows, name) => rows.filter(row => row.class === name).length;
const classesOf = rows => page.classes.filter(name => inClass(rows, name));
const byClass = (part, whole) => joined(classesOf(whole).map(name => inClass(part, name) + ' of ' + inClass(whole, name) + ' '
  + name + ' (' + percent(inClass(part, name), inClass(whole, name)) + ')'));
const KINDS = [['library', 'library'], ['alone', 'kernel alone']];  // whose ratios, and what they are called

// The value that most shapes of the class have, or the two that share the lead.
function leaderOf(values, name, shapes) {
  const most = Math.max(...values.map(value => inClass(value.rows, name)));
  const leaders = values.filter(value => inClass(value.rows, name) === most).map(value => value.text);
  if (leaders.length > 2) return 'none leads (' + leaders.length + ' values have ' + most + ' each)';
  return joined(leaders) + (leaders.length > 1 ? ' (each ' : ' (') + most + ' of ' + shapes + ')';
}

function leadersOf(rows, values) {
  if (values.length === 1) {
    return (rows.length === 1 ? 'The only shape' : 'Every one of the ' + rows.length + ' shapes') + ' has: ' + values[0].text + '.';
  }
  return 'Most frequent by class: '
    + classesOf(rows).map(name => name + ' shapes: ' + leaderOf(values, name, inClass(rows, name))).join('; ') + '.';
}

// Who uses what the trait offers, and on shapes of what sizes.
function useOf(rows, {use, plain, of}) {
  if (!use) return [];
  const isUser = row => of(row.config, row.family)?.[1] > plain;
  const users = rows.filter(isUser), others = rows.filter(row => !isUser(row));
  const medians = some => [0, 1, 2].map(i => SIZES[i] + ' ' + numberText(median(some.map(row => row.sizes[i])))).join(', ');
  const first = 'Kernels that ' + use + ': ' + share(users.length, rows.length) + '; by class ' + byClass(users, rows) + '.';
  if (!users.length || !others.length) return [first];
  return [first, 'The median shape of these: ' + medians(users) + '; of the others: ' + medians(others) + '.'];
}

// The place of the strongest of some correlations, either way.
const strongestOf = correlations => correlations.reduce((best, value, i) =>
  Math.abs(value ?? 0) > Math.abs(correlations[best] ?? 0) ? i : best, 0);

function trendText({name, rows, values, correlations}) {
  const strongest = strongestOf(correlations), correlation = correlations[strongest];
  if (correlation === null) return [];
  const strength = Math.abs(correlation);
  const over = signedText(correlation) + ' over ' + shapesText(rows.length);
  if (strength < 0.3 || strength < chanceCorrelation(rows.length)) {
    return ['No size says much about ' + name + ': the strongest rank correlation is ' + over + ', with ' + SIZES[strongest]
      + (strength < 0.3 ? '.' : '; so few may have it by chance.')];
  }
  const side = strongestOf(correlations.slice(0, 3));
  const sides = rows.map(row => row.sizes[side]);
  const at = end => {
    const there = values.filter((_, i) => sides[i] === end);
    return numberText(mean(there)) + ' at ' + SIZES[side] + ' = ' + end + ' (' + shapesText(there.length) + ')';
  };
  return ['Of the sizes ' + SIZES[strongest] + ' goes most with ' + name + ': rank correlation ' + over + '; on average '
    + at(Math.min(...sides)) + ', ' + at(Math.max(...sides)) + '.'];
}

function ratioSentence(chapter, kind, who) {
  const rows = chapter.rows.filter(row => row[kind].device);
  if (!rows.length) return [];
  const ratio = row => row[kind].device[0];
  const count = is => rows.filter(row => is(row[kind].device)).length;
  const worst = rows.reduce((one, other) => ratio(other) < ratio(one) ? other : one);
  return [who + ' (' + MODE_TITLES.device + '): geometric mean ' + ratioText(geomean(rows.map(ratio))) + ' over '
    + shapesText(rows.length) + '; shown faster than ' + chapter.baseline + ' on ' + count(([, lo]) => lo > 1) + ', shown slower on '
    + count(([, , hi]) => hi < 1) + ', the ratio itself below 1 on ' + share(count(([value]) => value < 1), rows.length)
    + '; the worst is ' + ratioText(ratio(worst)) + ' at ' + sizesText(worst) + '.'];
}

// Of the whole chapter: shapes, families, choices, ratios.
function overviewOf(chapter) {
  const rows = chapter.rows, left = rows.filter(row => row.choice === 'cublaslt');
  const screened = rows.filter(row => row.level === 'screened').length;
  return [
    shapesText(rows.length) + ': ' + joined(classesOf(rows).map(name => inClass(rows, name) + ' ' + name)) + ". The best kernel's family is "
      + joined(valuesOf(rows, TRAITS[0]).map(value => value.text + ' of ' + value.rows.length)) + '.',
    'The guard leaves ' + share(left.length, rows.length) + ' to cuBLASLt; by class ' + byClass(left, rows)
      + '. What follows describes the best kernel of every shape, also of these.',
    ...ratioSentence(chapter, 'library', 'The library, guard and dispatch included'),
    ...ratioSentence(chapter, 'alone', 'Kernels alone'),
    ...(!page.compared && screened ? ['The ratios of ' + share(screened, rows.length) + ' were screened while searching, which flatters '
      + 'the best of many; a comparison of the finished catalogue does not.'] : []),
    ...(page.compared ? ["Ratios are the comparison's, which measured " + share(chapter.compared.length, rows.length)
      + " with the catalogue's kernel, and " + rows.filter(row => row.other_kernel).length + ' with another one.'] : []),
  ];
}

// ---- plots -------------------------------------------------------------------------------------
// Even steps of lightness from violet over blue and green to yellow; both ends stand out from a
// white and from a dark card.
const RAMP = [[91, 53, 150], [58, 98, 178], [33, 138, 160], [56, 170, 120], [150, 196, 62], [240, 190, 40]];
function shade(i, count) {
  const along = count < 2 ? 1 : i * (RAMP.length - 1) / (count - 1), step = Math.min(Math.floor(along), RAMP.length - 2);
  const mixed = RAMP[step].map((from, c) => Math.round(from + (RAMP[step + 1][c] - from) * (along - step)));
  return '#' + mixed.map(value => value.toString(16).padStart(2, '0')).join('');
}

function coloursOf(trait, values) {
  const none = values[0].isNone ? 1 : 0;
  return values.map((value, i) => value.isNone ? '#9aa3ad'
    : trait.ordered ? shade(i - none, values.length - none) : PALETTE[(i - none) % PALETTE.length]);
}

const swatch = colour => element('i', {style: 'background:' + colour});
const short = text => text.length > 32 ? text.slice(0, 29) + '...' : text;

const exponentAxis = (least, greatest) => ({type: 'linear', min: least - 0.5, max: greatest + 0.5,
  afterBuildTicks: axis => { axis.ticks = Array.from({length: greatest - least + 1}, (_, i) => ({value: least + i})); }});

// How many shapes have each value, by floor(log2(MNK)): a row a value, a dot's area its count.
function countPlot(parent, title, values, colours) {
  const exponents = [...new Set(values.flatMap(value => value.rows.map(row => row.exponent)))];
  const counts = values.map(({rows}) => exponents.map(x => [x, rows.filter(row => row.exponent === x).length]).filter(([, count]) => count));
  const greatest = Math.max(...counts.flat().map(([, count]) => count));
  const labels = values.map(value => short(value.text));
  const box = drawChart(parent, title + ' by log2(MNK)', {type: 'bubble', data: {datasets: values.map((value, i) => ({
    label: value.text, backgroundColor: colours[i], borderWidth: 0, clip: false,
    data: counts[i].map(([x, count]) => ({x, y: labels[i], count, r: Math.max(1.7, 10 * Math.sqrt(count / greatest))}))}))},
    options: chartOptions({legend: false, x: 'log2(M N K), rounded down',
      xAxis: exponentAxis(Math.min(...exponents), Math.max(...exponents)),
      yAxis: {type: 'category', labels, offset: true, ticks: {color: themeColour('muted'), autoSkip: false}},
      tooltip: {label: ({dataset, raw}) => dataset.label + ': ' + raw.count + ' at log2(MNK) = ' + raw.x}})});
  box.style.height = 24 * values.length + 64 + 'px';
}

// Maps over M and N, one for each K; null where the sizes are too many for maps, where no map would
// have four shapes, and where neighbours would not be seen.
function mapsOf(rows, cellOf) {
  const [ms, ns, ks] = [0, 1, 2].map(i => [...new Set(rows.map(row => row.sizes[i]))].sort((a, b) => a - b));
  const ofK = k => rows.filter(row => row.sizes[2] === k);
  if (ms.length > 24 || ns.length > 24 || ks.length > 16 || ks.every(k => ofK(k).length < 4)
      || ms.length * ns.length * ks.length > 6 * rows.length) return null;
  return element('div', {class: 'maps'}, ...ks.map(k => {
    const cells = new Map(ofK(k).map(row => [row.sizes[0] + ' ' + row.sizes[1], row]));
    const cell = (m, n) => {
      const row = cells.get(m + ' ' + n);
      if (!row) return element('td', {});
      const [colour, text] = cellOf(row);
      return element('td', {style: 'background:' + colour, title: sizesText(row) + ': ' + text});
    };
    return element('table', {class: 'map'}, element('caption', {}, 'K = ' + k),
      ...ms.map(m => element('tr', {}, element('th', {scope: 'row'}, m), ...ns.map(n => cell(m, n)))),
      element('tr', {}, element('td', {class: 'corner'}), ...ns.map(n => element('th', {scope: 'col'}, element('span', {}, n)))));
  }));
}

function addMaps(parent, heading, entries, maps) {
  if (maps) parent.append(element('h3', {}, heading), element('p', {class: 'legend'}, ...entries.map(([text, colour]) =>
    element('span', {}, swatch(colour), text))), maps);
}

// Ratios that are worth a line; those before have the room.
const RATIO_TICKS = [1, 2, 0.5, 1.5, 0.8, 3, 1.2, 0.9, 0.7, 1.1, 4, 0.6, 5, 2.5, 1.3, 0.3, 8, 0.2, 0.1, 0.95, 1.05, 16, 32, 0.4, 1.8];
function setRatioTicks(axis) {
  const place = value => Math.log(value / axis.min) / Math.log(axis.max / axis.min), taken = [];
  for (const value of RATIO_TICKS) {
    const at = place(value);
    if (at >= 0 && at <= 1 && taken.every(other => Math.abs(place(other) - at) > 0.08)) taken.push(value);
  }
  axis.ticks = taken.sort((a, b) => a - b).map(value => ({value}));
}

// The ground below 1, where ours is slower.
const lossGround = {id: 'lossGround', beforeDraw({ctx, chartArea: {left, right, bottom}, scales}) {
  const top = scales.y.getPixelForValue(1);
  ctx.fillStyle = themeColour('bad-soft');
  ctx.fillRect(left, top, right - left, bottom - top);
}};

const findingOf = ([value, lo, hi]) => hi < 1 ? 'bad' : lo > 1 ? 'good' : value < 1 ? 'warn' : 'same';

function ratioPlot(parent, chapter, title, kind, mode) {
  const rows = chapter.rows.filter(row => row[kind][mode]).sort((a, b) => b[kind][mode][0] - a[kind][mode][0]);
  if (!rows.length) return;
  const values = rows.map(row => row[kind][mode][0]), colours = rows.map(row => themeColour(findingOf(row[kind][mode])));
  const min = 0.97 * Math.min(0.9, ...values), max = 1.03 * Math.max(1.1, ...values);
  const works = rows.map(row => row.sizes.reduce((sum, size) => sum + Math.log2(size), 0));
  const box = element('div', {}, element('h3', {}, title));
  parent.append(box);
  drawChart(box, title, {type: 'scatter', plugins: [lossGround, referenceLine, errorBars], data: {datasets: [{
    errorBars: 'thin', pointRadius: 3, pointHoverRadius: 6, pointBackgroundColor: colours, pointBorderColor: colours,
    data: rows.map((row, i) => ({x: works[i], y: values[i], lo: Math.max(min, row[kind][mode][1]), hi: Math.min(max, row[kind][mode][2])}))}]},
    options: chartOptions({legend: false, x: 'log2(M N K)', y: chapter.baseline + "'s time / ours, log scale", line: {value: 1},
      xAxis: exponentAxis(Math.floor(Math.min(...works)), Math.floor(Math.max(...works)) + 1),
      yAxis: {type: 'logarithmic', min, max, afterBuildTicks: setRatioTicks,
        ticks: {color: themeColour('muted'), callback: value => numberText(value)}},
      tooltip: {label: ({dataIndex: i}) => {
        const [value, lo, hi] = rows[i][kind][mode].map(ratioText);
        return sizesText(rows[i]) + ': ' + value + ' [' + lo + ', ' + hi + ']';
      }}})});
}

// Red below 1, grey within 1 %, blue above: [until, text, colour].
const RATIO_STEPS = [[0.9, 'below 0.9', '#b2182b'], [0.95, '0.9 to 0.95', '#d6604d'], [0.99, '0.95 to 0.99', '#f0a080'],
                     [1.01, '0.99 to 1.01', '#a9b0b8'], [1.1, '1.01 to 1.1', '#92c5de'], [1.5, '1.1 to 1.5', '#4393c3'],
                     [Infinity, '1.5 and more', '#2166ac']];
const ratioStep = ratio => RATIO_STEPS.find(([until]) => ratio < until);

// ---- cards -------------------------------------------------------------------------------------
const NO_RATIO = 'No ratio is known: the comparison measured none of these shapes with its kernel.';
const list = texts => element('ul', {class: 'findings'}, ...texts.map(text => element('li', {}, text)));
const ratioOrDash = ratio => ratio === null ? '-' : ratioText(ratio);
const ratioCell = ratio => ratio !== null && ratio < 1 ? element('b', {class: 'bad'}, ratioText(ratio)) : ratioOrDash(ratio);

function evidenceCard(chapter) {
  const facts = [['device', chapter.rows[0].device],
    ["catalogue's rows", [...new Set(chapter.rows.map(row => row.level))].sort().map(level =>
      level + ' (' + chapter.rows.filter(row => row.level === level).length + ')').join(', ')]];
  const add = (heading, origins) => {
    const each = name => [...new Set(origins.map(origin => origin[name]))].sort();
    const dates = each('date');
    facts.push([heading, dates[0] + ' to ' + dates.at(-1)], ['driver', each('driver').join(', ')], ['toolkit', each('toolkit').join(', ')],
      ['baseline', [...each('baseline'), ...each('library')].filter(Boolean).join(', ')]);
  };
  add('rows measured', chapter.rows.map(row => row.origin));
  if (chapter.compared.length) add('ratios compared', chapter.compared.map(row => page.sessions[row.session]));
  card('Evidence', '', factList(facts));
}

function ratioTable(chapter) {
  const series = page.modes.flatMap(mode => KINDS.map(([kind, who]) => ({mode, kind, who,
    rows: chapter.rows.filter(row => row[kind][mode])}))).filter(({rows}) => rows.length);
  const ratios = ({kind, mode}, rows) => rows.map(row => row[kind][mode][0]);
  const slower = ({kind, mode, rows}) => rows.filter(row => row[kind][mode][2] < 1).length;
  return tableOf([
    ['mode', '', one => MODE_TITLES[one.mode]], ['of', '', one => one.who], ['shapes', 'number', one => one.rows.length],
    ...page.classes.map(name => [name, 'number', one => ratioCell(geomean(ratios(one, one.rows.filter(row => row.class === name))))]),
    ['all', 'number', one => ratioCell(geomean(ratios(one, one.rows)))],
    ['below 1', 'number', one => ratios(one, one.rows).filter(ratio => ratio < 1).length],
    ['shown slower', 'number', one => slower(one) ? element('b', {class: 'bad'}, slower(one)) : 0],
    ['worst', 'number', one => ratioCell(Math.min(...ratios(one, one.rows)))]], series);
}

function ratioCard(chapter) {
  if (!chapter.hasRatios) return card('Ratio to ' + chapter.baseline, '', element('p', {}, NO_RATIO));
  const plots = element('div', {class: 'pair'});
  const made = card('Ratio to ' + chapter.baseline,
    'Its time over ours, with the interval; above the dashed line ours is faster. Green: shown faster. Red: shown slower. Amber: below 1, '
      + 'but the interval holds 1. Grey: at least 1, and the interval holds 1. The axis of ratios is logarithmic; intervals that reach '
      + 'beyond it are cut off. Every ratio below 1 is listed under Losses.',
    element('h3', {}, 'Geometric means by class'), ratioTable(chapter), plots);
  for (const mode of page.modes) {
    for (const [kind, who] of KINDS) ratioPlot(plots, chapter, MODE_TITLES[mode] + ': ' + who, kind, mode);
  }
  const known = chapter.rows.filter(row => row.alone.device);
  addMaps(made, 'Kernels alone in a hot graph: M down, N across, a map for each K', RATIO_STEPS.map(([, ...entry]) => entry),
    known.length ? mapsOf(known, row => [ratioStep(row.alone.device[0])[2], ratioText(row.alone.device[0])]) : null);
}

function trendCard(trends) {
  // As it is printed, so that no 0.50 is bold and another not.
  const isStrong = (value, pairs) => Math.round(100 * Math.abs(value)) >= Math.max(50, 100 * chanceCorrelation(pairs));
  const cell = (value, pairs) => value === null ? '-' : element(isStrong(value, pairs) ? 'b' : 'span', {}, signedText(value));
  card('What goes with what',
    "Spearman's rank correlation of a parameter with a size: +1 where it always rises with it, -1 where it always falls. Bold: 0.5 or more "
      + 'either way, and more than so many shapes show by chance in one draw of 500. A dash: it never changes, or there are fewer than eight '
      + 'shapes. It says what was found together, not why.',
    tableOf([['of the best kernels', '', trend => trend.name], ['shapes that have it', 'number', trend => trend.rows.length],
      ...SIZES.map((size, i) => [size, 'number', trend => cell(trend.correlations[i], trend.rows.length)])], trends));
}

function traitCard(chapter, trait) {
  const rows = chapter.rows, values = valuesOf(rows, trait), colours = coloursOf(trait, values);
  const colourOf = value => colours[values.indexOf(value)];
  const count = (part, whole) => element('span', part ? {} : {class: 'share'}, part,
    ...(part ? [' ', element('span', {class: 'share'}, percent(part, whole))] : []));
  const plot = element('div', {}, element('h3', {}, "Shapes whose best kernel has it, by size: a dot's area is their number"));
  const counts = tableOf([['value', '', value => element('span', {}, swatch(colourOf(value)), value.text)],
    ...page.classes.map(name => [name, 'number', value => count(inClass(value.rows, name), inClass(rows, name))]),
    ['all', 'number', value => count(value.rows.length, rows.length)],
    ['ratio', 'number', value => ratioOrDash(geomean(value.rows.filter(row => row.alone.device).map(row => row.alone.device[0])))]], values);
  const made = card(trait.title, trait.about,
    list([leadersOf(rows, values), ...useOf(rows, trait), ...chapter.trends.filter(trend => trend.name in trait.quantities).flatMap(trendText)]),
    element('div', {class: 'pair'}, plot,
      element('div', {}, element('h3', {}, "The same by class, and the geometric mean of these kernels' ratios"), counts)));
  countPlot(plot, trait.title, values, colours);
  const valueOf = new Map(values.flatMap(value => value.rows.map(row => [row, value])));
  // Where nothing differs a map would show one colour.
  if (values.length > 1) {
    addMaps(made, 'M down, N across, a map for each K', values.map((value, i) => [value.text, colours[i]]),
      mapsOf(rows, row => [colourOf(valueOf.get(row)), valueOf.get(row).text]));
  }
}

// "wgmma 128 x 96, stages 8, split 4, cluster 2 x 1": what the kernel has of these.
function kernelText(row) {
  const parts = {'family': '', 'tile': ' ', 'k-block': ' x ', 'stages': ', stages ', 'split': ', split ', 'cluster': ', cluster ', 'turns': ', '};
  const values = TRAITS.filter(trait => trait.name in parts).map(trait => [trait.name, trait.of(row.config, row.family)]);
  return values.map(([name, value]) => value ? parts[name] + value[0] : '').join('');
}

function lossCard(chapter) {
  if (!chapter.hasRatios) return card('Losses', '', element('p', {}, NO_RATIO));
  const losses = KINDS.flatMap(([kind, who]) => chapter.rows.flatMap(row => Object.entries(row[kind])
    .filter(([, [value]]) => value < 1).map(([mode, ratio]) => ({row, who, mode, ratio}))).sort((a, b) => a.ratio[0] - b.ratio[0]));
  if (!losses.length) return card('Losses', '', element('p', {}, 'No ratio of any shape in any measured mode is below 1.'));
  card('Losses',
    "Every ratio below 1, the library's before those of kernels alone, the worst first; red: the whole interval is below 1. A kernel alone "
      + 'that loses is not what callers get where the catalogue chooses cublaslt.',
    tableOf([['shape', '', ({row}) => sizesText(row)], ['class', '', ({row}) => row.class], ['measured', '', ({who}) => who],
      ['mode', '', ({mode}) => MODE_TITLES[mode] ?? mode],
      ['ratio', 'number', ({ratio: [value, , hi]}) => hi < 1 ? element('b', {class: 'bad'}, ratioText(value)) : ratioText(value)],
      ['interval', 'number', ({ratio: [, lo, hi]}) => ratioText(lo) + ' to ' + ratioText(hi)],
      ['choice', '', ({row}) => row.choice], ['kernel', 'text', ({row}) => kernelText(row)]], losses));
}

// The rows of one layout, one dtype and one device.
function chapterOf(title) {
  const rows = page.rows.filter(row => row.chapter === title);
  const compared = rows.filter(row => row.session !== undefined);
  const origins = page.compared ? compared.map(row => page.sessions[row.session]) : rows.map(row => row.origin);
  const baselines = [...new Set(origins.map(origin => origin.baseline))].filter(Boolean).sort();
  return {title, rows, compared, baseline: baselines.join(', ') || 'the baseline',
          hasRatios: rows.some(row => KINDS.some(([kind]) => Object.keys(row[kind]).length)),
          trends: TRAITS.flatMap(trait => Object.entries(trait.quantities)).map(([name, of]) => trendOf(rows, name, of))};
}
const chapters = [...new Set(page.rows.map(row => row.chapter))].sort().map(chapterOf);

function draw() {
  clearCharts();
  const tables = document.getElementById('tables');
  tables.replaceChildren();
  for (const chapter of chapters) {
    tables.append(element('h2', {class: 'chapter'}, chapter.title));
    card('What the data say', 'Classes by 2MNK: tiny up to 2^28, small up to 2^33, medium up to 2^37, large.', list(overviewOf(chapter)));
    evidenceCard(chapter);
    ratioCard(chapter);
    trendCard(chapter.trends);
    TRAITS.forEach(trait => traitCard(chapter, trait));
    lossCard(chapter);
  }
}

document.getElementById('subtitle').textContent = page.subtitle;
drawFooter('warpsmith');
draw();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
