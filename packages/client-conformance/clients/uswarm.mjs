// Connects @uswarm/client to the verbs in docs/client-conformance.md, with a store in a file.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createClient } from '@uswarm/client';

const { USWARM_WORKSPACE, USWARM_CONVERSATION, USWARM_TOKEN_URL, USWARM_STORE } = process.env;
let { USWARM_TOKEN: token } = process.env;

function fileStore(file) {
  const stored = new Map(existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : []);
  const save = () => {
    writeFileSync(`${file}.new`, JSON.stringify([...stored]));
    renameSync(`${file}.new`, file);
  };
  return {
    load: async (scope) =>
      [...stored.values()].filter((one) => one.scope === scope).map(({ key, value }) => [key, value]),
    async commit(changes) {
      for (const one of changes) stored.set(`${one.scope}/${one.key}`, one);
      for (const [path, { value }] of stored) if (value === undefined) stored.delete(path);
      save();
    },
    async clear() {
      stored.clear();
      save();
    },
    close: () => undefined,
  };
}

const client = createClient({
  url: process.env.USWARM_URL,
  transport: process.env.USWARM_TRANSPORT,
  token: async ({ refresh }) => (refresh ? (token = await (await fetch(USWARM_TOKEN_URL)).text()) : token),
  store: fileStore(join(USWARM_STORE, 'records.json')),
  backgroundMs: 0,
});
const workspace = client.workspace(USWARM_WORKSPACE);
const chat = workspace.conversation(USWARM_CONVERSATION);
const shownState = (local) => (local === null ? 'sent' : local.state === 'refused' ? 'refused' : 'queued');
const verbs = {
  send: ({ text }) => void chat.send({ text }).catch(() => undefined),
  // The app comes back immediately, as after a time for which the client does not keep its connection.
  background: ({ ms }) => void (ms > 10_000 && (client.background(), setTimeout(client.foreground, 20))),
  'state?': () => ({
    connection: client.connection.get().state,
    error: ['signed_out', 'ended'].includes(client.connection.get().state) ? client.connection.get().code : null,
    conversation: workspace.conversations.get().find(({ id }) => id === USWARM_CONVERSATION) ?? null,
    messages: chat.messages.get().map(({ id, local_id, role, text, content, message, local }) => ({
      id,
      local_id,
      role,
      text: text || (content.title ?? ''),
      status: message?.status ?? 'pending',
      state: shownState(local),
      ...(content.type === 'action_card' && { selected: content.selected_action_id ?? null }),
    })),
  }),
};
await client.start();
createInterface({ input: process.stdin })
  .on('line', (line) => console.log(JSON.stringify(verbs[JSON.parse(line).verb](JSON.parse(line)) ?? {})))
  .on('close', () => process.exit(0));
