import type { MessageData, MessagePage } from '@uswarm/contract';
import fc from 'fast-check';
import { sql } from 'kysely';
import { createWithTransaction } from '../../src/platform/database/transaction.js';
import { agentStatusExpiry } from '../../src/workspaces/agents/agent-status-expiry.js';
import { approvalCard, callHash } from '../../src/records/approval-card.js';
import type { AgentActivity } from '../../src/platform/database/schema.js';
import type { OfferedContent } from '../../src/turns/content/agent-content-schema.js';
import { TURN_JOB } from '../../src/records/turn-job.js';
import type { FinishedReply } from '../../src/turns/writer/turn-ending.js';
import type { TurnWriter } from '../../src/turns/writer/turn-writes.js';
import type { LeasedJob } from '../../src/platform/jobs/job-queue.js';
import { approvalsOf } from '../stores.js';
import { TURN_CONTEXT } from '../turn-context.js';
import { ASKED } from '../message-client.js';
import type { TurnFixture } from '../turn-fixture.js';
import { type ModelTurn, statusOf } from './model.js';
import { listAgents } from '../../src/records/agents.store.js';

const QUESTION: OfferedContent & { type: 'action_card' } = {
  type: 'action_card',
  title: 'Which one?',
  description: '',
  actions: [{ id: 'a', label: 'The first', style: 'primary' }],
};

const CONVERSATIONS = 3;

/** Steps in one conversation; a step that is impossible there does nothing. */
export type Step =
  | { what: 'send' | 'fail before the begin' | 'ask' | 'approve' | 'deny' | 'let approvals expire' }
  | { what: 'offer a question' | 'answer the question' | 'delete the last message' | 'delete the conversation' }
  | { what: 'wait for the provider' | 'kill the process' | 'take over' }
  | { what: 'act'; activity: AgentActivity }
  | { what: 'end'; status: 'done' | 'failed' | 'stopped' }
  | { what: 'let time pass'; minutes: number };

const plain = (...whats: Exclude<Step['what'], 'act' | 'end' | 'let time pass'>[]): fc.Arbitrary<Step> =>
  fc.constantFrom(...whats).map((what): Step => ({ what }));

export const steps: fc.Arbitrary<(Step & { conversation: number })[]> = fc.array(
  fc
    .tuple(
      fc.nat(CONVERSATIONS - 1),
      fc.oneof(
        { weight: 4, arbitrary: plain('send') },
        { weight: 6, arbitrary: plain('ask', 'approve', 'deny', 'let approvals expire', 'fail before the begin') },
        { weight: 4, arbitrary: plain('offer a question', 'answer the question', 'delete the last message') },
        { weight: 1, arbitrary: plain('delete the conversation') },
        { weight: 4, arbitrary: plain('wait for the provider', 'kill the process', 'take over') },
        {
          weight: 4,
          arbitrary: fc
            .constantFrom('reading', 'thinking', 'writing', 'pending')
            .map((activity): Step => ({ what: 'act', activity })),
        },
        {
          weight: 4,
          arbitrary: fc.constantFrom('done', 'failed', 'stopped').map((status): Step => ({ what: 'end', status })),
        },
        {
          weight: 4,
          arbitrary: fc.constantFrom(1, 3, 6, 30, 25 * 60).map((minutes): Step => ({ what: 'let time pass', minutes })),
        },
      ),
    )
    .map(([conversation, step]) => ({ ...step, conversation })),
  { minLength: 5, maxLength: 40 },
);

interface RunningTurn {
  job: LeasedJob;
  writer: TurnWriter;
  /** True if its process was killed, or it waits without a worker. */
  isFree: boolean;
}

interface Conversation {
  path: string;
  id: string;
  turns: ModelTurn[];
  running: RunningTurn | undefined;
  cards: number;
}

/** Runs steps with the real stores and the real API, and a model beside them. One agent has several conversations. */
export class ScheduleRun {
  private readonly world: Readonly<TurnFixture>;
  private readonly withTransaction;
  private conversations: Conversation[] = [];
  private now = 0;
  private ends = 0;
  private readonly agentId: string;

  constructor(world: Readonly<TurnFixture>) {
    this.world = world;
    this.withTransaction = createWithTransaction(world.uswarm.database);
    this.agentId = world.home.agents[0]!.id;
  }

  async start(): Promise<void> {
    for (let n = 0; n < CONVERSATIONS; n += 1) this.conversations.push(await this.newConversation());
  }

  private async newConversation(): Promise<Conversation> {
    const path = `${this.world.home.workspace}/conversations`;
    const body = { type: 'agent', agent_id: this.agentId };
    const { id } = (await this.world.user.post<{ data: { id: string } }>(path, body, 201)).body.data;
    return { path: `${path}/${id}`, id, turns: [], running: undefined, cards: 0 };
  }

  /** @returns what the API shows, and what it should */
  async step({
    conversation,
    ...step
  }: Step & { conversation: number }): Promise<{ shown: unknown; expected: unknown }> {
    const here = this.conversations[conversation]!;
    if (step.what === 'let time pass') await this.pass(step.minutes);
    else if (step.what === 'delete the conversation') {
      await this.world.user.delete(here.path, undefined, 204);
      this.conversations[conversation] = await this.newConversation();
    } else if (here.running === undefined) await this.whileIdle(step, here);
    else await this.whileRunning(step, here, here.running);
    return { shown: await this.shown(), expected: this.expected() };
  }

  async shown(): Promise<AgentActivity | undefined> {
    const rows = await listAgents(this.world.turnWorker.stores.database, this.world.home.workspaceId);
    return rows.find(({ id }) => id === this.agentId)?.activity;
  }

  expected = (): AgentActivity =>
    statusOf(
      this.conversations.map(({ turns }) => turns),
      this.now,
    );

  private async whileIdle(step: Step, here: Conversation): Promise<void> {
    const last = here.turns.at(-1);
    const isSuspended = last?.state === 'suspended';
    switch (step.what) {
      case 'send':
        return this.send(here);
      case 'fail before the begin':
        return this.fail(here);
      case 'approve':
      case 'deny':
        if (isSuspended) await this.decide(here, last, step.what);
        return;
      case 'let approvals expire':
        if (isSuspended) await this.expireApprovals(here, last);
        return;
      case 'answer the question':
        if (last?.asks === true && !isSuspended) await this.answer(here, last);
        return;
      case 'delete the last message':
        return this.deleteLast(here);
      default:
    }
  }

  private async whileRunning(step: Step, here: Conversation, running: RunningTurn): Promise<void> {
    const turn = here.turns.at(-1)!;
    if (running.isFree) {
      if (step.what === 'take over') await this.begin(here, turn);
      return;
    }
    switch (step.what) {
      case 'act':
        await running.writer.activity(step.activity);
        Object.assign(turn, { activity: step.activity, since: this.now });
        return;
      case 'offer a question':
        await running.writer.offer('k', QUESTION);
        turn.asks = true;
        return;
      case 'ask':
        return this.ask(here, turn, running.writer);
      case 'wait for the provider':
        await running.writer.postpone(60_000);
        turn.activity = undefined;
        return this.free(running);
      case 'kill the process':
        return this.free(running);
      case 'end':
        await running.writer.finish(replyWith(step.status));
        return this.ended(here, turn, step.status);
      default:
    }
  }

  /** Another process can take over. */
  private async free(running: RunningTurn): Promise<void> {
    running.isFree = true;
    await sql`UPDATE work SET lease_expires_at = now() - interval '1 second' WHERE subject_id = ${running.job.subjectId}`.execute(
      this.world.uswarm.database,
    );
  }

  private async ask(here: Conversation, turn: ModelTurn, writer: TurnWriter): Promise<void> {
    const id = `call ${(here.cards += 1)}`;
    const card = approvalCard({ title: id, changes: [] }, ASKED);
    await writer.ask({ id, tool: 'send', argumentsHash: callHash('send', id), card });
    if ((await writer.suspend('I ask.', [id])) === undefined) throw new Error('the turn was not suspended');
    this.ended(here, turn, 'suspended');
  }

  private ended(here: Conversation, turn: ModelTurn, state: ModelTurn['state']): void {
    Object.assign(turn, { state, since: this.now, endedAs: (this.ends += 1) });
    here.running = undefined;
  }

  /** A message supersedes what waits in its conversation. */
  private async say(here: Conversation): Promise<ModelTurn> {
    await this.world.user.post(`${here.path}/messages`, { content: { type: 'text', text: 'go' } }, 201);
    this.stopWaiting(here);
    return { state: 'running', activity: 'reading', since: this.now, endedAs: 0, asks: false };
  }

  private stopWaiting(here: Conversation): void {
    for (const turn of here.turns) if (turn.state === 'suspended') turn.state = 'done';
  }

  private async send(here: Conversation): Promise<void> {
    const turn = await this.say(here);
    here.turns.push(turn);
    await this.begin(here, turn);
  }

  private async begin(here: Conversation, turn: ModelTurn): Promise<void> {
    const job = await this.lease(here);
    const writer = await this.world.turnWorker.writerOf(job);
    await writer.begin();
    await writer.setInstance({ instance: { id: 'i', budgeted: false, context: TURN_CONTEXT }, untrusted: [] });
    here.running = { job, writer, isFree: false };
    Object.assign(turn, { activity: 'reading', since: this.now });
  }

  private async lease(here: Conversation): Promise<LeasedJob> {
    const { database } = this.world.uswarm;
    const { id } = await database
      .selectFrom('turns')
      .select('id')
      .where('conversation_id', '=', here.id)
      .where('status', 'in', ['queued', 'running'])
      .executeTakeFirstOrThrow();
    const job = await this.world.turnWorker.stores.jobs.takeOver(TURN_JOB, id, 3_600_000, database);
    if (job === undefined) throw new Error('the turn has no job');
    return job;
  }

  private async fail(here: Conversation): Promise<void> {
    const turn = await this.say(here);
    here.turns.push(turn);
    const writer = await this.world.turnWorker.writerOf(await this.lease(here));
    await writer.abandon('runtime_not_ready', 'No.');
    this.ended(here, turn, 'failed');
  }

  private async cards(here: Conversation): Promise<MessageData[]> {
    const page = await this.world.user.get<MessagePage>(`${here.path}/messages?direction=forward&limit=100`);
    return page.body.data.filter(
      ({ content, extended_status }) =>
        content.type === 'action_card' && (content.selected_action_id ?? null) === null && extended_status !== 'failed',
    );
  }

  private async choose(card: MessageData | undefined, action_id: string): Promise<void> {
    if (card === undefined) throw new Error('there is no card');
    await this.world.user.post(`${this.world.home.workspace}/messages/${card.id}/action`, { action_id }, 200);
  }

  private async decide(here: Conversation, suspended: ModelTurn, action: 'approve' | 'deny'): Promise<void> {
    const cards = await this.cards(here);
    const card = cards.findLast(({ content }) => content.type === 'action_card' && content.title !== QUESTION.title);
    await this.choose(card, action);
    suspended.state = 'done';
    const turn: ModelTurn = { ...suspended, state: 'running', asks: false, endedAs: 0 };
    here.turns.push(turn);
    await this.begin(here, turn);
  }

  private async expireApprovals(here: Conversation, suspended: ModelTurn): Promise<void> {
    await sql`UPDATE tool_approvals SET expires_at = now() - interval '1 minute'
      WHERE status = 'open' AND conversation_id = ${here.id}`.execute(this.world.uswarm.database);
    const approvals = approvalsOf(this.world.turnWorker.stores);
    while (await this.withTransaction((tx) => approvals.expireNext(tx)));
    suspended.state = 'done';
  }

  private async answer(here: Conversation, asking: ModelTurn): Promise<void> {
    const cards = await this.cards(here);
    await this.choose(
      cards.findLast(({ content }) => content.type === 'action_card' && content.title === QUESTION.title),
      'a',
    );
    asking.asks = false;
    const turn: ModelTurn = { state: 'running', activity: 'reading', since: this.now, endedAs: 0, asks: false };
    here.turns.push(turn);
    await this.begin(here, turn);
  }

  /** Deletes the user's last message, and with it the turn that answered it. */
  private async deleteLast(here: Conversation): Promise<void> {
    const page = await this.world.user.get<MessagePage>(`${here.path}/messages?direction=forward&limit=100`);
    const message = page.body.data.findLast(({ role }) => role === 'user');
    if (message === undefined) return;
    await this.world.user.delete(`${this.world.home.workspace}/messages/${message.id}`, undefined, 204);
    here.turns.pop();
  }

  /** Moves all the workspace's times to the past, and runs the job that ends statuses. */
  private async pass(minutes: number): Promise<void> {
    const { database } = this.world.uswarm;
    const { workspaceId } = this.world.home;
    const past = sql`${minutes} * interval '1 minute'`;
    await sql`UPDATE turns SET activity_until = activity_until - ${past}, finished_at = finished_at - ${past}
      WHERE workspace_id = ${workspaceId}`.execute(database);
    await sql`UPDATE agents SET activity_until = activity_until - ${past} WHERE workspace_id = ${workspaceId}`.execute(
      database,
    );
    this.now += minutes;
    const shown = await this.shown();
    if (shown !== 'online' && shown !== this.expected()) throw new Error(`${shown} is shown, but has ended`);
    const { statuses } = this.world.turnWorker.stores;
    const { handle } = agentStatusExpiry({ withTransaction: this.withTransaction, database, statuses });
    await handle({} as LeasedJob, new AbortController().signal);
  }
}

const replyWith = (turnStatus: 'done' | 'failed' | 'stopped'): FinishedReply => ({
  turnStatus,
  messageStatus: turnStatus === 'done' ? 'delivered' : 'failed',
  text: 'Done.',
  errorCode: turnStatus === 'failed' ? 'runtime_lost' : null,
});
