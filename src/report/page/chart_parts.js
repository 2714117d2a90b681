'use strict';
// Pieces of charts that know nothing of reports: colours, a reference line, intervals.

// Distinct in both colour schemes and for colour-blind readers (Okabe and Ito's palette, then darker).
const PALETTE = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#8a6fd1', '#9aa520',
                 '#5b7f95', '#b3742f', '#3f9c8f', '#a85c84'];

function themeColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
}

function translucent(hex, alpha) {
  return hex + Math.round(alpha * 255).toString(16).padStart(2, '0');
}

// Text that ends at x, on the card's own colour so that curves do not run through it.
function labelBeside(context, text, x, y) {
  context.font = '12px system-ui, sans-serif';
  context.textAlign = 'right';
  const width = context.measureText(text).width;
  context.fillStyle = translucent(themeColour('card'), 0.8);
  context.fillRect(x - width - 4, y - 12, width + 8, 16);
  context.fillStyle = themeColour('muted');
  context.fillText(text, x, y);
}

// A horizontal or vertical dashed line at options.value of scale options.scale, with a label.
const referenceLine = {
  id: 'referenceLine',
  afterDatasetsDraw(chart, _args, options) {
    if (options.value === undefined) return;
    const scale = chart.scales[options.scale || 'y'];
    const at = scale.getPixelForValue(options.value);
    const {left, right, top, bottom} = chart.chartArea;
    const vertical = scale.isHorizontal();
    if (vertical ? at < left || at > right : at < top || at > bottom) return;
    const context = chart.ctx;
    context.save();
    context.strokeStyle = themeColour('muted');
    context.lineWidth = 1.25;
    context.setLineDash([5, 4]);
    context.beginPath();
    context.moveTo(vertical ? at : left, vertical ? top : at);
    context.lineTo(vertical ? at : right, vertical ? bottom : at);
    context.stroke();
    if (options.label) labelBeside(context, options.label, vertical ? at - 4 : right - 4,
      vertical || at < top + 18 ? top + 15 : at - 5);
    context.restore();
  },
};

// Vertical error bars: each data point may carry {lo, hi} beside its y. 'thin' ones have no caps.
const errorBars = {
  id: 'errorBars',
  beforeDatasetsDraw(chart) {
    const scale = chart.scales.y;
    const context = chart.ctx;
    chart.data.datasets.forEach((dataset, index) => {
      const meta = chart.getDatasetMeta(index);
      if (!dataset.errorBars || meta.hidden) return;
      const cap = Math.min(9, Math.max(2, chart.chartArea.width / dataset.data.length / 4));
      meta.data.forEach((element, i) => {
        const point = dataset.data[i];
        if (!point || point.lo === undefined) return;
        const colours = dataset.pointBackgroundColor;
        const high = scale.getPixelForValue(point.hi), low = scale.getPixelForValue(point.lo);
        context.save();
        const isThin = dataset.errorBars === 'thin', colour = Array.isArray(colours) ? colours[i] : colours;
        context.strokeStyle = isThin ? translucent(colour, 0.55) : colour;
        context.lineWidth = isThin ? 1 : 2;
        context.beginPath();
        for (const edge of isThin ? [] : [high, low]) {
          context.moveTo(element.x - cap, edge);
          context.lineTo(element.x + cap, edge);
        }
        context.moveTo(element.x, high);
        context.lineTo(element.x, low);
        context.stroke();
        context.restore();
      });
    });
  },
};

// A tick across each horizontal floating bar at point.median.
const medianTicks = {
  id: 'medianTicks',
  afterDatasetsDraw(chart) {
    const context = chart.ctx;
    chart.data.datasets.forEach((dataset, index) => {
      const meta = chart.getDatasetMeta(index);
      if (!dataset.medians || meta.hidden) return;
      meta.data.forEach((bar, i) => {
        if (dataset.medians[i] === null) return;
        const at = chart.scales.y.getPixelForValue(dataset.medians[i]);
        context.save();
        context.strokeStyle = themeColour('text');
        context.lineWidth = 2;
        context.beginPath();
        context.moveTo(bar.x - bar.width / 2, at);
        context.lineTo(bar.x + bar.width / 2, at);
        context.stroke();
        context.restore();
      });
    });
  },
};

// What all charts share; `extra` goes on top.
function chartOptions(extra) {
  const grid = {color: themeColour('line')};
  // Names stand upright on a phone: slanted ones would take the plot's width.
  const upright = window.innerWidth < 600 && !extra.xAxis?.type ? 90 : 0;
  const axis = (title, more, rotation) => ({
    grid, title: {display: !!title, text: title, color: themeColour('muted')},
    ticks: {color: themeColour('muted'), minRotation: rotation, maxRotation: rotation || 60, autoSkip: true}, ...more,
  });
  return {
    responsive: true,
    maintainAspectRatio: false,
    animation: false,
    interaction: {mode: 'nearest', intersect: false},
    plugins: {
      legend: {display: extra.legend !== false, position: 'bottom',
               labels: {color: themeColour('text'), boxWidth: 12, boxHeight: 12, usePointStyle: !!extra.pointLegend}},
      tooltip: {callbacks: extra.tooltip || {}},
      referenceLine: extra.line || {},
    },
    scales: {x: axis(extra.x, extra.xAxis, upright), y: axis(extra.y, extra.yAxis, 0)},
  };
}
