import type { BusEnvelope } from '@uswarm/contract';
import { backoffDelay, type Clock, type Logger } from '@uswarm/service-kit';
import type { Transact } from '../../database/database.js';
import type { LeasedWork, WorkStore } from '../../work/work.store.js';
import type { WorkResult } from '../../work/work-queue.js';
import type { AgentStore } from '../agents/agents.store.js';
import type { EventStore } from '../events/events.store.js';
import type { RuntimeClient } from './runtime-client.js';
import type { RuntimeDriver, RuntimeObservation } from './runtime-driver.js';
import { agentStatus, viewRuntime } from './runtime-view.js';
import type { RuntimeRow, RuntimeStore, RuntimeUpdate } from './runtimes.store.js';

export interface LifecycleDeps {
  transaction: Transact;
  store: Pick<RuntimeStore, 'get' | 'update' | 'remove'>;
  work: Pick<WorkStore, 'holds'>;
  driver: RuntimeDriver;
  client: Pick<RuntimeClient, 'identify'>;
  events: Pick<EventStore, 'append'>;
  agents: Pick<AgentStore, 'list'>;
  publish: (envelope: BusEnvelope) => Promise<boolean>;
  /** Called after a commit that left something to publish. */
  committed: () => void;
  /** The runtime of the workspace became ready: turns that wait for it are due. */
  ready: (workspaceId: string) => Promise<void>;
  clock: Clock;
  logger: Logger;
}

const NOT_ANSWERING = 'NotAnswering';
/** How often a runtime that is well is asked who it is; also what keeps it from exiting. */
const CHECK_MS = 10_000;
const RETRY = { initialMs: 250, maxMs: 5_000 };
/** So many looks without an answer (some 20 s) make a runtime unresponsive. */
const UNRESPONSIVE_AFTER = 8;

/** What one look at a runtime makes of it. Pure. */
export function nextState(
  row: RuntimeRow,
  observed: RuntimeObservation,
  instanceId: string | null,
  now: Date,
): RuntimeUpdate {
  const { address, reason } = observed;
  if (observed.phase === 'Ready' && instanceId !== null) {
    const identified = { verified: true, identified_at: now, instance_id: instanceId };
    return { phase: 'Ready', reason, address, failures: 0, ...identified };
  }
  const failures = row.failures + 1;
  if (observed.phase !== 'Ready') return { phase: observed.phase, reason, address, failures };
  // It does not answer just now: a runtime that was ready stays so, and shows as offline after a while.
  if (row.phase === 'Ready' && row.address === address) return { failures, reason: NOT_ANSWERING };
  return { phase: 'Progressing', reason: NOT_ANSWERING, address, failures };
}

/** Brings one runtime to what its workspace wants, and shows what changed. */
export function createLifecycle(deps: LifecycleDeps) {
  const { store, driver, client, events, agents, clock, logger } = deps;

  async function look(
    row: RuntimeRow,
    signal: AbortSignal,
  ): Promise<{ observed: RuntimeObservation; instanceId: string | null }> {
    const { workspace_id: workspaceId, user_id: userId } = row;
    try {
      const unresponsive = row.reason === NOT_ANSWERING && row.failures >= UNRESPONSIVE_AFTER;
      const observed = await driver.ensure({ workspaceId, userId }, { unresponsive });
      if (observed.address === null) return { observed, instanceId: null };
      const target = { workspaceId, address: observed.address };
      const identity = await client.identify(target, signal).catch(() => null);
      return { observed, instanceId: identity?.instanceId ?? null };
    } catch (error) {
      logger.warn({ err: error, workspace: workspaceId }, 'a runtime could not be started');
      return { observed: { phase: 'Progressing', reason: 'StartFailed', address: null }, instanceId: null };
    }
  }

  const shown = (row: Pick<RuntimeRow, 'phase' | 'verified' | 'identified_at'>, now: Date): string =>
    JSON.stringify([viewRuntime({ phase: row.phase, identifiedAt: row.identified_at }, now), row.verified]);

  async function record(work: LeasedWork, row: RuntimeRow, update: RuntimeUpdate): Promise<void> {
    const now = clock.now();
    const workspaceId = row.workspace_id;
    const next = { ...row, ...update };
    // As it was shown when it was last looked at: silence makes a runtime offline without any write.
    const changed = shown(row, row.updated_at) !== shown(next, now) || row.phase !== next.phase;
    const seq = await deps.transaction(async (tx) => {
      if (!(await deps.work.holds(work, tx))) return null;
      await store.update(workspaceId, update, tx);
      return changed ? events.append({ workspaceId, type: 'workspace.updated', subjectId: workspaceId }, tx) : null;
    });
    if (seq === null) return;
    logger.info({ workspace: workspaceId, phase: next.phase, reason: next.reason }, 'runtime changed');
    deps.committed();
    await showAgents(workspaceId, next, seq);
    if (next.phase === 'Ready') await deps.ready(workspaceId);
  }

  async function showAgents(workspaceId: string, runtime: RuntimeRow, seq: number): Promise<void> {
    const state = { phase: runtime.phase, identifiedAt: runtime.identified_at };
    for (const { id, activity } of await agents.list(workspaceId)) {
      const status = agentStatus(activity, state, clock.now());
      const payload = { workspace_id: workspaceId, agent_id: id, status };
      const header = { v: 1, kind: 'ephemeral', workspace_id: workspaceId, after_seq: seq } as const;
      void deps.publish({ ...header, event: 'agent.status', payload });
    }
  }

  return async (work: LeasedWork, signal: AbortSignal): Promise<WorkResult> => {
    const { subjectId } = work;
    const row = await store.get(subjectId);
    if (row === undefined) return { done: true };
    if (row.desired === 'deleted') {
      if (!(await driver.remove(subjectId))) return { againInMs: RETRY.initialMs };
      await store.remove(subjectId);
      return { done: true };
    }
    const { observed, instanceId } = await look(row, signal);
    const update = nextState(row, observed, instanceId, clock.now());
    await record(work, row, update);
    const well = update.failures === 0;
    return { againInMs: well ? CHECK_MS : backoffDelay(RETRY, row.failures) };
  };
}
