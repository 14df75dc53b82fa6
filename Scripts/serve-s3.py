"""Serves moto's stand-in for S3 on a free port of the loopback interface, for Scripts/stores.

One request at a time: moto looks whether an object exists, and writes it, in two steps, which is no
condition as soon as two requests run concurrently.

usage: serve-s3.py PORT-FILE BUCKET [CERTIFICATE KEY]   with these: over HTTPS
"""

import hashlib
import io
import logging
import os
import sys

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server
from werkzeug.test import Client


class WholeRequests:
    """Refuses a request of which a part is missing, as S3 does by its signature.

    The server takes a head without an end for a whole one, and moto stores a part of a body.
    """

    def __init__(self, application):
        self.application = application

    def __call__(self, environ, start_response):
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        if environ.get("HTTP_X_AMZ_CONTENT_SHA256") != hashlib.sha256(body).hexdigest():
            start_response("400 Bad Request", [("Content-Length", "0"), ("Connection", "close")])
            return []
        environ["wsgi.input"] = io.BytesIO(body)
        return self.application(environ, start_response)


def main():
    port_file, bucket = sys.argv[1:3]
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    application = DomainDispatcherApplication(create_backend_app)
    tls = tuple(sys.argv[3:]) or None
    server = make_server("127.0.0.1", 0, WholeRequests(application), threaded=False, ssl_context=tls)
    # Only what is signed for S3 reaches its part of moto; it does not check the signature.
    scope = "AKIDEXAMPLE/20150830/us-east-1/s3/aws4_request"
    answer = Client(application).put(
        f"/{bucket}",
        base_url=f"http://127.0.0.1:{server.port}",
        headers={"Authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"},
    )
    if answer.status_code != 200:
        sys.exit(f"cannot create the bucket: {answer.status} {answer.get_data(as_text=True)}")
    # Whole or not at all: the script waits for the file.
    with open(port_file + ".new", "w", encoding="ascii") as file:
        file.write(str(server.port))
    os.rename(port_file + ".new", port_file)
    server.serve_forever()


main()
