import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Attachment, MessageData } from '@uswarm/contract';
import {
  type ModelServer,
  type ModelServerRequest,
  startModelServer,
  textOf,
  type TranscriptionAnswer,
} from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { flac, m4a, mp3, ogg, wav, webmVoice } from '@uswarm/testkit/media-files';
import { startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { modelSettings } from '../test/model-settings.js';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';
import { uploadFile } from '../test/upload-file.js';

type Messages = ModelServerRequest['messages'];
type Script = (messages: Messages) => ReturnType<Parameters<typeof startModelServer>[0]['script']>;

const SPOKEN = { text: 'What is the capital of France?', usage: { type: 'duration', seconds: 6 } };
const allText = (messages: Messages | undefined) => (messages ?? []).map(({ content }) => textOf(content)).join('\n');

describe('a voice message', () => {
  let model: ModelServer;
  let services: SeparateServices;
  let client: TestClient;
  let token: string;
  let script: Script;
  let answer: (index: number) => TranscriptionAnswer | Promise<TranscriptionAnswer>;
  let requests: Messages[];
  let earlier: number;

  beforeAll(async () => {
    model = await startModelServer({
      script: ({ messages }) => {
        requests.push(messages);
        return script(messages);
      },
      transcribe: (_request, index) => answer(index - earlier),
    });
    const settings = {
      MODEL_PROVIDER: 'openai',
      SUMMARY_WORKERS: '0',
      TRANSCRIPTION_MODEL: 'whisper-1',
      TRANSCRIPTION_PRICE_PER_MINUTE: '6000',
    };
    services = await startSeparateServices({ ...modelSettings(model), ...settings }, { modelGateway: true });
  });
  beforeEach(async () => {
    client?.close();
    requests = [];
    earlier = model.transcriptions.length;
    script = () => [{ text: 'Paris.' }];
    answer = () => SPOKEN;
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
  const messages = () => `/v1/workspaces/${client.workspaceId}/conversations/${client.conversationId}/messages`;
  const read = async (id: string): Promise<MessageData> =>
    ((await client.api('GET', `/v1/workspaces/${client.workspaceId}/messages/${id}`)).body as { data: MessageData })
      .data;

  async function send(text: string, attachments: readonly Attachment[], more: object = {}): Promise<string> {
    const sent = await client.api('POST', messages(), { content: { type: 'text', text }, attachments, ...more });
    return (sent.body as { data: MessageData }).data.id;
  }
  async function answered(id: string): Promise<MessageData> {
    const done = await client.saw('message.done', ({ in_reply_to: asked }: { in_reply_to?: string }) => asked === id);
    return read(String(done.payload['message_id']));
  }
  async function ask(text: string, ...attachments: Attachment[]) {
    const id = await send(text, attachments);
    return { id, answer: await answered(id) };
  }
  const sent = () => model.transcriptions.slice(earlier);
  const transcribed = () =>
    services.query<{ prompt_tokens: string; cost_micros: string; estimated: boolean; step: number }>(
      `SELECT prompt_tokens, cost_micros, estimated, step FROM usage_entries WHERE workspace_id = $1 AND kind = 'transcription'`,
      [client.workspaceId],
    );

  it('is answered as if it were typed, shows its transcript, and is charged by the minute', async () => {
    const { id, answer: reply } = await ask('', await upload('voice.m4a', m4a(6)));
    expect(reply.content).toEqual({ type: 'text', text: 'Paris.' });
    expect(allText(requests[0])).toMatch(
      /has spoken this message[^\n]*\n<untrusted id="\w+" source="recording">\nvoice\.m4a\n[^]*What is the capital of France\?/,
    );
    expect((await read(id)).attachments).toMatchObject([{ name: 'voice.m4a', duration: 6, transcript: SPOKEN.text }]);
    const updated = await client.saw(
      'message.updated',
      ({ message }: { message: MessageData }) =>
        message.id === id && message.attachments[0]?.transcript === SPOKEN.text,
    );
    expect(updated.payload).toMatchObject({ message: { role: 'user' } });
    expect(await transcribed()).toEqual([{ prompt_tokens: '60', cost_micros: '600', estimated: false, step: -1 }]);
  });

  it.each([
    ['voice.mp3', mp3(2)],
    ['voice.ogg', ogg(2)],
    ['voice.wav', wav(2)],
    ['voice.webm', webmVoice(2)],
    ['voice.flac', flac(2)],
  ])('can be a file such as %s', async (name, content) => {
    const { id } = await ask('', await upload(name, content));
    expect((await read(id)).attachments).toMatchObject([{ transcript: SPOKEN.text }]);
  });

  it('is transcribed once, also for the next message, the same file again, and read_file', async () => {
    const voice = await upload('voice.ogg', ogg(2));
    await ask('', voice);
    await ask('And of Spain?');
    expect(allText(requests.at(-1))).toContain('capital of France');
    const again = await ask('Once more', voice);
    expect((await read(again.id)).attachments).toMatchObject([{ transcript: SPOKEN.text }]);
    script = (all) =>
      all.at(-1)?.role === 'tool'
        ? [{ text: textOf(all.at(-1)?.content) }]
        : [{ toolCalls: [{ name: 'read_file', arguments: { attachment: voice.id } }] }];
    const { answer: reply } = await ask('Read it');
    expect(reply.content).toMatchObject({ text: expect.stringContaining(SPOKEN.text) });
    expect({ calls: sent().length, charged: (await transcribed()).length }).toEqual({ calls: 1, charged: 1 });
  });

  it('is transcribed once for several agents that answer it', async () => {
    const { body } = await client.api('GET', `/v1/workspaces/${client.workspaceId}/agents`);
    const [one, two] = (body as { data: { id: string; name: string }[] }).data;
    const text = `@${one!.name} @${two!.name}`;
    const mention = ({ id, name }: { id: string; name: string }) => {
      const offset = text.indexOf(`@${name}`);
      return { agent_id: id, agent_name: name, offset, length: name.length + 1 };
    };
    const message = { content: { type: 'text', text }, mentions: [mention(one!), mention(two!)] };
    await client.api('POST', messages(), { ...message, attachments: [await upload('voice.ogg', ogg(2))] });
    await eventually(() => requests.length, { until: (count) => count === 2 });
    expect(requests.map((all) => allText(all).includes(SPOKEN.text))).toEqual([true, true]);
    expect(sent()).toHaveLength(1);
  });

  it('steers an agent that works, although its transcript takes longer than a new turn waits', async () => {
    let steps = 0;
    const recall = () => ({ name: 'recall', arguments: { query: `city ${(steps += 1)}` } });
    script = (all) =>
      allText(all).includes(SPOKEN.text)
        ? [{ text: 'Paris.' }]
        : [steps === 0 ? { hold: 'voice' } : { delayMs: 250 }, { toolCalls: [recall()] }];
    answer = async () => {
      await sleep(1_500);
      return SPOKEN;
    };
    const first = await send('Which city do I mean?', []);
    await model.reached('voice');
    await send('', [await upload('voice.ogg', ogg(2))], { steer: true });
    model.release('voice');
    expect((await answered(first)).content).toEqual({ type: 'text', text: 'Paris.' });
  });

  it('is repeated after the time that the provider names, and charged once', async () => {
    answer = (index) => (index === 0 ? { error: { status: 429, headers: { 'retry-after': '1' } } } : SPOKEN);
    await ask('', await upload('voice.ogg', ogg(2)));
    expect(allText(requests[0])).toContain(SPOKEN.text);
    expect({ calls: sent().length, charged: (await transcribed()).length }).toEqual({ calls: 2, charged: 1 });
  });

  it.each<[string, TranscriptionAnswer, RegExp]>([
    ['refuses it', { error: { status: 400 } }, /does not accept this recording/],
    ['hears nothing', { text: ' ' }, /No speech was recognized/],
    [
      'has no credit left',
      { error: { status: 429, body: '{"error":{"code":"insufficient_quota"}}' } },
      /not available/,
    ],
  ])(
    'is named to the agent and the user with the reason if the provider %s, and the turn goes on',
    async (_what, how, reason) => {
      answer = () => how;
      const { answer: reply } = await ask('Listen', await upload('voice.ogg', ogg(2)));
      expect(reply.content).toEqual({ type: 'text', text: 'Paris.' });
      expect(allText(requests[0])).toMatch(/voice\.ogg\nCannot be read: /);
      const { message } = (
        await client.saw('message.new', ({ message: { role } }: { message: MessageData }) => role === 'system')
      ).payload as { message: MessageData };
      expect(message.content).toEqual({ type: 'system', text: expect.stringMatching(reason) });
    },
  );

  it('is not transcribed again after a kill between its transcript and the answer', async () => {
    script = () => [{ text: 'Par' }, { hold: 'killed' }, { text: 'is.' }];
    const id = await send('', [await upload('voice.ogg', ogg(2))]);
    await model.reached('killed');
    await services.kill('both', client.workspaceId);
    script = () => [{ text: 'Paris.' }];
    model.release('killed');
    await services.recover('both');
    const reply = await eventually(
      async () =>
        (await services.query<{ status: string }>('SELECT status FROM turns WHERE user_message_id = $1', [id]))[0],
      { until: (turn) => turn?.status === 'done', timeoutMs: 60_000 },
    );
    expect({ reply, calls: sent().length, shown: (await read(id)).attachments[0]?.transcript }).toEqual({
      reply: { status: 'done' },
      calls: 1,
      shown: SPOKEN.text,
    });
  });

  it('is transcribed after a kill before its transcript', async () => {
    const reached = Promise.withResolvers<void>();
    answer = (index) => {
      if (index > 0) return SPOKEN;
      reached.resolve();
      return { hang: true };
    };
    const id = await send('', [await upload('voice.ogg', ogg(2))]);
    await reached.promise;
    await services.kill('the orchestrator', client.workspaceId);
    await services.recover('the orchestrator');
    await eventually(async () => (await read(id)).attachments[0]?.transcript, {
      until: (transcript) => transcript === SPOKEN.text,
      timeoutMs: 60_000,
    });
    expect(sent()).toHaveLength(2);
  });
});

it('a recording is named to the user as not transcribed if no model is configured', async () => {
  const model = await startModelServer({ script: () => [{ text: 'Hm.' }] });
  const services = await startSeparateServices({ ...modelSettings(model), MODEL_PROVIDER: 'openai' });
  const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
  const client = await startTestClient({ ...services, token });
  try {
    const form = new FormData();
    form.append('file', new Blob([new Uint8Array(wav(1))]), 'voice.wav');
    const uploaded = await fetch(`${services.restUrl}/v1/uploads`, {
      method: 'POST',
      headers: { 'x-token': token },
      body: form,
    });
    const { data } = (await uploaded.json()) as { data: Attachment };
    const path = `/v1/workspaces/${client.workspaceId}/conversations/${client.conversationId}/messages`;
    await client.api('POST', path, { content: { type: 'text', text: '' }, attachments: [data] });
    const { message } = (
      await client.saw('message.new', ({ message: { role } }: { message: MessageData }) => role === 'system')
    ).payload as { message: MessageData };
    expect(message.content).toEqual({
      type: 'system',
      text: 'voice.wav cannot be read. Recordings are not transcribed here.',
    });
  } finally {
    client.close();
    await services.close();
    await model.close();
  }
});
