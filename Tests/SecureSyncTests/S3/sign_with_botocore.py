"""Signs requests with botocore: samples of AWSSignatureV4Tests as JSON in, headers as JSON out."""

import json
import sys
from urllib.parse import quote

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials


def sign(sample):
    headers = dict(sample["headers"])
    query = "&".join(f"{quote(n, safe='-_.~')}={quote(v, safe='-_.~')}" for n, v in sample["query"])
    url = f"http://{headers['host']}{sample['path']}" + (f"?{query}" if query else "")
    request = AWSRequest(method=sample["method"], url=url, headers=headers)
    request.context["timestamp"] = sample["timestamp"]
    request.context["payload_signing_enabled"] = True
    auth = S3SigV4Auth(
        Credentials("AKIDEXAMPLE", sample["secret"], sample.get("token")), "s3", sample["region"]
    )
    # The steps one by one: all at once would take the time from the clock.
    canonical = auth.canonical_request(request)
    signature = auth.signature(auth.string_to_sign(request, canonical), request)
    signed = auth.signed_headers(auth.headers_to_sign(request))
    return (
        f"AWS4-HMAC-SHA256 Credential={auth.scope(request)}, SignedHeaders={signed}, "
        f"Signature={signature}"
    )


json.dump([sign(sample) for sample in json.load(sys.stdin)], sys.stdout)
