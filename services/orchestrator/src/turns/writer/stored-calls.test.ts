import { describe, expect, it } from '@jest/globals';
import { NO_TRANSACTION } from '../../../test/transaction.js';
import { JOB, QUEUED } from '../../../test/turn-rows.js';
import { callHash } from '../../records/approval-card.js';
import { createSafeMarkdown } from '../content/reply-text.js';
import type { NewReceipt } from '../receipts/receipts.store.js';
import type { StoredOutcome } from '../tools/tool-calls.store.js';
import { createTurnWriter } from './turn-writer.js';
import type { TurnWriterDeps } from './writing.js';

type SomeDeps = {
  [Key in keyof TurnWriterDeps]?: Key extends 'withTransaction' ? TurnWriterDeps[Key] : Partial<TurnWriterDeps[Key]>;
};

function createWriter(isStopped = false) {
  const outcomes = new Map<string, StoredOutcome>();
  const receipts = new Set<string>();
  const deps: SomeDeps = {
    withTransaction: (run) => run(NO_TRANSACTION),
    jobs: { holds: async () => true },
    turns: { isStopRequested: async () => isStopped },
    toolCalls: {
      findToolCall: async (_db, _turn, id) => outcomes.get(id),
      insertToolCall: async (_db, _turn, { id }, outcome) => void outcomes.set(id, outcome),
    },
    receipts: { count: async () => receipts.size, insert: async ({ call }) => void receipts.add(call.id) },
    untrusted: {
      addUntrustedSources: async () => undefined,
      recordReadTexts: async () => undefined,
      recordWrittenTexts: async () => undefined,
    },
    messages: { findToolLine: async () => undefined },
    events: { addMessage: async () => 2 },
    markdown: createSafeMarkdown(undefined),
  };
  return createTurnWriter(deps as TurnWriterDeps, { ...QUEUED, status: 'running', reply_message_id: 'r' }, JOB);
}

const CALL = { id: 'c', tool: 'count', description: 'Counting', stoppable: true };
const STOPPED = 'This reply was stopped. Nothing was changed.';

const receiptOf = (id: string): NewReceipt => ({
  call: { id, turnId: 't', workspaceId: 'w', userId: 'u', agentId: 'a', conversationId: 'c' },
  tool: 'send',
  effect: 'once',
  arguments: {},
  argumentsHash: callHash('send', {}),
  key: 'k',
});

describe('a call of a turn', () => {
  it('invariant 4: is executed once, and has the same outcome when it is repeated', async () => {
    const writer = createWriter();
    let total = 0;
    const count = async () => ({ text: `total ${(total += 1)}`, failed: false });
    const [first, again] = [await writer.call(CALL, count), await writer.call(CALL, count)];
    expect([first.outcome.text, again.outcome.text, total]).toEqual(['total 1', 'total 1', 1]);
  });

  it('is neither executed nor sent after the user has stopped the turn', async () => {
    const writer = createWriter(true);
    const executed = async (): Promise<never> => {
      throw new Error('executed');
    };
    expect((await writer.call(CALL, executed)).outcome).toMatchObject({ text: STOPPED, failed: true });
    expect(await writer.markSent(receiptOf('m'), 'Sending')).toBe('stopped');
  });

  it('is not sent to another system after 20 others', async () => {
    const writer = createWriter();
    const answers: unknown[] = [];
    for (let n = 0; n < 22; n += 1) answers.push(await writer.markSent(receiptOf(`m${n}`), 'Sending'));
    expect(answers.filter((answer) => answer === undefined)).toHaveLength(20);
    expect(answers.slice(20)).toEqual(['too many calls', 'too many calls']);
  });
});
