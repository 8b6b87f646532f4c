"""A simple-API index on loopback over a flat folder of artifacts, all connections together at most `rate` bytes/s."""

import contextlib
import http.server
import pathlib
import threading
import time


class Budget:
    """Bytes per second shared by all connections."""

    def __init__(self, rate: int) -> None:
        self.rate, self.lock, self.ready = rate, threading.Lock(), time.monotonic()

    def take(self, amount: int) -> None:
        with self.lock:
            self.ready = max(self.ready, time.monotonic() - 0.05) + amount / self.rate
            wait = self.ready - time.monotonic()
        if wait > 0:
            time.sleep(wait)


def project(file_name: str) -> str:
    return file_name.split("-")[0].replace("_", "-").replace(".", "-").lower()


def handler(folder: pathlib.Path, budget: Budget) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def page(self, name: str) -> None:
            files = sorted(f.name for f in folder.iterdir() if f.suffix == ".whl" and project(f.name) == name)
            body = "".join(f'<a href="/files/{f.replace("+", "%2B")}">{f}</a>\n' for f in files).encode()
            self.send_response(200 if files else 404)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            parts = [p.replace("%2B", "+") for p in self.path.split("/") if p]
            path = folder / parts[-1]
            if not path.is_file():
                self.page(parts[-1])
                return
            size = path.stat().st_size
            begin, end, span = 0, size, self.headers.get("Range")
            if span:
                first, _, last = span.removeprefix("bytes=").partition("-")
                begin, end = int(first), int(last) + 1 if last else size
            self.send_response(206 if span else 200)
            if span:
                self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{size}")
            self.send_header("Content-Length", str(end - begin))
            self.send_header("ETag", f'"{size}"')
            self.end_headers()
            with path.open("rb") as file:
                file.seek(begin)
                while begin < end:
                    piece = file.read(min(1 << 20, end - begin))
                    budget.take(len(piece))
                    self.wfile.write(piece)
                    begin += len(piece)

    return Handler


@contextlib.contextmanager
def serve(folder: pathlib.Path, rate: int):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(folder, Budget(rate)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
