import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ReceiptStatus } from '@uswarm/contract';
import { silentLogger } from '@uswarm/service-kit';
import { z } from 'zod';
import { NO_TRANSACTION } from '../../../test/transaction.js';
import { callHash } from '../../records/approval-card.js';
import type { SentReceipt } from '../receipts/receipts.store.js';
import { ReplyLimitExceeded } from '../content/reply-limit.js';
import { defineExternalTool, type ToolCall, UncertainOutcome } from './platform-tool.js';
import { sendCall } from './send-call.js';

const EVENTS = [
  'executed',
  'refused',
  'request lost',
  'answer lost',
  'killed before the request',
  'killed after the request',
  'killed before the outcome is stored',
] as const;
type Event = (typeof EVENTS)[number];

/** Possible execution counts, by receipt status. */
const POSSIBLE: Record<ReceiptStatus, number[]> = { sent: [0, 1], succeeded: [1], failed: [0], unknown: [0, 1] };

class Killed extends Error {
  override name = 'Killed';
}

const CALL: Omit<ToolCall, 'signal'> = {
  depth: 0,
  userMessageId: 'm',
  answer: { turnId: 't', inReplyTo: 'm' },
  id: 'c1',
  turnId: 't',
  workspaceId: 'w',
  userId: 'u',
  agentId: 'a',
  conversationId: 'c',
};

/** Runs a call until its outcome is stored; every process attempt consumes events. */
async function run(effect: 'keyed' | 'once', events: readonly Event[], indexed = true) {
  const schedule = [...events];
  const executions: string[] = [];
  const keys: string[] = [];
  let stored: SentReceipt | undefined;
  let atStart: SentReceipt | undefined;
  let planned = 0;

  function request(key: string): 'executed' | 'refused' {
    keys.push(key);
    // The request must not leave before it is stored.
    expect(stored).toMatchObject({ status: 'sent', key });
    const event = schedule.shift() ?? 'executed';
    const execute = () => {
      if (effect === 'once' || !executions.includes(key)) executions.push(key);
    };
    switch (event) {
      case 'refused':
        return 'refused';
      case 'request lost':
        throw new UncertainOutcome();
      case 'answer lost':
        execute();
        throw new UncertainOutcome();
      case 'killed before the request':
        throw new Killed();
      case 'killed after the request':
        execute();
        throw new Killed();
      case 'killed before the outcome is stored':
        execute();
        schedule.unshift(event);
        return 'executed';
      default:
        execute();
        return 'executed';
    }
  }

  let killed = false;
  const tool = defineExternalTool({
    name: 'act',
    description: '',
    switchedBy: 'acts',
    effect,
    input: z.object({ what: z.string() }),
    describe: () => '',
    plan: () => Promise.resolve({ key: `key-${(planned += 1)}` }),
    async send(_input, key) {
      if (killed) return new Promise<never>(() => undefined);
      try {
        const result = request(key);
        return { text: result, failed: result === 'refused' };
      } catch (error) {
        if (!(error instanceof Killed)) throw error;
        killed = true;
        dead.resolve();
        return new Promise<never>(() => undefined);
      }
    },
    lookUp: async (_input, key) =>
      indexed && executions.includes(key) ? { text: 'executed', failed: false } : undefined,
  });
  let dead = Promise.withResolvers<void>();

  for (let process = 1; process <= events.length + 2; process += 1) {
    killed = false;
    dead = Promise.withResolvers();
    atStart = stored;
    const commit = sendCall(
      tool,
      { what: 'x' },
      { ...CALL, signal: new AbortController().signal },
      {
        sent: atStart,
        markSent: async ({ key, argumentsHash }) => {
          expect(stored).toBeUndefined();
          stored = { status: 'sent', key, argumentsHash, outcome: null, integrationId: null };
          return undefined;
        },
        receipts: {
          finish: async (_turn, _call, end) => {
            if (stored !== undefined) stored = { ...stored, ...end };
          },
        },
        logger: silentLogger,
        retryMs: 0,
      },
    );
    const result = await Promise.race([commit, dead.promise]);
    if (result === undefined) continue;
    if (schedule[0] === 'killed before the outcome is stored') {
      schedule.shift();
      continue;
    }
    const outcome = await result(NO_TRANSACTION);
    return { executions, keys: [...new Set(keys)], requests: keys.length, planned, outcome, receipt: stored };
  }
  throw new Error('the call did not end');
}

describe('a call of a tool that changes another system', () => {
  const schedules = fc.array(fc.constantFrom(...EVENTS), { maxLength: 5 });

  it('invariant 4: is executed at most once with the effect `once`, and its receipt never claims more than happened', async () => {
    await fc.assert(
      fc.asyncProperty(schedules, fc.boolean(), async (events, indexed) => {
        const { executions, requests, outcome, receipt } = await run('once', events, indexed);
        expect(executions.length).toBeLessThanOrEqual(1);
        expect(requests).toBeLessThanOrEqual(1);
        expect(receipt?.status).toBe(outcome.failed ? (outcome.text === 'refused' ? 'failed' : 'sent') : 'succeeded');
        expect(POSSIBLE[receipt?.status ?? 'sent']).toContain(executions.length);
        expect(receipt?.outcome).toBe(receipt?.status === 'sent' ? null : outcome.text);
      }),
      { numRuns: 200 },
    );
  });

  it('invariant 4: is always sent with one key with the effect `keyed`', async () => {
    await fc.assert(
      fc.asyncProperty(schedules, async (events) => {
        const { executions, keys, planned, receipt } = await run('keyed', events);
        expect(executions.length).toBeLessThanOrEqual(1);
        expect(keys).toHaveLength(1);
        expect(planned).toBe(1);
        expect(POSSIBLE[receipt?.status ?? 'sent']).toContain(executions.length);
      }),
      { numRuns: 200 },
    );
  });

  it('is repeated with the effect `keyed` until there is an answer', async () => {
    const { executions, requests, outcome } = await run('keyed', ['request lost', 'answer lost', 'executed']);
    expect(outcome).toEqual({ text: 'executed', failed: false });
    expect([requests, executions.length]).toEqual([3, 1]);
  });

  it('is looked up with the effect `once`, and stays open without a trace', async () => {
    expect((await run('once', ['answer lost'])).outcome).toEqual({ text: 'executed', failed: false });
    expect(await run('once', ['answer lost'], false)).toMatchObject({ requests: 1, receipt: { status: 'sent' } });
    expect(await run('once', ['killed after the request'])).toMatchObject({ requests: 1, outcome: { failed: false } });
    expect(await run('once', ['killed before the request'])).toMatchObject({
      requests: 1,
      executions: [],
      receipt: { status: 'sent' },
    });
  });

  it('is looked up by its key with the effect `keyed` if no attempt has an answer', async () => {
    const lost = ['answer lost', 'answer lost', 'answer lost'] as const;
    expect(await run('keyed', lost)).toMatchObject({ requests: 3, receipt: { status: 'succeeded' } });
    expect(await run('keyed', lost, false)).toMatchObject({ requests: 3, receipt: { status: 'sent' } });
  });

  it.each(['keyed', 'once'] as const)('stays open if it cannot be looked up, with the effect `%s`', async (effect) => {
    const fails = () => Promise.reject(new UncertainOutcome());
    const finished: ReceiptStatus[] = [];
    const tool = defineExternalTool({
      name: 'act',
      description: '',
      switchedBy: 'acts',
      effect,
      input: z.object({ what: z.string() }),
      describe: () => '',
      plan: async () => ({ key: 'k' }),
      send: fails,
      lookUp: fails,
    });
    const commit = await sendCall(
      tool,
      { what: 'x' },
      { ...CALL, signal: new AbortController().signal },
      {
        markSent: async () => undefined,
        receipts: { finish: async (_turn, _call, { status }) => void finished.push(status) },
        logger: silentLogger,
        retryMs: 0,
      },
    );
    expect(await commit(NO_TRANSACTION)).toMatchObject({ failed: true, isUnknown: true });
    expect(finished).toEqual([]);
  });

  it('is refused if a runtime requests it again with other arguments', async () => {
    const sent: SentReceipt = {
      status: 'sent',
      key: 'k',
      argumentsHash: callHash('act', { what: 'x' }),
      outcome: null,
      integrationId: null,
    };
    const tool = defineExternalTool({
      name: 'act',
      description: '',
      switchedBy: 'acts',
      effect: 'keyed',
      input: z.object({ what: z.string() }),
      describe: () => '',
      plan: () => Promise.reject(new Error('planned')),
      send: () => Promise.reject(new Error('sent')),
      lookUp: () => Promise.reject(new Error('looked up')),
    });
    const deps = {
      sent,
      markSent: () => Promise.reject(new Error('marked')),
      receipts: { finish: () => Promise.reject(new Error('finished')) },
      logger: silentLogger,
    };
    const call = { ...CALL, signal: new AbortController().signal };
    await expect(sendCall(tool, { what: 'y' }, call, deps)).rejects.toThrow(ReplyLimitExceeded);
  });
});
