import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import { createReplyProgress, type ReplyProgress } from './reply-progress.js';

describe('the progress of a reply', () => {
  let saves: number[];
  let text: string;
  let startedAt: number;
  let progress: ReplyProgress;
  beforeEach(() => {
    jest.useFakeTimers();
    [saves, text] = [[], 'Hello'];
    startedAt = performance.now();
    const writer = {
      track: () => undefined,
      async saveProgress() {
        saves.push(performance.now() - startedAt);
      },
    };
    progress = createReplyProgress(
      { turn: { id: 't' }, writer, logger: silentLogger },
      {
        texts: () => ({ text, received: text }),
        state: () => ({ generation: 1, chunkSeq: 1 }),
        announcedStep: () => 0,
        event: () => 1,
        firstUnacknowledged: () => undefined,
      },
    );
  });
  afterEach(() => {
    progress.end();
    jest.useRealTimers();
  });

  const stream = async (ms: number): Promise<void> => {
    for (let at = 0; at < ms; at += 100) {
      progress.changed();
      await jest.advanceTimersByTimeAsync(100);
    }
  };

  it('is saved at intervals while text arrives, and long texts less often', async () => {
    await stream(60_000);
    expect(saves).toHaveLength(5);
    text = 'x'.repeat(40_000);
    await stream(60_000);
    expect(saves).toHaveLength(7);
  });

  it('is saved at the same times as those of the other turns of the process', async () => {
    await stream(40_000);
    expect(saves.length).toBeGreaterThan(0);
    expect(saves.map((at) => (startedAt + at) % 2_000)).toEqual(saves.map(() => 0));
  });

  it('is saved immediately for a device that begins to read, and at most once per second for several', async () => {
    await stream(200);
    progress.saveSoon();
    await jest.advanceTimersByTimeAsync(0);
    expect(saves).toHaveLength(1);
    for (let device = 0; device < 10; device += 1) {
      progress.changed();
      progress.saveSoon();
      await jest.advanceTimersByTimeAsync(90);
    }
    expect(saves).toHaveLength(1);
    await jest.advanceTimersByTimeAsync(200);
    expect(saves).toHaveLength(2);
  });

  it('is not saved for a device if nothing has changed, nor after the end', async () => {
    progress.saveSoon();
    progress.changed();
    progress.end();
    progress.saveSoon();
    await jest.advanceTimersByTimeAsync(60_000);
    expect(saves).toEqual([]);
  });
});
