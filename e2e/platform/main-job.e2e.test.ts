import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { MessageData, Workspace } from '@uswarm/contract';
import { HttpMethod } from '@kubernetes/client-node';
import { userSwarmName } from '@uswarm/contract/userswarm';
import type { TestClient } from '@uswarm/testkit/test-client';
import {
  childrenDeleted,
  forwardPort,
  openEdgeClient,
  type Kinds,
  NAMESPACE,
  openSession,
  type EdgeAnswer,
  type EdgeClient,
  signedHeaders,
  type Session,
} from '../support/index.js';
import { signUp } from '../support/sign-up.js';

const NONCE = randomUUID();
const QUESTION = `Search the web for the history of green tea ${NONCE} and answer with sources`;

let session: Session;
let mobile: TestClient;
let name: string;
let edge: EdgeClient;
// Random titles and addresses: they can only come from the search engine.
const results = [1, 2, 3].map((number) => {
  const nonce = randomUUID();
  return { title: `Finding ${number} ${nonce}`, url: `https://example.com/${nonce}`, content: `Excerpt of ${nonce}` };
});

beforeAll(async () => {
  session = await openSession();
  const forwarded = await forwardPort(session.tools, NAMESPACE.search, 'deployment/upstream', 8080);
  session.onClose(() => forwarded.close());
  const answer = await fetch(`http://127.0.0.1:${forwarded.port}/results?q=${encodeURIComponent('green tea')}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(results),
  });
  if (!answer.ok) throw new Error(`the search upstream returned ${answer.status}`);
  edge = await openEdgeClient(session.api, session.settings);
  session.onClose(() => edge.close());
  mobile = await signUp(session);
  name = userSwarmName(mobile.workspaceId);
});
afterAll(() => session?.close());

async function logOf({ metadata }: Kinds['Pod']): Promise<{ pod: string; text: string }> {
  const { name: pod = '', namespace } = metadata ?? {};
  const path = `/api/v1/namespaces/${namespace}/pods/${pod}/log`;
  return { pod, text: await (await session.api.request(HttpMethod.GET, path)).text() };
}

/** Server-sent event names up to the first one with this name. */
async function eventsOf({ status, body }: EdgeAnswer, last: string): Promise<string[]> {
  expect(status).toBe(200);
  let text = '';
  const decoder = new TextDecoder();
  for await (const bytes of body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    const names = [...text.matchAll(/^event: (.*)$/gm)].map(([, event = '']) => event);
    if (names.includes(last)) return names;
  }
  throw new Error(`the stream ended before ${last}: ${text}`);
}

const textOf = ({ content }: MessageData): string => (content.type === 'text' ? content.text : '');

describe('a user who signs up, sends a message and deletes the account', () => {
  it('CRD-013: gets a UserSwarm that becomes Ready', async () => {
    const ready = await session.ready(name);
    expect(ready.metadata.labels?.['app.kubernetes.io/managed-by']).toBe('uswarm-orchestrator');
    expect(ready.spec.suspend).toBe(false);
    const { pods } = await session.children(name);
    expect(pods).toHaveLength(1);
  });

  it('receives an answer in chunks from the pod, with results of the search engine in the cluster', async () => {
    const query = `workspace_id=${mobile.workspaceId}`;
    const headers = (await signedHeaders(session.api, mobile.token))();
    const stream = await edge.fetch(`${edge.url}/v1/stream?${query}`, { method: 'GET', headers });
    const streamedEvents = eventsOf(stream, 'message.done');
    const { answer, done, streamed } = await mobile.ask(QUESTION);
    // The response is still open: the edge keeps nothing back.
    expect(await streamedEvents).toEqual(
      expect.arrayContaining(['session.ready', 'workspace.subscribed', 'message.new', 'message.chunk', 'message.done']),
    );
    const text = textOf(answer);
    expect(done.payload).toMatchObject({ status: 'delivered' });
    for (const { title, url } of results) {
      expect(text).toContain(title);
      expect(text).toContain(url);
    }
    expect(streamed).toBe(text);
    expect(mobile.events.filter(({ name: event }) => event === 'message.chunk').length).toBeGreaterThan(1);
    const tools = mobile.events.filter(({ name: event }) => event === 'agent.tool').map(({ payload }) => payload);
    expect(tools).toMatchObject([
      { tool: 'web_search_tool', status: 'running' },
      { tool: 'web_search_tool', status: 'done', outcome: 'completed' },
    ]);
  });

  it('sees the runtime as ready and verified', async () => {
    const { body } = await mobile.api('GET', `/v1/workspaces/${mobile.workspaceId}`);
    const { data } = body as { data: Workspace };
    expect(data.runtime).toMatchObject({ status: 'ready', phase: 'Ready', verified: true });
  });

  it('reaches only the documented paths through the edge', async () => {
    const { status, body } = await mobile.api('GET', '/v1/health');
    expect({ status, body }).toMatchObject({ status: 200, body: { data: { online: true } } });
    for (const path of ['/metrics', '/readyz', '/internal', '/internal/v1/messages', '/sync', '/mcp', '/v10']) {
      const answer = await edge.fetch(`${edge.url}${path}`, { method: 'GET', headers: {} });
      expect({ path, status: answer.status }).toEqual({ path, status: 404 });
    }
  });

  it('finds neither message texts nor tokens in any log', async () => {
    const { pods } = await session.children(name);
    // The pod of `helm test` may be deleted meanwhile.
    const platform = await session.api.list('Pod', {
      namespace: NAMESPACE.release,
      labelSelector: 'app.kubernetes.io/component!=test',
    });
    const logs = await Promise.all([...pods, ...platform].map(logOf));
    // Verify that the runtime and the orchestrator log at all.
    for (const writer of ['agent-runtime', 'uswarm-orchestrator']) {
      expect(logs.find(({ pod, text }) => pod.startsWith(writer) && text !== '')).toBeDefined();
    }
    for (const { text } of logs) {
      expect(text).not.toContain(NONCE);
      expect(text).not.toContain(mobile.token);
      for (const { url } of results) expect(text).not.toContain(url);
    }
  });

  it('reads the streamed answer from another connection', async () => {
    const path = `/v1/workspaces/${mobile.workspaceId}/conversations/${mobile.conversationId}/messages`;
    const { data } = (await mobile.api('GET', path)).body as { data: MessageData[] };
    expect(data.map(({ content }) => content.type)).toEqual(['text', 'tool_status', 'text']);
  });

  it('leaves no UserSwarm, children or pod after the account is deleted', async () => {
    const { status } = await mobile.api('DELETE', '/v1/auth/delete');
    expect(status).toBe(204);
    await session.deleted(name);
    await childrenDeleted(session.api, name);
  });
});
