import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from '@jest/globals';
import { EntrySchema } from '@uswarm/runtime-proto';
import { createCommits } from './commits.js';

const never = new AbortController().signal;

describe('the commits of a turn', () => {
  it('resolve a wait when its event is committed, and not before', async () => {
    const commits = createCommits();
    const resolved: number[] = [];
    const waits = [2, 3].map((number) => commits.reached(number, never).then(() => resolved.push(number)));
    commits.advance(2);
    await waits[0];
    expect(resolved).toEqual([2]);
    commits.advance(1);
    commits.advance(5);
    await Promise.all(waits);
    await commits.reached(4, never);
    expect(resolved).toEqual([2, 3]);
  });

  it('reject a wait with the reason of its signal', async () => {
    const commits = createCommits();
    const stop = new AbortController();
    const wait = commits.reached(1, stop.signal);
    stop.abort(new Error('stopped'));
    await expect(wait).rejects.toThrow('stopped');
    await expect(commits.reached(1, stop.signal)).rejects.toThrow('stopped');
  });

  it('release the bodies of entries that are committed', () => {
    const commits = createCommits();
    const [first, second] = [1, 2].map((number) => create(EntrySchema, { number, body: 'body' }));
    commits.keep(3n, first!);
    commits.keep(5n, second!);
    commits.advance(4);
    expect([first?.body, second?.body]).toEqual(['', 'body']);
  });
});
