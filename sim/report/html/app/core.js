// What all sections share: the page's data, elements, numbers, colours.
const data = JSON.parse(document.getElementById('data').textContent);

/** el('td', {class: 'number'}, 'text', node, ...): attributes that are functions become listeners; null children are left out. */
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') node.addEventListener(key, value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

const count = (value) => Number(value).toLocaleString('en-US', {maximumFractionDigits: 0});
const number = (value) => Number(value).toLocaleString('en-US', {maximumSignificantDigits: 4});
// Rounds as the text report does, ties to even: toFixed takes 6.25 to 6.3, and among doubles only quarters are ties.
const tenths = (percent) => (percent * 4 % 4 === 1 ? percent - 0.05 : percent).toFixed(1);
const share = (value) => `${value >= 0.9995 ? (value * 100).toFixed(0) : tenths(value * 100)} %`;
const sum = (values) => values.reduce((a, b) => a + b, 0);
const unique = (values) => [...new Set(values)];

function bytes(value) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let at = 0;
  for (; value >= 1024 && at + 1 < units.length; ++at) value /= 1024;
  return `${number(value)} ${units[at]}`;
}

/** A section with its heading; the navigation lists it. */
function section(id, title, note, ...children) {
  return el('section', {id, 'data-title': title}, el('h2', {}, title), note ? el('p', {class: 'dim'}, note) : null, ...children);
}

function facts(entries) {
  return el('dl', {class: 'facts'}, entries.filter(([, value]) => value !== '' && value !== null && value !== undefined)
    .flatMap(([key, value]) => [el('dt', {}, key), el('dd', {}, value)]));
}

// Reasons why warps wait, by what they wait for: memory is blue, shared memory orange, tensor cores violet, barriers red, code and constants yellow.
const kReasonColour = {
  selected: 'issue', not_selected: 'ready', long_scoreboard: 'global', lg_throttle: 'global2', drain: 'drain', membar: 'global2',
  short_scoreboard: 'shared', mio_throttle: 'shared2', gmma: 'tensor', math_pipe_throttle: 'tensor2', barrier: 'barrier', wait: 'fixed',
  imc_miss: 'fetch', no_instruction: 'fetch2', branch_resolving: 'branch',
};
const reason_variable = (reason) => `--${kReasonColour[reason] || 'other'}`;
const reason_style = (reason) => `background: var(${reason_variable(reason)})`;
const colour = (variable) => getComputedStyle(document.documentElement).getPropertyValue(variable).trim();

/** reason -> cycles or shares, the largest first. */
const sorted_reasons = (stalls) => Object.entries(stalls).filter(([, value]) => value > 0).sort((a, b) => b[1] - a[1]);

function stacked_bar(stalls, all) {
  const total = all || sum(Object.values(stalls)) || 1;
  const parts = sorted_reasons(stalls);
  const title = parts.slice(0, 5).map(([reason, value]) => `${reason} ${share(value / total)}`).join('\n');
  return el('span', {class: 'stack', title}, parts.map(([reason, value]) => el('i', {style: `width: ${100 * value / total}%; ${reason_style(reason)}`})));
}
