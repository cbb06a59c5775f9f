"""A socket.io client with default options, controlled over standard input: client.py <folder> <url> <auth as JSON>

Each line of the input is {"event", "payload"}, which is sent. Each line of the output is a received event; "connect",
"disconnect" and "refused" are those of the connection. The client ends when its input ends.
"""

import json
import sys
import threading

folder, url, auth = sys.argv[1:]
sys.path.insert(0, folder)

import socketio  # noqa: E402

lock = threading.Lock()


def report(event, payload=None):
    with lock:
        print(json.dumps({"event": event, "payload": payload}), flush=True)


client = socketio.Client()
client.on("connect", lambda: report("connect"), namespace="/v1")
client.on("disconnect", lambda reason: report("disconnect", reason), namespace="/v1")
client.on("*", report, namespace="/v1")

try:
    client.connect(url, auth=json.loads(auth), namespaces=["/v1"])
except socketio.exceptions.ConnectionError as error:
    report("refused", str(error))

for line in sys.stdin:
    message = json.loads(line)
    client.emit(message["event"], message["payload"], namespace="/v1")

client.shutdown()
