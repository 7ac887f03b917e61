// The pipeline of a traced CTA: warps, bulk copies, tensor cores, mbarriers; zoom, hover, and a click shows who waits for what.
//
// data.timeline (sim/report/html/timeline.cpp): slices are [track, from, cycles, name, category, arguments] and flows
// [track, at, track, at, name] in one flat array each; names and arguments are indices.
const kSlice = 6, kFlow = 5, kTrackHeight = 20;

function read_slices(timeline, process) {
  const tracks = timeline.tracks.map((track, index) => ({...track, index})).filter((track) => track.process === process);
  const row = new Map(tracks.map((track, at) => [track.index, at]));
  const slices = [];
  for (let at = 0; at < timeline.slices.length; at += kSlice) {
    const [track, from, cycles, name, category, args] = timeline.slices.slice(at, at + kSlice);
    if (row.has(track)) slices.push({track, row: row.get(track), from, to: from + cycles, name: timeline.names[name], category: timeline.names[category], args: timeline.args[args]});
  }
  return {tracks, row, slices};
}

function slice_variable({category, args}) {
  if (category === 'wait') return reason_variable(args.reason);
  return {issue: '--issue', tma: '--copy', tensor: '--tensor', commit: '--commit', tmem: '--tmem', columns: '--columns', mbarrier: '--barrier'}[category] || '--other';
}

/** Flows that begin or end in the slice: [{other track, at here, at there, name, incoming}]. */
function flows_of(timeline, slice) {
  const out = [];
  const inside = (track, at) => track === slice.track && at >= slice.from && at < Math.max(slice.to, slice.from + 1);
  for (let at = 0; at < timeline.flows.length; at += kFlow) {
    const [from, begin, to, end, name] = timeline.flows.slice(at, at + kFlow);
    if (inside(to, end)) out.push({track: from, there: begin, here: end, name: timeline.names[name], incoming: true});
    else if (inside(from, begin)) out.push({track: to, there: end, here: begin, name: timeline.names[name], incoming: false});
  }
  return out;
}

function slice_sentence(timeline, slice) {
  const who = timeline.tracks[slice.track].name, {args} = slice, cycles = slice.to - slice.from;
  if (slice.category === 'issue') return `${who} issues ${args.instructions} instruction${args.instructions === 1 ? '' : 's'}`;
  if (slice.category === 'wait') return `${who} waits ${count(cycles)} cycles for ${slice.name === args.reason ? `${args.reason} (${data.reasons[args.reason]})` : slice.name}${args.ended_by ? `, ended by ${args.ended_by}` : ''}`;
  if (slice.category === 'tma') return `${slice.name} of ${bytes(args.bytes)} takes ${count(cycles)} cycles${args.mbarrier ? ` and completes on ${args.mbarrier}` : ''}`;
  if (slice.category === 'commit') return `${slice.name}, issued by warp ${args.warp}: ${count(cycles)} cycles until the operations before it are complete`;
  if (slice.category === 'tmem') return `warp ${args.warp}: ${slice.name} on its lanes of Tensor Memory, ${count(cycles)} cycles; over after ${count(args.results_after_cycles)}`;
  if (slice.category === 'columns') return `the CTA owns ${args.columns} of ${args.of} columns of Tensor Memory, for ${count(cycles)} cycles`;
  if (slice.category === 'mbarrier') return `${args.mbarrier}, phase ${args.phase}: from its first arrival or bytes to its end, ${count(cycles)} cycle${cycles === 1 ? '' : 's'}`;
  return `${slice.name}: ${count(cycles)} cycles on the tensor cores`;
}

// What a colour means: label, category, variables of style.css; the first one is shown.
const kTimelineLegend = [
  ['issue', 'issue', '--issue'], ['waits for memory', 'wait', '--global', '--global2', '--drain'], ['shared memory', 'wait', '--shared', '--shared2'], ['a tensor core', 'wait', '--tensor', '--tensor2'],
  ['a barrier', 'wait', '--barrier'], ['a fixed latency', 'wait', '--fixed'], ['code or constants', 'wait', '--fetch', '--fetch2'], ['a branch', 'wait', '--branch'], ['its turn', 'wait', '--ready'],
  ['something else', 'wait', '--other'], ['bulk copy', 'tma', '--copy'], ['tensor core works', 'tensor', '--tensor'], ['commit', 'commit', '--commit'], ['Tensor Memory: access', 'tmem', '--tmem'],
  ['allocation', 'columns', '--columns'], ['mbarrier phase', 'mbarrier', '--barrier'],
];

function timeline_section() {
  const {timeline} = data;
  if (!timeline || !timeline.slices.length) return null;
  const panel = el('div', {class: 'panel', id: 'timeline-panel', 'aria-live': 'polite'}, el('span', {class: 'dim'}, 'Click or tap a bar: what it is, who waits for whom. Wheel or pinch zooms, dragging moves.'));
  const holder = el('div');
  const choose = el('select', {id: 'timeline-cta', 'aria-label': 'CTA', change: () => show(Number(choose.value))}, timeline.processes.map((name, at) => el('option', {value: at}, name)));
  const shown = new Set();
  for (let at = 0; at < timeline.slices.length; at += kSlice) {
    const category = timeline.names[timeline.slices[at + 4]];
    shown.add(`${category} ${slice_variable({category, args: timeline.args[timeline.slices[at + 5]]})}`);
  }
  const legend = kTimelineLegend.filter(([, category, ...variables]) => variables.some((variable) => shown.has(`${category} ${variable}`)));
  function show(process) {
    const at = kCharts.findIndex(({box}) => holder.contains(box));
    if (at >= 0) kCharts.splice(at, 1).forEach(({chart}) => chart && chart.dispose());
    holder.replaceChildren(timeline_chart(timeline, process, panel));
    if (holder.isConnected) make_chart(kCharts[kCharts.length - 1]);
  }
  show(0);
  const cut = timeline.end ? ` The page holds it until cycle ${count(timeline.end)}; --timeline FILE has all, for ui.perfetto.dev.` : '';
  return section('timeline', 'Pipeline timeline', `Cycle by cycle, in SM cycles.${cut}`,
    el('div', {class: 'tools'}, choose), el('div', {class: 'legend'}, legend.map(([name, , variable]) => el('span', {}, el('i', {style: `background: var(${variable})`}), name))), holder, panel);
}

function timeline_chart(timeline, process, panel) {
  const {tracks, row, slices} = read_slices(timeline, process);
  const begin = Math.min(...slices.map((slice) => slice.from)), end = slices.reduce((most, slice) => Math.max(most, slice.to), 0);
  let chart = null;
  const draw_slice = (params, api) => {
    const slice = slices[params.dataIndex];
    const [x0, y] = api.coord([slice.from, slice.row]), [x1] = api.coord([slice.to, slice.row]);
    const height = slice.category === 'mbarrier' ? 8 : 14;
    const area = params.coordSys;
    const shape = echarts.graphic.clipRectByRect({x: x0, y: y - height / 2, width: Math.max(x1 - x0, slice.category === 'mbarrier' ? 2 : 0.6), height}, area);
    return shape && {type: 'rect', shape, style: {fill: colour_of[slice_variable(slice)]}, emphasis: {style: {stroke: colour_of['--text'], lineWidth: 1}}};
  };
  const draw_arrow = (params, api) => {
    const [x0, y0] = api.coord([api.value(0), api.value(1)]), [x1, y1] = api.coord([api.value(2), api.value(3)]);
    return {type: 'group', children: [
      {type: 'line', shape: {x1: x0, y1: y0, x2: x1, y2: y1}, style: {stroke: colour_of['--text'], lineWidth: 1.5}},
      {type: 'circle', shape: {cx: x1, cy: y1, r: 3.5}, style: {fill: colour_of['--text']}}]};
  };
  const colour_of = {};
  const options = () => {
    for (const slice of slices) colour_of[slice_variable(slice)] = colour(slice_variable(slice));
    colour_of['--text'] = colour('--text');
    return {
      grid: {left: is_narrow() ? 84 : 150, right: 16, top: 8, bottom: 70},
      tooltip: tooltip({formatter: (p) => slice_tip(timeline, slices[p.dataIndex])}),
      xAxis: axis({type: 'value', min: begin, max: end, name: 'cycle', nameLocation: 'middle', nameGap: 24, axisLabel: {formatter: count, hideOverlap: true}, splitNumber: is_narrow() ? 3 : 5}),
      yAxis: axis({type: 'category', inverse: true, data: tracks.map(({name}) => (is_narrow() ? name.replace('mbarrier ', '').replace('warp ', 'w').replace('lanes ', '').replace('columns', 'cols') : name)), axisTick: {show: false}, axisLabel: {interval: 0, fontSize: 11, width: is_narrow() ? 78 : 142, overflow: 'truncate'}}),
      dataZoom: [{type: 'inside', filterMode: 'weakFilter', minValueSpan: 20}, {type: 'slider', filterMode: 'weakFilter', height: 20, bottom: 8, minValueSpan: 20, labelFormatter: (v) => count(v), textStyle: {color: colour('--dim')}, brushSelect: false, borderColor: colour('--line'), fillerColor: `${colour('--line')}99`, handleStyle: {color: colour('--soft'), borderColor: colour('--dim')}, moveHandleStyle: {color: colour('--dim')}, showDataShadow: false}],
      series: [
        {type: 'custom', renderItem: draw_slice, encode: {x: [0, 1], y: 2}, dimensions: ['from', 'to', 'track'], data: slices.map((slice) => [slice.from, slice.to, slice.row]), progressive: 0},
        {id: 'arrows', type: 'custom', renderItem: draw_arrow, encode: {x: [0, 2], y: [1, 3]}, data: [], silent: true, tooltip: {show: false}, z: 10, clip: true},
      ],
    };
  };
  const pick = (slice) => {
    const flows = flows_of(timeline, slice);
    const where = (track) => (track.process === process ? track.name : `${timeline.processes[track.process].split(' (')[0]}, ${track.name}`);
    const place = (flow) => `${where(timeline.tracks[flow.track])}, cycle ${count(flow.there)}`;
    panel.replaceChildren(
      el('b', {}, slice_sentence(timeline, slice)), el('div', {class: 'dim'}, `cycles ${count(slice.from)} to ${count(slice.to)}`),
      flows.length ? el('ul', {}, flows.slice(0, 12).map((flow) => el('li', {}, flow.incoming ? `${flow.name} by ${place(flow)}` : `${flow.name}: goes on in ${place(flow)}`))) : '',
      facts(Object.entries(slice.args).map(([key, value]) => [key.replaceAll('_', ' '), el('code', {}, String(value))])));
    chart.setOption({series: [{id: 'arrows', data: flows.filter((flow) => row.has(flow.track)).map((flow) => (flow.incoming ? [flow.there, row.get(flow.track), flow.here, slice.row] : [flow.here, slice.row, flow.there, row.get(flow.track)]))}]});
  };
  const ready = (made) => {
    chart = made;
    chart.on('click', ({seriesIndex, dataIndex}) => seriesIndex === 0 && pick(slices[dataIndex]));
  };
  return chart_box({height: 90 + kTrackHeight * tracks.length, options, ready, label: 'pipeline timeline'});
}

function slice_tip(timeline, slice) {
  const lines = [`<b>${escaped(slice_sentence(timeline, slice))}</b>`, `cycles ${count(slice.from)} to ${count(slice.to)}`];
  const text = slice.args.waits_in || slice.args.next || slice.args.first || slice.args.instruction;
  if (text) lines.push(`<code>${escaped(text.length > 70 ? `${text.slice(0, 70)}…` : text)}</code>`);
  if (slice.args.source) lines.push(escaped(slice.args.waits_at || slice.args.source));
  return lines.join('<br>');
}
