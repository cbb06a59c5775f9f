import { describe, expect, it } from '@jest/globals';
import { create } from '@bufbuild/protobuf';
import { RequestSchema } from '@uswarm/runtime-proto';
import { silentLogger } from '@uswarm/service-kit';
import { z } from 'zod';
import { createMemoryRules, type MemoryRulesOptions } from '../../../test/memory-rules.js';
import { NO_TRANSACTION } from '../../../test/transaction.js';
import { QUEUED } from '../../../test/turn-rows.js';
import { definePlatformTool, defineTaskTool } from '../tools/platform-tool.js';
import type { StoredCall } from '../writer/turn-writes.js';
import type { LiveEvents } from './reply-stream.js';
import { createToolRequests } from './tool-requests.js';

const count = definePlatformTool({
  name: 'count',
  description: 'Counts.',
  effect: 'own',
  switchedBy: 'memories',
  input: z.object({ by: z.number() }),
  describe: ({ by }) => `Counting ${by}`,
  prepare:
    ({ by }) =>
    async () => ({ text: `total ${by}`, failed: false }),
});

const delegate = defineTaskTool({
  name: 'delegate',
  description: 'Gives a task.',
  switchedBy: 'memories',
  input: z.object({}),
  describe: () => 'A task',
  task: async () => async () => 1,
});

function setUp({ permission, ...stored }: Partial<StoredCall> & MemoryRulesOptions = {}) {
  const events: Parameters<LiveEvents['tool']>[0][] = [];
  const requests = createToolRequests({
    turn: QUEUED,
    writer: {
      call: async (_call, commit) => ({
        outcome: { ...(await commit(NO_TRANSACTION)), showsMessage: false },
        seq: 2,
      }),
      ask: async () => 2,
      findCall: async () => ({ isDelegated: false, ...stored }),
      markSent: async () => undefined,
      startTask: async () => 1,
      question: async () => undefined,
      answer: async () => null,
    },
    watchAnswers: () => () => undefined,
    rules: createMemoryRules(permission === undefined ? {} : { permission }, new Set()),
    receipts: { finish: async () => undefined, recordOwn: async () => undefined },
    live: { tool: (event) => void events.push(event) },
    logger: silentLogger,
    seq: () => 1,
  });
  requests.offer({ tools: [count, delegate], asked: [], signal: new AbortController().signal });
  const execute = (json: string, tool = 'count') =>
    requests.execute(create(RequestSchema, { callId: 'c', tool, arguments: json }), 1);
  return { events, execute };
}

const running = { tool: 'count', running: true };
const ended = (failed: boolean) => ({ tool: 'count', running: false, failed });

describe('the events of a call', () => {
  it.each([
    ['is executed', {}, '{"by":1}', false],
    ['has arguments that are not valid', {}, '{"by":"x"}', true],
    ['the user has turned off', { permission: () => 'deny' as const }, '{"by":1}', true],
    ['needs an approval but cannot be executed', { permission: () => 'ask' as const }, '{"by":"x"}', true],
    [
      'another process or agent has executed',
      { outcome: { text: 'x', failed: false, showsMessage: false } },
      '{"by":1}',
      false,
    ],
  ])('are its start, then its end, for a call that %s', async (_what, options, json, failed) => {
    const { events, execute } = setUp(options);
    await execute(json);
    expect(events).toEqual([running, ended(failed)]);
  });

  it('are its start while another agent works on its task', async () => {
    const { events, execute } = setUp();
    await execute('{}', 'delegate');
    expect(events).toEqual([{ tool: 'delegate', running: true }]);
  });

  it('are its end alone when another agent has ended its task', async () => {
    const { events, execute } = setUp({ outcome: { text: 'x', failed: false, showsMessage: true } });
    await execute('{}', 'delegate');
    expect(events).toEqual([{ tool: 'delegate', running: false, failed: false }]);
  });

  it('are none while it waits for the user', async () => {
    const { events, execute } = setUp({ permission: () => 'ask' });
    await execute('{"by":1}');
    expect(events).toEqual([]);
  });
});
