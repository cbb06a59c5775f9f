import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { MessageData } from '@uswarm/contract';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ModelServer, startModelServer } from '@uswarm/dev-servers';
import { describeWith } from '@uswarm/testkit';
import { developmentToken, type TestClient, startTestClient } from '@uswarm/testkit/test-client';
import { type RunningProgram, runLocalMode } from '../test/local.js';
import { type ControlledSearch, startControlledSearch } from '../test/search.js';

const QUESTION = 'Search the web for the history of green tea and answer with sources';

const textOf = ({ content }: MessageData): string => (content.type === 'text' ? content.text : '');
const urlsIn = (text: string): string[] => text.match(/https:\/\/example\.com\/[\w-]+/g) ?? [];

async function newTestClient({ url, issuer }: RunningProgram): Promise<TestClient> {
  const token = await developmentToken(issuer, `${randomUUID()}@example.com`);
  return startTestClient({ restUrl: url, socketUrl: url, token });
}

describeWith('searxng', 'local mode as a process, against a real SearXNG', () => {
  let search: ControlledSearch;
  beforeAll(async () => {
    search = await startControlledSearch();
  });
  afterAll(() => search?.close());

  describe('with the demo provider', () => {
    let local: RunningProgram;
    let client: TestClient;
    let asked: Awaited<ReturnType<TestClient['ask']>>;
    beforeAll(async () => {
      local = await runLocalMode({ SVC_SEARCH_ENDPOINT: search.searxng.endpoint });
      client = await newTestClient(local);
      asked = await client.ask(QUESTION);
    });
    afterAll(async () => {
      client?.close();
      await local?.stop();
    });

    it('answers with the exact titles and URLs of this search', () => {
      const text = textOf(asked.answer);
      expect(urlsIn(text).toSorted()).toEqual(search.results.map(({ url }) => url).toSorted());
      for (const { title } of search.results) expect(text).toContain(title);
    });

    it('RT-005 RT-006: sends the message, the reply and their updates in seq order', () => {
      const durable = client.events.filter(({ payload }) => payload['seq'] !== undefined);
      const seqs = durable.map(({ payload }) => Number(payload['seq']));
      expect(seqs).toEqual(seqs.map((_, index) => seqs[0]! + index));
      const created = durable
        .filter(({ name }) => name === 'message.new')
        .map(({ payload }) => payload['message'] as MessageData);
      expect(created.map(({ role }) => role)).toEqual(['user', 'agent', 'agent']);
      const updates = durable
        .filter(({ name }) => name === 'message.updated')
        .map(({ payload }) => payload['message'] as MessageData);
      expect(updates.find(({ role }) => role === 'user')?.status).toBeDefined();
      expect(updates.at(-1)).toMatchObject({ id: asked.answer.id, content: { type: 'text' }, status: 'delivered' });
    });

    it('RT-007: acknowledges before the sender sees its own message', () => {
      const names = client.events.map(({ name }) => name);
      expect(names.indexOf('message.send.ack')).toBeLessThan(names.indexOf('message.new'));
    });

    it('RT-009: streams the reply in chunks that add up to it', () => {
      expect(asked.streamed).toBe(textOf(asked.answer));
      expect(client.events.filter(({ name }) => name === 'message.chunk').length).toBeGreaterThan(1);
    });

    it('RT-010: ends the reply with message.done after its final message.updated', () => {
      expect(asked.done.payload).toMatchObject({ conversation_id: client.conversationId, status: 'delivered' });
      const last = client.events.findLastIndex(({ name }) => name === 'message.updated');
      expect(client.events.indexOf(asked.done)).toBeGreaterThan(last);
    });

    it('RT-011: shows the tool call and its query', async () => {
      const tools = client.events.filter(({ name }) => name === 'agent.tool').map(({ payload }) => payload);
      expect(tools).toMatchObject([
        { tool: 'web_search_tool', status: 'running', query: expect.stringContaining('green tea') },
        { tool: 'web_search_tool', status: 'done', outcome: 'completed' },
      ]);
      expect(search.upstream.queries.length).toBe(1);
    });

    it('RT-012: shows the activity of the agent: reading, thinking, writing, online', async () => {
      await client.saw('agent.status', ({ status }: { status: string }) => status === 'writing');
      const ofManager = client.events
        .filter(({ name, payload }) => name === 'agent.status' && payload['conversation_id'] === client.conversationId)
        .map(({ payload }) => payload['status']);
      expect(ofManager.filter((status, index) => status !== ofManager[index - 1])).toEqual(
        expect.arrayContaining(['reading', 'thinking', 'writing']),
      );
    });

    it('returns the same conversation over REST as over the socket', async () => {
      const listed = await client.api(
        'GET',
        `/v1/workspaces/${client.workspaceId}/conversations/${client.conversationId}/messages`,
      );
      const { data } = listed.body as { data: MessageData[] };
      expect(data.map(({ content }) => content.type)).toEqual(['text', 'tool_status', 'text']);
    });

    it('does not log tokens or message texts', async () => {
      const log = await readFile(path.join(local.directory, 'uswarm.log'), 'utf8');
      expect(log).toContain('runtime changed');
      expect(log).not.toContain(client.token);
      expect(log).not.toContain('green tea');
    });
  });

  describe('with a model behind the OpenAI protocol', () => {
    let model: ModelServer;
    let local: RunningProgram;
    let client: TestClient;
    beforeAll(async () => {
      model = await startModelServer({
        script: ({ messages }) =>
          messages.some(({ role }) => role === 'tool')
            ? [
                { fromTool: (text) => `From what I found: ${urlsIn(text).join(' ')}` },
                { usage: { prompt: 70, completion: 30 } },
              ]
            : [
                { toolCalls: [{ name: 'web_search_tool', arguments: { query: 'history of green tea' } }] },
                { usage: { prompt: 50, completion: 10 } },
              ],
      });
      local = await runLocalMode({
        SVC_SEARCH_ENDPOINT: search.searxng.endpoint,
        OPENAI_BASE_URL: model.baseUrl,
        OPENAI_API_KEY: 'key-of-this-test',
        OPENAI_MODEL: 'scripted',
      });
      client = await newTestClient(local);
    });
    afterAll(async () => {
      client?.close();
      await local?.stop();
      await model?.close();
    });

    it('SEARX-003: answers only from the tool message that the model received', async () => {
      const { answer } = await client.ask(QUESTION);
      expect(urlsIn(textOf(answer))).toEqual(search.results.map(({ url }) => url));
      expect(model.requests).toHaveLength(2);
      expect(model.requests[0]?.authorization).toBe('Bearer key-of-this-test');
    });
  });
});

describe('ten concurrent users', () => {
  let local: RunningProgram;
  beforeAll(async () => {
    local = await runLocalMode();
  });
  afterAll(() => local?.stop());

  it('CONV-006: each receive their own nonce, and no other user receives it', async () => {
    const clients = await Promise.all(Array.from({ length: 10 }, () => newTestClient(local)));
    const nonces = clients.map(() => randomUUID());
    const answers = await Promise.all(clients.map((client, index) => client.ask(`Please repeat ${nonces[index]}`)));
    answers.forEach(({ answer }, index) => {
      expect(nonces.filter((nonce) => textOf(answer).includes(nonce))).toEqual([nonces[index]]);
    });
    clients.forEach((client, index) => {
      const seen = JSON.stringify(client.events);
      expect(nonces.filter((nonce) => seen.includes(nonce))).toEqual([nonces[index]]);
      client.close();
    });
  });
});
