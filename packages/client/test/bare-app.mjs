// The app of app.mjs on socket.io-client and fetch: the same rules, without @uswarm/client. No uploads, background, SSE or other conversations.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { io } from 'socket.io-client';

const [, text] = process.argv.slice(2);
const { APP_URL: url, APP_EMAIL: email, APP_FILE: file } = process.env;
const state = {
  position: null,
  messages: {},
  answered: false,
  sent: false,
  ...JSON.parse(readFileSync(file, 'utf8'))[0],
};
const streams = {};
let resumeToken;
let attempt = 0;

function save() {
  writeFileSync(`${file}.new`, JSON.stringify([state]));
  renameSync(`${file}.new`, file);
}
async function token() {
  const body = JSON.stringify({ email, name: 'Ada' });
  const headers = { 'content-type': 'application/json' };
  return (await (await fetch(`${url}/dev/issuer/dev/token`, { method: 'POST', headers, body })).json()).id_token;
}
async function request(path, body) {
  for (let tries = 0; ; tries += 1) {
    try {
      const headers = { 'x-token': await token(), 'content-type': 'application/json' };
      const init = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) };
      const response = await fetch(`${url}${path}`, init);
      const answer = await response.json();
      if (response.ok) return { answer, position: response.headers.get('x-workspace-position') };
      const wait = answer.extra?.retry_after_ms;
      if (response.status < 500 && response.status !== 429)
        throw Object.assign(new Error(answer.code), { final: true });
      await new Promise((resolve) => setTimeout(resolve, wait ?? Math.random() * 500 * 2 ** tries));
    } catch (error) {
      if (error.final) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(30_000, 500 * 2 ** tries)));
    }
  }
}
const { answer: workspaces } = await request('/v1/workspaces');
const w = workspaces.data[0].id;
const { answer: conversations } = await request(`/v1/workspaces/${w}/conversations`);
const c = conversations.data[0].id;
const messagesPath = `/v1/workspaces/${w}/conversations/${c}/messages`;

function show() {
  const all = Object.values(state.messages).toSorted((a, b) => (a.position < b.position ? -1 : 1));
  const answer = all.findLast((message) => message.role === 'agent');
  const shown = answer?.content.type === 'loading' ? streams[answer.id]?.text : answer?.content.text;
  if (shown) console.log(shown);
  if (state.answered) process.exit(0);
}
function put(message) {
  const known = state.messages[message.id];
  if (message.conversation_id !== c || (known && message.rev <= known.rev)) return;
  state.messages[message.id] = message;
  if (message.content.type !== 'loading') delete streams[message.id];
}
async function load() {
  const { answer, position } = await request(`${messagesPath}?limit=50`);
  state.messages = {};
  for (const message of answer.data) put(message);
  const question = answer.data.find((message) => message.local_id === 'the-question');
  const replies = answer.data.filter((message) => question && message.in_reply_to === question.id);
  state.answered = replies.length > 0 && replies.every((message) => message.status !== 'pending');
  state.position = position;
  save();
}
async function send() {
  if (state.sent) return;
  const { answer } = await request(messagesPath, { local_id: 'the-question', content: { type: 'text', text } });
  put(answer.data);
  state.sent = true;
  save();
}

const socket = io(`${url}/v1`, {
  reconnectionDelayMax: 30_000,
  auth: (answer) =>
    void token().then((value) => answer({ 'x-token': value, ...(resumeToken && { resume_token: resumeToken }) })),
});
const subscribe = async () => {
  if (state.position === null) await load();
  socket.emit('workspace.subscribe', { workspace_ids: [w], since: { [w]: state.position } });
};
socket.on('connect', subscribe);
socket.on('connect_error', (error) => {
  if (error.data) throw new Error(error.data.code);
});
socket.on('session.ready', (ready) => void (resumeToken = ready.resume_token));
socket.on('session.ending', async ({ code, reconnect, in_ms: inMs }) => {
  if (!reconnect) throw new Error(code);
  if (code === 'token_expired' && inMs > 0) socket.emit('session.renew', { credentials: { 'x-token': await token() } });
});
socket.on('disconnect', (reason) => {
  attempt += 1;
  if (!socket.active && reason !== 'io client disconnect')
    setTimeout(() => socket.connect(), Math.random() * 500 * 2 ** attempt);
});
socket.on('workspace.resync', ({ in_ms: inMs }) => {
  state.position = null;
  setTimeout(subscribe, inMs);
});
socket.on('workspace.subscribed', ({ state: live }) => {
  attempt = 0;
  for (const stream of live?.[w]?.streams ?? []) streams[stream.message_id] = stream;
  show();
  void send();
});
socket.onAny((name, payload) => {
  if (payload.workspace_id !== w) return;
  if (name === 'message.new' || name === 'message.updated') put(payload.message);
  if (name === 'message.deleted') delete state.messages[payload.message_id];
  if (name === 'message.chunk') {
    const { message_id: id, generation, chunk_seq, offset, chunk } = payload;
    const known = streams[id]?.generation === generation ? streams[id] : { text: '', chunk_seq: 0 };
    if (generation < (streams[id]?.generation ?? 0) || chunk_seq <= known.chunk_seq || offset > known.text.length)
      return;
    streams[id] = { generation, chunk_seq, text: known.text.slice(0, offset) + chunk };
  }
  const question = state.messages[payload.message?.in_reply_to ?? payload.in_reply_to];
  if (payload.answer_ended && question?.local_id === 'the-question') state.answered = true;
  if (payload.seq !== undefined && name !== 'workspace.resync' && state.position !== null) {
    const [epoch, seq] = state.position.split(':');
    state.position = `${epoch}:${Math.max(Number(seq), payload.seq)}`;
    save();
  }
  show();
});
