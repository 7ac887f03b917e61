"""The pages in a real Chromium: content, clicks, both colour schemes, a phone; no console error, no request, a fast first paint.

    browser_test.py TCSIM WORKLOADS      WORKLOADS: the folder workloads; exit 77: skipped, there is no Chromium
"""
import csv
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from browser import find_browser
from page_case import MOST_BYTES, SKIPPED, PageCase

# C of 128x128 from K = 256, one CTA of 12 warps, two stages: as tools/tcsim/timeline_test.cpp.
HOPPER = 'gemm --arch h200 --style hopper-ws -m 128 -n 128 -k 256 --tile 128x128x64 --stages 2 --consumers 2'
# Compiled from CUDA with line information; rows of 64 bytes without a swizzle: ldmatrix conflicts.
CONFLICTS = 'run mma_s3_none.ptx --launch mma_s3_none.toml --arch a100'
# A user's Triton kernel; its .loc lines lie in triton_matmul.py beside it, and in Triton's own files, which are not there.
TRITON = 'run mma_128x128x32_s3_w4.ptx --launch mma_128x128x32_s3_w4.toml'
# As tools/tcsim/timeline_test.cpp: K = 256 in 4 stages of 4 tcgen05.mma.
BLACKWELL = 'gemm --arch b200 --style blackwell-ws -m 128 -n 128 -k 256 --tile 128x128x64 --stages 2'
# Two machines, 3 tiles, 3 numbers of stages. 6 stages of 128x256x64 take 6 * (16,384 + 32,768) = 294,912 B, more than any SM has.
SWEEP = 'sweep --arch a100,h200 -m 256 -n 256 -k 128 --style ampere --tile 64x64x32,128x128x32,128x256x64 --stages 2,3,6'
SWEEP_POINTS, SWEEP_REFUSED = 2 * 3 * 3, 2
SECONDS_TO_PAINT = 2
PAGES = ('hopper', 'conflicts', 'triton', 'blackwell', 'sweep')


class PageTest(PageCase):
    @classmethod
    def make_pages(cls, folder):
        for name, options, kernels in (('hopper', HOPPER, 'cuda'), ('conflicts', CONFLICTS, 'cuda'), ('triton', TRITON, 'triton'), ('blackwell', BLACKWELL, 'cuda')):
            subprocess.run([TCSIM, *options.split(), '--quiet', '--html', folder / f'{name}.html'], check=True, cwd=Path(WORKLOADS) / kernels)
        # Points that cannot run are no failure of the sweep, but a shell sees them: exit code 3 at most.
        subprocess.run([TCSIM, *SWEEP.split(), '--quiet', '--csv', folder / 'sweep.csv', '--html', folder / 'sweep.html'], check=False)
        with open(folder / 'sweep.csv', newline='') as file:
            cls.sweep = list(csv.DictReader(file))

    def text(self, selector):
        return self.page.evaluate(f"document.querySelector({selector!r}).innerText")

    def rows(self, section, kind):
        return self.page.evaluate(f"document.querySelectorAll('#{section} tr.{kind}').length")

    def press(self, selector):
        self.page.evaluate(f"document.querySelector({selector!r}).click()")

    def choose(self, selector, label):
        """The option of a select by its text."""
        self.page.evaluate(f"(() => {{ const s = document.querySelector({selector!r}); s.value = [...s.options].find((o) => o.text === {label!r}).value; s.dispatchEvent(new Event('change')); }})()")

    def column(self, section, head):
        """The texts of a table's column."""
        return self.page.evaluate(f"""(() => {{
            const heads = [...document.querySelectorAll('#{section} th')];
            const at = heads.findIndex((th) => th.textContent.replace(/ [\u25b4\u25be]$/, '') === {head!r});
            return [...document.querySelectorAll('#{section} tr.row')].map((tr) => tr.children[at].textContent); }})()""")

    def sort_by(self, section, head):
        self.page.evaluate(f"[...document.querySelectorAll('#{section} th button')].find((b) => b.textContent.replace(/ [\u25b4\u25be]$/, '') === {head!r}).click()")

    def settle(self):
        self.page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')

    def place_of(self, condition):
        """Where a slice of the timeline is in the window, zoomed to it. condition: JavaScript on a slice s."""
        place = self.page.evaluate(f"""(() => {{
            const entry = kCharts.find(({{box}}) => document.querySelector('#timeline').contains(box));
            const {{slices}} = read_slices(data.timeline, 0);
            const slice = slices.find((s) => {condition});
            entry.box.scrollIntoView({{behavior: 'instant', block: 'start'}});
            scrollBy({{top: -80, behavior: 'instant'}});
            entry.chart.dispatchAction({{type: 'dataZoom', startValue: slice.from - 20, endValue: slice.to + 20}});
            const [x, y] = entry.chart.convertToPixel({{seriesIndex: 0}}, [(slice.from + slice.to) / 2, slice.row]);
            scrollBy({{top: Math.max(0, y - 500), behavior: 'instant'}});
            const box = entry.box.getBoundingClientRect();
            return [box.x + x, box.y + y]; }})()""")
        self.settle()
        return place

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
        lines = (Path(WORKLOADS) / 'cuda' / 'mma_multistage.cu').read_text().splitlines()
        labels = self.page.evaluate("[...document.querySelectorAll('#source tr.group button')].map((b) => b.textContent)")
        labels = [label for label in labels if label.startswith('mma_multistage.cu:')]
        self.assertGreater(len(labels), 5)
        for label in labels:
            place, _, text = label.partition('  ')
            self.assertEqual(text, lines[int(place.split(':')[1]) - 1].strip())

    def test_timeline_says_who_waits_for_what(self):
        self.open('hopper')
        self.make_charts()
        # A consumer's wait for a stage that a bulk copy ended; clicked in the middle of its bar, zoomed to it.
        self.page.click(*self.place_of("s.args.ended_by === 'bulk copy' && s.args.mbarrier === 'full_bar[0]'"))
        panel = self.text('#timeline-panel')
        self.assertIn('full_bar[0] phase', panel)
        self.assertIn('ended by bulk copy', panel)
        self.assertRegex(panel, r'landed by TMA \d+, cycle')

    def test_hovering_tells_what_a_bar_is(self):
        self.open('hopper')
        self.make_charts()
        x, y = self.place_of("s.category === 'tensor'")
        self.page.call('Input.dispatchMouseEvent', type='mouseMoved', x=x, y=y)
        self.page.wait_for("[...document.querySelectorAll('#timeline .chart div')].some((d) => d.innerText.includes('cycles on the tensor cores'))")

    def test_tcgen05_on_the_timeline(self):
        self.open('blackwell')
        self.make_charts()
        self.assertTrue(self.drawn('timeline'))
        tracks = self.page.evaluate('data.timeline.tracks.map((t) => t.name)')
        for name in ('tensor core', 'commit 0', 'TMEM columns', 'TMEM lanes 0-31', 'TMEM lanes 96-127', 'mbarrier full_bar[0]'):
            self.assertIn(name, tracks)
        self.assertTrue(any(name.endswith(' mma') for name in tracks) and any('epilogue' in name for name in tracks), tracks)
        self.assertIn('Tensor Memory', self.text('#timeline .legend'))
        # The epilogue waits for the last commit: the arrow comes from it.
        self.page.click(*self.place_of("s.args.ended_by === 'tcgen05.commit' && s.category === 'wait' && s.args.mbarrier.startsWith('done_bar')"))
        panel = self.text('#timeline-panel')
        self.assertIn('ended by tcgen05.commit', panel)
        self.assertRegex(panel, r'committed by commit \d+, cycle')
        self.page.click(*self.place_of("s.category === 'commit'"))
        panel = self.text('#timeline-panel')
        self.assertRegex(panel, r'commit on \w+\[\d\], issued by warp \d')
        self.assertIn('completed by tensor core', panel)
        self.assertRegex(panel, r'arrives: goes on in mbarrier')

    def test_conflicts_have_banks(self):
        self.open('conflicts')
        # Rows of 64 bytes: rows 0, 2, 4, 6 of an 8x8 matrix begin in one bank, the others 16 banks further; 4 rows meet, 3 too many, in
        # each of 2 * 4 banks. An x4 has four such matrices.
        inst = self.page.evaluate("data.reports[0].instructions.find((i) => i.text.startsWith('ldmatrix') && i.text.includes('.x4') && i.conflicts > 0)")
        self.assertEqual(len(inst['bank_conflicts']), 32)
        self.assertEqual(inst['conflicts'], inst['executed'] * 4 * 3)
        self.assertEqual(sum(inst['bank_conflicts']), inst['executed'] * 4 * 3 * 8)
        self.make_charts()
        self.assertTrue(self.drawn('banks'))
        self.assertIn('75.0 %', self.text('#banks'))  # 3 of 4 passes

    def test_triton_lines(self):
        self.open('triton')
        self.press('#source .tools button:nth-of-type(2)')
        source = (Path(WORKLOADS) / 'triton' / 'triton_matmul.py').read_text().splitlines()
        labels = self.page.evaluate("[...document.querySelectorAll('#source tr.group button')].map((b) => b.textContent)")
        own = [label.partition('  ') for label in labels if label.startswith('triton_matmul.py:')]
        numbers = [int(place.split(':')[1]) for place, _, _ in own]
        self.assertGreater(len(own), 5)
        self.assertEqual(numbers, sorted(numbers))  # in the order of the file
        for number, (_, _, text) in zip(numbers, own):
            self.assertEqual(text, source[number - 1].strip())
        self.assertTrue(any('tl.dot' in text for _, _, text in own))
        self.assertEqual([label for label in labels if label.startswith('mma_')], [])  # no line of the PTX as a source
        # A file that is not there: its numbers alone.
        self.assertTrue(any(label.startswith('standard.py:') and label.split(':')[1].strip().isdigit() for label in labels), labels)
        # The line that costs most is unfolded at first, and the sum of the lines is everything.
        shares = [float(text.split()[0]) for text in self.page.evaluate("[...document.querySelectorAll('#source tr.group td:nth-child(3)')].map((td) => td.textContent)")]
        self.assertAlmostEqual(sum(shares), 100, delta=0.05 * len(shares))

    def test_machine_and_barriers(self):
        self.open('blackwell')
        self.press('#machine .tools button:nth-of-type(1)')
        self.assertEqual(self.rows('machine', 'row'), self.page.evaluate('data.machine.values.length'))
        self.assertTrue(all(self.column('machine', 'source')))
        self.assertEqual(self.column('barriers', 'barrier')[0], 'CTA barriers')
        self.sort_by('barriers', 'wait cycles')
        cycles = [int(text.replace(',', '')) for text in self.column('barriers', 'wait cycles')]
        self.assertEqual(cycles, sorted(cycles, reverse=True))
        self.assertGreater(cycles[0], 0)

    def test_phone(self):
        for name in PAGES:
            self.open(name, width=390, height=844, phone=True)
            self.make_charts()
            self.assertLessEqual(self.page.evaluate('document.documentElement.scrollWidth'), 390, name)

    def test_small_and_fast(self):
        for name in PAGES:
            self.assertLess((Path(self.folder.name) / f'{name}.html').stat().st_size, MOST_BYTES)
            self.open(name)
            self.page.wait_for("performance.getEntriesByName('first-contentful-paint').length > 0")
            work = self.page.work()
            self.assertGreater(work, 0)
            paint = self.page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime") / 1000
            self.assertLess(min(paint, work), SECONDS_TO_PAINT, name)

    def test_sweep(self):
        """What the page says against the CSV."""
        self.assertEqual(len(self.sweep), SWEEP_POINTS)
        ran = [row for row in self.sweep if row['cycles']]
        self.assertEqual(len(ran), SWEEP_POINTS - SWEEP_REFUSED)
        best = min(ran, key=lambda row: int(row['cycles']))
        self.open('sweep')
        head = self.text('#headline')
        self.assertIn(f"{int(best['cycles']):,}", head)
        self.assertIn(f"{best['arch']}, {best['tile']}, {best['stages']} stages", head)
        self.assertEqual(self.column('headline', 'arch'), ['a100', 'h200'])
        for arch, cycles in zip(('a100', 'h200'), self.column('headline', 'cycles')):
            self.assertEqual(int(cycles.replace(',', '')), min(int(row['cycles']) for row in ran if row['arch'] == arch))
        self.make_charts()
        for arch in ('h200', 'a100'):
            self.choose('#map select', arch)
            self.assertTrue(self.drawn('map') and self.drawn('curves'), arch)
        self.assertTrue(self.text('#curves .legend').strip())

    def test_sweep_table(self):
        self.open('sweep')
        cells = lambda: [int(text.replace(',', '')) if text else None for text in self.column('points', 'cycles')]
        cycles = sorted(int(row['cycles']) for row in self.sweep if row['cycles'])
        self.assertEqual(cells(), cycles + [None] * SWEEP_REFUSED)  # the fastest first, what cannot run last
        self.sort_by('points', 'cycles')
        self.assertEqual(cells(), cycles[::-1] + [None] * SWEEP_REFUSED)
        # Those that cannot run say why.
        self.choose('#points select[data-column=state]', 'cannot run')
        self.assertEqual(self.column('points', 'tile'), ['128x256x64'] * SWEEP_REFUSED)
        for text in self.column('points', 'bound by'):
            self.assertIn('does not fit: smem 294912 > ', text)
        self.choose('#points select[data-column=state]', 'all')
        self.choose('#points select[data-column=arch]', 'h200')
        self.assertEqual(self.column('points', 'arch'), ['h200'] * (SWEEP_POINTS // 2))
        self.page.evaluate("(() => { const i = document.querySelector('#points input'); i.value = '128x128x32'; i.dispatchEvent(new Event('input')); })()")
        self.assertEqual(self.column('points', 'tile'), ['128x128x32'] * 3)
        self.press('#points tr.row')  # a row unfolds to all columns
        self.assertIn('h200', self.text('#points tr.detail'))
        # No row is a tower: the widest text does not wrap.
        self.assertLess(self.page.evaluate("Math.max(...[...document.querySelectorAll('#points tr.row')].map((tr) => tr.offsetHeight))"), 60)


if __name__ == '__main__':
    if not find_browser():
        print('SKIPPED: no Chromium here, so the pages were not opened in a browser (Debian: apt install chromium)')
        sys.exit(SKIPPED)
    TCSIM, WORKLOADS = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1], verbosity=2)
