#!/usr/bin/python3
"""A web server that answers /N with N bytes."""

import http.server


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers requests."""

    def do_GET(self) -> None:
        """Send as many bytes as the path says."""
        size_bytes = int(self.path.strip("/"))
        self.send_response(200)
        self.send_header("Content-Length", str(size_bytes))
        self.end_headers()
        self.wfile.write(bytes(size_bytes))


http.server.HTTPServer(("", 8000), Handler).serve_forever()
