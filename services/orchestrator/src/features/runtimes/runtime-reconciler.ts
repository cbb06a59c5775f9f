import { ApiError, type BusEnvelope } from '@uswarm/contract';
import { backoffDelay, type Clock, type Logger } from '@uswarm/service-kit';
import type { Transaction, WithTransaction } from '../../database/database.js';
import type { LeasedJob, JobStore } from '../../jobs/job-store.js';
import type { JobResult } from '../../jobs/job-worker.js';
import type { AgentStore } from '../agents/agents.store.js';
import type { EventStore } from '../events/events.store.js';
import { TURN_JOB } from '../turns/turn-queue.js';
import type { RuntimeClient } from './runtime-client.js';
import {
  PlatformUnreachable,
  type RuntimeDriver,
  type RuntimeObservation,
  type RuntimeSpec,
} from './drivers/driver.js';
import type { RuntimeMetrics } from './runtime-metrics.js';
import {
  assumeObservation,
  changesOf,
  isSuspendedForRollout,
  isRolloutComplete,
  isSettled,
  NEW_REVISION,
  nextState,
  NOT_RESPONDING,
  secondsToReady,
  specOf,
  msUntilIdle,
} from './runtime-state.js';
import { agentStatus, viewRuntime } from './runtime-view.js';
import type { RuntimeRow, RuntimeStore, RuntimeUpdate } from './runtimes.store.js';

export interface RuntimeReconcilerDeps {
  withTransaction: WithTransaction;
  store: Pick<RuntimeStore, 'get' | 'lock' | 'resume' | 'update' | 'remove'>;
  jobs: Pick<JobStore, 'holds' | 'waits' | 'enqueue' | 'makeDueNow'>;
  driver: RuntimeDriver;
  client: Pick<RuntimeClient, 'identify' | 'status' | 'forget'>;
  events: Pick<EventStore, 'append'>;
  agents: Pick<AgentStore, 'list'>;
  publish: (envelope: BusEnvelope) => Promise<boolean>;
  /** Milliseconds after which an idle runtime is suspended; 0 is never. */
  idleSuspendAfterMs: number;
  metrics: RuntimeMetrics;
  clock: Clock;
  logger: Logger;
}

/** Milliseconds between two looks while something is still to come that nothing reports. */
const CHECK_MS = 10_000;
/** A runtime at which nothing is left to do rests: the runtime watch has it looked at again once that changes. */
const REST_MS = 365 * 24 * 3_600_000;
const RETRY = { initialMs: 250, maxMs: 5_000 };
/** So many looks without an answer (some 20 s) make a runtime unresponsive. */
const UNRESPONSIVE_AFTER = 8;
/** A runtime that is not well after so many looks (some 40 s) is looked at less often. */
const QUICK_LOOKS = 12;
const SLOW_RETRY_MS = 15_000;

interface Look {
  observed: RuntimeObservation | undefined;
  instanceId: string | null;
}

const isPolled = ({ polled_until: until, phase }: RuntimeRow, now: Date): boolean =>
  phase === 'Ready' && until !== null && until > now;

/** Brings one runtime to what its workspace wants, and shows what changed. */
export function createRuntimeReconciler(deps: RuntimeReconcilerDeps) {
  const { store, driver, client, events, agents, clock, logger, metrics } = deps;

  async function look(row: RuntimeRow, signal: AbortSignal): Promise<Look> {
    const { workspace_id: workspaceId } = row;
    const observed = await observe(row, signal);
    if (observed?.phase !== 'Ready' || observed.address === null) return { observed, instanceId: null };
    const identity = await client.identify({ workspaceId, address: observed.address }, signal).catch(() => null);
    return { observed, instanceId: identity?.instanceId ?? null };
  }

  async function observe(
    row: RuntimeRow,
    signal: AbortSignal,
    rollout?: RuntimeSpec['rollout'],
  ): Promise<RuntimeObservation | undefined> {
    const { workspace_id: workspaceId } = row;
    try {
      const unresponsive = row.reason === NOT_RESPONDING && row.failures >= UNRESPONSIVE_AFTER;
      const spec = { ...specOf(row), ...(rollout === undefined ? {} : { rollout }) };
      return await driver.ensure(spec, { unresponsive, signal });
    } catch (error) {
      if (signal.aborted && error === signal.reason) throw error;
      logger.warn({ err: error, workspace: workspaceId }, 'a runtime could not be brought to what is wanted');
      const isAway = error instanceof PlatformUnreachable;
      metrics.ensureFailed(isAway ? 'unreachable' : 'refused');
      if (isAway) return assumeObservation(row);
      return { phase: 'Progressing', reason: 'StartFailed', address: null, current: true };
    }
  }

  const shown = (row: Pick<RuntimeRow, 'phase' | 'verified' | 'silent_since'>, now: Date): string =>
    JSON.stringify([viewRuntime({ phase: row.phase, silentSince: row.silent_since }, now), row.verified]);

  /** What of an update is worth a write: not the time alone at which the runtime answered. */
  function news(row: RuntimeRow, update: RuntimeUpdate, now: Date): RuntimeUpdate {
    const changes = changesOf(row, update);
    const isTimeAlone = Object.keys(changes).every((field) => field === 'identified_at');
    return isTimeAlone && !isPolled(row, now) ? {} : changes;
  }

  /**
   * Stores what became of a runtime and shows it. `allowed` is asked under the runtime's lock.
   * @returns whether it was stored
   */
  async function record(
    job: LeasedJob,
    row: RuntimeRow,
    update: RuntimeUpdate,
    allowed: (tx: Transaction) => Promise<boolean> = async () => true,
  ): Promise<boolean> {
    const now = clock.now();
    const workspaceId = row.workspace_id;
    const next = { ...row, ...update };
    // As it was shown when it was last looked at: silence makes a runtime offline without any write.
    const changed = shown(row, row.updated_at) !== shown(next, now) || row.phase !== next.phase;
    const stored = await unlessGone(async (tx) => {
      // The order of locks everywhere: work, runtime, workspace.
      if (!(await deps.jobs.holds(job, tx)) || !(await allowed(tx))) return undefined;
      const changes = news(row, update, now);
      if (Object.keys(changes).length > 0) await store.update(workspaceId, changes, tx);
      const event = { workspaceId, type: 'workspace.updated', subjectId: workspaceId } as const;
      return { seq: changed ? await events.append(event, tx) : null };
    });
    if (stored === undefined) return false;
    if (stored.seq === null) return true;
    logger.info({ workspace: workspaceId, phase: next.phase, reason: next.reason }, 'runtime changed');
    await showAgents(workspaceId, next, stored.seq);
    if (next.phase === 'Ready') await deps.jobs.makeDueNow(TURN_JOB, workspaceId);
    return true;
  }

  /** Undefined also if the workspace was deleted while it was looked at. */
  async function unlessGone<T>(run: (tx: Transaction) => Promise<T | undefined>): Promise<T | undefined> {
    try {
      return await deps.withTransaction(run);
    } catch (error) {
      if (error instanceof ApiError && error.code === 'workspace_not_found') return undefined;
      throw error;
    }
  }

  async function showAgents(workspaceId: string, runtime: RuntimeRow, seq: number): Promise<void> {
    const state = { phase: runtime.phase, silentSince: runtime.silent_since };
    for (const { id, activity } of await agents.list(workspaceId)) {
      const status = agentStatus(activity, state, clock.now());
      const payload = { workspace_id: workspaceId, agent_id: id, status };
      const header = { v: 1, kind: 'ephemeral', workspace_id: workspaceId, after_seq: seq } as const;
      void deps.publish({ ...header, event: 'agent.status', payload });
    }
  }

  /**
   * Milliseconds until it can have been idle for long enough; 0: it has been. By what the runtime itself reports: calls
   * that only ask for its state do not count.
   */
  async function idleIn(row: RuntimeRow, signal: AbortSignal): Promise<number> {
    const limitMs = deps.idleSuspendAfterMs;
    const untilMs = msUntilIdle(row, limitMs, clock.now());
    if (untilMs > 0) return untilMs;
    if (row.phase !== 'Ready' || row.address === null) return Infinity;
    const target = { workspaceId: row.workspace_id, address: row.address };
    const status = await client.status(target, signal).catch(() => undefined);
    if (status === undefined) return CHECK_MS;
    return status.busy ? limitMs : Math.max(0, limitMs - status.idleMs);
  }

  /** It does nothing now, and nothing waits for it. */
  async function isQuiet(row: RuntimeRow, signal: AbortSignal): Promise<boolean> {
    const { workspace_id: workspaceId, address } = row;
    if (address === null || (await deps.jobs.waits(TURN_JOB, workspaceId))) return false;
    const status = await client.status({ workspaceId, address }, signal).catch(() => undefined);
    return status?.busy === false;
  }

  /**
   * Lets a new revision of the platform take the place of a runtime that does nothing, once the platform grants it.
   * @returns milliseconds until the next look; 0: it was suspended for it
   */
  async function suspendForRollout(
    job: LeasedJob,
    row: RuntimeRow,
    observed: RuntimeObservation | undefined,
    signal: AbortSignal,
  ): Promise<number> {
    if (observed?.rollout === undefined || row.desired !== 'running' || row.phase !== 'Ready') return Infinity;
    const quiet = await isQuiet(row, signal);
    if (quiet && observed.rollout.granted) {
      if (!(await suspend(job, row, NEW_REVISION))) return CHECK_MS;
      metrics.suspendedForRollout();
      return 0;
    }
    if (quiet !== observed.rollout.wanted) await observe(row, signal, { wanted: quiet });
    // The grant is reported; that it does nothing again is not.
    return quiet ? Infinity : CHECK_MS;
  }

  /** @returns false where a message came first. */
  async function suspend(job: LeasedJob, row: RuntimeRow, reason: string): Promise<boolean> {
    const workspaceId = row.workspace_id;
    // Whoever stores a message holds the runtime's lock: it is stored before, and its turn is seen
    // here, or after, and wakes the runtime again.
    return record(
      job,
      row,
      { desired: 'suspended', phase: 'Suspended', reason, failures: 0 },
      async (tx) =>
        (await store.lock(workspaceId, tx)) === 'running' && !(await deps.jobs.waits(TURN_JOB, workspaceId, tx)),
    );
  }

  /** @returns milliseconds until the next look; 0: it was suspended */
  async function suspendIdle(job: LeasedJob, row: RuntimeRow, signal: AbortSignal): Promise<number> {
    const idleMs = await idleIn(row, signal);
    if (idleMs > 0) return idleMs;
    if (!(await suspend(job, row, ''))) return CHECK_MS;
    metrics.suspended();
    return 0;
  }

  /** Whether nothing is left to do, and what changes that is reported. */
  async function rests(row: RuntimeRow, now: Date): Promise<boolean> {
    if (isSuspendedForRollout(row) || isPolled(row, now)) return false;
    try {
      return isSettled(row, (await driver.peek([specOf(row)])).get(row.workspace_id), now);
    } catch (error) {
      if (error instanceof PlatformUnreachable) return false;
      throw error;
    }
  }

  /** Milliseconds until a runtime that is not well is looked at again. */
  async function retryMs(row: RuntimeRow): Promise<number> {
    if (row.failures <= QUICK_LOOKS) return backoffDelay(RETRY, row.failures - 1);
    // A platform that works on it reports what becomes of it.
    return driver.reportsLiveness && (await rests(row, clock.now())) ? REST_MS : SLOW_RETRY_MS;
  }

  async function resume(workspaceId: string): Promise<void> {
    await deps.withTransaction(async (tx) => {
      if ((await store.lock(workspaceId, tx)) === 'suspended') await store.resume(workspaceId, tx);
    });
  }

  /** A replica of an older version stores messages and wakes nobody. */
  async function wakeForTurns(row: RuntimeRow): Promise<RuntimeRow> {
    const workspaceId = row.workspace_id;
    if (row.desired !== 'suspended' || !(await deps.jobs.waits(TURN_JOB, workspaceId))) return row;
    await resume(workspaceId);
    metrics.woken();
    return (await store.get(workspaceId)) ?? row;
  }

  /**
   * The lease was lost on the way. If all of the runtime was removed meanwhile, what we made after
   * that has to go as well, which nobody else knows of.
   */
  async function giveUp({ kind, subjectId, workspaceId }: LeasedJob): Promise<void> {
    if ((await store.get(subjectId)) !== undefined) return;
    await deps.withTransaction((tx) => deps.jobs.enqueue({ kind, subjectId, workspaceId }, tx));
  }

  async function bringTo(job: LeasedJob, before: RuntimeRow, signal: AbortSignal): Promise<JobResult> {
    const row = await wakeForTurns(before);
    const { observed, instanceId } = await look(row, signal);
    const update = nextState(row, observed, instanceId, clock.now());
    const recorded = await record(job, row, update);
    if (!recorded) await giveUp(job);
    const seconds = secondsToReady(row, update);
    if (recorded && seconds !== undefined) metrics.ready(row.identified_at === null ? 'first' : 'wake', seconds);
    const next = { ...row, ...update };
    if (recorded && isRolloutComplete(row, observed)) {
      await resume(row.workspace_id);
      return { againInMs: 0 };
    }
    if (!recorded) return { againInMs: CHECK_MS };
    if (next.failures > 0) return { againInMs: await retryMs(next) };
    const idleMs = await suspendIdle(job, next, signal);
    const againInMs = idleMs === 0 ? 0 : Math.min(idleMs, await suspendForRollout(job, next, observed, signal));
    if (againInMs === 0) return { againInMs };
    return { againInMs: Math.min(againInMs, (await rests(next, clock.now())) ? REST_MS : CHECK_MS) };
  }

  return async (job: LeasedJob, signal: AbortSignal): Promise<JobResult> => {
    const { subjectId } = job;
    const row = await store.get(subjectId);
    if (row !== undefined && row.desired !== 'deleted') return bringTo(job, row, signal);
    if (!(await driver.remove(subjectId))) return { againInMs: backoffDelay(RETRY, job.attempts) };
    client.forget(subjectId);
    await store.remove(subjectId);
    return { done: true };
  };
}
