import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../test/test-orchestrator.js';
import { createTestTurnWorker, type TestTurnWorker } from '../../test/turn-fixture.js';
import type { LeasedJob } from '../platform/jobs/job-queue.js';
import type { FinishedReply } from './writer/turn-ending.js';
import { loadHistory } from './turns.store.js';

describe('the history of a turn', () => {
  let uswarm: TestOrchestrator;
  let turnWorker: TestTurnWorker;
  let user: TestUser;
  let home: Home;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
    turnWorker = createTestTurnWorker(uswarm.database);
  });
  beforeEach(async () => {
    await uswarm.database.deleteFrom('work').execute();
    user = await uswarm.user();
    home = await uswarm.home(user);
  });
  afterAll(() => uswarm.close());

  const ask = (text: string) => user.post(home.messages, { content: { type: 'text', text } }, 201);
  const answer = async (reply: Partial<FinishedReply>): Promise<void> => {
    const writer = await turnWorker.writerOf(await turnWorker.claim());
    await writer.begin();
    await writer.finish({ turnStatus: 'done', messageStatus: 'delivered', text: '', errorCode: null, ...reply });
  };
  const historyOf = async (job: LeasedJob, limit = 200) => {
    const rows = await loadHistory(turnWorker.stores.database, await turnWorker.turnOf(job), limit);
    return rows.toReversed().map(({ role, text }) => `${role}: ${text}`);
  };

  it('places each reply after its user message, also if the next user message is older than the reply', async () => {
    for (const text of ['M1', 'M2', 'M3']) await ask(text);
    await answer({ text: 'R1' });
    expect(await historyOf(await turnWorker.claim())).toEqual(['user: M1', 'agent: R1', 'user: M2']);
  });

  it('ends with the user message, without messages of the current turn', async () => {
    await ask('M1');
    const job = await turnWorker.claim();
    const writer = await turnWorker.writerOf(job);
    await writer.begin();
    const content = { type: 'tool_status', tool: 't', description: 'd', state: 'running' } as const;
    await writer.tool({ callId: 'c', content });
    expect(await historyOf(job)).toEqual(['user: M1']);
  });

  it('omits silent replies, and contains incomplete ones', async () => {
    for (const text of ['M1', 'M2', 'M3']) await ask(text);
    await answer({ messageStatus: 'silent' });
    await answer({ turnStatus: 'stopped', messageStatus: 'incomplete', text: 'R2, half' });
    expect(await historyOf(await turnWorker.claim())).toEqual(['user: M1', 'user: M2', 'agent: R2, half', 'user: M3']);
  });

  it('omits failed user messages and replies', async () => {
    for (const text of ['M1', 'M2', 'M3']) await ask(text);
    await (
      await turnWorker.writerOf(await turnWorker.claim())
    ).abandon('runtime_not_ready', 'The agents did not start.');
    await answer({ turnStatus: 'failed', messageStatus: 'failed', text: 'It broke.' });
    expect(await historyOf(await turnWorker.claim())).toEqual(['user: M2', 'user: M3']);
  });

  it('contains the newest messages of a long conversation', async () => {
    for (const text of ['M1', 'M2']) await ask(text);
    await answer({ text: 'R1' });
    expect(await historyOf(await turnWorker.claim(), 2)).toEqual(['agent: R1', 'user: M2']);
  });
});
