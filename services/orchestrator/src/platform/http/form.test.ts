import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { incomingForm, RATE_WINDOW_MS } from './form.js';

const STALL_MS = 10_000;
const HEAD = '--x\r\ncontent-disposition: form-data; name="file"; filename="a.bin"\r\n\r\n';
const END = '\r\n--x--\r\n';

/** The test writes the body. */
function bodyOf(): { request: IncomingMessage; body: PassThrough } {
  const body = new PassThrough();
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  body.once('end', () => Object.assign(body, { complete: true }));
  return { request: Object.assign(body, { headers, complete: false }) as unknown as IncomingMessage, body };
}

describe('incomingForm', () => {
  beforeEach(() => void jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] }));
  afterEach(() => void jest.useRealTimers());
  const receive = (request: IncomingMessage, minBytes = 0) =>
    incomingForm(request).receiveFile(
      { maxBytes: 1_000_000, stallMs: STALL_MS, minBytes },
      async ({ content, complete }) => {
        const received = await text(content);
        await complete;
        return received;
      },
    );
  const arrived = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  it('accepts a form that takes longer than the stall timeout while data keeps arriving', async () => {
    const { request, body } = bodyOf();
    const received = receive(request);
    body.write(HEAD);
    for (const piece of ['a', 'b', 'c', 'd']) {
      await arrived();
      jest.advanceTimersByTime(STALL_MS - 1);
      body.write(piece);
    }
    body.end(END);
    expect(await received).toBe('abcd');
    expect(jest.getTimerCount()).toBe(0);
  });

  it.each([
    ['before the file', ''],
    ['within the file', `${HEAD}begun`],
  ])('rejects a form that stalls %s with upload_stalled', async (_where, start) => {
    const { request, body } = bodyOf();
    const refused = receive(request).then(
      () => 'received',
      (error: { code: string }) => error.code,
    );
    if (start !== '') body.write(start);
    await arrived();
    jest.advanceTimersByTime(STALL_MS);
    expect(await refused).toBe('upload_stalled');
  });

  it('closes the connection of a rejected body after 128 MiB, however large files may be', async () => {
    const { request, body } = bodyOf();
    request.headers['content-encoding'] = 'gzip';
    const limits = { maxBytes: 6 * 1024 ** 3, stallMs: STALL_MS, minBytes: 0 };
    const refused = incomingForm(request).receiveFile(limits, async () => undefined);
    await expect(refused).rejects.toThrow();
    const mebibyte = Buffer.alloc(1024 ** 2);
    let sent = 0;
    for (; sent < 200 && !body.destroyed; sent += 1) {
      body.write(mebibyte);
      await arrived();
    }
    expect({ sent, closed: body.destroyed }).toEqual({ sent: 129, closed: true });
  });

  const SECOND_MS = 1_000;
  /** Sends one piece per second: slow, but never silent. */
  async function sendSteadily(body: PassThrough, bytes: number, ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += SECOND_MS) {
      body.write('x'.repeat(bytes));
      await arrived();
      jest.advanceTimersByTime(SECOND_MS);
    }
    await arrived();
  }
  const MIN_BYTES = 20_000;
  const codeOf = (received: Promise<string>): Promise<string> =>
    received.then(
      () => 'received',
      (error: { code: string }) => error.code,
    );

  it('rejects a form that drips with upload_stalled, although data keeps arriving', async () => {
    const { request, body } = bodyOf();
    const result = codeOf(receive(request, MIN_BYTES));
    body.write(HEAD);
    await sendSteadily(body, 1, RATE_WINDOW_MS);
    expect(await result).toBe('upload_stalled');
    expect(jest.getTimerCount()).toBe(0);
  });

  it('rejects a form that drips after a fast beginning', async () => {
    const { request, body } = bodyOf();
    const result = codeOf(receive(request, MIN_BYTES));
    body.write(HEAD + 'x'.repeat(500_000));
    await sendSteadily(body, 1, RATE_WINDOW_MS + RATE_WINDOW_MS / 4);
    expect(await result).toBe('upload_stalled');
  });

  it('accepts a form at the minimum rate, for as long as it takes', async () => {
    const { request, body } = bodyOf();
    const result = codeOf(receive(request, MIN_BYTES));
    body.write(HEAD);
    await sendSteadily(body, (MIN_BYTES / RATE_WINDOW_MS) * SECOND_MS, 10 * RATE_WINDOW_MS);
    body.end(END);
    expect(await result).toBe('received');
  });
});
