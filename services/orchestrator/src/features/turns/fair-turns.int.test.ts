import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Conversation, LIMITS, type MessageData } from '@uswarm/contract';
import { eventually } from '../../../test/eventually.js';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';

const QUEUED = 100;
const WORKERS = 4;
const WITHIN_MS = 120_000;

const draft = (text: string) => ({ content: { type: 'text', text } });

/** A user, with what was published of the workspace so far. */
interface Person {
  user: TestUser;
  home: Home;
  /** Replies that were begun, also those of before. */
  begun: number;
  chunks: number;
}

describe('the turns of several users', () => {
  let uswarm: TestOrchestrator;
  let busy: Person;
  let other: Person;
  beforeAll(async () => {
    const environment = { RUNTIME_WORKERS: '4', TURN_WORKERS: `${WORKERS}`, TURNS_PER_USER: '2' };
    uswarm = await startTestOrchestrator({ environment });
    [busy, other] = await Promise.all([person(), person()]);
    await Promise.all([busy, other].map(answered));
  });
  afterAll(() => uswarm.close());

  async function person(): Promise<Person> {
    const user = await uswarm.user();
    const someone: Person = { user, home: await uswarm.home(user), begun: 0, chunks: 0 };
    await uswarm.bus.subscribe(someone.home.workspaceId, ({ event, payload }) => {
      if (event === 'message.chunk') someone.chunks += 1;
      const { message } = payload as { message?: MessageData };
      if (event === 'message.new' && message?.content.type === 'loading') someone.begun += 1;
    });
    return someone;
  }
  /** The runtime is ready from then on. */
  async function answered({ user, home }: Person): Promise<void> {
    await user.post(home.messages, draft('Are you there?'), 201);
    const replies = async () => (await user.get<{ data: MessageData[] }>(home.messages)).body.data;
    const isAnswered = (all: MessageData[]) =>
      all.some(({ role, status }) => role === 'agent' && status === 'delivered');
    if (!isAnswered(await eventually(replies, isAnswered, WITHIN_MS))) throw new Error('no answer came');
  }
  /** In several conversations, because only some turns may wait in each. */
  async function queueMany({ user, home }: Person): Promise<void> {
    for (let asked = 0; asked < QUEUED; asked += LIMITS.queuedTurns) {
      const body = { type: 'agent', agent_id: home.agents[0]?.id, title: `Conversation ${asked}` };
      const made = await user.post<{ data: Conversation }>(`${home.workspace}/conversations`, body, 201);
      const path = `${home.workspace}/conversations/${made.body.data.id}/messages`;
      for (let n = 0; n < LIMITS.queuedTurns; n += 1) await user.post(path, draft(`Question ${n}`), 201);
    }
  }

  it('begin fairly: 100 queued turns of one user do not delay the first chunk of another user', async () => {
    const before = busy.begun;
    await queueMany(busy);
    other.chunks = 0;
    await other.user.post(other.home.messages, draft('And me?'), 201);
    await eventually(
      () => other.chunks,
      (chunks) => chunks > 0,
      WITHIN_MS,
    );
    const waiting = QUEUED - (busy.begun - before);
    expect(other.chunks).toBeGreaterThan(0);
    expect(waiting).toBeGreaterThan(WORKERS);
  });
});
