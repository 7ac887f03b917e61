// Sections of one run, made of its JSON report (sim/report/json.cpp) and of the machine's table.

function headline_section(report) {
  const {launch, arch} = report;
  const card = (value, label, kind) => el('div', {class: 'card'}, el('b', {class: kind}, value), el('span', {}, label));
  const waits = sorted_reasons(report.stalls || {}).filter(([reason]) => reason !== 'selected' && reason !== 'not_selected');
  const cards = [];
  if (report.cycles) {
    cards.push(card(count(report.cycles), 'cycles'), card(`${number(report.time_us)} µs`, `at ${count(arch.clock_mhz)} MHz`));
    if (report.tflops) cards.push(card(number(report.tflops), 'TFLOPS'));
    const {flops, peak_flops_per_cycle: peak} = report.roofline;
    if (flops && peak) cards.push(card(share(flops / peak / report.cycles), `of the ${report.roofline.peak_name} peak`));
    if (waits.length) cards.push(card(waits[0][0].replaceAll('_', '_\u200b'), `${share(waits[0][1])} of warp-cycles, the most: ${data.reasons[waits[0][0]]}`));
  }
  cards.push(card(`${launch.ctas_per_sm} × ${launch.warps_per_cta} warps`, `CTAs on an SM, limited by ${launch.occupancy_limiter || 'nothing'}`));
  const failure = report.diagnostics.find((d) => d.severity === 'error');
  if (failure && !report.cycles) cards.push(card('failed', failure.kind, 'bad'));
  if (report.check) cards.push(card(report.check.passed ? 'passed' : 'failed', `result check of ${count(report.check.elements)} elements`, report.check.passed ? 'good' : 'bad'));
  const dims = (values) => values.join(' × ');
  const ctas = launch.grid.reduce((product, n) => product * n, 1), slots = launch.ctas_per_sm * arch.sms;
  return section('headline', 'Headline', null,
    report.verdict ? el('p', {class: 'verdict'}, report.verdict) : null,
    el('div', {class: 'cards'}, cards),
    facts([
      ['machine', `${arch.name}: ${arch.description} (sm_${arch.sm}, ${arch.sms} SMs)`],
      ['changed', Object.entries(arch.set).map(([key, value]) => `${key} = ${value}`).join(', ')],
      ['mode', report.mode],
      ['grid', `${dims(launch.grid)} CTAs of ${dims(launch.block)} threads${launch.cluster.some((n) => n > 1) ? `, clusters of ${dims(launch.cluster)}` : ''}`],
      ['waves', slots ? `${number(ctas / slots)}: ${count(ctas)} CTAs, room for ${count(slots)} at a time` : ''],
      ['shared memory', `${bytes(launch.static_smem_bytes + launch.dynamic_smem_bytes)} a CTA`],
      ['registers', `${launch.registers_per_thread} a thread${launch.registers_estimated ? ' (estimated; give --regs)' : ''}`],
    ]),
    messages(report));
}

function messages(report) {
  if (!report.diagnostics.length) return null;
  return el('details', {open: report.diagnostics.some((d) => d.severity !== 'note')}, el('summary', {}, `${report.diagnostics.length} message${report.diagnostics.length === 1 ? '' : 's'}`),
    el('ul', {}, report.diagnostics.map((d) => el('li', {}, el('b', {class: d.severity === 'error' ? 'bad' : d.severity === 'warning' ? 'warn' : 'dim'}, `${d.severity} `), el('code', {}, d.where), el('span', {class: 'lines'}, ` ${d.text}`)))));
}

function bar_rows(entries) {
  return el('div', {class: entries.some(({meaning}) => meaning) ? 'bars' : 'bars plain'}, entries.flatMap(({name, value, style, meaning}) => [
    el('span', {}, name), el('span', {class: 'value'}, share(value)),
    el('span', {class: 'bar'}, el('i', {style: `width: ${Math.min(100, 100 * value)}%; ${style}`})), meaning ? el('span', {class: 'meaning'}, meaning) : null]));
}

function stall_section(report) {
  const entries = sorted_reasons(report.stalls).map(([reason, value]) => ({name: reason, value, style: reason_style(reason), meaning: data.reasons[reason]}));
  return section('stalls', 'Where warps wait', 'Share of active warp-cycles. Each has exactly one reason; the names are those of Nsight Compute.', bar_rows(entries));
}

function barrier_section(report) {
  if (!report.barriers.length) return null;
  return section('barriers', 'Barriers', 'Waits that suspended a warp, and for how long; phases ended over all CTAs. A row unfolds to where the waits are.', make_table({
    columns: [
      {label: 'barrier', value: (b) => b.name, class: 'code'},
      {label: 'kind', value: (b) => ({data: 'copies complete on it', arrivals: 'threads arrive'})[b.kind] || 'CTA barrier'},
      {label: 'waits', value: (b) => b.waits, number: true},
      {label: 'wait cycles', value: (b) => b.wait_cycles, number: true},
      {label: 'cycles per wait', value: (b) => (b.waits ? b.wait_cycles / b.waits : 0), cell: (b) => (b.waits ? number(b.wait_cycles / b.waits) : '-'), number: true},
      {label: 'phases', value: (b) => b.phases || 0, cell: (b) => (b.phases ? count(b.phases) : '-'), number: true},
    ],
    rows: report.barriers,
    detail: (b) => (b.waiters && b.waiters.length ? el('ul', {}, b.waiters.map((w) => el('li', {}, el('code', {}, w.where), `: ${count(w.waits)} waits, ${count(w.wait_cycles)} cycles`))) : null),
  }));
}

function machine_section(machine) {
  if (!machine) return null;
  const assumed = machine.values.filter((v) => v.assumed).length;
  return section('machine', 'Machine parameters', `${machine.name}: ${count(machine.values.length)} values with their sources; ${count(assumed)} are assumed, marked with ?.`, make_table({
    columns: [
      {label: 'key', value: (v) => v.key, class: 'code'},
      {label: 'value', value: (v) => v.value, cell: (v) => [v.value, v.assumed ? el('b', {class: 'warn', title: 'assumed'}, ' ?') : null], number: true},
      {label: 'unit', value: (v) => v.unit},
      {label: 'source', value: (v) => v.source, cell: (v) => el('span', {class: v.assumed ? 'warn' : ''}, v.source)},
      {label: 'meaning', value: (v) => v.doc, cell: (v) => el('span', {class: 'dim'}, v.doc)},
    ],
    rows: machine.values,
    group: (v) => v.key.split('.')[0],
    group_label: (key, list) => [key, list.some((v) => v.assumed) ? el('span', {class: 'warn'}, `  ${list.filter((v) => v.assumed).length} assumed`) : null].filter(Boolean),
    search: 'search key, source, meaning',
  }));
}

function metrics_section(report) {
  const rows = Object.entries(report.metrics || {});
  if (!rows.length) return null;
  return section('metrics', 'Metrics', 'All counters, under the names of Nsight Compute; sim__ are this simulator\u2019s own.', make_table({
    columns: [{label: 'metric', value: ([name]) => name, class: 'code'}, {label: 'value', value: ([, value]) => value, cell: ([, value]) => (value === null ? '-' : Number.isInteger(value) ? count(value) : number(value)), number: true}],
    rows, group: ([name]) => name.split('__')[0], group_label: (key) => key, search: 'search metrics',
  }));
}
