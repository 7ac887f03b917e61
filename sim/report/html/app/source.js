// The annotated source: every executed PTX instruction, under the line of the user's source that it comes from, or, without
// debug information, in stretches that ran about equally often (the bodies of loops).

/** "gemm.py:31" and "k.ptx:120" -> their line. */
const line_of = (place) => Number(place.slice(place.lastIndexOf(':') + 1));

const kNoLine = '(no source line)';

/** Gives each instruction its stretch: `first` to `last`. Predicates that some warps fail (half as often) do not end it. */
function stretches(instructions) {
  let current = null;
  return instructions.map((inst) => {
    if (!current || inst.executed > 2 * current.first_executed || current.first_executed > 2 * inst.executed)
      current = {executed: 0, first_executed: inst.executed, first: line_of(inst.ptx), last: 0};
    current.last = line_of(inst.ptx);
    current.executed = Math.max(current.executed, inst.executed);
    return current;
  });
}

function source_section(report) {
  const rows = report.instructions;
  if (!rows.length) return null;
  const all = sum(rows.map((inst) => sum(Object.values(inst.stalls)))) || 1;
  const cycles = (inst) => sum(Object.values(inst.stalls));
  const merged = (list) => {
    const out = {};
    for (const inst of list) for (const [reason, value] of Object.entries(inst.stalls)) out[reason] = (out[reason] || 0) + value;
    return out;
  };
  const top = (stalls) => (sorted_reasons(stalls).find(([reason]) => reason !== 'selected' && reason !== 'not_selected') || ['-'])[0];
  const has_source = rows.some((inst) => inst.source);
  const by_stretch = new Map();
  stretches(rows).forEach((stretch, at) => by_stretch.set(rows[at], stretch));
  const group = has_source ? (inst) => inst.source || kNoLine : (inst) => by_stretch.get(inst);
  const label = has_source
    ? (key) => el('span', {class: 'code', title: data.source_lines[key]}, `${key}  `, data.source_lines[key] ? el('span', {class: 'dim'}, data.source_lines[key].trim()) : null)
    : (key) => `lines ${key.first}–${key.last}, up to ${count(key.executed)} ×`;
  const timed = Boolean(report.cycles);
  const columns = [
    {label: 'PTX line', value: (inst) => line_of(inst.ptx), cell: (inst) => String(line_of(inst.ptx))},
    {label: 'instruction', value: (inst) => inst.text, class: 'code', title: (inst) => inst.text},
    {label: 'executed', value: (inst) => inst.executed, number: true, total: true, help: 'by warps, over the whole launch'},
  ];
  if (timed) {
    columns.push(
      {label: 'time', value: (inst) => cycles(inst) / all, cell: (inst) => share(cycles(inst) / all), number: true, total: true, fill: true, format: share, help: 'share of all warp-cycles that warps spent on or before it'},
      {label: 'by reason', value: (inst) => -cycles(inst), cell: (inst) => stacked_bar(inst.stalls), group_cell: (list) => stacked_bar(merged(list))},
      {label: 'waits for', value: (inst) => top(inst.stalls), group_cell: (list) => el('span', {class: 'dim'}, top(merged(list)))});
    if (rows.some((inst) => inst.wavefronts)) columns.push(
      {label: 'wavefronts', value: (inst) => inst.wavefronts, cell: (inst) => (inst.wavefronts ? count(inst.wavefronts) : ''), number: true, total: true, format: (n) => (n ? count(n) : ''), help: 'passes of the shared-memory banks'},
      {label: 'conflicts', value: (inst) => inst.conflicts, cell: (inst) => (inst.conflicts ? el('b', {class: 'bad'}, count(inst.conflicts)) : ''), number: true, total: true, format: (n) => (n ? el('span', {class: 'bad'}, count(n)) : ''), help: 'wavefronts beyond those that are needed'});
  }
  const used = unique(rows.flatMap((inst) => Object.keys(inst.stalls)));
  const left_out = report.instructions_left_out ? ` The ${count(report.instructions_left_out)} cheapest instructions are left out; --json has all.` : '';
  const costly = [...new Map(rows.map((inst) => [group(inst), 0]))].map(([key]) => key);
  const weight = new Map(costly.map((key) => [key, 0]));
  for (const inst of rows) weight.set(group(inst), weight.get(group(inst)) + cycles(inst));
  costly.sort((a, b) => weight.get(b) - weight.get(a));
  // As in the user's files, the costliest file first; what is of no line last.
  const file_of = (key) => key.slice(0, key.lastIndexOf(':'));
  const by_file = new Map();
  if (has_source) for (const key of costly) by_file.set(file_of(key), (by_file.get(file_of(key)) || 0) + weight.get(key));
  const in_file_order = (a, b) => (a === kNoLine) - (b === kNoLine) || by_file.get(file_of(b)) - by_file.get(file_of(a)) || file_of(a).localeCompare(file_of(b)) || line_of(a) - line_of(b);
  return section('source', 'Annotated source',
    `${has_source ? 'PTX instructions under the source lines that they come from, in the order of the source; a click on PTX line gives theirs' : 'PTX instructions in stretches that ran about equally often'}; a row unfolds to its stalls.${left_out}`,
    timed ? el('div', {class: 'legend'}, used.map((reason) => el('span', {}, el('i', {style: reason_style(reason)}), reason))) : null,
    make_table({columns, rows, group, group_label: label, group_order: has_source ? in_file_order : undefined, detail: (inst) => instruction_detail(inst, all), open: rows.length <= 60 ? costly : costly.slice(0, 1), search: 'search instructions'}));
}

function instruction_detail(inst, all) {
  const total = sum(Object.values(inst.stalls));
  return [
    el('pre', {class: 'code'}, inst.text),
    el('p', {}, el('code', {}, inst.ptx), inst.source ? [' from ', el('code', {}, inst.source)] : null, `, executed ${count(inst.executed)} times, ${count(total)} warp-cycles (${share(total / all)} of all)`),
    inst.wavefronts ? el('p', {}, `${count(inst.wavefronts)} shared-memory wavefronts, ${count(inst.wavefronts_ideal)} needed: ${number(inst.wavefronts / (inst.wavefronts_ideal || 1))} ×. ${inst.note || ''}`) : null,
    total ? bar_rows(sorted_reasons(inst.stalls).map(([reason, value]) => ({name: reason, value: value / total, style: reason_style(reason), meaning: `${count(value)} cycles: ${data.reasons[reason]}`}))) : null,
  ];
}
