import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from '@jest/globals';
import { ResolutionSchema } from '@uswarm/runtime-proto';
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

  it('release events that are committed', () => {
    const commits = createCommits();
    const released: bigint[] = [];
    for (const number of [3n, 5n]) commits.onCommit(number, () => released.push(number));
    commits.advance(4);
    expect(released).toEqual([3n]);
  });

  it('keep the first outcome of a tool request, also if it arrives before the request', async () => {
    const commits = createCommits();
    const outcome = (text: string) => create(ResolutionSchema, { callId: 'a', text });
    const early = commits.resolution('a', never);
    commits.resolve([outcome('first')]);
    commits.resolve([outcome('second')]);
    expect([(await early).text, (await commits.resolution('a', never)).text]).toEqual(['first', 'first']);
  });
});
