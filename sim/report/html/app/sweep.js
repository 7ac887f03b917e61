// The page of a sweep: which tile and how many stages, and what binds. data.sweep: columns, rows of texts, and which column is what.
const kSeriesColours = ['--global', '--shared', '--tensor', '--issue', '--barrier', '--copy', '--fixed', '--global2', '--shared2', '--tensor2'];

function read_sweep({columns, rows, roles}) {
  const at = (name) => columns.indexOf(name);
  const numeric = columns.map((_, index) => rows.some((row) => row[index] !== '') && rows.every((row) => row[index] === '' || Number.isFinite(Number(row[index]))));
  const points = rows.map((cells) => {
    const value = (role) => (at(roles[role]) < 0 ? '' : cells[at(roles[role])]);
    return {cells, tile: value('tile'), stages: Number(value('stages')), cycles: Number(value('cycles')) || 0, time: Number(value('time')) || 0, bound: value('bound'), stalls: value('stalls'), reason: value('reason')};
  });
  // What else was varied: one choice each.
  const choices = roles.parameters.filter((name) => at(name) >= 0 && name !== roles.tile && name !== roles.stages)
    .map((name) => ({name, values: unique(rows.map((row) => row[at(name)]))})).filter(({values}) => values.length > 1);
  const choice_of = (point) => choices.map(({name}) => point.cells[at(name)]);
  return {columns, numeric, points, choices, choice_of};
}

/** "latency (L2 bandwidth 41 %)" and "DRAM bandwidth 83 %" -> what binds, without its share; for latency, with what warps wait for most. */
function binding_name({bound, stalls}) {
  const name = bound.replace(/\s*\(.*$/, '').replace(/\s+[\d.]+ ?%.*$/, '') || '(unknown)';
  const wait = stalls.split(',').map((part) => part.trim().split(' ')[0]).find((reason) => reason && reason !== 'selected' && reason !== 'not_selected');
  return name === 'latency' && wait ? `latency: ${wait}` : name;
}
/** Shared memory does not suffice, or something else is wrong. */
const refusal = (point) => (point.reason.startsWith('smem ') ? 'does not fit' : 'cannot run');
const cell_text = (text, numeric) => (numeric && text !== '' ? (Number.isInteger(Number(text)) ? count(text) : number(text)) : text);
// Columns of the CSV that read better another way: their head, and how a value shows.
const kColumns = {
  time_us: {label: '\u00b5s'}, tflops: {label: 'TFLOPS'}, share_of_peak: {label: 'of the peak', text: share}, binding_share: {text: share}, occupancy: {text: share},
  shared_bytes: {label: 'shared memory', text: bytes}, bytes_in_flight: {text: bytes}, registers: {}, stalls: {label: 'warps wait for'},
};
const column_text = (name, text, numeric) => (text !== '' && numeric && kColumns[name] && kColumns[name].text ? kColumns[name].text(Number(text)) : cell_text(text, numeric));

function tile_order(a, b) {
  const volume = (tile) => tile.split('x').reduce((product, n) => product * Number(n), 1);
  return volume(a) - volume(b) || a.localeCompare(b, 'en', {numeric: true});
}

function heat_map(points) {
  const tiles = unique(points.map((p) => p.tile)).sort(tile_order), stages = unique(points.map((p) => p.stages)).sort((a, b) => a - b);
  const ran = points.filter((p) => p.cycles > 0).sort((a, b) => b.cycles - a.cycles);  // the best last: its frame lies on top
  const least = Math.min(...ran.map((p) => p.cycles)), most = Math.max(...ran.map((p) => p.cycles));
  const cell = (p) => [stages.indexOf(p.stages), tiles.indexOf(p.tile), p.cycles];
  const by_place = new Map(points.map((p) => [`${stages.indexOf(p.stages)} ${tiles.indexOf(p.tile)}`, p]));
  const tip = ({value: [x, y]}) => {
    const p = by_place.get(`${x} ${y}`);
    return `<b>${escaped(p.tile)}, ${p.stages} stages</b><br>${p.cycles ? `${count(p.cycles)} cycles, ${share(p.cycles / least - 1)} over the best<br>${p.time ? `${number(p.time)} \u00b5s<br>` : ''}${escaped(p.bound)}${p.stalls ? `<br>${escaped(p.stalls.split(',').slice(0, 3).join(','))}` : ''}` : escaped(p.reason || 'did not run')}`;
  };
  const text = (p) => (is_narrow() ? `${number(p.cycles / 1000)}k` : count(p.cycles));
  const options = () => ({
    grid: {left: 96, right: 14, top: 8, bottom: 84},
    tooltip: tooltip({formatter: tip}),
    xAxis: axis({type: 'category', data: stages, name: 'stages', nameLocation: 'middle', nameGap: 26}),
    yAxis: axis({type: 'category', data: tiles, axisLabel: {fontSize: 11}}),
    visualMap: {min: least, max: Math.max(most, least + 1), seriesIndex: 0, orient: 'horizontal', left: 'center', bottom: 2, itemHeight: 160, textStyle: {color: colour('--dim')}, text: [`${count(most)} cycles`, count(least)],
      inRange: {color: ['--heat0', '--heat1', '--heat2', '--heat3'].map(colour)}},
    series: [
      {type: 'heatmap', itemStyle: {borderColor: colour('--card'), borderWidth: 2}, data: ran.map((p) => ({value: cell(p), itemStyle: p.cycles === least ? {borderColor: colour('--good'), borderWidth: 3} : undefined,
        label: {show: true, formatter: text(p), color: (p.cycles - least) / (most - least || 1) > 0.75 ? colour('--card') : colour('--text'), fontWeight: p.cycles === least ? 'bold' : 'normal'}}))},
      {type: 'heatmap', itemStyle: {color: colour('--soft'), borderColor: colour('--card'), borderWidth: 2, decal: {symbol: 'rect', dashArrayX: [1, 0], dashArrayY: [2, 5], rotation: -0.8, color: colour('--line')}},
        data: points.filter((p) => !p.cycles).map((p) => ({value: [stages.indexOf(p.stages), tiles.indexOf(p.tile), 0], label: {formatter: is_narrow() ? '\u2013' : refusal(p)}})), label: {show: true, color: colour('--dim'), fontSize: 11}},
    ],
  });
  return chart_box({height: 110 + 40 * tiles.length, options, label: 'cycles by tile and stages'});
}

function stage_curves(points) {
  const tiles = unique(points.map((p) => p.tile)).sort(tile_order);
  const ran = points.filter((p) => p.cycles > 0);
  const bounds = unique(ran.map(binding_name)).sort();
  const timed = ran.every((p) => p.time > 0);
  const value = (p) => (timed ? p.time : p.cycles);
  const options = () => {
    const colour_of = new Map(bounds.map((bound, at) => [bound, colour(kSeriesColours[at % kSeriesColours.length])]));
    return {
      grid: {left: is_narrow() ? 46 : 62, right: is_narrow() ? 82 : 110, top: 26, bottom: 48},
      tooltip: tooltip({formatter: (p) => `<b>${escaped(p.seriesName)}, ${p.data.point.stages} stages</b><br>${count(p.data.point.cycles)} cycles<br>${escaped(p.data.point.bound)}<br>${escaped(binding_name(p.data.point))}`}),
      xAxis: axis({type: 'value', minInterval: 1, name: 'stages', nameLocation: 'middle', nameGap: 28, min: 'dataMin', max: 'dataMax'}),
      yAxis: axis({type: 'value', name: timed ? data.sweep.roles.time.replace(/^time_us$/, 'µs') : 'cycles', scale: true}),
      series: tiles.map((tile) => ({name: tile, type: 'line', symbolSize: 11, symbol: 'circle', lineStyle: {width: 1.5, color: colour('--other')},
        endLabel: {show: true, formatter: '{a}', color: colour('--dim'), fontSize: 11}, labelLayout: {moveOverlap: 'shiftY'},
        data: ran.filter((p) => p.tile === tile).sort((a, b) => a.stages - b.stages).map((p) => ({value: [p.stages, value(p)], point: p, itemStyle: {color: colour_of.get(binding_name(p))}}))})),
    };
  };
  const legend = el('div', {class: 'legend'}, bounds.map((bound, at) => el('span', {}, el('i', {style: `background: var(${kSeriesColours[at % kSeriesColours.length]})`}), bound)));
  return [legend, chart_box({height: 360, options, label: 'time against stages'})];
}

/** The columns that the sweep shows, as far as they say something; a row unfolds to all. */
function sweep_table(sweep) {
  const {columns, numeric, points, roles} = sweep;
  const at = (name) => columns.indexOf(name);
  const values = (index) => unique(points.map((p) => p.cells[index]));
  const shown = (roles.shown.length ? roles.shown : columns).map(at).filter((index) => index >= 0 && values(index).length > 1);
  const filters = new Map();
  const holder = el('div');
  const value = (index) => (p) => (numeric[index] && p.cells[index] !== '' ? Number(p.cells[index]) : p.cells[index]);
  const label = (name) => (kColumns[name] && kColumns[name].label) || name.replaceAll('_', ' ');
  const column = (index) => ({label: label(columns[index]), number: numeric[index], value: value(index), class: numeric[index] ? '' : 'short',
    cell: (p) => column_text(columns[index], p.cells[index], numeric[index]), title: numeric[index] ? undefined : (p) => p.cells[index]});
  // Why a point cannot run stands where the others say what binds them.
  const bound = {label: 'bound by', class: 'long', value: (p) => p.bound || p.reason, cell: (p) => (p.cycles ? el('span', {class: 'nowrap'}, p.bound) : el('span', {class: 'bad'}, `${refusal(p)}: ${p.reason}`))};
  const draw = () => holder.replaceChildren(make_table({
    columns: shown.map((index) => (columns[index] === roles.bound ? bound : column(index))), rows: points.filter((p) => [...filters.values()].every((keeps) => keeps(p))), search: 'search', first: {column: shown.indexOf(at(roles.cycles)), down: false},
    detail: (p) => facts(columns.map((name, index) => [name, column_text(name, p.cells[index], numeric[index])]))}));
  const filter = (name, options, keeps) => el('label', {}, `${name} `, el('select', {'data-column': name, change: ({target}) => { if (target.value === '') filters.delete(name); else filters.set(name, keeps(options[target.value])); draw(); }},
    el('option', {value: ''}, 'all'), options.map((text, index) => el('option', {value: index}, text || '(none)'))));
  const tools = [roles.tile, roles.stages, ...roles.parameters].filter((name, index, list) => at(name) >= 0 && list.indexOf(name) === index && values(at(name)).length > 1)
    .map((name) => filter(name, values(at(name)), (text) => (p) => p.cells[at(name)] === text));
  tools.push(filter('binds', unique(points.filter((p) => p.cycles).map(binding_name)).sort(), (text) => (p) => p.cycles > 0 && binding_name(p) === text));
  if (points.some((p) => !p.cycles)) tools.push(filter('state', ['runs', 'cannot run'], (text) => (p) => (p.cycles > 0) === (text === 'runs')));
  draw();
  return section('points', 'All points', 'Those that cannot run are kept, with the reason. Columns sort on a click; a row unfolds to everything that is known of the point.', el('div', {class: 'tools'}, tools), holder);
}

/** Where there are no tiles to map: a bar for each point, the fastest first. */
function time_bars(sweep) {
  const ran = sweep.points.filter((p) => p.cycles > 0).sort((a, b) => a.cycles - b.cycles).slice(0, kTimeBars);
  if (ran.length < 2) return null;
  const bounds = unique(ran.map(binding_name)).sort();
  const style = (name) => `background: var(${kSeriesColours[bounds.indexOf(name) % kSeriesColours.length]})`;
  const most = ran[ran.length - 1].cycles;
  // As much of the choice as tells points apart: a launch file is often the kernel's own.
  const differing = (length) => unique(sweep.points.map((p) => sweep.choice_of(p).slice(0, length).join())).length;
  const needed = sweep.choices.findIndex((_, at) => differing(at + 1) === differing(sweep.choices.length)) + 1;
  const name = (p) => sweep.choice_of(p).slice(0, needed).join(', ');
  return section('times', 'Cycles', 'The colour is what binds the point.',
    el('div', {class: 'legend'}, bounds.map((bound) => el('span', {}, el('i', {style: style(bound)}), bound))),
    el('div', {class: 'bars plain'}, ran.flatMap((p) => [el('span', {}, name(p)), el('span', {class: 'value'}, count(p.cycles)),
      el('span', {class: 'bar'}, el('i', {style: `width: ${100 * p.cycles / most}%; ${style(binding_name(p))}`}))])));
}
const kTimeBars = 60;

/** The fastest of each choice, when there is one. */
function best_table(sweep) {
  const groups = new Map();
  for (const p of sweep.points) {
    const key = sweep.choice_of(p).join('\u0001');
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(p);
  }
  const rows = [...groups.values()].map((list) => {
    const ran = list.filter((p) => p.cycles > 0).sort((a, b) => a.cycles - b.cycles);
    return {names: sweep.choice_of(list[0]), best: ran[0], worst: ran[ran.length - 1], ran: ran.length, all: list.length};
  });
  const of_best = (name) => ({best}) => (best && sweep.columns.includes(name) && best.cells[sweep.columns.indexOf(name)] !== '' ? Number(best.cells[sweep.columns.indexOf(name)]) : '');
  const percent = (value) => (value === '' ? '' : share(value));
  const columns = [
    ...sweep.choices.map(({name}, at) => ({label: name, value: (row) => row.names[at]})),
    {label: 'fastest', value: ({best}) => (best ? [best.tile, best.stages ? `${best.stages} stages` : ''].filter(Boolean).join(', ') : 'none runs')},
    {label: 'cycles', value: ({best}) => (best ? best.cycles : ''), number: true},
    {label: '\u00b5s', value: ({best}) => (best && best.time ? best.time : ''), cell: ({best}) => (best && best.time ? number(best.time) : ''), number: true},
    {label: 'TFLOPS', value: of_best('tflops'), cell: (row) => cell_text(of_best('tflops')(row), true), number: true},
    {label: 'of the peak', value: of_best('share_of_peak'), cell: (row) => percent(of_best('share_of_peak')(row)), number: true},
    {label: 'binds', value: ({best}) => (best ? binding_name(best) : '')},
    {label: 'slowest', value: ({best, worst}) => (best ? worst.cycles / best.cycles : ''), cell: ({best, worst}) => (best ? `${number(worst.cycles / best.cycles)} \u00d7` : ''), number: true},
    {label: 'run', value: ({ran}) => ran, cell: ({ran, all}) => `${count(ran)} of ${count(all)}`, number: true},
  ].filter(({value}) => rows.some((row) => value(row) !== ''));
  return make_table({columns, rows});
}

function sweep_sections() {
  const sweep = {...read_sweep(data.sweep), roles: data.sweep.roles};
  const ran = sweep.points.filter((p) => p.cycles > 0);
  const best = ran.reduce((a, b) => (!a || b.cycles < a.cycles ? b : a), null);
  const where = (p) => [...sweep.choice_of(p), p.tile, p.stages ? `${p.stages} stages` : ''].filter(Boolean).join(', ');
  const head = section('headline', 'Headline', null, el('div', {class: 'cards'},
    [[count(sweep.points.length), 'points'], [count(sweep.points.length - ran.length), 'cannot run'], ...(best ? [[count(best.cycles), `cycles of the fastest: ${where(best)}`], [binding_name(best), 'binds it']] : [])]
      .map(([value, label]) => el('div', {class: 'card'}, el('b', {}, value.replaceAll('_', '_\u200b')), el('span', {}, label)))), sweep.choices.length && unique(sweep.points.map((p) => sweep.choice_of(p).join('\u0001'))).length < sweep.points.length ? best_table(sweep) : null);
  if (!sweep.points.length) return [head];
  // Compiled kernels may tell neither their tile nor their stages.
  if (unique(sweep.points.map((p) => `${p.tile} ${p.stages}`)).length < 2) return [head, time_bars(sweep), sweep_table(sweep)].filter(Boolean);
  const selected = sweep.choices.map(({name, values}) => (best ? best.cells[sweep.columns.indexOf(name)] : values[0]));
  const map = el('div'), curves = el('div');
  const draw = () => {
    drop_charts();
    const points = sweep.points.filter((p) => sweep.choice_of(p).every((value, at) => value === selected[at]));
    const any = points.some((p) => p.cycles > 0);
    map.replaceChildren(any ? heat_map(points) : el('p', {}, 'No point of this choice can run.'));
    curves.replaceChildren(...(any ? stage_curves(points) : []));
    if (map.isConnected) kCharts.forEach(make_chart);
  };
  draw();
  const selects = sweep.choices.map(({name, values}, at) => el('label', {}, `${name} `, el('select', {'data-choice': name, change: (event) => { selected[at] = event.target.value; draw(); }},
    values.map((value) => el('option', {value, selected: value === selected[at]}, value)))));
  return [head,
    section('map', 'Cycles by tile and stages', 'The framed cell is the fastest of this choice.', el('div', {class: 'tools'}, selects), map),
    section('curves', 'Time against stages', 'One line for each tile; the colour of a point is what binds it.', curves),
    sweep_table(sweep)];
}
