"""A TLS server on loopback for at most one minute: prints its port, says hello to a few clients, ends by itself."""

import pathlib
import socket
import ssl
import sys

folder = pathlib.Path(sys.argv[1])
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(folder / "server.pem", folder / "server.key")
with socket.create_server(("127.0.0.1", 0)) as server:
    server.settimeout(60)
    print(server.getsockname()[1], flush=True)
    for _ in range(5):
        client, _address = server.accept()
        try:
            with context.wrap_socket(client, server_side=True) as tls:
                tls.sendall(b"hello")
        except (ssl.SSLError, ConnectionError) as error:
            print(error, file=sys.stderr)
