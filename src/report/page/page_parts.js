'use strict';
// Pieces of pages that know nothing of reports: elements, numbers, cards with a chart or a table.
// Every text goes in as a text node, never as markup.

let drawn = [];

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

function chart(title, note, config, wide) {
  const canvas = element('canvas', {role: 'img', 'aria-label': title});
  document.getElementById('charts').append(element('div', {class: 'card' + (wide ? ' wide' : '')},
    element('h2', {}, title), element('p', {class: 'muted'}, note),
    element('div', {class: 'canvas'}, canvas)));
  // A phone shows a line for each entry of a legend, which may take half of the height at most.
  const entries = config.options?.plugins?.legend?.display ? config.data.datasets.length : 0;
  if (window.innerWidth < 600 && entries > 6) canvas.parentNode.style.height = 44 * entries + 40 + 'px';
  drawn.push(new Chart(canvas, config));
}

function clearCharts() {
  drawn.forEach(one => one.destroy());
  drawn = [];
  document.getElementById('charts').replaceChildren();
}

// columns: [title, class, row => text or node]
function table(title, note, columns, rows) {
  if (!rows.length) return;
  const head = element('tr', {}, ...columns.map(([name, kind]) => element('th', {class: kind, scope: 'col'}, name)));
  const body = rows.map(row => element('tr', {}, ...columns.map(([, kind, cell]) =>
    element('td', {class: kind}, cell(row)))));
  document.getElementById('tables').append(element('div', {class: 'card'}, element('h2', {}, title),
    element('p', {class: 'muted'}, note), element('div', {class: 'scroll'},
      element('table', {}, element('thead', {}, head), element('tbody', {}, ...body)))));
}

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
  document.getElementById('footer').textContent =
    'Made by ' + (origin.program || 'warpsmith') + '. This file is self-contained: it loads nothing from a network.';
}
