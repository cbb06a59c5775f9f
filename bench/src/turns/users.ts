import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { BenchError } from '../settings.js';

/** A user with one workspace, who calls the REST API. */
export interface BenchUser {
  workspaceId: string;
  /** Conversations with the swarm. */
  conversations: readonly string[];
  agents: readonly string[];
  /** @returns the message id */
  send(conversationId: string, text: string): Promise<string>;
  stop(messageId: string): Promise<void>;
  choose(messageId: string, actionId: string): Promise<void>;
  rename(name: string): Promise<void>;
  /** Creates a webhook for the workspace's changes. */
  addWebhook(url: string): Promise<void>;
  /** Lets all agents' memory tools ask before each call. */
  askBeforeMemories(): Promise<void>;
}

interface Listed {
  data: { id: string }[];
}

const QUEUE_FULL = 429;

/** From the identity provider, and the headers on requests with it. */
export interface Credentials {
  token: string;
  headers: () => Record<string, string>;
}

/** This route accepts the token only in a separate header. */
const SIGN_UP = '/auth/sign-up';

export async function signUp(
  url: string,
  { token, headers }: Credentials,
  conversationCount: number,
): Promise<BenchUser> {
  async function api(method: 'GET' | 'POST' | 'PATCH', path: string, body?: unknown): Promise<unknown> {
    const typed = body === undefined ? {} : { 'content-type': 'application/json' };
    for (;;) {
      const answer = await request(`${url}/v1${path}`, {
        method,
        headers: { ...headers(), ...typed, ...(path === SIGN_UP ? { 'x-token': token } : {}) },
        body: body === undefined ? null : JSON.stringify(body),
      });
      const text = await answer.body.text();
      if (answer.statusCode < 300) return text === '' ? undefined : JSON.parse(text);
      if (answer.statusCode !== QUEUE_FULL) {
        throw new BenchError(`${method} ${path} returned ${answer.statusCode}: ${text}`);
      }
      await sleep(100);
    }
  }
  const list = async (path: string): Promise<string[]> => ((await api('GET', path)) as Listed).data.map(({ id }) => id);

  await api('POST', SIGN_UP);
  const [workspaceId = ''] = await list('/workspaces');
  const workspace = `/workspaces/${workspaceId}`;
  const conversations: string[] = [];
  for (let n = 0; n < conversationCount; n += 1) {
    const { data } = (await api('POST', `${workspace}/conversations`, { type: 'swarm' })) as { data: { id: string } };
    conversations.push(data.id);
  }
  const agents = await list(`${workspace}/agents`);
  return {
    workspaceId,
    conversations,
    agents,
    async send(conversationId, text) {
      const content = { local_id: randomUUID(), content: { type: 'text', text } };
      const sent = await api('POST', `${workspace}/conversations/${conversationId}/messages`, content);
      return (sent as { data: { id: string } }).data.id;
    },
    async stop(messageId) {
      await api('POST', `${workspace}/messages/${messageId}/stop`);
    },
    async choose(messageId, actionId) {
      await api('POST', `${workspace}/messages/${messageId}/action`, { action_id: actionId });
    },
    async rename(name) {
      await api('PATCH', workspace, { name });
    },
    async addWebhook(hook) {
      await api('POST', `${workspace}/webhooks`, { url: hook, events: ['workspace.updated'] });
    },
    async askBeforeMemories() {
      for (const id of agents) await api('PATCH', `/agents/${id}/tools/memories`, { permission: 'ask' });
    },
  };
}
