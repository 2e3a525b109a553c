"""standardwebhooks verifies what is delivered: to a webhook, and to the callback of one task. A changed byte is noticed."""

import http.server
import json
import queue
import threading
import urllib.request

from standardwebhooks import Webhook, WebhookVerificationError

import place

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
received = queue.Queue()


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        received.put((self.path, dict(self.headers), body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def post(path, body):
    headers = {**place.HEADERS, "Content-Type": "application/json"}
    request = urllib.request.Request(place.BASE + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def main():
    receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{receiver.server_port}"
    webhook = post("/v1/webhooks", {"url": url + "/all", "events": ["task.completed"]})
    start = {"plugin": "conformance", "tool": "greet", "input": {"name": "Ada"}}
    task = post("/v1/tasks", {**start, "callback_url": url + "/one", "callback_secret": SECRET})
    secrets = {"/all": webhook["secret"], "/one": SECRET}
    ids = set()
    while secrets:
        path, headers, body = received.get(timeout=60)
        secret = Webhook(secrets.pop(path))
        message = secret.verify(body, headers)
        assert message["type"] == "task.completed", message
        assert message["data"]["task"] == task["id"], message
        ids.add(headers["webhook-id"])
        try:
            secret.verify(body.replace(b"completed", b"cancelled"), headers)
        except WebhookVerificationError:
            continue
        raise AssertionError("a changed message is taken for ours")
    assert len(ids) == 2, ids
    print("a delivery to a webhook and one to a callback verified")


main()
