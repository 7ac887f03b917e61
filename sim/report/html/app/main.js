// Puts the page together. The charts' library comes after this script, so that the tables are there first.
function show_run(index) {
  const report = data.reports[index];
  drop_charts();
  const timed = Boolean(report.cycles);
  const sections = [headline_section(report), timed ? roofline_section(report) : null, timed ? stall_section(report) : null, source_section(report),
    timed ? banks_section(report) : null, timeline_section(), barrier_section(report), metrics_section(report), machine_section(data.machine), limits_section(report)];
  put_sections(sections.filter(Boolean));
}

function limits_section(report) {
  return report.not_modelled.length ? section('limits', 'Not modelled', null, el('ul', {}, report.not_modelled.map((line) => el('li', {}, line)))) : null;
}

function put_sections(sections) {
  document.getElementById('app').replaceChildren(...sections);
  document.getElementById('sections').replaceChildren(...sections.map((node) => el('a', {href: `#${node.id}`}, node.dataset.title)));
}

function main() {
  const head = document.getElementById('head');
  if (data.kind === 'sweep') {
    head.append(el('h1', {}, data.title));
    put_sections(sweep_sections());
  } else {
    const [{kernel, arch}] = data.reports;
    head.append(el('h1', {}, `${kernel} on ${arch.name}`));
    if (data.reports.length > 1)
      head.append(el('select', {'aria-label': 'launch', change: (event) => { show_run(Number(event.target.value)); start_charts(); }}, data.reports.map((report, at) => el('option', {value: at}, `launch ${at + 1}: ${report.kernel}`))));
    show_run(0);
  }
  document.getElementById('foot').append(el('span', {}, `tcsim ${data.version}: `), el('code', {}, data.command.join(' ')));
}

main();
addEventListener('load', start_charts);
