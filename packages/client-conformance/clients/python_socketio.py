"""A client of uswarm with python-socketio. See docs/client-conformance.md for the verbs that it answers."""

import contextlib
import json
import os
import pathlib
import sys
import threading
import urllib.error
import urllib.request
import uuid

import engineio
import socketio

NAMES = ("URL", "TOKEN_URL", "WORKSPACE", "CONVERSATION", "STORE")
URL, TOKEN_URL, WORKSPACE, CONVERSATION, STORE = (os.environ[f"USWARM_{name}"] for name in NAMES)
API = f"{URL}/v1/workspaces/{WORKSPACE}/conversations"
OUTBOX = pathlib.Path(STORE, "outbox.json")
RETRY_S = 0.3

lock = threading.RLock()
answered, wake = threading.Event(), threading.Event()
shown = {"connection": "connecting", "conversation": None, "error": None}
at = {"epoch": "", "seq": None, "resume_token": None, "client": None, "pause": 0}
messages, streams, deleted = {}, {}, set()
outbox = json.loads(OUTBOX.read_text()) if OUTBOX.exists() else []


class OrderedEngine(engineio.Client):
    """By default each event has a separate thread, so that events overtake each other."""

    def _trigger_event(self, event, *args, **options):
        return super()._trigger_event(event, *args, **{**options, "run_async": False})


class OrderedClient(socketio.Client):
    def _engineio_client_class(self):
        return OrderedEngine


def save():
    new = OUTBOX.with_suffix(".new")
    new.write_text(json.dumps(outbox))
    new.replace(OUTBOX)


def token():
    with urllib.request.urlopen(TOKEN_URL) as response:
        return response.read().decode()


def request(url):
    """The status, the body and the position of a response; the status 0 without one."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers={"X-Token": token()})) as response:
            return response.status, json.load(response), response.headers["X-Workspace-Position"]
    except urllib.error.HTTPError as error:
        return error.code, json.load(error), None
    except (OSError, ValueError):
        return 0, None, None


# --- messages -------------------------------------------------------------------------------------------------------


def put(message):
    known = messages.get(message["id"])
    if message["id"] in deleted or message["conversation_id"] != CONVERSATION:
        return
    if known and message["rev"] <= known["rev"]:
        return
    messages[message["id"]] = message
    if message["content"]["type"] != "loading":
        streams.pop(message["id"], None)
    if any(own["local_id"] == message["local_id"] for own in outbox):
        outbox[:] = [own for own in outbox if own["local_id"] != message["local_id"]]
        save()
        answered.set()


def put_chunk(event):
    known = messages.get(event["message_id"])
    if event["message_id"] in deleted or (known and known["content"]["type"] != "loading"):
        return
    generation, text = streams.get(event["message_id"], (0, ""))
    if event["generation"] < generation:
        return
    # The offset counts UTF-16 code units. It is beyond the text if a chunk is missing.
    units = text.encode("utf-16-le") if event["generation"] == generation else b""
    end = 2 * event["offset"]
    text = units[:end].decode("utf-16-le") + (event["chunk"] if end <= len(units) else "")
    streams[event["message_id"]] = (event["generation"], text)


def put_conversation(change):
    known = shown["conversation"]
    if known and change and change.get("id", CONVERSATION) == CONVERSATION and change["rev"] > known["rev"]:
        known.update(change)


def answer(local_id, change, pause=0):
    """Changes an own message after the answer to it."""
    for own in outbox:
        if own["local_id"] == local_id:
            own.update(change)
    save()
    at["pause"] = pause
    answered.set()


def receive(name, event):
    if name == "session.ready":
        at["resume_token"] = event["resume_token"]
    elif name == "session.ending" and not event["reconnect"]:
        shown.update(connection="signed_out", error=event["code"])
    elif name == "session.ending" and event["code"] == "token_expired" and event["in_ms"] > 0:
        emit("session.renew", {"credentials": {"x-token": token()}})
    elif name == "workspace.subscribed" and WORKSPACE in event["workspace_ids"]:
        shown["connection"] = "live"
        for each in event["state"][WORKSPACE]["streams"]:
            streams[each["message_id"]] = (each["generation"], each["text"])
    elif name == "workspace.resync":
        messages.clear(), streams.clear(), deleted.clear()
        at["seq"] = None
        shown["connection"] = "connecting"
        threading.Timer(event["in_ms"] / 1000, begin, [at["client"]]).start()
    elif name in ("message.new", "message.updated"):
        put(event["message"])
    elif name == "message.chunk":
        put_chunk(event)
    elif name == "message.deleted":
        deleted.add(event["message_id"])
        messages.pop(event["message_id"], None)
    elif name == "message.send.ack":
        answer(event["local_id"], {"id": event["message_id"], "state": "sent"})
    elif name == "message.send.error" and event["retryable"]:
        answer(event["local_id"], {}, event.get("retry_after_ms", 1000 * RETRY_S) / 1000)
    elif name == "message.send.error":
        answer(event["local_id"], {"state": "refused"})
    elif name == "conversation.deleted" and event["conversation_id"] == CONVERSATION:
        shown["conversation"] = messages.clear()
    if at["seq"] is not None and event.get("workspace_id") == WORKSPACE:
        at["seq"] = max(at["seq"], event.get("seq", 0))
    put_conversation(event.get("conversation"))


# --- connection -----------------------------------------------------------------------------------------------------


def emit(name, payload):
    try:
        at["client"].emit(name, payload, namespace="/v1")
    except (socketio.exceptions.SocketIOError, OSError):
        answered.set()


def snapshot():
    """Reads the conversation, its newest messages, and the position of the first response."""
    status, body, position = request(API)
    found = [each for each in body["data"] if each["id"] == CONVERSATION] if status == 200 else []
    if found:
        status, body, _ = request(f"{API}/{CONVERSATION}/messages?limit=100")
    if status == 200:
        with lock:
            epoch, _, seq = position.partition(":")
            at.update(epoch=epoch, seq=int(seq))
            shown["conversation"] = found[0] if found else None
            for message in body["data"] if found else []:
                put(message)
    elif status in (401, 403):
        shown.update(connection="signed_out", error=body["code"])


def begin(client):
    """Subscribes at the position, after a snapshot if there is none."""
    while at["seq"] is None and client is at["client"] and client.connected:
        snapshot()
        wake.wait(RETRY_S if at["seq"] is None else 0)
    since = {WORKSPACE: f"{at['epoch']}:{at['seq']}"}
    if client is at["client"]:
        emit("workspace.subscribe", {"workspace_ids": [WORKSPACE], "since": since})


def refused(error):
    if isinstance(error, dict) and error.get("data"):
        shown.update(connection="signed_out", error=error["data"]["code"])


def on_event(name, payload):
    with lock:
        receive(name, payload)


def connect():
    while not shown["error"]:
        client = at["client"] = OrderedClient(reconnection=False)
        client.on("*", on_event, namespace="/v1")
        client.on("connect_error", refused, namespace="/v1")
        try:
            auth = {"x-token": token()}
            if at["resume_token"]:
                auth["resume_token"] = at["resume_token"]
            client.connect(URL, auth=auth, namespaces=["/v1"], transports=["websocket"])
            begin(client)
            client.wait()
        except (socketio.exceptions.SocketIOError, OSError):
            pass
        shown["connection"] = "signed_out" if shown["error"] else "connecting"
        answered.set()
        wake.wait(RETRY_S)
        wake.clear()


def send():
    """Sends one message after the other, each until it is stored or refused."""
    while True:
        own = next((own for own in outbox if own["state"] == "queued"), None)
        if own and shown["connection"] == "live":
            answered.clear()
            content = {"type": "text", "text": own["text"]}
            ids = {"workspace_id": WORKSPACE, "conversation_id": CONVERSATION, "local_id": own["local_id"]}
            emit("message.send", {**ids, "content": content})
            answered.wait()
        threading.Event().wait(at.pop("pause", 0) or 0.03)


# --- verbs ----------------------------------------------------------------------------------------------------------


def view(message):
    content = message["content"]
    text = content.get("text", content.get("title", streams.get(message["id"], (0, ""))[1]))
    more = {"selected": content.get("selected_action_id")} if content["type"] == "action_card" else {}
    return {**{key: message[key] for key in ("id", "local_id", "role", "status")}, "text": text, "state": "sent", **more}


def verb(request):
    if request["verb"] == "send":
        own = {"id": None, "local_id": str(uuid.uuid4()), "role": "user", "text": request["text"]}
        outbox.append({**own, "status": "pending", "state": "queued"})
        save()
    elif request["verb"] == "background":
        engine = at["client"].eio
        if engine.state == "connected" and request["ms"] > 1000 * (engine.ping_interval + engine.ping_timeout):
            with contextlib.suppress(OSError):
                engine.ws.sock.shutdown(2)  # too long without a ping to trust the connection
        wake.set()
    elif request["verb"] == "state?":
        listed = sorted(messages.values(), key=lambda message: message["position"])
        return {**shown, "messages": [view(message) for message in listed] + outbox}
    return {}


for task in (connect, send):
    threading.Thread(target=task, daemon=True).start()
for line in sys.stdin:
    with lock:
        reply = verb(json.loads(line))
    print(json.dumps(reply), flush=True)
os._exit(0)
