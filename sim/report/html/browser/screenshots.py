"""The pictures of the README: docs/report-light.webp, report-dark.webp, sweep-light.webp.

    screenshots.py TCSIM WORKLOADS DOCS      WORKLOADS: the folder workloads; DOCS: where the pictures go
"""
import subprocess
import sys
import tempfile
from pathlib import Path

from browser import Browser

LIGHT = 'run mma_s3_none.ptx --launch mma_s3_none.toml --arch a100'  # conflicts, and lines of the .cu
DARK = 'gemm --arch b200 --style blackwell-ws -m 1024 -n 1024 -k 512 --stages 4'
SWEEP = 'sweep --arch a100,h200 -m 512 -n 512 -k 512 --style ampere --tile 64x64x32,64x64x64,64x128x64,128x128x32,128x128x64,128x256x64 --stages 2:5'
# The last wait of an epilogue warp for the accumulator, near the end of the matrix instructions.
PICK = """(() => {
    const entry = kCharts.find(({box}) => document.querySelector('#timeline').contains(box));
    const {slices} = read_slices(data.timeline, 0);
    const slice = slices.find((s) => s.args.ended_by === 'tcgen05.commit' && s.category === 'wait' && s.args.mbarrier.startsWith('done_bar'));
    entry.chart.dispatchAction({type: 'dataZoom', startValue: slice.to - 3200, endValue: slice.to + 600});
    const box = entry.box.getBoundingClientRect();
    const [x, y] = entry.chart.convertToPixel({seriesIndex: 0}, [slice.to - 100, slice.row]);
    return [box.x + x, box.y + y]; })()"""


def open_page(browser, path, height, dark=False):
    page = browser.open(path, width=1280, height=height, dark=dark)
    page.evaluate('kCharts.forEach((entry) => { if (!entry.chart) make_chart(entry); }); 1')
    settle(page)
    return page


def settle(page):
    page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')


def main(tcsim, workloads, docs):
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        pages = {name: Path(folder) / f'{name}.html' for name in ('light', 'dark', 'sweep')}
        for name, options in (('light', LIGHT), ('dark', DARK), ('sweep', SWEEP)):
            subprocess.run([tcsim, *options.split(), '--quiet', '--html', pages[name]], cwd=Path(workloads) / 'cuda', check=name != 'sweep')  # not all points can run
        page = open_page(browser, pages['light'], 2500)
        page.evaluate("document.querySelector('#source .tools button:nth-of-type(2)').click()")  # fold all
        page.evaluate("document.querySelector('#source .table').style.maxHeight = '300px'")
        settle(page)
        page.screenshot(docs / 'report-light.webp')
        page = open_page(browser, pages['dark'], 1400, dark=True)
        page.evaluate("document.querySelector('#timeline').scrollIntoView({behavior: 'instant', block: 'start'})")
        page.click(*page.evaluate(PICK))
        settle(page)
        page.screenshot(docs / 'report-dark.webp')
        open_page(browser, pages['sweep'], 1800).screenshot(docs / 'sweep-light.webp')


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
