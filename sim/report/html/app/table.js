// A table that sorts, filters, and folds groups and details.
//
// A group's label takes the first two columns.
//
//   make_table({columns: [{label, value(row), cell(row), number, total, fill, help}], rows, group(row), group_label(key, rows), group_order, detail(row), open, search, first: {column, down}})
//
// value: what sorts and is searched; cell: what is shown (default: value). total: groups show the sum of the column. fill: the cell has a bar behind it, the longest one for the largest value (of the rows; of
// the groups). group_order(key, key): of groups, while no column sorts. detail: what
// a click on a row unfolds. first: the order to begin with. Empty values sort last both ways. Rows of a folded group are not in the document: thousands of rows cost nothing until they are looked at.
function make_table(options) {
  const {columns, rows} = options;
  let order = options.first || {column: null, down: false}, filter = '';
  const open = new Set(options.open || []);
  const body = el('tbody');
  const heads = columns.map((column, at) => el('th', {class: column.number ? 'number' : '', scope: 'col', title: column.help},
    el('button', {type: 'button', click: () => sort_by(at)}, column.label)));
  const text_of = (row) => columns.map((column) => column.value(row)).join('\u0001').toLowerCase();

  function sort_by(at) {
    const first_down = Boolean(columns[at].number);
    if (order.column !== at) order = {column: at, down: first_down};
    else if (order.down === first_down || options.first) order = {column: at, down: !order.down};
    else order = {column: null, down: false};
    show_order();
    draw();
  }
  function show_order() {
    heads.forEach((head, index) => {
      if (index === order.column) head.setAttribute('aria-sort', order.down ? 'descending' : 'ascending');
      else head.removeAttribute('aria-sort');
      head.firstChild.textContent = columns[index].label + (index === order.column ? (order.down ? ' \u25be' : ' \u25b4') : '');
    });
  }
  function sorted(list, value) {
    if (order.column === null) return list;
    const sign = order.down ? -1 : 1;
    const compare = (a, b) => (a === '' || b === '' ? sign * ((a === '') - (b === '')) : typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b), 'en', {numeric: true}));
    return [...list].sort((a, b) => sign * compare(value(a), value(b)));
  }
  function row_nodes(row) {
    const node = el('tr', {class: options.detail ? 'row has-detail' : 'row'}, columns.map((column) => {
      const shown = column.cell ? column.cell(row) : column.value(row);
      return el('td', {class: [column.number ? 'number' : '', column.class || ''].join(' ').trim(), title: column.title ? column.title(row) : null, style: column.fill ? filled(column.value(row) / largest.get(column).row) : null},
        typeof shown === 'number' ? count(shown) : shown);
    }));
    if (options.detail) {
      node.addEventListener('click', () => {
        if (node.nextSibling && node.nextSibling.classList.contains('detail')) return node.nextSibling.remove();
        const detail = options.detail(row);
        if (detail) node.after(el('tr', {class: 'detail'}, el('td', {colspan: columns.length}, detail)));
      });
    }
    return node;
  }
  const total = (column, list) => sum(list.map((row) => Number(column.value(row)) || 0));
  const filled = (part) => (part > 0 ? `background-image: linear-gradient(to left, var(--fill) ${(100 * part).toFixed(1)}%, transparent 0)` : null);
  const largest = new Map();  // column -> of a row, of a group
  function group_nodes(key, list) {
    const head = el('tr', {class: 'group'}, columns.map((column, at) => {
      if (at === 0) return el('td', {colspan: 2, class: 'label'}, el('button', {type: 'button', 'aria-expanded': String(open.has(key)), click: () => toggle(key)}, options.group_label(key, list)), el('span', {class: 'dim'}, `  (${list.length})`));
      if (at === 1) return null;
      if (column.group_cell) return el('td', {class: column.number ? 'number' : ''}, column.group_cell(list, key));
      return el('td', {class: column.number ? 'number' : '', style: column.fill ? filled(total(column, list) / largest.get(column).group) : null}, column.total ? (column.format || count)(total(column, list)) : '');
    }));
    return [head, ...(open.has(key) ? sorted(list, (row) => columns[order.column].value(row)).map(row_nodes) : [])];
  }
  function toggle(key) {
    if (!open.delete(key)) open.add(key);
    draw();
  }
  function groups_of(list) {
    const groups = new Map();
    for (const row of list) {
      const key = options.group(row);
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(row);
    }
    if (order.column === null && options.group_order) return [...groups].sort(([a], [b]) => options.group_order(a, b));
    return sorted([...groups], ([, members]) => {
      const column = columns[order.column];
      return column.total ? total(column, members) : column.value(members[0]);
    });
  }
  function draw() {
    const shown = filter ? rows.filter((row) => text_of(row).includes(filter)) : rows;
    const nodes = options.group ? groups_of(shown).flatMap(([key, list]) => group_nodes(key, list)) : sorted(shown, (row) => columns[order.column].value(row)).map(row_nodes);
    body.replaceChildren(...nodes);
    if (counter) counter.textContent = filter ? `${count(shown.length)} of ${count(rows.length)}` : `${count(rows.length)} rows`;
  }
  const counter = options.search ? el('span', {class: 'dim'}) : null;
  const tools = el('div', {class: 'tools'},
    options.search ? el('input', {type: 'search', placeholder: options.search, 'aria-label': options.search, input: (event) => { filter = event.target.value.trim().toLowerCase(); draw(); }}) : null,
    options.group ? el('button', {type: 'button', class: 'plain', click: () => { rows.forEach((row) => open.add(options.group(row))); draw(); }}, 'unfold all') : null,
    options.group ? el('button', {type: 'button', class: 'plain', click: () => { open.clear(); draw(); }}, 'fold all') : null,
    ...(options.tools || []), counter);
  for (const column of columns.filter(({fill}) => fill)) {
    const values = options.group ? groups_of(rows).map(([, list]) => total(column, list)) : [];
    largest.set(column, {row: Math.max(...rows.map(column.value)), group: Math.max(...values)});
  }
  show_order();
  draw();
  return el('div', {}, tools, el('div', {class: 'table', tabindex: '0'}, el('table', {}, el('thead', {}, el('tr', {}, heads)), body)));
}
