"""Pages of `tcsim layout --format html` in a real Chromium: an element shows its place and a place its elements; no console error, no request.

    page_test.py TCSIM BROWSER      BROWSER: the folder of browser.py and page_case.py; exit 77: skipped, there is no Chromium
"""
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, sys.argv[2])
from browser import find_browser
from page_case import MOST_BYTES, SKIPPED, PageCase

PAGES = {
    'mma': 'layout mma.m16n8k16.f16',
    'wgmma': 'layout wgmma.m64n64k16.f16',
    'tmem': 'layout tcgen05.mma.m256n256k16.f16',  # the largest
    'scales': 'layout tcgen05.mma.m128n128k32.mxf8f6f4',
    'volta': 'layout mma.m8n8k4.f16',
    'box': 'tensormap --type f16 --box 64,16 --swizzle 128B',
}


class LayoutPage(PageCase):
    @classmethod
    def make_pages(cls, folder):
        for name, options in PAGES.items():
            subprocess.run([TCSIM, *options.split(), '--format', 'html', '-o', folder / f'{name}.html'], check=True)

    def point_at(self, table, row, column):
        """Moves the mouse there; rows and columns count from 0, without the labels. Returns what the page says."""
        x, y = self.page.evaluate(f"""(() => {{ const td = document.querySelector('#{table}').rows[{row} + 1].cells[{column} + 1];
            td.scrollIntoView({{block: 'center', inline: 'center'}}); const r = td.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()""")
        self.page.call('Input.dispatchMouseEvent', type='mouseMoved', x=x, y=y)
        return self.page.evaluate("document.getElementById('say').textContent")

    def marked(self, table, kind='self'):
        return self.page.evaluate(f"[...document.querySelectorAll('#{table} td.{kind}')].map((c) => [c.parentElement.rowIndex - 1, c.cellIndex - 1])")

    def choose(self, select, value):
        self.page.evaluate(f"(() => {{ const s = document.getElementById('{select}'); s.value = {value}; s.dispatchEvent(new Event('change')); }})()")

    def test_element_shows_its_place(self):
        # PTX ISA, m16n8k16: A[9][3] is lane 5, register 1, upper half.
        self.open('mma')
        self.assertEqual(self.point_at('matrix', 9, 3), 'A[9][3]: lane 5, register 1, bits 16-31')
        self.assertEqual(self.marked('matrix'), [[9, 3]])
        self.assertEqual(self.marked('place'), [[5, 1]])
        # The lane's other seven elements: rows 1 and 9, columns 2, 3, 10, 11.
        self.assertEqual(sorted(self.marked('matrix', 'lane')), [[1, 2], [1, 3], [1, 10], [1, 11], [9, 2], [9, 10], [9, 11]])

    def test_place_shows_its_elements(self):
        self.open('mma')
        self.assertEqual(self.point_at('place', 5, 1), 'A[9][2]: lane 5, register 1, bits 0-15; A[9][3]: lane 5, register 1, bits 16-31')
        self.assertEqual(self.marked('matrix'), [[9, 2], [9, 3]])

    def test_operands(self):
        self.open('mma')
        self.choose('operand', 3)  # D[12][7]: lane 4 * 4 + 3, register 3
        self.assertEqual(self.point_at('matrix', 12, 7), 'D[12][7]: lane 19, register 3, bits 0-31')
        self.open('wgmma')
        self.choose('operand', 1)  # B[10][3]: row 3 of the 128-byte atom, byte 20 in piece 1 ^ 3 = 2: 3 * 128 + 36
        self.assertEqual(self.point_at('matrix', 10, 3), 'B[10][3]: byte 0x1a4, bank 9, bits 0-15')

    def test_click_keeps_it(self):
        self.open('mma')
        self.point_at('matrix', 9, 3)
        self.page.evaluate("document.querySelector('#matrix').rows[10].cells[4].click()")
        self.assertTrue(self.point_at('matrix', 0, 0).startswith('A[9][3]'))

    def test_bank(self):
        # Row 9 of 128 bytes, column 3: byte 6 of piece 0, which lies in place 0 ^ 1: 9 * 128 + 16 + 6 = 0x496, bank 0x16 / 4 = 5.
        self.open('box')
        self.assertEqual(self.point_at('matrix', 9, 3), 'A[9][3]: byte 0x496, bank 5, bits 0-15')
        self.assertEqual(self.marked('place'), [[9, 1]])

    def test_tensor_memory(self):
        self.open('tmem')
        self.choose('page', 128)  # rows 128 to 191: CTA 1
        self.assertEqual(self.point_at('matrix', 2, 200), 'D[130][200]: CTA 1, TMEM lane 2, TMEM column 200, bits 0-31')
        self.open('scales')
        self.choose('operand', 3)  # SFA of row 77 = 2 * 32 + 13: column 2, lane 13 and three copies
        self.assertIn('SFA[77][0]: TMEM lane 13, TMEM column 2, bits 0-7; SFA[77][0]: TMEM lane 45', self.point_at('matrix', 77, 0))

    def test_quad_pairs(self):
        self.open('volta')
        self.choose('tile', 1)  # A[6][3]: lane 16 + 4 + 2, element 3
        self.assertEqual(self.point_at('matrix', 6, 3), 'A[6][3]: lane 22, register 1, bits 16-31')

    def test_both_themes_and_a_phone(self):
        for name in PAGES:
            for dark in (False, True):
                self.open(name, width=390, height=844, dark=dark, phone=True)
                self.assertLessEqual(self.page.evaluate('document.documentElement.scrollWidth'), 390, name)
                red, green, blue = self.page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
                self.assertEqual(red + green + blue < 384, dark)

    def test_small(self):
        self.open('mma')
        for name in PAGES:
            self.assertLess((Path(self.folder.name) / f'{name}.html').stat().st_size, MOST_BYTES)


if __name__ == '__main__':
    TCSIM = sys.argv[1]
    if not find_browser():
        print('SKIPPED: no Chromium here, so the layout pages were not opened in a browser (Debian: apt install chromium)')
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1], verbosity=2)
