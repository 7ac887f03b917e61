"""A headless Chromium, driven over its debugging pipe (Chrome DevTools Protocol) with Python's standard library alone.

    with Browser() as browser:
        page = browser.open('/tmp/report.html', width=1280, height=900, dark=False)
        page.evaluate('document.title')
        page.screenshot('shot.png')
        page.errors, page.requests     # console errors and exceptions; addresses that the page asked for
"""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

NAMES = ('chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable')


def find_browser():
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    def __init__(self, timeout=120):
        self.timeout, self.next_id, self.buffer, self.pages = timeout, 0, b'', {}
        self.folder = tempfile.mkdtemp(prefix='tcsim-browser-')
        to_read, self.to_write = os.pipe()
        self.from_read, from_write = os.pipe()

        def hand_over():  # the protocol's pipes are descriptors 3 and 4
            low, high = os.dup(to_read), os.dup(from_write)
            os.dup2(low, 3)
            os.dup2(high, 4)

        self.process = subprocess.Popen(
            [find_browser(), '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars', '--remote-debugging-pipe',
             f'--user-data-dir={self.folder}', 'about:blank'], preexec_fn=hand_over, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def receive(self, deadline):
        while b'\0' not in self.buffer:
            if not select.select([self.from_read], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError('the browser does not answer')
            part = os.read(self.from_read, 1 << 20)
            if not part:
                raise EOFError('the browser ended')
            self.buffer += part
        text, self.buffer = self.buffer.split(b'\0', 1)
        message = json.loads(text)
        page = self.pages.get(message.get('sessionId'))
        if page and 'method' in message:
            page.notice(message['method'], message['params'])
        return message

    def call(self, method, session=None, **params):
        self.next_id += 1
        message = {'id': self.next_id, 'method': method, 'params': params} | ({'sessionId': session} if session else {})
        os.write(self.to_write, json.dumps(message).encode() + b'\0')
        deadline = time.monotonic() + self.timeout
        while True:
            answer = self.receive(deadline)
            if answer.get('id') == message['id']:
                if 'error' in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer['result']

    def open(self, path, width=1280, height=900, dark=False, phone=False):
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        page = Page(self, self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId'])
        self.pages[page.session] = page
        for domain in ('Page', 'Runtime', 'Network', 'Log'):
            page.call(f'{domain}.enable')
        page.call('Performance.enable', timeDomain='threadTicks')  # the page's own work: a busy machine does not count
        page.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=phone)
        page.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])
        page.call('Page.navigate', url=Path(path).resolve().as_uri())
        page.wait_for("document.readyState === 'complete'")
        return page


class Page:
    def __init__(self, browser, session):
        self.browser, self.session, self.errors, self.requests = browser, session, [], []

    def notice(self, method, params):
        if method == 'Runtime.exceptionThrown':
            self.errors.append(params['exceptionDetails'].get('exception', {}).get('description') or params['exceptionDetails']['text'])
        elif method == 'Runtime.consoleAPICalled' and params['type'] in ('error', 'warning', 'assert'):
            self.errors.append(' '.join(str(a.get('value', a.get('description'))) for a in params['args']))
        elif method == 'Log.entryAdded' and params['entry']['level'] in ('error', 'warning'):
            self.errors.append(params['entry']['text'])
        elif method == 'Network.requestWillBeSent':
            self.requests.append(params['request']['url'])

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def evaluate(self, expression):
        result = self.call('Runtime.evaluate', expression=expression, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in result:
            raise RuntimeError(result['exceptionDetails'].get('exception', {}).get('description', expression))
        return result['result'].get('value')

    def work(self):
        """Seconds that the page's thread has worked since it was opened."""
        return {m['name']: m['value'] for m in self.call('Performance.getMetrics')['metrics']}['TaskDuration']

    def wait_for(self, expression):
        deadline = time.monotonic() + self.browser.timeout
        while not self.evaluate(expression):
            if time.monotonic() > deadline:
                raise TimeoutError(expression)
            time.sleep(0.05)

    def click(self, x, y):
        for kind in ('mouseMoved', 'mousePressed', 'mouseReleased'):
            self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, button='none' if kind == 'mouseMoved' else 'left', clickCount=0 if kind == 'mouseMoved' else 1)

    def screenshot(self, path, selector=None):
        """Of the window, or of an element; PNG or WebP by the file's name."""
        clip = {}
        if selector:
            box = self.evaluate(f'(() => {{ const r = document.querySelector({json.dumps(selector)}).getBoundingClientRect(); return [r.x + scrollX, r.y + scrollY, r.width, r.height]; }})()')
            clip = {'clip': dict(zip(('x', 'y', 'width', 'height'), box), scale=1), 'captureBeyondViewport': True}
        kind = {'format': 'webp', 'quality': 60} if str(path).endswith('.webp') else {'format': 'png'}
        shot = self.call('Page.captureScreenshot', **kind, **clip)
        Path(path).write_bytes(base64.b64decode(shot['data']))
