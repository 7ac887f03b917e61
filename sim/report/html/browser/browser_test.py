"""The pages in a real Chromium: content, clicks, both colour schemes, a phone; no console error, no request, a fast first paint.

    browser_test.py TCSIM SWEEP_SAMPLE KERNELS      KERNELS: the folder workloads/cuda; exit 77: skipped, there is no Chromium
"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from browser import Browser, find_browser

SKIPPED = 77
# C of 128x128 from K = 256, one CTA of 12 warps, two stages: as tools/tcsim/timeline_test.cpp.
HOPPER = 'gemm --arch h200 --style hopper-ws -m 128 -n 128 -k 256 --tile 128x128x64 --stages 2 --consumers 2'
# Compiled from CUDA with line information; rows of 64 bytes without a swizzle: ldmatrix conflicts.
CONFLICTS = 'run mma_s3_none.ptx --launch mma_s3_none.toml --arch a100'
SECONDS_TO_PAINT = 2
MOST_BYTES = 3_000_000


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.browser = Browser()
        folder = Path(cls.folder.name)
        for name, options in (('hopper', HOPPER), ('conflicts', CONFLICTS)):
            subprocess.run([TCSIM, *options.split(), '--quiet', '--html', folder / f'{name}.html'], check=True, cwd=KERNELS)
        (folder / 'sweep.html').write_bytes(subprocess.run([SWEEP_SAMPLE], check=True, stdout=subprocess.PIPE).stdout)

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.folder.cleanup()

    def open(self, name, **options):
        self.page = self.browser.open(Path(self.folder.name) / f'{name}.html', **options)
        return self.page

    def tearDown(self):
        self.assertEqual(self.page.errors, [])
        self.assertEqual([url for url in self.page.requests if not url.startswith(('file:', 'data:'))], [])
        self.assertEqual(len([url for url in self.page.requests if url.startswith('file:')]), 1)

    def text(self, selector):
        return self.page.evaluate(f"document.querySelector({selector!r}).innerText")

    def rows(self, section, kind):
        return self.page.evaluate(f"document.querySelectorAll('#{section} tr.{kind}').length")

    def press(self, selector):
        self.page.evaluate(f"document.querySelector({selector!r}).click()")

    def make_charts(self):
        self.page.evaluate('kCharts.forEach((entry) => { if (!entry.chart) make_chart(entry); }); 1')

    def drawn(self, section):
        """Whether the section's canvas has more than one colour."""
        return self.page.evaluate(f"""(() => {{
            const canvas = document.querySelector('#{section} canvas');
            const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
            return new Set(pixels).size > 5; }})()""")

    def test_sections(self):
        self.open('hopper')
        ids = self.page.evaluate("[...document.querySelectorAll('section')].map((s) => s.id)")
        self.assertEqual(ids, ['headline', 'roofline', 'stalls', 'source', 'banks', 'timeline', 'barriers', 'metrics', 'machine', 'limits'])
        self.assertEqual(self.page.evaluate("[...document.querySelectorAll('nav a')].map((a) => a.getAttribute('href').slice(1))"), ids)
        self.assertIn('on h200', self.text('h1'))
        self.assertIn('passed', self.text('#headline'))
        self.assertIn('full_bar[0]', self.text('#barriers'))
        self.assertIn('assumed', self.text('#machine'))
        cycles = self.page.evaluate('data.reports[0].cycles')
        self.assertIn(f'{cycles:,}', self.text('#headline'))

    def test_charts_are_drawn_in_both_schemes(self):
        self.open('conflicts')
        self.make_charts()
        for scheme, name in ((False, 'light'), (True, 'dark')):
            self.page.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': name}])
            self.page.wait_for(f"matchMedia('(prefers-color-scheme: dark)').matches === {str(scheme).lower()}")
            self.page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
            for section in ('roofline', 'banks', 'timeline'):
                self.assertTrue(self.drawn(section), f'{section}, {name}')
            red, green, blue = self.page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
            self.assertEqual(red + green + blue < 384, scheme)

    def test_source_folds_sorts_and_filters(self):
        self.open('hopper')
        self.press('#source .tools button:nth-of-type(1)')  # unfold all
        instructions = self.page.evaluate('data.reports[0].instructions.length')
        self.assertEqual(self.rows('source', 'row'), instructions)
        self.press('#source .tools button:nth-of-type(2)')  # fold all
        self.assertEqual(self.rows('source', 'row'), 0)
        self.press('#source tr.group button')
        self.assertGreater(self.rows('source', 'row'), 0)
        self.press('#source .tools button:nth-of-type(1)')
        self.press('#source th:nth-child(3) button')  # executed, the largest first
        groups = self.page.evaluate("[...document.querySelectorAll('#source tr.group td:nth-child(2)')].map((td) => Number(td.textContent.replaceAll(',', '')))")
        self.assertGreater(len(groups), 1)
        self.assertEqual(groups, sorted(groups, reverse=True))
        self.press('#source th:nth-child(3) button')
        self.assertEqual(self.page.evaluate("document.querySelector('#source th:nth-child(3)').getAttribute('aria-sort')"), 'ascending')
        self.page.evaluate("(() => { const i = document.querySelector('#source input'); i.value = 'wgmma.mma_async'; i.dispatchEvent(new Event('input')); })()")
        shown = self.page.evaluate("[...document.querySelectorAll('#source tr.row td:nth-child(2)')].map((td) => td.title)")
        self.assertGreater(len(shown), 0)
        self.assertTrue(all('wgmma.mma_async' in text for text in shown))
        self.press('#source tr.row')  # a row unfolds to its stalls
        self.assertIn('executed', self.text('#source tr.detail'))

    def test_source_lines_carry_their_text(self):
        self.open('conflicts')
        self.press('#source .tools button:nth-of-type(2)')
        lines = (Path(KERNELS) / 'mma_multistage.cu').read_text().splitlines()
        labels = self.page.evaluate("[...document.querySelectorAll('#source tr.group button')].map((b) => b.textContent)")
        labels = [label for label in labels if label.startswith('mma_multistage.cu:')]
        self.assertGreater(len(labels), 5)
        for label in labels:
            place, _, text = label.partition('  ')
            self.assertEqual(text, lines[int(place.split(':')[1]) - 1].strip()[:48])

    def test_timeline_says_who_waits_for_what(self):
        self.open('hopper')
        self.make_charts()
        # A consumer's wait for a stage that a bulk copy ended; clicked in the middle of its bar, zoomed to it.
        place = self.page.evaluate("""(() => {
            const entry = kCharts.find(({box}) => document.querySelector('#timeline').contains(box));
            const {slices} = read_slices(data.timeline, 0);
            const slice = slices.find((s) => s.args.ended_by === 'bulk copy' && s.args.mbarrier === 'full_bar[0]');
            entry.box.scrollIntoView({behavior: 'instant', block: 'start'});
            scrollBy({top: -80, behavior: 'instant'});
            entry.chart.dispatchAction({type: 'dataZoom', startValue: slice.from - 20, endValue: slice.to + 20});
            const [x, y] = entry.chart.convertToPixel({seriesIndex: 0}, [(slice.from + slice.to) / 2, slice.row]);
            const box = entry.box.getBoundingClientRect();
            return [box.x + x, box.y + y]; })()""")
        self.page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
        self.page.click(*place)
        panel = self.text('#timeline-panel')
        self.assertIn('full_bar[0] phase', panel)
        self.assertIn('ended by bulk copy', panel)
        self.assertRegex(panel, r'landed by TMA \d+, cycle')

    def test_conflicts_have_banks(self):
        self.open('conflicts')
        # Rows of 64 bytes: rows 0, 2, 4, 6 of an 8x8 matrix begin in bank 0, the others in bank 16; 4 rows meet.
        words = self.page.evaluate("data.reports[0].instructions.find((i) => i.text.startsWith('ldmatrix') && i.conflicts > 0).bank_words")
        self.assertEqual(len(words), 32)
        self.assertEqual(max(words), 4)
        self.assertEqual(sum(words), 8 * 4)

    def test_phone(self):
        for name in ('hopper', 'sweep'):
            self.open(name, width=390, height=844, phone=True)
            self.make_charts()
            self.assertLessEqual(self.page.evaluate('document.documentElement.scrollWidth'), 390, name)

    def test_small_and_fast(self):
        for name in ('hopper', 'conflicts', 'sweep'):
            self.assertLess((Path(self.folder.name) / f'{name}.html').stat().st_size, MOST_BYTES)
            self.open(name)
            self.page.wait_for("performance.getEntriesByName('first-contentful-paint').length > 0")
            # Of the page's own thread: a busy machine does not count.
            self.page.call('Performance.enable', timeDomain='threadTicks')
            work = {m['name']: m['value'] for m in self.page.call('Performance.getMetrics')['metrics']}
            paint = self.page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime") / 1000
            self.assertLess(min(paint, work['TaskDuration']), SECONDS_TO_PAINT, name)

    def test_sweep(self):
        self.open('sweep')
        self.assertIn('251', self.text('#headline'))
        self.assertIn('b, 64x64x32, 4 stages', self.text('#headline'))
        self.assertIn('DRAM bandwidth', self.text('#headline'))
        self.make_charts()
        self.assertTrue(self.drawn('map') and self.drawn('curves'))
        count = lambda: self.page.evaluate("document.querySelectorAll('#points tbody tr').length")
        self.assertEqual(count(), 24)
        self.assertIn('smem 245760 > 232448 B', self.text('#points'))
        self.page.evaluate("(() => { const s = document.querySelector('#points select[data-column=arch]'); s.value = 'a'; s.dispatchEvent(new Event('change')); })()")
        self.assertEqual(count(), 12)
        self.press('#points th:nth-child(4) button')  # cycles, the largest first; 2000 / 1 ... of tile 3: 3002
        self.assertIn('3,002', self.text('#points tbody tr'))
        self.page.evaluate("(() => { const s = document.querySelector('#map select'); s.value = 'a'; s.dispatchEvent(new Event('change')); })()")
        self.assertTrue(self.drawn('map') and self.drawn('curves'))


if __name__ == '__main__':
    if not find_browser():
        print('SKIPPED: no Chromium here, so the pages were not opened in a browser (Debian: apt install chromium)')
        sys.exit(SKIPPED)
    TCSIM, SWEEP_SAMPLE, KERNELS = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1], verbosity=2)
