// The page of a sweep: which tile and how many stages, and what binds. data.sweep: columns, rows of texts, and which column is what.
const kSeriesColours = ['--global', '--shared', '--tensor', '--issue', '--barrier', '--copy', '--fixed', '--global2', '--shared2', '--tensor2'];

function read_sweep({columns, rows, roles}) {
  const at = (name) => columns.indexOf(name);
  const numeric = columns.map((_, index) => rows.some((row) => row[index] !== '') && rows.every((row) => row[index] === '' || Number.isFinite(Number(row[index]))));
  const points = rows.map((cells) => {
    const value = (role) => (at(roles[role]) < 0 ? '' : cells[at(roles[role])]);
    return {cells, tile: value('tile'), stages: Number(value('stages')), cycles: Number(value('cycles')) || 0, time: Number(value('time')) || 0, bound: value('bound'), reason: value('reason')};
  });
  // What else was varied: one choice each.
  const choices = roles.parameters.filter((name) => at(name) >= 0 && name !== roles.tile && name !== roles.stages)
    .map((name) => ({name, values: unique(rows.map((row) => row[at(name)]))})).filter(({values}) => values.length > 1);
  const choice_of = (point) => choices.map(({name}) => point.cells[at(name)]);
  return {columns, numeric, points, choices, choice_of};
}

/** "latency (L2 bandwidth 41 %)" and "DRAM bandwidth 83 %" -> what binds, without its share. */
const binding_name = (text) => text.replace(/\s*\(.*$/, '').replace(/\s+[\d.]+ ?%.*$/, '') || '(unknown)';

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
    return `<b>${escaped(p.tile)}, ${p.stages} stages</b><br>${p.cycles ? `${count(p.cycles)} cycles, ${share(p.cycles / least - 1)} over the best<br>${escaped(p.bound)}` : escaped(p.reason || 'did not run')}`;
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
        data: points.filter((p) => !p.cycles).map((p) => [stages.indexOf(p.stages), tiles.indexOf(p.tile), 0]), label: {show: true, formatter: 'does not fit', color: colour('--dim'), fontSize: 11}},
    ],
  });
  return chart_box({height: 110 + 40 * tiles.length, options, label: 'cycles by tile and stages'});
}

function stage_curves(points) {
  const tiles = unique(points.map((p) => p.tile)).sort(tile_order);
  const ran = points.filter((p) => p.cycles > 0);
  const bounds = unique(ran.map((p) => binding_name(p.bound))).sort();
  const timed = ran.every((p) => p.time > 0);
  const value = (p) => (timed ? p.time : p.cycles);
  const options = () => {
    const colour_of = new Map(bounds.map((bound, at) => [bound, colour(kSeriesColours[at % kSeriesColours.length])]));
    return {
      grid: {left: 62, right: is_narrow() ? 20 : 110, top: 16, bottom: 48},
      tooltip: tooltip({formatter: (p) => `<b>${escaped(p.seriesName)}, ${p.data.point.stages} stages</b><br>${count(p.data.point.cycles)} cycles<br>${escaped(p.data.point.bound)}`}),
      xAxis: axis({type: 'value', minInterval: 1, name: 'stages', nameLocation: 'middle', nameGap: 28, min: 'dataMin', max: 'dataMax'}),
      yAxis: axis({type: 'value', name: timed ? data.sweep.roles.time.replace(/^time_us$/, 'µs') : 'cycles', scale: true}),
      series: tiles.map((tile) => ({name: tile, type: 'line', symbolSize: 11, symbol: 'circle', lineStyle: {width: 1.5, color: colour('--other')},
        endLabel: {show: !is_narrow(), formatter: '{a}', color: colour('--dim'), fontSize: 11}, labelLayout: {moveOverlap: 'shiftY'},
        data: ran.filter((p) => p.tile === tile).sort((a, b) => a.stages - b.stages).map((p) => ({value: [p.stages, value(p)], point: p, itemStyle: {color: colour_of.get(binding_name(p.bound))}}))})),
    };
  };
  const legend = el('div', {class: 'legend'}, bounds.map((bound, at) => el('span', {}, el('i', {style: `background: var(${kSeriesColours[at % kSeriesColours.length]})`}), bound)));
  return [legend, chart_box({height: 360, options, label: 'time against stages'})];
}

function sweep_table(sweep) {
  const {columns, numeric, points} = sweep;
  const varied = columns.map((_, at) => unique(points.map((p) => p.cells[at])).length > 1);
  const order = [...columns.keys()].filter((at) => varied[at]);
  const constant = [...columns.keys()].filter((at) => !varied[at] && points[0].cells[at] !== '');
  const filters = new Map();
  const holder = el('div');
  const choices = order.filter((at) => { const n = unique(points.map((p) => p.cells[at])).length; return n <= 12 && n < points.length && (!numeric[at] || sweep.parameters.includes(columns[at])); });
  const draw = () => holder.replaceChildren(make_table({
    columns: order.map((at) => ({label: columns[at], number: numeric[at], value: (p) => (numeric[at] && p.cells[at] !== '' ? Number(p.cells[at]) : p.cells[at]), cell: (p) => (numeric[at] && p.cells[at] !== '' ? number(p.cells[at]) : p.cells[at])})),
    rows: points.filter((p) => [...filters].every(([at, value]) => p.cells[at] === value)), search: 'search'}));
  const selects = choices.map((at) => el('label', {}, `${columns[at]} `, el('select', {'data-column': columns[at], change: (event) => { if (event.target.value === '\u0001') filters.delete(at); else filters.set(at, event.target.value); draw(); }},
    el('option', {value: '\u0001'}, 'all'), unique(points.map((p) => p.cells[at])).map((value) => el('option', {value}, value || '(none)')))));
  draw();
  return section('points', 'All points', 'Those that cannot run are kept, with the reason. Columns sort on a click.', el('div', {class: 'tools'}, selects), holder,
    constant.length ? el('details', {}, el('summary', {}, 'the same in all points'), facts(constant.map((at) => [columns[at], points[0].cells[at]]))) : null);
}

function sweep_sections() {
  const sweep = {...read_sweep(data.sweep), parameters: data.sweep.roles.parameters};
  const ran = sweep.points.filter((p) => p.cycles > 0);
  const best = ran.reduce((a, b) => (!a || b.cycles < a.cycles ? b : a), null);
  const where = (p) => [...sweep.choice_of(p), p.tile, p.stages ? `${p.stages} stages` : ''].filter(Boolean).join(', ');
  const head = section('headline', 'Headline', null, el('div', {class: 'cards'},
    [[count(sweep.points.length), 'points'], [count(sweep.points.length - ran.length), 'cannot run'], ...(best ? [[count(best.cycles), `cycles of the fastest: ${where(best)}`], [binding_name(best.bound), 'binds it']] : [])]
      .map(([value, label]) => el('div', {class: 'card'}, el('b', {}, value), el('span', {}, label)))));
  if (!sweep.points.length) return [head];
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
