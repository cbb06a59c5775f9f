// An app that asks once, however often it is started, and prints the answer while it is written.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createClient } from '@uswarm/client';

const [transport, text] = process.argv.slice(2);
const { APP_URL: url, APP_EMAIL: email, APP_FILE: file } = process.env;
const stored = new Map(JSON.parse(readFileSync(file, 'utf8')));
const store = {
  load: async (scope) =>
    [...stored.values()].filter((one) => one.scope === scope).map(({ key, value }) => [key, value]),
  async commit(changes) {
    for (const one of changes) stored.set(`${one.scope}/${one.key}`, one);
    for (const [path, { value }] of stored) if (value === undefined) stored.delete(path);
    writeFileSync(`${file}.new`, JSON.stringify([...stored]));
    renameSync(`${file}.new`, file);
  },
  clear: async () => stored.clear(),
  close: () => undefined,
};
async function token() {
  const body = JSON.stringify({ email, name: 'Ada' });
  const response = await fetch(`${url}/dev/issuer/dev/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  return (await response.json()).id_token;
}

const client = createClient({ url, token, store, transport });
const {
  data: [{ id: w }],
} = await client.api.get('/v1/workspaces');
const {
  data: [{ id: c }],
} = await client.api.get('/v1/workspaces/{workspaceId}/conversations', { path: { workspaceId: w } });
const chat = client.workspace(w).conversation(c);
chat.messages.subscribe((messages) => {
  const question = messages.find((message) => message.local_id === 'the-question');
  const answer = messages.findLast((message) => message.role === 'agent');
  if (answer?.text) console.log(answer.text);
  if (question?.answered) void client.close();
});
await client.start();
void chat.send({ text, local_id: 'the-question' });
