"""A client of uswarm over server-sent events: curl and the standard library of Python. See docs/client-conformance.md."""

import json, os, pathlib, subprocess, sys, threading, time, uuid

NAMES = ("URL", "TOKEN_URL", "WORKSPACE", "CONVERSATION", "STORE")
URL, TOKEN_URL, WORKSPACE, CONVERSATION, STORE = (os.environ[f"USWARM_{name}"] for name in NAMES)
API, OUTBOX = f"{URL}/v1/workspaces/{WORKSPACE}/conversations", pathlib.Path(STORE, "outbox.json")
shown, at = dict(connection="connecting", conversation=None, error=None), dict(since=None, cursor=None, retry=0.3, stream=None)
messages, streams, deleted, lock, wake = {}, {}, set(), threading.RLock(), threading.Event()
outbox = json.loads(OUTBOX.read_text()) if OUTBOX.exists() else []

def save():
    OUTBOX.with_suffix(".new").write_text(json.dumps(outbox)), OUTBOX.with_suffix(".new").replace(OUTBOX)

def command(url, *options):
    """Asks for a token each time: it may have expired. The last line of the output is the status and the position."""
    token = subprocess.run(["curl", "-s", TOKEN_URL], capture_output=True, text=True).stdout
    trailer = "\n%{http_code} %header{x-workspace-position}"
    return ["curl", "-sN", "-w", trailer, "-H", f"X-Token: {token}", *options, url if token else "http://127.0.0.1:1"]

def request(url, *options):
    """The status, 0 without a complete response; the body; the position."""
    done = subprocess.run(command(url, *options), capture_output=True, text=True)
    body, _, trailer = done.stdout.rpartition("\n")
    return (int(trailer[:3]), json.loads(body or "null"), trailer[4:]) if done.returncode == 0 else (0, None, "")

def is_final(status, body):
    """By the error catalogue; a later code by its status."""
    return 400 <= status < 500 and status not in (401, 408, 429) or status == 429 and body["code"] == "token_limit_reached"

def wait_of(body):
    return ((body or {}).get("extra") or {}).get("retry_after_ms", 300) / 1000

def put(message):
    known = messages.get(message["id"])
    if message["id"] in deleted or message["conversation_id"] != CONVERSATION or known and message["rev"] <= known["rev"]:
        return
    messages[message["id"]] = message
    streams.pop(message["id"] if message["content"]["type"] != "loading" else None, None)
    outbox[:] = [own for own in outbox if own["local_id"] != message["local_id"]]
    save()

def put_chunk(event):
    known, (generation, text) = messages.get(event["message_id"]), streams.get(event["message_id"], (0, ""))
    if event["message_id"] in deleted or known and known["content"]["type"] != "loading" or event["generation"] < generation:
        return
    # The offset counts UTF-16 code units. It is beyond the text if a chunk is missing.
    units, end = text.encode("utf-16-le") if event["generation"] == generation else b"", 2 * event["offset"]
    text = units[:end].decode("utf-16-le") + (event["chunk"] if end <= len(units) else "")
    streams[event["message_id"]] = (event["generation"], text)

def receive(name, event):
    conversation = event.get("conversation")
    if name == "workspace.subscribed":
        shown["connection"] = "live"
        streams.update({each["message_id"]: (each["generation"], each["text"]) for each in event["state"][WORKSPACE]["streams"]})
    elif name in ("message.new", "message.updated"):
        put(event["message"])
    elif name == "message.chunk":
        put_chunk(event)
    elif name == "message.deleted":
        deleted.add(event["message_id"]), messages.pop(event["message_id"], None)
    elif name == "conversation.deleted" and event["conversation_id"] == CONVERSATION:
        shown["conversation"] = messages.clear()
    elif name == "workspace.resync":
        messages.clear(), streams.clear(), deleted.clear(), at["stream"].kill()
        at.update(since=None, cursor=None, pause=event["in_ms"] / 1000)
    elif name == "session.ending" and not event["reconnect"]:
        shown.update(connection="signed_out", error=event["code"])
    elif name == "session.ending" and event["code"] == "token_expired":
        at["stream"].kill()  # the next connection has a new token
    if shown["conversation"] and conversation and conversation["rev"] > shown["conversation"]["rev"]:
        shown["conversation"].update(conversation)

def follow():
    """Reads a snapshot if needed, and a stream to its end. Returns the status and the error of what was refused."""
    if at["since"] is None:
        status, body, position = request(API)
        found = [each for each in body["data"] if each["id"] == CONVERSATION] if status == 200 else []
        status, body, _ = request(f"{API}/{CONVERSATION}/messages?limit=100") if found else (status, body, "")
        if status != 200:
            return status, body
        with lock:
            at["since"], shown["conversation"] = position, found[0] if found else None
            [put(message) for message in body["data"] if found]
    url = f"{URL}/v1/stream?workspace_id={WORKSPACE}&since={WORKSPACE}@{at['since']}"
    resume = command(url, "-H", f"Last-Event-ID: {at['cursor'] or ''}")  # curl sends no empty header
    at["stream"] = subprocess.Popen(resume, stdout=subprocess.PIPE, encoding="utf-8-sig", errors="replace")
    line, error, fields = "", None, {}
    for line in at["stream"].stdout:
        field, _, value = line.removesuffix("\n").partition(":")
        at["retry"] = int(value) / 1000 if field == "retry" else at["retry"]
        error = json.loads(line) if line[0] == "{" else error
        if line != "\n":
            fields[field] = fields.get(field, []) + [value.removeprefix(" ")]
            continue
        with lock:
            at["cursor"] = fields.get("id", [at["cursor"]])[-1]
            receive(fields["event"][0], json.loads("\n".join(fields["data"]))) if "data" in fields else None
        fields = {}
    return (int(line[:3]), error) if error else (0, None)

def connect():
    while not shown["error"]:
        status, error = follow()
        shown["connection"] = "signed_out" if shown["error"] else "connecting"
        if error and (status == 401 or is_final(status, error)):
            shown.update(connection="signed_out", error=error["code"])
        wake.wait(at.pop("pause", wait_of(error) if error else at["retry"])), wake.clear()

def send():
    """Sends one message after the other, each until it is stored or refused."""
    while True:
        own, answer = next((own for own in outbox if own["state"] == "queued"), None), {"extra": {"retry_after_ms": 50}}
        if own and not shown["error"]:
            body = json.dumps({"local_id": own["local_id"], "content": {"type": "text", "text": own["text"]}})
            status, answer, _ = request(f"{API}/{CONVERSATION}/messages", "--json", body)
            with lock:
                own["state"] = "refused" if is_final(status, answer) else "queued"
                put(answer["data"]) if status == 201 else save()
        time.sleep(wait_of(answer))

def view(message):
    content = message["content"]
    text = content.get("text", content.get("title", streams.get(message["id"], (0, ""))[1]))
    more = {"selected": content.get("selected_action_id")} if content["type"] == "action_card" else {}
    return {**{key: message[key] for key in ("id", "local_id", "role", "status")}, "text": text, "state": "sent", **more}

[threading.Thread(target=task, daemon=True).start() for task in (connect, send)]
for line in sys.stdin:
    verb, answer = json.loads(line), {}
    with lock:
        if verb["verb"] == "send":
            own = dict(id=None, local_id=str(uuid.uuid4()), role="user", text=verb["text"], status="pending", state="queued")
            outbox.append(own), save()
        elif verb["verb"] == "background" and verb["ms"] > 15_000 and at["stream"]:  # more than a pause between comments
            at.update(pause=0), at["stream"].kill(), wake.set()
        elif verb["verb"] == "state?":
            listed = [view(message) for message in sorted(messages.values(), key=lambda message: message["position"])]
            answer = {**shown, "messages": listed + outbox}
    print(json.dumps(answer), flush=True)
at["stream"] and at["stream"].kill(), os._exit(0)
