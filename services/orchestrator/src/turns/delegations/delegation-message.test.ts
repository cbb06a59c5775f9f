import { describe, expect, it } from '@jest/globals';
import { LIMITS } from '@uswarm/contract';
import fc from 'fast-check';
import { boundedResult, endedDelegation, startedDelegation, taskPreview, taskPrompt } from './delegation-message.js';
import { outcomeOf, shareOf } from './delegations.js';

const agent = (slug: string) => ({
  id: slug,
  name: slug,
  role: 'sub-agent' as const,
  slug,
  avatar: '',
  status: 'online' as const,
});

describe('the message of a task', () => {
  it('shows who works on what, until the task has ended', () => {
    const started = startedDelegation(agent('manager'), agent('writer'), 'Write\na  letter');
    expect(started).toEqual({
      type: 'delegation',
      from: agent('manager'),
      to: { ...agent('writer'), status: 'busy' },
      status: 'running',
      task_preview: 'Write a letter',
    });
    expect(endedDelegation(started, 'failed')).toEqual({ ...started, to: agent('writer'), status: 'failed' });
  });

  it('shows the beginning of a long task', () => {
    const preview = taskPreview('word '.repeat(100));
    expect(preview).toHaveLength(LIMITS.taskPreview);
    expect(preview).toMatch(/…$/);
  });
});

describe('the prompt of a task', () => {
  it('contains task, expected result and context, without an empty section', () => {
    const task = { task: 'Find facts', expected: 'A list' };
    expect(taskPrompt(agent('manager'), { ...task, context: 'Llamas' })).toMatch(
      /manager \(@manager\)[^]*Task:\nFind facts\n\nExpected result:\nA list\n\nContext:\nLlamas$/,
    );
    expect(taskPrompt(agent('manager'), { ...task, context: ' ' })).not.toContain('Context:');
  });
});

describe('the result of a task', () => {
  it('has at most 16 KiB, and is whole if it fits', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 8_000, size: 'max' }), (text) => {
        const bounded = boundedResult(text);
        expect(Buffer.byteLength(bounded)).toBeLessThanOrEqual(LIMITS.taskResultBytes);
        const isWhole = Buffer.byteLength(text) <= LIMITS.taskResultBytes;
        expect(bounded === text).toBe(isWhole);
        expect(text.startsWith(isWhole ? bounded : bounded.slice(0, bounded.lastIndexOf('\n[')))).toBe(true);
      }),
    );
  });

  it('tells the agent that waits how the task ended', () => {
    expect(outcomeOf({ status: 'completed', text: 'Facts.' })).toEqual({ text: 'Facts.', failed: false });
    expect(outcomeOf({ status: 'failed', text: '' })).toEqual({ text: 'The task failed.', failed: true });
    expect(outcomeOf({ status: 'stopped', text: 'Half' })).toEqual({
      text: 'The user stopped the task.\nHalf',
      failed: true,
    });
  });
});

describe('the budget of a task', () => {
  it('leaves a share for each further task and for the turn that gives them', () => {
    fc.assert(
      fc.property(fc.nat(10_000_000), (tokens) => {
        let left = tokens;
        const shares: number[] = [];
        for (let open = 0; open < LIMITS.parallelDelegations; open += 1) {
          shares.push(shareOf(left, open));
          left -= shares.at(-1) ?? 0;
        }
        const smallest = Math.floor(tokens / (LIMITS.parallelDelegations + 1));
        for (const share of [...shares, left]) expect(share).toBeGreaterThanOrEqual(smallest);
      }),
    );
  });

  it('leaves the turn something however many tasks wait for others', () => {
    let left = 1_000;
    for (let open = 0; open < 2 * LIMITS.parallelDelegations; open += 1) {
      const share = shareOf(left, open);
      expect(share).toBeLessThanOrEqual(left / 2);
      left -= share;
    }
    expect(left).toBeGreaterThan(0);
  });

  it('is empty if the turn has used more than its budget', () => {
    expect(shareOf(-5, 0)).toBe(0);
  });
});
