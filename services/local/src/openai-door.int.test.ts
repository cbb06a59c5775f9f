import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { MessageData, MessagePage, NewApiToken } from '@uswarm/contract';
import { type ModelServer, startModelServer, words } from '@uswarm/dev-servers';
import { describeWith } from '@uswarm/testkit';
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
  let local: RunningProgram;
  let user: TestClient;
  let token: string;
  let openai: OpenAI;
  beforeAll(async () => {
    model = await startModelServer({
      script: () =>
        fails ? [{ error: { status: 400 } }] : [...words(ANSWER), { usage: { prompt: 40, completion: 6 } }],
    });
    local = await runLocalMode(modelSettings(model));
  });
  afterAll(async () => {
    await local?.stop();
    await model?.close();
  });
  beforeEach(async () => {
    fails = false;
    user?.close();
    const idToken = await developmentToken(local.issuer, `${randomUUID()}@example.com`);
    user = await startTestClient({ restUrl: local.url, socketUrl: local.url, token: idToken });
    token = await create(['write']);
    openai = clientWith(token);
  });
  afterAll(() => user?.close());

  async function create(scopes: string[]): Promise<string> {
    const { body } = await user.api('POST', '/v1/api-tokens', { name: 'Program', scopes });
    return (body as { data: NewApiToken }).data.token;
  }
  const clientWith = (apiKey: string) => new OpenAI({ apiKey, baseURL: `${local.url}/v1`, maxRetries: 0 });
  const messages = [{ role: 'user' as const, content: 'Count' }];
  async function textsOf(conversationId: string): Promise<string[]> {
    const path = `/v1/workspaces/${user.workspaceId}/conversations/${conversationId}/messages`;
    const { data } = (await user.api('GET', path)).body as MessagePage;
    return data.toReversed().map(({ content }: MessageData) => (content.type === 'text' ? content.text : content.type));
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
      },
    );

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

  describeWith('python', 'with the openai package of Python', () => {
    const ask = (apiKey: string) => askWithPythonOpenai({ baseUrl: `${local.url}/v1`, apiKey, model: 'swarm' });

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

    it('refuses a wrong key with the error class for it', async () => {
      expect(await ask('sk-wrong')).toEqual({ error: 'AuthenticationError', code: 'token_invalid' });
    });
  });
});
