import { once } from 'node:events';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import type { ApiError } from '@uswarm/contract';
import { createFileOpener } from './download.js';
import { ObjectMissing } from '../../records/object-store.js';
import { createTransferSlots } from './transfer-slots.js';

/** Downloads endless files. The test sets the clock. */
function startDownloads(maxConcurrent: number) {
  let now = 0;
  const slots = createTransferSlots({ maxConcurrent, maxConcurrentPerOwner: 2 }, () => now);
  const store: Record<string, Readable> = {};
  const objects = {
    open: (key: string) => {
      if (key === 'missing') return Promise.reject(new ObjectMissing(key));
      const bytes = new Readable({ read: () => undefined });
      store[key] = bytes;
      return Promise.resolve(bytes);
    },
  };
  const openFile = createFileOpener(objects, 'upload_not_found', slots);
  const open = (key: string): Promise<Readable> =>
    openFile(
      { key, size: 1_000_000, secondsLeft: 60 },
      { id: key, signature: '', method: 'GET', range: undefined, ifRange: undefined, ifNoneMatch: undefined },
    ).open();
  const refused = (key: string): Promise<string | undefined> =>
    open(key).then(
      () => undefined,
      (error: ApiError) => error.code,
    );
  const pass = (ms: number): void => {
    now += ms;
  };
  return { open, refused, store, pass };
}

describe('downloads of a slow client', () => {
  it('make room for others, and release the connection to the store', async () => {
    const { open, refused, store, pass } = startDownloads(2);
    const slow = await open('slow');
    const fast = await open('fast');
    fast.resume();
    store['fast']?.push(Buffer.alloc(1_000_000));
    await once(fast, 'data');
    const released = new Promise((resolve) => store['slow']?.once('close', resolve));
    pass(10_000);
    expect(await refused('other')).toBeUndefined();
    expect({ slow: slow.destroyed, fast: fast.destroyed }).toEqual({ slow: true, fast: false });
    await released;
  });

  it('are limited per file', async () => {
    const { refused } = startDownloads(10);
    expect([await refused('a'), await refused('a'), await refused('a'), await refused('b')]).toEqual([
      undefined,
      undefined,
      'rate_limited',
      undefined,
    ]);
  });

  it('take no slot after their end, after that of the client, and without an object', async () => {
    const { open, refused, store } = startDownloads(1);
    const complete = await open('a');
    store['a']?.push('x');
    store['a']?.push(null);
    expect(String(await buffer(complete))).toBe('x');
    const left = await open('b');
    await once(left.destroy(), 'close');
    expect(await refused('missing')).toBe('upload_not_found');
    expect(await refused('c')).toBeUndefined();
  });
});
