import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { MessageData } from '@uswarm/contract';
import { type ModelServer, type ModelStep, startModelServer, textOf } from '@uswarm/dev-servers';
import { startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { modelSettings } from '../test/model-settings.js';
import { uploadFile } from '../test/upload-file.js';
import { KILLED, type SeparateServices, startSeparateServices } from '../test/separate.js';

interface Call {
  said: string[];
  /** In this turn. */
  results: number;
}

/** The first message has platform data before it. */
const written = (text: string): string => text.split('</context>\n').at(-1)!.trim();

describe('messages for an agent that works', () => {
  let model: ModelServer;
  let services: SeparateServices;
  let client: TestClient;
  let calls: Call[] = [];
  let script: (call: Call) => ModelStep[] = () => [];

  const SAVE = { name: 'remember', arguments: { key: 'tea', content: 'Green tea', category: 'core' } };
  const recall = (index: number) => ({ name: 'recall', arguments: { query: `drink ${index}` } });

  beforeAll(async () => {
    model = await startModelServer({
      script: ({ messages }) => {
        const newest = messages.findLastIndex(({ role }) => role === 'assistant');
        const texts = messages.filter(({ role }) => role === 'user').map(({ content }) => written(textOf(content)));
        const call = {
          said: texts,
          results: messages.filter(({ role }, at) => role === 'tool' && at <= newest + 8).length,
        };
        // Titles and summaries are written without tools.
        if (textOf(messages[0]!.content).includes('title')) return [{ text: 'A title' }];
        calls.push(call);
        return script(call);
      },
    });
    services = await startSeparateServices({ ...modelSettings(model), SUMMARY_WORKERS: '0' });
    const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    client = await startTestClient({ ...services, token });
    await services.query(`UPDATE users SET plan_code = 'pro'`);
  });
  afterAll(async () => {
    client?.close();
    await services?.close();
    await model?.close();
  });

  async function api<Body>(method: string, path: string, body?: object): Promise<Body> {
    const answer = await client.api(method, path, body);
    expect(answer.status).toBeLessThan(300);
    return answer.body as Body;
  }
  const conversations = () => `/v1/workspaces/${client.workspaceId}/conversations`;
  let conversation = '';
  beforeEach(async () => {
    calls = [];
    const created = await api<{ data: { id: string } }>('POST', conversations(), { type: 'swarm' });
    conversation = created.data.id;
  });

  async function send(text: string, more: object = {}): Promise<string> {
    const body = { content: { type: 'text', text }, ...more };
    const { data } = await api<{ data: MessageData }>('POST', `${conversations()}/${conversation}/messages`, body);
    return data.id;
  }
  async function listed(): Promise<MessageData[]> {
    const path = `${conversations()}/${conversation}/messages?limit=50`;
    const { data } = await api<{ data: MessageData[] }>('GET', path);
    return data.toReversed();
  }
  const message = (id: string) => `/v1/workspaces/${client.workspaceId}/messages/${id}`;
  const replied = (text: string) =>
    client.shown(
      ({ conversation_id: id, content, extended_status: status }) =>
        id === conversation && content.type === 'text' && content.text === text && status === 'delivered',
    );
  const replies = (messages: readonly MessageData[]) =>
    messages.filter(({ role, content }) => role === 'agent' && content.type === 'text');

  it('answers messages that wait together, with one reply to the last of them', async () => {
    const hold = `first ${conversation}`;
    script = ({ said }) => (said.length === 1 ? [{ hold }, { text: 'One.' }] : [{ text: 'Both.' }]);
    const first = await send('First');
    await model.reached(hold);
    const [second, third] = [await send('Second'), await send('Third')];
    model.release(hold);
    await replied('Both.');

    const messages = await listed();
    expect(replies(messages).map(({ in_reply_to }) => in_reply_to)).toEqual([first, third]);
    const byId = new Map(messages.map((one) => [one.id, one]));
    expect(byId.get(second)).toMatchObject({ answered_with: third, extended_status: 'read' });
    expect(byId.get(third)).not.toHaveProperty('answered_with');
    expect(calls.map(({ said }) => said.at(-1))).toEqual(['First', 'Second\n\nThird']);
  });

  it('answers the others if the last of them is deleted while the agent writes', async () => {
    const [hold, both] = [`first ${conversation}`, `both ${conversation}`];
    script = ({ said }) =>
      said.some((text) => text.includes('Third'))
        ? [{ text: 'Both' }, { hold: both }, { text: ' of them.' }]
        : said.length === 1
          ? [{ hold }, { text: 'One.' }]
          : [{ text: 'The second.' }];
    await send('First');
    await model.reached(hold);
    const [second, third] = [await send('Second'), await send('Third')];
    model.release(hold);
    await model.reached(both);
    await client.api('DELETE', message(third));
    model.release(both);
    await replied('The second.');

    const messages = await listed();
    expect(replies(messages).at(-1)).toMatchObject({ in_reply_to: second });
    expect(messages.find(({ id }) => id === second)).not.toHaveProperty('answered_with');
    // Clients know it, too.
    const shown = client.events.flatMap(({ payload }) => (payload['message'] as MessageData | undefined) ?? []);
    expect(shown.findLast(({ id }) => id === second)).not.toHaveProperty('answered_with');
    expect(calls.at(-1)?.said.at(-1)).toBe('Second');
  });

  it('answers a message afterwards if the agent finishes before its next step', async () => {
    const hold = `late ${conversation}`;
    script = ({ said }) => (said.length === 1 ? [{ hold }, { text: 'Tea it is.' }] : [{ text: 'Coffee it is.' }]);
    const first = await send('Tea');
    await model.reached(hold);
    const second = await send('Coffee instead', { steer: true });
    model.release(hold);
    await replied('Coffee it is.');

    const messages = await listed();
    expect(replies(messages).map(({ in_reply_to }) => in_reply_to)).toEqual([first, second]);
    expect(messages.find(({ id }) => id === second)).not.toHaveProperty('answered_with');
  });

  it('does not read a message that is deleted before the next step', async () => {
    const step = `deleted ${conversation}`;
    script = ({ results }) => (results === 0 ? [{ hold: step }, { toolCalls: [SAVE] }] : [{ text: 'Tea it is.' }]);
    await send('Remember tea');
    await model.reached(step);
    const second = await send('Coffee instead', { steer: true });
    await client.api('DELETE', message(second));
    model.release(step);
    await replied('Tea it is.');
    expect(replies(await listed())).toHaveLength(1);
  });

  it('stops the answer by the id of a message that steers it, and keeps its text', async () => {
    const [step, end] = [`stopped ${conversation}`, `written ${conversation}`];
    script = ({ results }) =>
      results === 0
        ? [{ hold: step }, { toolCalls: [SAVE] }]
        : [{ text: 'Coffee it' }, { hold: end }, { text: ' is.' }];
    await send('Remember tea');
    await model.reached(step);
    const second = await send('Coffee instead', { steer: true });
    model.release(step);
    await model.reached(end);
    await client.api('POST', `${message(second)}/stop`);
    await client.shown(
      ({ conversation_id: id, content, extended_status: status }) =>
        id === conversation && content.type === 'text' && content.text === 'Coffee it' && status !== 'pending',
    );
    expect(replies(await listed())).toHaveLength(1);
  });

  describe.each(KILLED)('steered while %s is killed', (killed) => {
    it('reads the message once, at its next step', async () => {
      const [step, end] = [`step ${conversation}`, `end ${conversation}`];
      script = ({ said, results }) =>
        results === 0
          ? [{ hold: step }, { toolCalls: [SAVE] }]
          : said.some((text) => text.includes('Coffee'))
            ? [{ hold: end }, { text: 'Coffee it is.' }]
            : [{ text: 'Tea it is.' }];
      const first = await send('Remember tea');
      await model.reached(step);
      const steering = await send('Coffee instead', { steer: true });
      model.release(step);
      await model.reached(end);
      const [{ calls: before }] = [{ calls: calls.length }];
      await services.kill(killed, client.workspaceId);
      await services.recover(killed);
      model.release(end);
      await replied('Coffee it is.');

      const messages = await listed();
      expect(replies(messages)).toHaveLength(1);
      expect(messages.find(({ id }) => id === steering)).toMatchObject({
        answered_with: first,
        extended_status: 'read',
      });
      for (const { said } of calls.slice(before - 1))
        expect(said.filter((text) => text.includes('Coffee'))).toEqual(['Coffee instead']);

      // Later turns see the answer after the message that steered it.
      script = () => [{ text: 'You are welcome.' }];
      await send('Thanks');
      await replied('You are welcome.');
      expect(calls.at(-1)?.said.at(-1)).toBe('Thanks');
    });
  });

  it('answers a message that steered separately once it is edited', async () => {
    const step = `edited ${conversation}`;
    script = ({ said, results }) =>
      results === 0 && said.length === 1
        ? [{ hold: step }, { toolCalls: [SAVE] }]
        : [{ text: said.at(-1) === 'Water' ? 'Water it is.' : 'Coffee it is.' }];
    await send('Remember tea');
    await model.reached(step);
    const second = await send('Coffee instead', { steer: true });
    model.release(step);
    await replied('Coffee it is.');
    await client.api('PATCH', message(second), { content: { type: 'text', text: 'Water' } });
    await replied('Water it is.');

    const messages = await listed();
    expect(replies(messages).at(-1)).toMatchObject({ in_reply_to: second });
    expect(messages.find(({ id }) => id === second)).not.toHaveProperty('answered_with');
  });

  // Last, because memories from a marked conversation mark others.
  it('reads the files of a message, and marks the conversation', async () => {
    const step = `file ${conversation}`;
    // The agent works on until its files are read.
    script = ({ said, results }) =>
      said.some((text) => text.includes('oat milk'))
        ? [{ text: 'With oat milk.' }]
        : [...(results === 0 ? [{ hold: step }] : [{ delayMs: 1_000 }]), { toolCalls: [recall(results)] }];
    await send('Remember tea');
    await model.reached(step);
    const place = { restUrl: services.restUrl, token: client.token };
    const file = await uploadFile(place, 'guest.txt', 'The guest drinks oat milk.');
    await send('See the file', { steer: true, attachments: [{ id: file.id }] });
    model.release(step);
    await replied('With oat milk.');

    expect(replies(await listed())).toHaveLength(1);
    expect(calls.at(-1)?.said.at(-1)).toMatch(/^See the file[\s\S]*<untrusted [^>]*source="file">[\s\S]*oat milk/);
    const marks = 'SELECT source FROM untrusted_contents WHERE conversation_id = $1';
    expect(await services.query(marks, [conversation])).toContainEqual({ source: 'attachment' });
  });
});
