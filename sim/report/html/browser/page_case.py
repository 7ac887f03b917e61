"""What every test of a page shares: one Chromium, a folder of pages, and that no page logs an error or asks for anything but itself."""
import tempfile
import unittest
from pathlib import Path

from browser import Browser

SKIPPED = 77  # exit code where there is no Chromium
MOST_BYTES = 3_000_000


class PageCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.browser = Browser()
        cls.make_pages(Path(cls.folder.name))

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
