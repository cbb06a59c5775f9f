import { createClient } from '@uswarm/client';
import { indexedDb } from '@uswarm/client/indexed-db';

const url = new URLSearchParams(location.search).get('url') ?? 'http://127.0.0.1:8080';
const find = (selector) => document.querySelector(selector);

/** Local mode signs in anybody. Other installations take the ID token of their identity provider. */
async function signIn() {
  const response = await fetch(`${url}/dev/issuer/dev/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: localStorage.email, name: localStorage.email }),
  });
  return (await response.json()).id_token;
}
let idToken;
const token = ({ refresh }) => (refresh ? (idToken = signIn()) : (idToken ??= signIn()));

const uswarm = createClient({ url, token, store: indexedDb('example') });

uswarm.connection.subscribe(({ state }) => (find('#connection').textContent = state));

/** One element per message, also while its text grows or its id becomes known. */
const items = new Map();
function show(messages) {
  for (const { key, role, text, content, status } of messages) {
    const item = items.get(key) ?? find('ol').appendChild(document.createElement('li'));
    items.set(key, item);
    item.className = role;
    item.textContent = status === 'refused' ? `${text} (not sent)` : text || content.title || `(${content.type})`;
    for (const { id, label } of content.actions ?? []) {
      const button = item.appendChild(document.createElement('button'));
      button.textContent = label;
      button.addEventListener('click', () => chat.choose(messages.find((one) => one.key === key).id, id));
    }
    find('ol').append(item);
  }
}

let chat;
/** Shows the first conversation, once it is known. */
function openChat() {
  const [workspace] = uswarm.workspaces.get();
  if (chat !== undefined || workspace === undefined) return;
  const { conversations, conversation } = uswarm.workspace(workspace.id);
  const openFirst = () => {
    const [first] = conversations.get();
    if (chat !== undefined || first === undefined) return;
    chat = conversation(first.id);
    find('#send').hidden = false;
    chat.messages.subscribe(show);
    show(chat.messages.get());
  };
  conversations.subscribe(openFirst);
  openFirst();
}

async function start() {
  find('#sign-in').hidden = localStorage.email !== undefined;
  find('#chat').hidden = localStorage.email === undefined;
  if (localStorage.email === undefined) return;
  uswarm.workspaces.subscribe(openChat);
  await uswarm.start();
  openChat();
}

find('#sign-in').addEventListener('submit', async (event) => {
  event.preventDefault();
  localStorage.email = new FormData(event.target).get('email');
  await uswarm.api.post('/v1/auth/sign-up');
  await start();
});
find('#send').addEventListener('submit', (event) => {
  event.preventDefault();
  void chat.send({ text: new FormData(event.target).get('text') });
  event.target.reset();
});
find('#sign-out').addEventListener('click', async () => {
  delete localStorage.email;
  await uswarm.signOut();
  location.reload();
});
await start();
