import { setTimeout as sleep } from 'node:timers/promises';
import { Code, ConnectError } from '@connectrpc/connect';
import type { MessageData } from '@uswarm/contract';
import { sql } from 'kysely';
import { createWithStatement, createWithTransaction } from '../../src/platform/database/transaction.js';
import { TURN_JOB } from '../../src/records/turn-job.js';
import { createTurnWorker } from '../../src/turns/worker.js';
import type { LeasedJob } from '../../src/platform/jobs/job-queue.js';
import type { JobResult } from '../../src/platform/jobs/job-worker.js';
import { createMemoryRules } from '../memory-rules.js';
import { createWorkerDeps } from '../worker-deps.js';
import { settleReceipts } from '../settle-receipts.js';
import { approvalsOf, createStores } from '../stores.js';
import type { Home, TestOrchestrator, TestUser } from '../test-orchestrator.js';
import type { Choice, Fault, Schedule, ScheduledFault } from './schedule.js';
import { Killed, type Place, SimulatedProcess } from './simulated-process.js';
import { SimulatedRuntime } from './simulated-runtime.js';
import { createOtherSystem, createSimulatedTools } from './simulated-tools.js';

/** This text starts the scheduled steps. Other messages are answered without tools. */
const TASK = 'Do it';
const LEASE_MS = 3_600_000;
/** A process that continues notices after this time that it has lost its lease. */
const LEASE_NOTICED_MS = 500;
/** A job that still runs after this many attempts never ends. */
const MAX_ATTEMPTS = 60;
const DATABASE_PLACES: readonly Place[] = ['database', 'transaction', 'committed'];
/** Faults in the running process and in its runtime, which can happen within a transaction. */
const ANYWHERE: readonly Fault[] = ['kill the orchestrator', 'kill the runtime', 'hang the runtime', 'kill both'];

const mayHappen = (fault: Fault, place: Place): boolean => {
  if (ANYWHERE.includes(fault)) return true;
  if (fault === 'break the database connection') return DATABASE_PLACES.includes(place);
  if (fault === 'break the runtime connection') return place === 'runtime';
  // The user and other replicas would wait for the transaction's locks.
  return place !== 'transaction';
};

/** Runs one workspace's turns with the real stores and the real API. Faults happen at scheduled points. */
export class FaultRun {
  readonly other;
  readonly runtime: SimulatedRuntime;
  /** Entries for turns that had a job, or ran in a runtime, while they waited for the user. */
  readonly costsOfWaiting: string[] = [];
  attempts = 0;
  private readonly faults: ScheduledFault[];
  private readonly choices: Choice[];
  private due: Fault[] = [];
  private current: SimulatedProcess | undefined;
  private hanging: { process: SimulatedProcess; ended: Promise<unknown> }[] = [];
  private readonly stores;
  private readonly withTransaction;
  private readonly withStatement;
  private readonly uswarm: TestOrchestrator;
  private readonly user: TestUser;
  readonly home: Home;
  private readonly schedule: Schedule;

  constructor(uswarm: TestOrchestrator, user: TestUser, home: Home, schedule: Schedule) {
    this.uswarm = uswarm;
    this.user = user;
    this.home = home;
    this.schedule = schedule;
    this.stores = createStores(uswarm.database);
    this.withTransaction = createWithTransaction(uswarm.database);
    this.withStatement = createWithStatement(uswarm.database);
    this.other = createOtherSystem(schedule);
    this.faults = schedule.faults.map((fault) => ({ ...fault }));
    this.choices = [...schedule.choices];
    this.runtime = new SimulatedRuntime(schedule.features, ({ history }) =>
      history.at(-1)?.text === TASK ? schedule.steps : [],
    );
  }

  get isOver(): boolean {
    return this.faults.length === 0 && this.due.length === 0;
  }

  /** Sends the task and runs turns until none is left and no card is open. */
  async toTheEnd(): Promise<void> {
    await this.untilItWaits();
    for (;;) {
      if ((await this.openCards()).length > 0) await this.whileWaiting();
      else if (this.hanging.length > 0) await this.wake();
      else break;
      await this.runTurns();
    }
    await this.settleReceipts();
  }

  /** Runs the job that looks up calls that turns left, once each of them is old enough. */
  private async settleReceipts(): Promise<void> {
    const { stores, schedule, withTransaction } = this;
    const process = new SimulatedProcess(() => Promise.resolve());
    const tools = createSimulatedTools(process, this.other, schedule, this.uswarm.database);
    await settleReceipts(stores, { tools, withTransaction, afterMs: LEASE_MS });
  }

  async untilItWaits(): Promise<void> {
    await this.write(TASK);
    await this.runTurns();
  }

  async runTurns(): Promise<void> {
    for (;;) {
      const job = (await this.claim()) ?? (await this.claimLocked());
      if (job === undefined) return;
      await this.attempt(job);
      if (this.attempts > MAX_ATTEMPTS) throw new Error('the turns do not end');
    }
  }

  private claim = async (): Promise<LeasedJob | undefined> => (await this.stores.jobs.claim(TURN_JOB, 1, LEASE_MS))[0];

  /**
   * A claim skips a job that a transaction has locked. A process that hangs at one call can still end a transaction at
   * another.
   */
  private async claimLocked(): Promise<LeasedJob | undefined> {
    await sql`SELECT FROM work WHERE kind = ${TURN_JOB} AND workspace_id = ${this.home.workspaceId} FOR UPDATE`.execute(
      this.uswarm.database,
    );
    return this.claim();
  }

  private async attempt(job: LeasedJob): Promise<void> {
    this.attempts += 1;
    const process = new SimulatedProcess((...point) => this.point(...point));
    this.current = process;
    const ended = this.handle(process, job).then(
      (result) => this.store(job, result),
      (error: unknown) => this.afterFailure(process, job, error),
    );
    if ((await Promise.race([ended, process.hung.promise])) !== 'hung') return;
    this.hanging.push({ process, ended });
    await this.expireLease(job);
  }

  private async store(job: LeasedJob, result: JobResult): Promise<void> {
    if ('done' in result) await this.stores.jobs.complete(job);
    else await this.stores.jobs.release(job, 0);
  }

  private async afterFailure(process: SimulatedProcess, job: LeasedJob, error: unknown): Promise<void> {
    if (process.isDead) await this.expireLease(job);
    else if (error instanceof Killed || error instanceof BrokenConnection) await this.stores.jobs.release(job, 0, true);
    else throw error;
  }

  private expireLease = ({ subjectId }: LeasedJob) =>
    sql`UPDATE work SET lease_expires_at = now() - interval '1 second' WHERE kind = ${TURN_JOB} AND subject_id = ${subjectId}
      AND lease_id IS NOT NULL`.execute(this.uswarm.database);

  private handle(process: SimulatedProcess, job: LeasedJob): Promise<JobResult> {
    const { stores, schedule } = this;
    const tools = createSimulatedTools(process, this.other, schedule, this.uswarm.database);
    const requestedTools = tools.map(({ name }) => name);
    const base = createWorkerDeps(stores);
    const run = createTurnWorker({
      ...base,
      turns: process.reads(base.turns, 'getTurn', 'getTurnToRun', 'isStopRequested'),
      journal: process.reads(stores.journal, 'listEntries'),
      contexts: process.reads(stores.contexts, 'findTurnContext'),
      progress: process.reads(stores.progress, 'find'),
      withTransaction: process.withTransaction(this.withTransaction),
      withStatement: process.withStatement(this.withStatement),
      client: process.client(this.runtime),
      platformTools: tools,
      loadAgentContext: async (...of) => ({
        ...(await base.loadAgentContext(...of)),
        requestedTools,
        askedTools: schedule.asks ? requestedTools : [],
      }),
      rules: createMemoryRules({ permission: () => (schedule.asks ? 'ask' : 'allow') }, new Set()),
    });
    return run(job, process.stopping.signal);
  }

  /** Scheduled faults happen at these points of the running process. */
  private async point(process: SimulatedProcess, place: Place): Promise<void> {
    if (process !== this.current) return;
    const [next] = this.faults;
    if (next !== undefined && (next.after -= 1) < 0) this.due.push(this.faults.shift()!.fault);
    for (const fault of this.due) {
      if (!mayHappen(fault, place)) continue;
      this.due = this.due.filter((other) => other !== fault);
      await this.happen(fault, process);
    }
  }

  private async happen(fault: Fault, process: SimulatedProcess): Promise<void> {
    switch (fault) {
      case 'kill the orchestrator':
        process.isDead = true;
        return;
      case 'kill the runtime':
        return this.runtime.kill();
      case 'hang the runtime':
        return this.runtime.hang();
      case 'kill both':
        this.runtime.kill();
        process.isDead = true;
        return;
      case 'hang the orchestrator':
        return process.hang();
      case 'wake the hanging orchestrator':
        return this.wake();
      case 'break the database connection':
        throw new BrokenConnection();
      case 'break the runtime connection':
        throw new ConnectError('', Code.Unavailable);
      case 'stop':
        await sql`UPDATE turns SET stop_requested = true WHERE status = 'running' AND workspace_id = ${this.home.workspaceId}`.execute(
          this.uswarm.database,
        );
        return;
      default:
        return this.act(fault);
    }
  }

  /** Hanging processes continue, although others have taken over their work. */
  private async wake(): Promise<void> {
    const woken = this.hanging;
    this.hanging = [];
    for (const { process, ended } of woken) {
      process.thaw();
      await Promise.race([ended, sleep(LEASE_NOTICED_MS, undefined, { ref: false })]);
      process.stopping.abort();
      await ended;
    }
  }

  private async whileWaiting(): Promise<void> {
    const { rows } =
      await sql`SELECT FROM work WHERE kind = ${TURN_JOB} AND workspace_id = ${this.home.workspaceId}`.execute(
        this.uswarm.database,
      );
    if (rows.length > 0) this.costsOfWaiting.push('a job of the type turn');
    await this.act(this.choices.shift() ?? 'approve');
  }

  async act(choice: Choice): Promise<void> {
    switch (choice) {
      case 'approve':
      case 'deny':
        return this.choose(choice);
      case 'approve and deny':
        await Promise.all([this.choose('approve'), this.choose('deny')]);
        return;
      case 'write':
        return this.write('Never mind');
      default:
        return this.expire();
    }
  }

  private async openCards(): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      SELECT a.card_message_id AS id FROM tool_approvals a JOIN messages m ON m.id = a.card_message_id
      WHERE a.status = 'open' AND m.workspace_id = ${this.home.workspaceId} ORDER BY a.created_at, a.call_id`.execute(
      this.uswarm.database,
    );
    return rows.map(({ id }) => id);
  }

  private async choose(action: 'approve' | 'deny'): Promise<void> {
    const [card] = await this.openCards();
    if (card === undefined) return;
    await this.user.raw({
      method: 'POST',
      path: `${this.home.workspace}/messages/${card}/action`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ action_id: action }),
    });
  }

  private async write(text: string): Promise<void> {
    await this.user.post<{ data: MessageData }>(this.home.messages, { content: { type: 'text', text } }, 201);
  }

  /** Open cards are too old, and the job that withdraws them runs. */
  private async expire(): Promise<void> {
    const cards = await this.openCards();
    if (cards.length === 0) return;
    await sql`UPDATE tool_approvals SET expires_at = now() - interval '1 millisecond'
      WHERE card_message_id = ANY(${cards}::uuid[])`.execute(this.uswarm.database);
    await this.choose('approve');
    const approvals = approvalsOf(this.stores);
    while (await this.withTransaction((tx) => approvals.expireNext(tx)));
  }
}

/** `pg` throws this when the connection ends. */
class BrokenConnection extends Error {
  override name = 'BrokenConnection';
}
