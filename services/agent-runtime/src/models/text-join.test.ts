import { describe, expect, it } from '@jest/globals';
import { repairCompletion } from './completion-repair.js';
import { repairMessages } from './message-repair.js';

const NEVER_MS = 3_600_000;
const HARDLY_MS = 1;

type Chunk = Record<string, unknown>;
const content = (text: string, more: Chunk = {}): Chunk => ({
  choices: [{ index: 0, delta: { content: text }, ...more }],
});
const thought = (text: string): Chunk => ({ choices: [{ index: 0, delta: { reasoning_content: text } }] });
const FINISH: Chunk = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };

/** A repaired response whose bytes the test sends. */
async function repaired(joinMs: number, first: Chunk, repair: typeof repairCompletion = repairCompletion) {
  const { promise, resolve } = Promise.withResolvers<ReadableStreamDefaultController<Uint8Array>>();
  let touches = 0;
  const body = new ReadableStream<Uint8Array>({ start: (controller) => resolve(controller) });
  const controller = await promise;
  const send = (...chunks: Chunk[]): void => {
    for (const chunk of chunks) controller.enqueue(Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`));
  };
  send(first);
  const options = { touch: () => void (touches += 1), joinMs };
  const response = await repair(new Response(body), new Set(), options);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  /** Events of the next part. */
  const next = async (): Promise<Chunk[] | undefined> => {
    const { value } = await reader.read();
    return value?.match(/^data: .*$/gm)?.map((line) => JSON.parse(line.slice('data: '.length)) as Chunk);
  };
  return { send, next, controller, touches: () => touches };
}

describe('the text of a streamed response', () => {
  it('passes immediately if it is the first, and is then joined until another event follows', async () => {
    const { send, next, touches } = await repaired(NEVER_MS, content('a'));
    expect(await next()).toEqual([content('a')]);
    send(content('b'), content('c'), FINISH);
    expect(await next()).toEqual([content('bc'), FINISH]);
    expect(touches()).toBe(4);
  });

  it('is not joined with reasoning or with chunks that have other fields', async () => {
    const { send, next } = await repaired(NEVER_MS, content('a'));
    await next();
    const signed = { choices: [{ index: 0, delta: { content: 'e', signature: 's' } }] };
    send(thought('b'), thought('c'), content('d'));
    send(signed, content('f'), { ...content('g'), usage: { prompt_tokens: 1 } });
    const parts = [await next(), await next(), await next()];
    expect(parts.flat()).toEqual([
      thought('bc'),
      content('d'),
      signed,
      content('f'),
      { ...content('g'), usage: { prompt_tokens: 1 } },
    ]);
  });

  it('passes after the time for which it is joined, while the next bytes are awaited', async () => {
    const { send, next } = await repaired(HARDLY_MS, content('a'));
    await next();
    send(content('b'));
    expect(await next()).toEqual([content('b')]);
    send(content('c'));
    expect(await next()).toEqual([content('c')]);
  });

  it('passes before the failure of a connection', async () => {
    const { send, next, controller } = await repaired(NEVER_MS, content('a'));
    await next();
    send(content('b'), content('c'));
    const part = next();
    // After the bytes were read: a failed stream drops unread ones.
    await new Promise((resolve) => setImmediate(resolve));
    controller.error(new Error('the connection broke'));
    expect(await part).toEqual([content('bc')]);
    await expect(next()).rejects.toThrow('the connection broke');
  });

  it('passes at the end of a response without a finish reason', async () => {
    const { send, next, controller } = await repaired(NEVER_MS, content('a'));
    await next();
    send(content('b'), content('c'));
    controller.close();
    expect(await next()).toEqual([content('bc')]);
    expect(await next()).toBeUndefined();
  });

  it('is joined per block in the Messages protocol', async () => {
    const text = (index: number, value: string): Chunk => ({
      type: 'content_block_delta',
      index,
      delta: { type: 'text_delta', text: value },
    });
    const stop = { type: 'content_block_stop', index: 0 };
    const { send, next } = await repaired(NEVER_MS, text(0, 'a'), repairMessages);
    await next();
    send(text(0, 'b'), text(0, 'c'), stop, text(1, 'd'), text(1, 'e'), { type: 'message_stop' });
    expect([await next(), await next()].flat()).toEqual([text(0, 'bc'), stop, text(1, 'de'), { type: 'message_stop' }]);
  });
});
