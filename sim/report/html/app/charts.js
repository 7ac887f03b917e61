// Charts (Apache ECharts): one is made when it comes into view, and again when the colour scheme changes.
const kCharts = [];

/** options() is called with the scheme's colours in force. ready(chart): after each making. */
function chart_box({height, options, ready, label}) {
  const box = el('div', {class: 'chart', style: `height: ${height}px`, role: 'img', 'aria-label': label});
  kCharts.push({box, options, ready, chart: null});
  return box;
}

function make_chart(entry) {
  if (entry.chart) entry.chart.dispose();
  entry.chart = echarts.init(entry.box);
  entry.chart.setOption({animation: false, backgroundColor: 'transparent', textStyle: {color: colour('--text'), fontFamily: 'system-ui, sans-serif'}, ...entry.options()});
  if (entry.ready) entry.ready(entry.chart);
}

function start_charts() {
  const seen = new IntersectionObserver((list) => {
    for (const {isIntersecting, target} of list) {
      const entry = kCharts.find(({box}) => box === target);
      if (isIntersecting && entry && !entry.chart) make_chart(entry);
    }
  }, {rootMargin: '300px'});
  kCharts.forEach(({box}) => seen.observe(box));
  new ResizeObserver(() => kCharts.forEach(({chart}) => chart && chart.resize())).observe(document.body);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => kCharts.filter(({chart}) => chart).forEach(make_chart));
}
function drop_charts() {
  kCharts.forEach(({chart}) => chart && chart.dispose());
  kCharts.length = 0;
}

const is_narrow = () => innerWidth < 640;
function axis(extra) {
  return {nameTextStyle: {color: colour('--dim')}, axisLabel: {color: colour('--dim'), ...(extra.axisLabel || {})}, axisLine: {lineStyle: {color: colour('--line')}},
    splitLine: {lineStyle: {color: colour('--soft')}}, ...Object.fromEntries(Object.entries(extra).filter(([key]) => key !== 'axisLabel'))};
}
function tooltip(extra) {
  return {backgroundColor: colour('--card'), borderColor: colour('--line'), textStyle: {color: colour('--text'), fontSize: 12}, confine: true, transitionDuration: 0, ...extra};
}
const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => ({'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;'})[c]);
const log_label = (value) => (value >= 1 ? count(value) : String(value));

// ---- roofline ----

function roofline_section(report) {
  const roof = report.roofline;
  if (!roof || !roof.flops || !roof.peak_flops_per_cycle) return null;
  const scale = report.arch.clock_mhz * 1e-6;  // operations a cycle -> TFLOPS
  const peak = roof.peak_flops_per_cycle * scale;
  const achieved = roof.flops / report.cycles * scale;
  const memories = [
    {name: 'DRAM', bytes: roof.dram_bytes, bandwidth: roof.dram_bytes_per_cycle, variable: '--global', symbol: 'circle'},
    {name: 'L2', bytes: roof.l2_bytes, bandwidth: roof.l2_bytes_per_cycle, variable: '--shared', symbol: 'diamond'},
  ].filter((memory) => memory.bandwidth > 0).map((memory) => ({...memory, ridge: roof.peak_flops_per_cycle / memory.bandwidth, intensity: memory.bytes > 0 ? roof.flops / memory.bytes : null}));
  const intensities = memories.flatMap((memory) => [memory.ridge, memory.intensity]).filter((value) => value > 0);
  const from = 10 ** Math.floor(Math.log10(Math.min(...intensities) / 2)), to = 10 ** Math.ceil(Math.log10(Math.max(...intensities) * 2));
  const lowest = 10 ** Math.floor(Math.log10(Math.min(achieved, ...memories.map((memory) => from * memory.bandwidth * scale)) / 1.5));
  const options = () => ({
    grid: {left: 58, right: 20, top: 34, bottom: 48},
    legend: {top: 0, textStyle: {color: colour('--text')}, type: 'scroll'},
    tooltip: tooltip({trigger: 'item', formatter: (p) => `${escaped(p.seriesName)}<br>${number(p.value[0])} FLOP/byte, ${number(p.value[1])} TFLOPS`}),
    xAxis: axis({type: 'log', min: from, max: to, name: 'FLOP per byte', nameLocation: 'middle', nameGap: 28, axisLabel: {formatter: log_label}}),
    yAxis: axis({type: 'log', min: lowest, max: 10 ** Math.ceil(Math.log10(peak * 1.1)), name: 'TFLOPS', axisLabel: {formatter: log_label}}),
    series: [
      ...memories.map((memory) => ({name: `${memory.name} roof`, type: 'line', symbol: 'none', color: colour(memory.variable), lineStyle: {width: 2},
        data: [[from, from * memory.bandwidth * scale], [memory.ridge, peak]].filter(([, y]) => y >= lowest)})),
      {name: `${roof.peak_name} peak`, type: 'line', symbol: 'none', color: colour('--tensor'), lineStyle: {width: 2}, data: [[Math.min(...memories.map((memory) => memory.ridge)), peak], [to, peak]]},
      ...memories.filter((memory) => memory.intensity).map((memory) => ({name: `kernel, ${memory.name} bytes`, type: 'scatter', symbol: memory.symbol, symbolSize: 15, z: 5, color: colour(memory.variable),
        itemStyle: {borderColor: colour('--text'), borderWidth: 1.5}, data: [[memory.intensity, achieved]]})),
    ],
  });
  return section('roofline', 'Roofline', 'Roofs of the whole chip, and the kernel at the bytes that it moved to DRAM and L2. A point far under every roof waits for latency.',
    chart_box({height: 360, options, label: 'roofline'}),
    facts(memories.filter((memory) => memory.intensity).map((memory) => [`${memory.name} traffic`, `${bytes(memory.bytes)}, ${number(memory.intensity)} FLOP per byte; the roofs meet at ${number(memory.ridge)}`])),
    bar_rows(report.resources.map(({name, used}) => ({name, value: used, style: 'background: var(--accent)', meaning: ''}))));
}

// ---- bank conflicts ----

/** Of all executions: words beyond the first that each bank had to give, instruction by instruction. */
function banks_section(report) {
  const all = report.instructions.filter((inst) => inst.bank_conflicts).sort((a, b) => b.conflicts - a.conflicts);
  const rows = all.slice(0, kBankRows);
  const shared = report.instructions.filter((inst) => inst.wavefronts > 0);
  if (!shared.length) return null;
  const wavefronts = sum(shared.map((inst) => inst.wavefronts));
  if (!rows.length) return section('banks', 'Bank conflicts', `None: ${count(wavefronts)} shared-memory wavefronts, all needed.`);
  const name = (inst) => `${line_of(inst.ptx)}  ${inst.text.split(' ')[0].replace(/\.sync|\.aligned/g, '')}`;
  const banks = rows[0].bank_conflicts.length;
  const most = Math.max(...rows.flatMap((inst) => inst.bank_conflicts));
  const tip = ({value: [bank, at, words]}) => {
    const inst = rows[at];
    return `<b>${escaped(name(inst))}</b><br>bank ${bank}: ${count(words)} words beyond the first of a pass,<br>${number(words / inst.executed)} an execution<br>`
      + `${count(inst.conflicts)} of ${count(inst.wavefronts)} wavefronts are conflicts<br>${escaped(inst.note || '')}${inst.source ? `<br>${escaped(inst.source)}` : ''}`;
  };
  const options = () => ({
    grid: {left: is_narrow() ? 110 : 210, right: is_narrow() ? 14 : 86, top: 26, bottom: 86},
    tooltip: tooltip({formatter: tip}),
    xAxis: axis({type: 'category', data: [...Array(banks).keys()], name: 'bank', nameLocation: 'middle', nameGap: 26}),
    yAxis: [axis({type: 'category', inverse: true, data: rows.map(name), axisLabel: {width: is_narrow() ? 100 : 200, overflow: 'truncate', fontFamily: 'monospace', fontSize: 11}}),
      axis({type: 'category', inverse: true, show: !is_narrow(), position: 'right', name: 'conflicts', nameLocation: 'start', data: rows.map((inst, at) => `${count(inst.conflicts)}${' '.repeat(at)}`), axisLine: {show: false}, axisTick: {show: false}, axisLabel: {fontSize: 11, interval: 0, formatter: (text) => text.trim()}})],
    visualMap: {min: 0, max: most, orient: 'horizontal', left: 'center', bottom: 4, textStyle: {color: colour('--dim')}, text: [`${count(most)} words too many`, '0'], calculable: false, itemHeight: 160,
      inRange: {color: ['--heat0', '--heat1', '--heat2', '--heat3'].map(colour)}},
    series: [{type: 'heatmap', itemStyle: {borderColor: colour('--card'), borderWidth: 1}, data: rows.flatMap((inst, at) => inst.bank_conflicts.map((words, bank) => [bank, at, words]))}],
  });
  const conflicts = sum(shared.map((inst) => inst.conflicts));
  const rest = all.length > rows.length ? ` ${count(all.length - rows.length)} more instructions conflict less.` : '';
  return section('banks', 'Bank conflicts',
    `${count(conflicts)} of ${count(wavefronts)} wavefronts (${share(conflicts / wavefronts)}) are conflicts. A cell adds up, over all executions, the words that lanes served together need from the bank beyond the first: each is a further pass, unless another bank needs as many.${rest}`,
    chart_box({height: 126 + 22 * rows.length, options, label: 'words too many by bank and instruction'}));
}
const kBankRows = 60;
