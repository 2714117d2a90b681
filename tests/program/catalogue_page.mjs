// Runs the script of a catalogue's page on rows made for the purpose, in a document that only
// keeps what it is given: node catalogue_page.mjs PAGE.html
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {test} from 'node:test';
import vm from 'node:vm';

const html = fs.readFileSync(process.argv[2], 'utf8');
const [, shipped] = html.match(/id="report-data">(.*?)<\/script>/s);
// The first script is the plotting library, of which only the constructor's arguments matter here.
const scripts = [...html.matchAll(/<script>\n(.*?)<\/script>/gs)].map(match => match[1]).slice(1);

class Node {
  constructor(tag, text) { Object.assign(this, {tag, text, children: [], attributes: {}, style: {}}); }
  setAttribute(name, value) { this.attributes[name] = String(value); }
  append(...children) {
    for (const child of children) {
      assert(child instanceof Node, 'text is appended as a node');
      this.children.push(child);
    }
  }
  replaceChildren(...children) { this.children = []; this.append(...children); }
  get textContent() { return this.text ?? this.children.map(child => child.textContent).join(''); }
  set textContent(text) { this.children = [new Node('#text', text)]; }
  all(tag, kind) {
    const own = this.tag === tag && (!kind || this.attributes.class?.split(' ').includes(kind)) ? [this] : [];
    return [...own, ...this.children.flatMap(child => child.all(tag, kind))];
  }
}

// What is drawn of `data`: nodes, charts, and a way to call the script's functions.
function draw(data) {
  const places = {'report-data': new Node('script', JSON.stringify(data))}, charts = [];
  const context = vm.createContext({
    Node, window: {innerWidth: 1280},
    document: {createElement: tag => new Node(tag), createTextNode: text => new Node('#text', text), documentElement: null,
               getElementById: id => places[id] ??= new Node('div')},
    Chart: class { constructor(canvas, config) { charts.push({title: canvas.attributes['aria-label'], ...config}); } destroy() {} },
    getComputedStyle: () => ({getPropertyValue: name => name}), matchMedia: () => ({addEventListener() {}}),
  });
  for (const script of scripts) vm.runInContext(script, context);
  const tables = places.tables;
  const cards = new Map(tables.all('div', 'card').map(card => [card.all('h2')[0].textContent, card]));
  const texts = title => cards.get(title).all('li').map(item => item.textContent);
  const cells = title => cards.get(title).all('tr').map(row => row.children.map(cell => cell.textContent));
  return {tables, cards, charts, texts, cells, text: tables.textContent, call: code => vm.runInContext(code, context)};
}

const tiny = slices => ({cluster_slices: slices, overlap: 2, slice_warps: 4, tile_warps_m: 2, tile_warps_n: 1, unroll: 2, warp_m: 16, warp_n: 8});
const wgmma = (tile, stages, slices) => ({cluster_m: 2, cluster_n: 1, even_rounds: 1, overlap: 0, persistent: slices > 1 ? 0 : 1,
  ping_pong: 0, raster_along_m: 1, raster_group: 8, slices, splits: 1, stages, stream_c: 0, tile_k: 64, tile_m: tile, tile_n: 256, tma_store: 1});

function rowOf(sizes, family, config, ratio) {
  const mnk = sizes.reduce((a, b) => a * b);
  return {sizes, chapter: 'TN f16 on GPU', device: 'GPU', class: 2 * mnk <= 2 ** 28 ? 'tiny' : 'small', exponent: Math.floor(Math.log2(mnk)),
          choice: ratio >= 1 ? 'kernel' : 'cublaslt', family, config, level: 'screened',
          origin: {date: '2026-11-22', driver: '580', toolkit: 'nvrtc', library: 'cuBLASLt 13', baseline: 'cublaslt-auto'},
          alone: {device: [ratio, 0.99 * ratio, 1.01 * ratio]}, library: {}};
}

// M and K from 64 to 4096, N = 256: stages rise with K, tiles with M; K = 4096 is split.
const sizes = [64, 256, 1024, 4096];
const sample = () => sizes.flatMap(m => sizes.map(k => m === 64 ? rowOf([m, 256, k], 'tiny', tiny(k === 4096 ? 8 : 1), 1.25)
  : rowOf([m, 256, k], 'wgmma', wgmma(m / 4, Math.floor(k / 512) + 2, k === 4096 ? 4 : 1), m === 4096 ? 0.97 : 1.25)));
const pageOf = (rows, more) => ({subtitle: 'of a test', compared: false, rows, sessions: [], classes: ['tiny', 'small', 'medium', 'large'],
                                 modes: ['device', 'device-cold', 'offline', 'server'], ...more});
const includes = (texts, part) => assert(texts.some(text => text.includes(part)), `${part}\nin: ${texts.join('\n')}`);

const drawn = draw(pageOf(sample()));
const trait = (name, family, config) => {
  const value = drawn.call(`TRAITS.find(trait => trait.name === '${name}').of(${JSON.stringify(config)}, '${family}')`);
  return value ? value[0] : 'none';
};
const quantity = (name, config) =>
  drawn.call(`Object.assign({}, ...TRAITS.map(trait => trait.quantities))['${name}'](${JSON.stringify(config)})`);

test('traits of a wgmma kernel', () => {
  const config = wgmma(128, 4, 1);
  const wanted = {'family': 'wgmma', 'tile': '128 x 256', 'k-block': '64', 'stages': '4', 'split': '1', 'meeting': 'not shared',
                  'cluster': '2 x 1', 'turns': 'persistent, even rounds', 'raster': 'groups of 8, along M', 'overlap': '0: after it', 'store': 'TMA'};
  for (const [name, text] of Object.entries(wanted)) assert.equal(trait(name, 'wgmma', config), text);
  assert.equal(quantity('ring, KiB', config), 4 * 64 * (128 + 256) * 2 / 1024);
  assert.equal(quantity('tile rows / columns', config), 0.5);
});

test('traits of a tiny kernel', () => {
  const wanted = {'tile': '32 x 8', 'k-block': '64', 'stages': 'none', 'split': '8', 'meeting': 'warps + cluster', 'cluster': 'none',
                  'turns': 'a CTA a tile', 'raster': 'none', 'store': 'registers', 'overlap': '2: early, lets next in'};
  for (const [name, text] of Object.entries(wanted)) assert.equal(trait(name, 'tiny', tiny(8)), text);
  assert.equal(quantity('warps that share K', tiny(8)), 4);
});

test('an mma_sync kernel adds up in a second kernel or in its cluster', () => {
  assert.equal(trait('meeting', 'mma_sync', {splits: 4, split_cluster: 0, warps_k: 1}), 'second kernel');
  assert.equal(trait('meeting', 'mma_sync', {splits: 4, split_cluster: 1, warps_k: 1}), 'cluster');
  assert.equal(trait('split', 'mma_sync', {splits: 4}), '4');
});

test('a family without such parameters has no traits, and numbers of any size are numbers', () => {
  assert.equal(trait('family', "someones", {}), "someones");
  assert.equal(trait('tile', 'someones', {}), 'none');
  assert.equal(drawn.call(`TRAITS.every(trait => Object.values(trait.quantities).every(of => !Number.isFinite(of({}))))`), true);
  assert.equal(trait('tile', 'wgmma', wgmma(2 ** 63, 1, 1)), '9223372036854776000 x 256');
});

test('rank correlation', () => {
  const rising = '[1, 2, 3, 4, 5, 6, 7, 8]', of = (x, y) => drawn.call(`rankCorrelation(${x}, ${y})`);
  assert.equal(of(rising, '[1, 4, 9, 16, 25, 36, 49, 1e9]'), 1);
  assert.equal(of(rising, '[8, 7, 6, 5, 4, 3, 2, 1]'), -1);
  // Ranks 0.5 0.5 2.5 2.5 4.5 4.5 6.5 6.5: the covariance is 40, the variances 42 and 40.
  assert(Math.abs(of(rising, '[1, 1, 2, 2, 3, 3, 4, 4]') - 40 / Math.sqrt(42 * 40)) < 1e-12);
  assert.equal(of('[1, 2, 3]', '[1, 2, 3]'), null);
  assert.equal(of(rising, '[4, 4, 4, 4, 4, 4, 4, 4]'), null);
  assert.equal(of('[]', '[]'), null);
  assert.equal(drawn.call('geomean([])'), null);
  assert(Math.abs(drawn.call('geomean([2, 8])') - 4) < 1e-12);
  assert.equal(drawn.call('median([4, 1, 3, 2])'), 2.5);
});

// The bound holds for shuffled values, with ties on one side as a grid of shapes has them.
test('chance correlation is rarely reached by chance', () => {
  for (const pairs of [12, 60]) {
    const beyond = drawn.call(`{
      let state = 1, beyond = 0;
      const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
      const xs = Array.from({length: ${pairs}}, (_, i) => i % 4), ys = xs.map((_, i) => i);
      for (let draw = 0; draw < 10000; ++draw) {
        for (let i = ys.length - 1; i > 0; --i) {
          const j = Math.floor(random() * (i + 1));
          [ys[i], ys[j]] = [ys[j], ys[i]];
        }
        if (Math.abs(rankCorrelation(xs, ys)) > chanceCorrelation(${pairs})) ++beyond;
      }
      beyond;
    }`);
    assert(beyond < 25, `${beyond} of 10000 with ${pairs} pairs`);
  }
  assert(drawn.call('chanceCorrelation(8)') > 1);  // so few never say anything
  assert(drawn.call('chanceCorrelation(1000)') < 0.1);
});

test('sentences count what the data hold', () => {
  const overview = drawn.texts('What the data say');
  includes(overview, "16 shapes: 10 tiny and 6 small. The best kernel's family is tiny of 4 and wgmma of 12.");
  includes(overview, 'leaves 4 of 16 shapes (25 %) to cuBLASLt; by class 1 of 10 tiny (10 %) and 3 of 6 small (50 %)');
  includes(overview, 'shown faster than cublaslt-auto on 12, shown slower on 4, the ratio itself below 1 on 4 of 16 shapes (25 %); '
    + 'the worst is 0.970 at 4096x256x64.');
  includes(overview, '16 of 16 shapes (100 %) were screened while searching');
  const split = drawn.texts('CTAs that share K'), stages = drawn.texts('Stages');
  includes(split, "Kernels that share a tile's K between CTAs: 4 of 16 shapes (25 %); by class 1 of 10 tiny (10 %) and 3 of 6 small (50 %).");
  includes(split, 'The median shape of these: M 640, N 256, K 4096; of the others: M 640, N 256, K 256.');
  includes(stages, 'Of the sizes K goes most with stages');
  includes(stages, 'on average 2 at K = 64 (3 shapes), 10 at K = 4096 (3 shapes).');
});

test('sentences change with the data', () => {
  const rows = sample().map(row => ({...row, family: 'wgmma', config: wgmma(128, 4, 2), choice: 'kernel', level: 'certified',
                                     origin: {...row.origin, baseline: 'cublas'}}));
  const changed = draw(pageOf(rows)), overview = changed.texts('What the data say');
  includes(overview, 'leaves 0 of 16 shapes (0 %)');
  includes(overview, 'shown faster than cublas on 12');
  assert(!overview.join().includes('flatters'));
  includes(changed.texts('Tile of a CTA'), 'Every one of the 16 shapes has: 128 x 256.');
  includes(changed.texts('CTAs that share K'), '16 of 16 shapes (100 %)');
  assert(!changed.texts('CTAs that share K').join().includes('of the others'));
});

// Eight shapes whose stages rise with K nearly always are no finding.
test('few shapes show no trend', () => {
  const rows = [1, 2, 3, 5, 4, 6, 7, 8].map((stages, i) => rowOf([256, 256, 64 * (i + 1)], 'wgmma', wgmma(128, stages, 1), 1.2));
  const few = draw(pageOf(rows)).texts('Stages');
  includes(few, 'No size says much about stages: the strongest rank correlation is +0.98 over 8 shapes, with K; so few may have it by chance.');
  assert(!few.join().includes('goes most with stages'));
});

test('numbers are short', () => {
  const of = code => drawn.call(code);
  assert.deepEqual(['numberText(12288)', 'numberText(0.99512)', 'numberText(2.5)', 'ratioText(1.06)', 'share(0, 0)'].map(of),
    ['12288', '0.9951', '2.5', '1.060', 'no shapes']);
});

test('values are counted by class, each shape once and in order', () => {
  const rows = drawn.cells('CTAs that share K');
  assert.deepEqual(rows[0], ['value', 'tiny', 'small', 'medium', 'large', 'all', 'ratio']);
  assert.deepEqual(rows[2], ['4', '0', '3 50 %', '0', '0', '3 19 %', '1.149']);
  assert.deepEqual(drawn.cells('Stages')[1], ['none', '4 40 %', '0', '0', '0', '4 25 %', '1.250']);
  assert.equal(drawn.cells('Tile of a CTA').find(row => row[0] === '1024 x 256').at(-1), '0.970');
  assert.equal(drawn.call(`TRAITS.every(trait => {
    const values = valuesOf(page.rows, trait);
    return values.flatMap(value => value.rows).length === 16 && values.every((value, i) => !i || values[i - 1].order < value.order);
  })`), true);
});

test('trends are tabled, those that are strong in bold', () => {
  const stages = drawn.cards.get('What goes with what').all('tr').find(row => row.children[0].textContent === 'stages');
  assert.deepEqual(stages.children.map(cell => cell.textContent), ['stages', '12', '+0.00', '-', '+0.95', '+0.78', '+0.00']);
  assert.deepEqual(stages.all('b').map(bold => bold.textContent), ['+0.95']);
});

test('every shape is in its plots, and losses are listed', () => {
  const plots = drawn.charts.filter(chart => chart.title === 'device, hot L2: kernel alone');
  assert.equal(plots.length, 1);
  const {data, options} = plots[0], points = [...data.datasets[0].data];
  assert.equal(points.length, 16);
  assert.deepEqual(points.map(point => point.y), [...points.map(point => point.y)].sort((a, b) => b - a));  // losses on top
  assert.equal(options.plugins.tooltip.callbacks.label({dataIndex: 15}), '4096x256x4096: 0.970 [0.960, 0.980]');
  assert.deepEqual([...data.datasets[0].pointBackgroundColor].slice(11, 13), ['--good', '--bad']);
  for (const chart of drawn.charts.filter(chart => chart.type === 'bubble')) {
    assert.equal(chart.data.datasets.flatMap(set => set.data).reduce((sum, dot) => sum + dot.count, 0), 16);
  }
  assert.equal(drawn.charts.length, 12);
  const maps = drawn.cards.get('Tile of a CTA').all('table', 'map');
  assert.deepEqual(maps.map(map => map.all('caption')[0].textContent), ['K = 64', 'K = 256', 'K = 1024', 'K = 4096']);
  assert.equal(maps[2].all('td').filter(cell => cell.attributes.title === '256x256x1024: 64 x 256').length, 1);
  const losses = drawn.cells('Losses').slice(1);
  assert.deepEqual(losses[0], ['4096x256x64', 'tiny', 'kernel alone', 'device, hot L2', '0.970', '0.960 to 0.980', 'cublaslt',
    'wgmma 1024 x 256 x 64, stages 2, split 1, cluster 2 x 1, persistent, even rounds']);
  assert.equal(losses.length, 4);
  // Below 1, and of these shown slower: the interval of 0.97 ends at 0.98.
  assert.deepEqual(drawn.cells('Ratio to cublaslt-auto')[1].slice(-3), ['4', '4', '0.970']);
});

test('one shape of an unknown family is still a page', () => {
  const one = draw(pageOf([rowOf([1, 1, 1], 'someones', {}, 1.5)]));
  includes(one.texts('Tile of a CTA'), 'The only shape has: none.');
  assert(one.text.includes('No ratio of any shape in any measured mode is below 1.'));
  assert(!/NaN|undefined|Infinity|correlation \+/.test(one.text));
});

test('hostile text stays text, and a long name leaves room for the plot', () => {
  const rows = sample().map(row => ({...row, family: '<img src=x>' + 'f'.repeat(500), device: '<script>'}));
  const hostile = draw(pageOf(rows));
  assert(hostile.cards.get('Evidence').textContent.includes('<script>'));
  assert.equal(hostile.tables.all('img').length, 0);
  const labels = hostile.charts.find(chart => chart.title.startsWith('Kernel family')).options.scales.y.labels;
  assert.deepEqual([...labels], ['<img src=x>' + 'f'.repeat(18) + '...']);
});

test('a comparison brings the library and all modes, and its own evidence', () => {
  const rows = sample();
  rows.forEach(row => { row.alone = {}; row.origin.driver = 'old-driver'; });
  rows[0].session = 0;
  rows[1].other_kernel = true;
  for (const mode of ['device', 'device-cold', 'offline', 'server']) {
    rows[0].library[mode] = [0.9, 0.89, 0.91];
    rows[0].alone[mode] = [0.8, 0.79, 0.81];
  }
  rows.push({...rowOf([64, 64, 64], 'tiny', tiny(1), 1), chapter: 'NN f16 on GPU', alone: {}});
  const session = {date: '2026-11-23', driver: 'new-driver', toolkit: 'nvrtc', library: 'cuBLASLt 13', baseline: 'cublaslt-auto'};
  const compared = draw(pageOf(rows, {compared: true, sessions: [session]}));
  const headings = compared.tables.all('h3').map(heading => heading.textContent);
  assert(headings.includes('server, single calls: library'));
  includes(compared.texts('What the data say'), 'which measured 1 of 16 shapes (6 %) with the catalogue\'s kernel, and 1 with another one.');
  const facts = compared.cards.get('Evidence').all('dd').map(fact => fact.textContent);
  assert(facts.includes('old-driver') && facts.includes('new-driver'));
  // The library's losses come before those of kernels alone.
  assert.deepEqual(compared.cells('Losses').slice(1).map(row => row[2]), [...Array(4).fill('library'), ...Array(4).fill('kernel alone')]);
  // Nothing was compared in the other layout, so nothing is claimed of it.
  const nn = compared.text.slice(0, compared.text.indexOf('TN f16 on GPU'));
  assert(nn.includes('No ratio is known') && !nn.includes('is below 1'));
});

test('maps are left out where sizes are too many, and where they would be all but empty', () => {
  const maps = sizes => drawn.call(`mapsOf(${JSON.stringify(sizes.map(size => ({sizes: size})))}, () => ['#000000', ''])`);
  const tall = Array.from({length: 24}, (_, i) => [i + 1, 64, 64]);
  assert(maps(tall).all('td').some(cell => cell.attributes.title === '24x64x64: '));
  assert.equal(maps([...tall, [25, 64, 64]]), null);
  const diagonal = Array.from({length: 7}, (_, i) => [64 + i, 64 + i, 64]);
  assert.equal(maps(diagonal), null);  // 7 of 49
  assert.notEqual(maps([...diagonal, [64, 65, 64], [65, 64, 64]]), null);
});

test('every ratio has its colour', () => {
  const of = ratio => drawn.call(`ratioStep(${ratio})[1]`);
  assert.deepEqual([0.2, 0.9, 1, 70].map(of), ['below 0.9', '0.9 to 0.95', '0.99 to 1.01', '1.5 and more']);
});

test('the shipped catalogue: every kernel has its traits, and the page its numbers', () => {
  const real = draw(JSON.parse(shipped));
  for (const name of ['family', 'tile', 'k-block', 'split', 'overlap']) {
    assert.equal(real.call(`page.rows.every(row => TRAITS.find(trait => trait.name === '${name}').of(row.config, row.family))`), true, name);
  }
  assert(!/NaN|undefined|Infinity/.test(real.text));
  includes(real.texts('What the data say'), '1000 shapes: ');
});
