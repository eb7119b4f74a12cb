"""gentle.py: a load that leaves the machine to others: a few hundred requests a second to http://10.99.0.2/."""
import http.client
import threading
import time


class Load:
    """Requests, one after the other, on a connection that stays and one each that does not."""

    def __enter__(self):
        self.on = True
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def __exit__(self, *_):
        self.on = False
        self.thread.join()

    def run(self):
        stays = http.client.HTTPConnection("10.99.0.2", 80, timeout=10)
        while self.on:
            try:
                for c in (stays, http.client.HTTPConnection("10.99.0.2", 80, timeout=10)):
                    c.request("GET", "/")
                    c.getresponse().read()
                    if c is not stays:
                        c.close()
            except OSError:
                stays.close()
                time.sleep(0.1)
            time.sleep(0.002)
