import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Attachment, MessageData } from '@uswarm/contract';
import { type ModelServer, type ModelServerRequest, startModelServer, textOf } from '@uswarm/dev-servers';
import { startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { modelSettings } from '../test/model-settings.js';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';
import { uploadFile } from '../test/upload-file.js';

type Message = ModelServerRequest['messages'][number];
type Script = (messages: readonly Message[]) => ReturnType<Parameters<typeof startModelServer>[0]['script']>;

const PICTURE = new URL('../../../docs/pictures/swarm.webp', import.meta.url);
/** Of 1,000 chapters; each has about 2,000 characters. */
const BOOK = Array.from({ length: 1_000 }, (_, index) => {
  const code = index === 776 ? 'The code of the vault is HERON-41.' : '';
  return `Chapter ${index + 1}\n${'It rained again, and nothing happened. '.repeat(50)}${code}\n`;
}).join('\n');

/** The image parts of the newest user message, and the text of all messages. */
function seen(messages: readonly Message[]) {
  const newest = messages.findLast(({ role }) => role === 'user')?.content;
  const images = Array.isArray(newest) ? newest.filter(({ type }) => type === 'image_url').length : 0;
  return { images, text: messages.map(({ content }) => textOf(content)).join('\n') };
}

describe('files that are attached to a message', () => {
  let model: ModelServer;
  let services: SeparateServices;
  let client: TestClient;
  let token: string;
  let script: Script = () => [{ text: 'Done.' }];
  let requests: Message[][] = [];

  beforeAll(async () => {
    model = await startModelServer({
      script: ({ messages }) => {
        requests.push(messages);
        return script(messages);
      },
    });
    services = await startSeparateServices({ ...modelSettings(model), MODEL_PROVIDER: 'openai', SUMMARY_WORKERS: '0' });
  });
  beforeEach(async () => {
    client?.close();
    requests = [];
    script = () => [{ text: 'Done.' }];
    token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    client = await startTestClient({ ...services, token });
  });
  afterAll(async () => {
    client?.close();
    await services?.close();
    await model?.close();
  });

  const upload = (name: string, content: string | Uint8Array): Promise<Attachment> =>
    uploadFile({ restUrl: services.restUrl, token }, name, content);

  /** Sends a message with attachments. @returns the answer */
  async function ask(text: string, attachments: readonly Attachment[] = []): Promise<MessageData> {
    const path = `/v1/workspaces/${client.workspaceId}/conversations/${client.conversationId}/messages`;
    const sent = await client.api('POST', path, { content: { type: 'text', text }, attachments });
    const { id } = (sent.body as { data: MessageData }).data;
    const done = await client.saw('message.done', ({ in_reply_to: asked }: { in_reply_to?: string }) => asked === id);
    const answer = await client.api(
      'GET',
      `/v1/workspaces/${client.workspaceId}/messages/${String(done.payload['message_id'])}`,
    );
    return (answer.body as { data: MessageData }).data;
  }

  it('gives the model an attached text as an untrusted block, and a picture as an image', async () => {
    const picture = new Uint8Array(await readFile(PICTURE));
    await ask('Look', [await upload('notes.md', '# Tea\nBuy green tea.'), await upload('swarm.webp', picture)]);
    const { images, text } = seen(requests[0] ?? []);
    expect({ images, text }).toEqual({
      images: 1,
      text: expect.stringMatching(/<untrusted id="\w+" source="file">\nnotes\.md\n[^]*Buy green tea\./),
    });
  });

  it('finds a sentence in a book of 1,000 chapters through read_file', async () => {
    const book = await upload('book.txt', BOOK);
    script = (messages) => {
      const results = messages.filter(({ role }) => role === 'tool');
      if (results.length === 0)
        return [{ toolCalls: [{ name: 'read_file', arguments: { attachment: book.id, query: 'code of the vault' } }] }];
      return [{ text: /HERON-\d+/.exec(textOf(results.at(-1)?.content))?.[0] ?? 'not found' }];
    };
    const answer = await ask('What is the code of the vault?', [book]);
    expect(answer.content).toEqual({ type: 'text', text: 'HERON-41' });
    expect(seen(requests[0] ?? []).text).not.toContain('HERON');
  });

  it('reads a file that was attached ten messages ago, by id', async () => {
    const note = await upload('plan.txt', 'We meet at the lighthouse.');
    await ask('Keep this.', [note]);
    for (let count = 0; count < 10; count += 1) await ask(`Message ${count}`, [await upload(`${count}.txt`, 'x')]);
    script = (messages) => {
      const last = messages.at(-1);
      const id = /plan\.txt, text\/plain, 26 bytes, id ([\da-f-]+)/.exec(seen(messages).text)?.[1];
      return last?.role === 'tool'
        ? [{ text: textOf(last.content) }]
        : [{ toolCalls: [{ name: 'read_file', arguments: { attachment: id } }] }];
    };
    const answer = await ask('Where do we meet?');
    expect(answer.content).toEqual({ type: 'text', text: expect.stringContaining('lighthouse') });
  });

  it('gives another agent a file by its id', async () => {
    const note = await upload('plan.txt', 'We meet at the lighthouse.');
    script = (messages) => {
      const isTask = seen(messages).text.includes('You work on a task');
      const last = messages.at(-1);
      if (isTask) return [{ text: /lighthouse/.test(seen(messages).text) ? 'At the lighthouse.' : 'Unknown.' }];
      if (last?.role === 'tool') return [{ text: textOf(last.content) }];
      const task = { agent: 'writer', task: 'Say where', expected: 'a place', files: [note.id] };
      return [{ toolCalls: [{ name: 'delegate', arguments: task }] }];
    };
    await ask('Ask the writer where we meet.', [note]);
    const { message } = (
      await client.saw(
        'message.updated',
        ({ message: { role, content } }: { message: MessageData }) =>
          role === 'agent' && content.type === 'text' && content.text.includes('lighthouse'),
      )
    ).payload as { message: MessageData };
    expect(message.content).toEqual({ type: 'text', text: expect.stringContaining('At the lighthouse.') });
  });

  it('tells the agent and the user why a file cannot be read', async () => {
    await ask('Read this.', [await upload('broken.pdf', '%PDF-1.7\nnothing else')]);
    expect(seen(requests[0] ?? []).text).toMatch(/broken\.pdf\nCannot be read: The PDF is damaged/);
    const { message } = (
      await client.saw('message.new', ({ message: { role } }: { message: MessageData }) => role === 'system')
    ).payload as { message: MessageData };
    expect(message.content).toEqual({
      type: 'system',
      text: expect.stringMatching(/^broken\.pdf cannot be read\. The PDF is damaged/),
    });
  });
});
