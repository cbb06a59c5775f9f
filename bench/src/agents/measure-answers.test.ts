import { describe, expect, it } from '@jest/globals';
import { firstTexts, throughput } from './measure-answers.js';

async function* answer(pieces: readonly string[]): AsyncIterable<string> {
  yield* pieces;
}

describe('firstTexts', () => {
  it('measures each side as often as requested, without the warm-up, and alternates which side begins', async () => {
    const order: string[] = [];
    const side = (name: string) => () => {
      order.push(name);
      return answer(['a', 'b']);
    };
    const times = await firstTexts({ left: side('left'), right: side('right') }, 'fast', 3);
    expect(times.left).toHaveLength(3);
    expect(times.right).toHaveLength(3);
    expect(order.slice(-6)).toEqual(['left', 'right', 'right', 'left', 'left', 'right']);
  });

  it('fails with the answer', async () => {
    // oxlint-disable-next-line require-yield
    const broken = async function* (): AsyncIterable<string> {
      throw new Error('cut');
    };
    await expect(firstTexts({ broken }, 'fast', 1)).rejects.toThrow('cut');
  });
});

describe('throughput', () => {
  it('fails with an answer of any stream before the time has passed', async () => {
    let asked = 0;
    const ask = async function* (): AsyncIterable<string> {
      asked += 1;
      if (asked > 3) throw new Error('cut');
      yield 'text';
    };
    const job = { model: 'paced', concurrent: 2, seconds: 60, warmUpSeconds: 60 } as const;
    await expect(throughput(ask, job)).rejects.toThrow('cut');
  });
});
