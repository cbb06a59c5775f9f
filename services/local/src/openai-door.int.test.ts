import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { MessageData, MessagePage, NewApiToken } from '@uswarm/contract';
import { type ModelServer, startModelServer, words } from '@uswarm/dev-servers';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { type FaultInjectionProxy, startFaultInjectionProxy } from '@uswarm/testkit/fault-injection-proxy';
import { queryLocalDatabase } from '@uswarm/testkit/local-database';
import { askWithPythonOpenai } from '@uswarm/testkit/python-openai';
import { developmentToken, startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import OpenAI, { APIError } from 'openai';
import { type RunningProgram, runLocalMode } from '../test/local.js';
import { modelSettings } from '../test/model-settings.js';

const ANSWER = 'one two three';
const USAGE = { prompt_tokens: 40, completion_tokens: 6, total_tokens: 46 };

/** With its additional field. */
type Continued<Value> = Value & { conversation_id: string };

describe('the OpenAI door', () => {
  let model: ModelServer;
  let fails: boolean;
  /** Withholds the answer until it is released. */
  let hold: string | undefined;
  let local: RunningProgram;
  let proxy: FaultInjectionProxy;
  let user: TestClient;
  let token: string;
  let openai: OpenAI;
  beforeAll(async () => {
    model = await startModelServer({
      script: () =>
        fails
          ? [{ error: { status: 400 } }]
          : [...(hold === undefined ? [] : [{ hold }]), ...words(ANSWER), { usage: { prompt: 40, completion: 6 } }],
    });
    local = await runLocalMode(modelSettings(model));
    proxy = await startFaultInjectionProxy(local.url);
  });
  afterAll(async () => {
    await proxy?.close();
    await local?.stop();
    await model?.close();
  });
  beforeEach(async () => {
    fails = false;
    hold = undefined;
    user?.close();
    user = await newUser();
    token = await create(['write']);
    openai = clientWith(token);
  });
  afterAll(() => user?.close());

  async function newUser(): Promise<TestClient> {
    const idToken = await developmentToken(local.issuer, `${randomUUID()}@example.com`);
    return startTestClient({ restUrl: local.url, socketUrl: local.url, token: idToken });
  }
  async function create(scopes: string[]): Promise<string> {
    const { body } = await user.api('POST', '/v1/api-tokens', { name: 'Program', scopes });
    return (body as { data: NewApiToken }).data.token;
  }
  const clientWith = (apiKey: string, url = local.url) => new OpenAI({ apiKey, baseURL: new URL('/v1', url).href });
  const messages = [{ role: 'user' as const, content: 'Count' }];
  async function textsOf(conversationId: string): Promise<string[]> {
    const path = `/v1/workspaces/${user.workspaceId}/conversations/${conversationId}/messages`;
    const { data } = (await user.api('GET', path)).body as MessagePage;
    return data.toReversed().map(({ content }: MessageData) => (content.type === 'text' ? content.text : content.type));
  }
  async function conversations(): Promise<string[]> {
    const { body } = await user.api('GET', `/v1/workspaces/${user.workspaceId}/conversations`);
    return (body as { data: { id: string }[] }).data.map(({ id }) => id);
  }
  async function allTexts(): Promise<string[]> {
    return (await Promise.all((await conversations()).map(textsOf))).flat();
  }
  /** Cuts a program's connection while the agent works. */
  async function whileCut<Result>(ask: (url: string) => Promise<Result>): Promise<Result> {
    const held = randomUUID();
    hold = held;
    const result = ask(proxy.redirect(local.url));
    await model.reached(held);
    hold = undefined;
    await proxy.disconnect();
    await proxy.restore();
    model.release(held);
    return result;
  }

  describe('with Chat Completions of the openai package', () => {
    it('answers, with the tokens that were counted', async () => {
      const completion = (await openai.chat.completions.create({
        model: 'swarm',
        messages,
      })) as Continued<OpenAI.ChatCompletion>;
      expect(completion).toMatchObject({
        object: 'chat.completion',
        model: 'swarm',
        choices: [{ message: { role: 'assistant', content: ANSWER }, finish_reason: 'stop' }],
        usage: USAGE,
      });
      expect(await textsOf(completion.conversation_id)).toEqual(['Count', ANSWER]);
    });

    it('streams the answer, and its tokens if the program asks for them', async () => {
      const parts: string[] = [];
      let usage: unknown;
      const options = { model: 'swarm', messages, stream: true, stream_options: { include_usage: true } } as const;
      for await (const chunk of await openai.chat.completions.create(options)) {
        parts.push(chunk.choices[0]?.delta.content ?? '');
        usage = chunk.usage ?? usage;
      }
      expect({ text: parts.join(''), usage }).toMatchObject({ text: ANSWER, usage: USAGE });
    });

    it('continues a conversation by its id', async () => {
      const first = (await openai.chat.completions.create({
        model: 'swarm',
        messages,
      })) as Continued<OpenAI.ChatCompletion>;
      const id = first.conversation_id;
      const metadata = { conversation_id: id };
      const second = await openai.chat.completions.create({ model: 'swarm', messages, metadata });
      expect((second as Continued<OpenAI.ChatCompletion>).conversation_id).toBe(id);
      expect(await textsOf(id)).toEqual(['Count', ANSWER, 'Count', ANSWER]);
    });

    it.each(['x-conversation-id', 'x-openwebui-chat-id'])(
      'continues the chat that a program names in %s',
      async (header) => {
        const headers = { [header]: randomUUID() };
        const ask = async () =>
          (await openai.chat.completions.create(
            { model: 'swarm', messages },
            { headers },
          )) as Continued<OpenAI.ChatCompletion>;
        const [first, second] = [await ask(), await ask()];
        expect(second.conversation_id).toBe(first.conversation_id);
      },
    );

    it('asks the agent that the model names', async () => {
      const { conversation_id: id } = (await openai.chat.completions.create({
        model: 'researcher',
        messages,
      })) as Continued<OpenAI.ChatCompletion>;
      const { body } = await user.api('GET', `/v1/workspaces/${user.workspaceId}/conversations/${id}`);
      expect(body).toMatchObject({ data: { type: 'agent', agent: { slug: 'researcher' } } });
    });

    it.each([true, false])(
      'reports an answer that fails as an error of the package, with stream %s',
      async (stream) => {
        fails = true;
        const read = async (): Promise<void> => {
          const answer = await openai.chat.completions.create({ model: 'swarm', messages, stream });
          if ('controller' in answer) await new Response(answer.toReadableStream()).text();
        };
        const error: unknown = await read().catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(APIError);
        expect(error).toMatchObject({ code: 'internal_error', type: 'server_error' });
        expect((await allTexts()).filter((text) => text === 'Count')).toHaveLength(1);
      },
    );

    it('answers the question that was asked before the connection was lost', async () => {
      const completion = await whileCut((url) =>
        clientWith(token, url).chat.completions.create({ model: 'swarm', messages }),
      );
      expect({ answer: completion.choices[0]?.message.content, texts: await allTexts() }).toEqual({
        answer: ANSWER,
        texts: ['Count', ANSWER],
      });
    });

    it('asks the same question again if the program has its answer', async () => {
      const chat = randomUUID();
      const ask = (attempt: string) => {
        const headers = { 'x-conversation-id': chat, 'x-stainless-retry-count': attempt };
        return openai.chat.completions.create({ model: 'swarm', messages }, { headers });
      };
      await ask('0');
      await ask('0');
      const ofUser = 'SELECT 1 FROM idempotency_keys JOIN workspaces w ON w.owner_id = user_id WHERE w.id = $1';
      const attempts = () => queryLocalDatabase(local.directory, ofUser, [user.workspaceId]);
      await eventually(attempts, { until: ({ length }) => length === 0 });
      // Its first attempt did not arrive.
      await ask('1');
      expect((await allTexts()).filter((text) => text === 'Count')).toHaveLength(3);
    });

    it('asks a question with the same Idempotency-Key once, also at the same time', async () => {
      const ask = async (apiKey: string) => {
        const headers = { 'idempotency-key': 'one' };
        const client = clientWith(apiKey);
        const completion = await client.chat.completions.create({ model: 'swarm', messages }, { headers });
        return completion.choices[0]?.message.content;
      };
      const answers = await Promise.all([ask(token), ask(token), ask(token)]);
      expect({ answers: [...answers, await ask(token)], texts: await allTexts() }).toEqual({
        answers: [ANSWER, ANSWER, ANSWER, ANSWER],
        texts: ['Count', ANSWER],
      });
    });

    it("asks a question although another user's has the same Idempotency-Key", async () => {
      const headers = { 'idempotency-key': 'shared' };
      const ask = async (client: OpenAI) => client.chat.completions.create({ model: 'swarm', messages }, { headers });
      await ask(openai);
      user.close();
      user = await newUser();
      await ask(clientWith(await create(['write'])));
      expect(await allTexts()).toEqual(['Count', ANSWER]);
    });

    it('begins one conversation for a chat whose first questions come at the same time', async () => {
      const before = await conversations();
      const headers = { 'x-conversation-id': randomUUID() };
      const ask = () => openai.chat.completions.create({ model: 'swarm', messages }, { headers, maxRetries: 0 });
      const answers = await Promise.all(Array.from({ length: 10 }, ask));
      const ids = new Set(answers.map((answer) => (answer as Continued<OpenAI.ChatCompletion>).conversation_id));
      expect({ ids: [...ids], of: before.length + 1 }).toEqual({
        ids: [expect.any(String)],
        of: (await conversations()).length,
      });
    });

    it('refuses an unknown model, a wrong key and a token to read in the form that the package understands', async () => {
      const refusal = async (client: OpenAI, name: string) => {
        const error: unknown = await client.chat.completions
          .create({ model: name, messages })
          .catch((thrown: unknown) => thrown);
        return error instanceof APIError ? { status: error.status, code: error.code } : error;
      };
      expect([
        await refusal(openai, 'gpt-4'),
        await refusal(clientWith('sk-wrong'), 'swarm'),
        await refusal(clientWith(await create(['read'])), 'swarm'),
      ]).toEqual([
        { status: 404, code: 'model_not_found' },
        { status: 401, code: 'token_invalid' },
        { status: 403, code: 'token_not_permitted' },
      ]);
    });
  });

  describe('with Responses of the openai package', () => {
    it('answers, and continues after the previous response', async () => {
      const first = await openai.responses.create({ model: 'swarm', input: 'Count' });
      expect({ text: first.output_text, status: first.status, usage: first.usage }).toMatchObject({
        text: ANSWER,
        status: 'completed',
        usage: { input_tokens: 40, output_tokens: 6, total_tokens: 46 },
      });
      const second = await openai.responses.create({ model: 'swarm', input: 'Again', previous_response_id: first.id });
      expect(second.conversation).toEqual(first.conversation);
      expect(await textsOf(String(first.conversation?.id).replace('conv_', ''))).toEqual([
        'Count',
        ANSWER,
        'Again',
        ANSWER,
      ]);
    });

    it('streams the events from which the package builds the response', async () => {
      const stream = openai.responses.stream({ model: 'swarm', input: [{ role: 'user', content: 'Count' }] });
      const deltas: string[] = [];
      stream.on('response.output_text.delta', ({ delta }) => void deltas.push(delta));
      const final = await stream.finalResponse();
      expect({ streamed: deltas.join(''), text: final.output_text, total: final.usage?.total_tokens }).toEqual({
        streamed: ANSWER,
        text: ANSWER,
        total: 46,
      });
    });
  });

  describe('with requests of chat programs', () => {
    const INSTRUCTIONS = { role: 'system', content: 'You are a helpful assistant.' };

    async function post(headers: Record<string, string>, body: object) {
      const response = await fetch(`${local.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      });
      return { status: response.status, text: await response.text(), chat: response.headers.get('x-conversation-id') };
    }
    async function streamed(headers: Record<string, string>, body: object) {
      const { status, text, chat } = await post(headers, {
        ...body,
        stream: true,
        stream_options: { include_usage: true },
      });
      const data = [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => String(json));
      const chunks = data.slice(0, -1).map((json) => JSON.parse(json) as OpenAI.ChatCompletionChunk);
      const answer = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
      return { status, answer, last: data.at(-1), total: chunks.at(-1)?.usage?.total_tokens, chat };
    }
    const ANSWERED = { status: 200, answer: ANSWER, last: '[DONE]', total: 46 };

    it('answers LibreChat in one conversation, from the first question on', async () => {
      // Shapes: danny-avila/LibreChat, packages/api/src/endpoints/openai/llm.ts and utils/env.ts (headers).
      const headers = { 'x-conversation-id': randomUUID(), 'x-stainless-retry-count': '0' };
      const body = { model: 'swarm', user: '665f1c0e9d3f2a0012ab34cd', temperature: 1, top_p: 1, tools: [] };
      const asked = { role: 'user', content: [{ type: 'text', text: 'Count' }] };
      const first = await streamed(headers, { ...body, messages: [INSTRUCTIONS, asked] });
      const answered = [
        { role: 'assistant', content: [{ type: 'text', text: { value: ANSWER, annotations: [] } }] },
        { role: 'assistant', content: null, tool_calls: [{ id: 'a', type: 'function', function: { name: 'b' } }] },
        { role: 'tool', tool_call_id: 'a', content: 'done' },
        { role: 'user', content: 'Again', name: 'Ada' },
      ];
      const second = await streamed(headers, { ...body, messages: [INSTRUCTIONS, asked, ...answered] });
      expect([first, second]).toMatchObject([ANSWERED, ANSWERED]);
      expect(await textsOf(String(second.chat))).toEqual(['Count', ANSWER, 'Again', ANSWER]);
    });

    it.each(['new', 'null', ''])(
      'begins a conversation for each question in a chat that is called “%s”',
      async (name) => {
        const ask = () => streamed({ 'x-conversation-id': name }, { model: 'swarm', messages });
        const chats = [(await ask()).chat, (await ask()).chat];
        expect(new Set(chats).size).toBe(2);
      },
    );

    it('answers open-webui in one conversation, which its title requests would continue too', async () => {
      // Shapes: open-webui/open-webui, backend/open_webui/routers/openai.py and tasks.py.
      const headers = {
        'x-openwebui-chat-id': randomUUID(),
        'x-openwebui-message-id': randomUUID(),
        'x-openwebui-user-id': randomUUID(),
        'x-openwebui-user-name': 'Ada',
      };
      const person = { id: randomUUID(), name: 'Ada', email: 'ada@example.com', role: 'user' };
      const body = { model: 'swarm', user: person, chat_id: randomUUID(), session_id: 'a', params: {}, features: {} };
      const first = await streamed(headers, { ...body, messages: [INSTRUCTIONS, ...messages] });
      const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } };
      const later = [
        { role: 'user', content: [{ type: 'text', text: 'Count' }, picture] },
        { role: 'assistant', content: ANSWER, cache_control: { type: 'ephemeral' } },
        { role: 'user', content: [{ type: 'text', text: 'Again', cache_control: { type: 'ephemeral' } }] },
      ];
      const second = await streamed(headers, { ...body, messages: [INSTRUCTIONS, ...later] });
      const task = [{ role: 'user', content: '### Task:\nGenerate a title.' }];
      const title = await post(headers, { model: 'swarm', messages: task, stream: false, max_completion_tokens: 1000 });
      expect([first, second]).toMatchObject([ANSWERED, ANSWERED]);
      expect(JSON.parse(title.text)).toMatchObject({ choices: [{ message: { content: ANSWER } }] });
      expect(await textsOf(String(title.chat))).toEqual([
        'Count',
        ANSWER,
        'Again',
        ANSWER,
        '### Task:\nGenerate a title.',
        ANSWER,
      ]);
    });

    it('refuses a picture in the question', async () => {
      const content = [
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
      ];
      const { status, text } = await post({}, { model: 'swarm', messages: [{ role: 'user', content }] });
      expect({ status, error: JSON.parse(text) as unknown }).toMatchObject({
        status: 400,
        error: { error: { code: 'content_type_not_allowed', type: 'invalid_request_error' } },
      });
    });
  });

  describeWith('python', 'with the openai package of Python', () => {
    const ask = (apiKey: string, url = local.url) =>
      askWithPythonOpenai({ baseUrl: new URL('/v1', url).href, apiKey, model: 'swarm' });

    it('answers both APIs, streamed and not', async () => {
      expect(await ask(token)).toEqual({
        completion: ANSWER,
        tokens: 46,
        chunks: ANSWER,
        chunk_tokens: 46,
        response: ANSWER,
        deltas: ANSWER,
        streamed: ANSWER,
      });
    });

    it('asks a question whose answer fails once', async () => {
      fails = true;
      expect({ result: await ask(token), texts: (await allTexts()).filter((text) => text === 'Count') }).toEqual({
        result: { error: 'InternalServerError', code: 'internal_error' },
        texts: ['Count'],
      });
    });

    it('answers the question that was asked before the connection was lost', async () => {
      expect(await whileCut((url) => ask(token, url))).toMatchObject({ completion: ANSWER, streamed: ANSWER });
      // One for each of the program's four calls.
      expect((await allTexts()).filter((text) => text === 'Count')).toHaveLength(4);
    });

    it('refuses a wrong key with the error class for it', async () => {
      expect(await ask('sk-wrong')).toEqual({ error: 'AuthenticationError', code: 'token_invalid' });
    });
  });
});
