'use strict';
// Pieces of pages that know nothing of reports: elements, numbers, cards with a chart or a table.
// Every text goes in as a text node, never as markup.

let drawn = [];

const MODE_TITLES = {
  'device': 'device, hot L2', 'device-cold': 'device, cold L2', 'offline': 'offline, back to back',
  'server': 'server, single calls', 'wall': 'wall clock',
};

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  for (const child of children) {
    made.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return made;
}

function number(value, digits) {
  if (typeof value !== 'number' || !isFinite(value)) return '-';
  return digits === undefined ? value.toLocaleString('en') : value.toFixed(digits);
}

// A chart at the end of `parent`; gives its box, whose height may be set.
function drawChart(parent, title, config) {
  const canvas = element('canvas', {role: 'img', 'aria-label': title});
  const box = element('div', {class: 'canvas'}, canvas);
  parent.append(box);
  // A phone shows a line for each entry of a legend, which may take half of the height at most.
  const entries = config.options?.plugins?.legend?.display ? config.data.datasets.length : 0;
  if (window.innerWidth < 600 && entries > 6) box.style.height = 44 * entries + 40 + 'px';
  drawn.push(new Chart(canvas, config));
  return box;
}

function chart(title, note, config, wide) {
  const made = element('div', {class: 'card' + (wide ? ' wide' : '')}, element('h2', {}, title), element('p', {class: 'muted'}, note));
  document.getElementById('charts').append(made);
  drawChart(made, title, config);
}

function clearCharts() {
  drawn.forEach(one => one.destroy());
  drawn = [];
  document.getElementById('charts').replaceChildren();
}

function card(title, note, ...contents) {
  const made = element('div', {class: 'card'}, element('h2', {}, title), ...(note ? [element('p', {class: 'muted'}, note)] : []), ...contents);
  document.getElementById('tables').append(made);
  return made;
}

// columns: [title, class, row => text or node]
function tableOf(columns, rows) {
  const head = element('tr', {}, ...columns.map(([name, kind]) => element('th', {class: kind, scope: 'col'}, name)));
  const body = rows.map(row => element('tr', {}, ...columns.map(([, kind, cell]) =>
    element('td', {class: kind}, cell(row)))));
  return element('div', {class: 'scroll'}, element('table', {}, element('thead', {}, head), element('tbody', {}, ...body)));
}

// Lines of both, each behind ' ', '-' (only in the first) or '+' (only in the second): a longest
// common subsequence. What is too long for its table is shown as changed as a whole.
function differences(before, after) {
  const rows = before.length, columns = after.length, width = columns + 1;
  if (rows * columns > 4e6) return [...before.map(line => '-' + line), ...after.map(line => '+' + line)];
  const common = new Uint16Array((rows + 1) * width);
  for (let i = rows - 1; i >= 0; --i) {
    for (let j = columns - 1; j >= 0; --j) {
      common[i * width + j] = before[i] === after[j] ? common[(i + 1) * width + j + 1] + 1
        : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  const lines = [];
  for (let i = 0, j = 0; i < rows || j < columns;) {
    if (i < rows && j < columns && before[i] === after[j]) lines.push(' ' + before[i++]), ++j;
    else if (j === columns || (i < rows && common[(i + 1) * width + j] >= common[i * width + j + 1])) lines.push('-' + before[i++]);
    else lines.push('+' + after[j++]);
  }
  return lines;
}

const changedLines = lines => element('pre', {}, ...lines.map(line =>
  element('span', {class: {'+': 'good', '-': 'bad'}[line[0]] || ''}, line + '\n')));

function table(title, note, columns, rows) {
  if (rows.length) card(title, note, tableOf(columns, rows));
}

const factList = facts => element('dl', {}, ...facts.flatMap(([name, text]) => [element('dt', {}, name), element('dd', {}, text)]));

function tile(value, text, kind) {
  return element('div', {class: 'tile ' + (kind || '')}, element('b', {}, value), element('span', {}, text));
}

// `library`: what the measurements rest on, beside device and driver.
function drawOrigin(origin, library) {
  const badge = document.getElementById('badge');
  badge.textContent = origin.recording ? 'recorded measurements' : 'measured live';
  badge.className = 'badge ' + (origin.recording ? 'recorded' : 'live');
  document.getElementById('subtitle').textContent =
    [origin.device, origin.driver && 'driver ' + origin.driver, library, origin.date].filter(Boolean).join(' · ');
  drawFooter(origin.program || 'warpsmith');
}

function drawFooter(program) {
  document.getElementById('footer').textContent =
    'Made by ' + program + '. This file is self-contained: it loads nothing from a network.';
}
