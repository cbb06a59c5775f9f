import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Conversation, LIMITS, type MessageData } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../test/test-orchestrator.js';

const QUEUED = 100;
const WORKERS = 4;
const WITHIN_MS = 120_000;

const draft = (text: string) => ({ content: { type: 'text', text } });

interface Person {
  user: TestUser;
  home: Home;
  /** Counts replies that have begun. */
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
  /** Waits until the first turn completes, so that the runtime is ready. */
  async function answered({ user, home }: Person): Promise<void> {
    await user.post(home.messages, draft('Are you there?'), 201);
    const replies = async () => (await user.get<{ data: MessageData[] }>(home.messages)).body.data;
    const isAnswered = (all: MessageData[]) =>
      all.some(({ role, status }) => role === 'agent' && status === 'delivered');
    if (!isAnswered(await eventually(replies, { until: isAnswered, timeoutMs: WITHIN_MS })))
      throw new Error('no answer came');
  }
  /** Uses several conversations, because queued turns per conversation are limited. */
  async function queueMany({ user, home }: Person): Promise<void> {
    for (let sent = 0; sent < QUEUED; sent += LIMITS.queuedTurns) {
      const body = { type: 'agent', agent_id: home.agents[0]?.id, title: `Conversation ${sent}` };
      const made = await user.post<{ data: Conversation }>(`${home.workspace}/conversations`, body, 201);
      const path = `${home.workspace}/conversations/${made.body.data.id}/messages`;
      for (let n = 0; n < LIMITS.queuedTurns; n += 1) await user.post(path, draft(`Message ${n}`), 201);
    }
  }

  it('begin fairly: 100 queued turns of one user do not delay the first chunk of another user', async () => {
    const before = busy.begun;
    await queueMany(busy);
    other.chunks = 0;
    await other.user.post(other.home.messages, draft('And me?'), 201);
    await eventually(() => other.chunks, { until: (chunks) => chunks > 0, timeoutMs: WITHIN_MS });
    const waiting = QUEUED - (busy.begun - before);
    expect(other.chunks).toBeGreaterThan(0);
    expect(waiting).toBeGreaterThan(WORKERS);
  });
});
