import { HistoryRole, type AgentRuntime } from '@uswarm/runtime-proto';
import type { Client } from '@connectrpc/connect';
import { request } from 'undici';
import { BenchError } from '../settings.js';

/** Streams without pauses. */
export const FAST_MODEL = 'fast';
/** Streams a chunk every `PACE_MS`. */
export const PACED_MODEL = 'paced';
export const CHUNKS = 200;
export const CHUNK = 'word ';
/** Milliseconds between two chunks: 50 tokens per second. */
export const PACE_MS = 20;

export type ModelName = typeof FAST_MODEL | typeof PACED_MODEL;

/** Requests an answer. Yields its text in the pieces that arrive. @throws BenchError if the answer is not complete */
export type Ask = (model: ModelName) => AsyncIterable<string>;

/** A conversation of 20 messages with about 10 KiB. */
const HISTORY = Array.from({ length: 20 }, (_, n) => `Message ${n}: ${'some words of a conversation '.repeat(17)}`);

const fromUser = (_text: string, n: number): boolean => (HISTORY.length - n) % 2 === 1;

const COMPLETE = CHUNK.repeat(CHUNKS);

/** Fails if the pieces do not add up to the whole answer. */
async function* complete(pieces: AsyncIterable<string>, from: string): AsyncIterable<string> {
  let text = '';
  for await (const piece of pieces) {
    text += piece;
    yield piece;
  }
  if (text.trim() !== COMPLETE.trim()) throw new BenchError(`${from} sent ${text.length} characters of an answer.`);
}

/** Calls an OpenAI-compatible server directly: the floor. `url`: with `/v1`. */
export function askServer(url: string, key?: string): Ask {
  const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const messages = HISTORY.map((content, n) => ({ role: fromUser(content, n) ? 'user' : 'assistant', content }));
  async function* pieces(model: ModelName): AsyncIterable<string> {
    const { body, statusCode } = await request(`${url}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...authorization },
      body: JSON.stringify({
        model,
        stream: true,
        stream_options: { include_usage: true },
        max_tokens: 1_000,
        messages,
      }),
    });
    if (statusCode !== 200) throw new BenchError(`The model server returned ${statusCode}: ${await body.text()}`);
    let rest = '';
    for await (const bytes of body.setEncoding('utf8')) {
      const events = (rest + String(bytes)).split('\n\n');
      rest = events.pop() ?? '';
      for (const event of events) {
        const data = event.slice('data: '.length);
        if (!data.startsWith('{')) continue;
        const text = (JSON.parse(data) as ServerChunk).choices[0]?.delta.content ?? '';
        if (text !== '') yield text;
      }
    }
  }
  return (model) => complete(pieces(model), 'The model server');
}

interface ServerChunk {
  choices: { delta: { content?: string | null } }[];
}

/** Lets an agent answer. `modelToken`: for the model gateway */
export function askRuntime(runtime: Client<typeof AgentRuntime>, modelToken = ''): Ask {
  const history = HISTORY.map((text, n) => ({
    text,
    id: String(n),
    ...(fromUser(text, n) ? { role: HistoryRole.USER } : { role: HistoryRole.AGENT, agentId: 'agent' }),
  }));
  let turns = 0;
  async function* pieces(model: ModelName): AsyncIterable<string> {
    turns += 1;
    const agent = { id: 'agent', slug: 'manager', name: 'Agent', model: model === FAST_MODEL ? 'flash' : 'sonnet' };
    for await (const { event } of runtime.runTurn({
      turnId: `turn-${turns}`,
      generation: 1,
      agent,
      history,
      firstStep: 1,
      modelToken,
    })) {
      if (event.case === 'chunk' && event.value.text !== '') yield event.value.text;
      if (event.case === 'done' && event.value.errorCode !== '')
        throw new BenchError(`The turn failed: ${event.value.errorCode}`);
    }
  }
  return (model) => complete(pieces(model), 'The runtime');
}
