import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ApiError,
  ERRORS,
  safeParseRequest,
  type ServerEventPayload,
  validationError,
  WorkspaceSubscribe,
  WorkspaceUnsubscribe,
} from '@uswarm/contract';
import { z } from 'zod';
import { isTransient } from '../../error-body.js';
import type { GatewayMetrics } from '../../metrics/gateway-metrics.js';
import type { Emit } from '../../server-events.js';
import type { Timers } from '../../timers.js';
import type { ClientEventHandler } from '../connection/dispatch.js';
import type { CheckedSubscriptions, SubscriptionCheck } from '../connection/subscription-check.js';
import type { Hub, HubMoment } from './hub.js';
import type { HubLease, Hubs } from './hubs.js';
import { createPendingSubscribes } from './pending-subscribes.js';
import { readSince, type Since } from './since.js';
import type { Subscription, SubscriptionStart } from './subscription.js';

export interface SubscriptionsDeps {
  userId: string;
  hubs: Pick<Hubs, 'use'>;
  check: SubscriptionCheck;
  open: (start: SubscriptionStart) => Subscription;
  emit: Emit;
  metrics: Pick<GatewayMetrics, 'subscriptions'>;
  /** Maximum number of workspaces per socket. */
  limit: number;
  /** Milliseconds for which a subscribe waits for the bus. */
  busTimeoutMs: number;
  timers: Timers;
}

/** The workspace subscriptions of one socket. */
export interface Subscriptions {
  /** `workspace.subscribe` */
  subscribe: ClientEventHandler;
  /** `workspace.unsubscribe` */
  unsubscribe: ClientEventHandler;
  /** Holds a subscribed workspace's durable events. @returns ends it */
  hold(workspaceId: string): () => void;
  /** The last sequence that was sent; undefined for a workspace without a subscription. */
  cursor(workspaceId: string): number | undefined;
  /** Called when the socket is closed. */
  close(): void;
}

type Subscribed = ServerEventPayload<'workspace.subscribed'>;

/** The subscribe result. `starts` start the deliveries after the response is sent. */
interface Settled extends Subscribed {
  epoch: NonNullable<Subscribed['epoch']>;
  state: NonNullable<Subscribed['state']>;
  starts: (() => void)[];
}
const nothing = (): Settled => ({ workspace_ids: [], rejected: [], last_seq: {}, epoch: {}, state: {}, starts: [] });

const isId = (text: string): boolean => z.uuid().safeParse(text).success;
/** Ids are case-insensitive; the bus and the orchestrator use lower case. */
const canonical = (id: string): string => (isId(id) ? id.toLowerCase() : id);
const distinct = (ids: readonly string[]): string[] => [...new Set(ids.map(canonical))];

/** RT-001 RT-002 RT-004 */
export function createSubscriptions(deps: SubscriptionsDeps): Subscriptions {
  const { userId, hubs, check, emit, metrics, limit, busTimeoutMs, timers } = deps;
  const active = new Map<string, Subscription>();
  let closed = false;

  const drop = (workspaceId: string): void => {
    active.get(workspaceId)?.close();
    if (active.delete(workspaceId)) metrics.subscriptions.dec();
  };

  /** Applies the limit. Workspaces that are subscribed or wait for it do not count again. */
  const admit = (ids: readonly string[]): { admitted: string[]; rejected: Subscribed['rejected'] } => {
    const counted = new Set([...active.keys(), ...pending.ids()]);
    const newIds = ids.filter((id) => !counted.has(id));
    const tooMany = new Set(newIds.slice(Math.max(0, limit - counted.size)));
    return {
      admitted: ids.filter((id) => !tooMany.has(id)),
      rejected: [...tooMany].map((id) => ({ workspace_id: id, code: 'subscription_limit_reached' })),
    };
  };

  /** Subscribes, or continues an existing subscription if the client does not send `since`. */
  const subscriptionOf = (id: string, lastSeq: number, since: Since | undefined): Subscription => {
    const existing = active.get(id);
    if (existing !== undefined && since === undefined) return existing;
    drop(id);
    const subscription = deps.open({ lease: hubs.use(id), lastSeq, since, ended: drop });
    active.set(id, subscription);
    metrics.subscriptions.inc();
    return subscription;
  };

  /** Opens the accepted subscriptions, and drops the ones that are no longer accepted. */
  const settle = (
    ids: readonly string[],
    { accepted, rejected, isFallback = false }: CheckedSubscriptions,
    used: ReadonlyMap<string, { hub: Hub; moment: HubMoment }>,
    since: ReadonlyMap<string, Since>,
  ): Settled => {
    const verdicts = new Map(accepted.map((verdict) => [verdict.workspace_id, verdict]));
    const codes = new Map(rejected.map(({ workspace_id, code }) => [workspace_id, code]));
    const settled = nothing();
    for (const id of ids) {
      const [verdict, use] = [verdicts.get(id), used.get(id)];
      if (verdict === undefined || use === undefined) {
        const code = codes.get(id) ?? 'workspace_not_found';
        // A subscription survives a transient fault.
        if (!ERRORS[code].retryable) drop(id);
        settled.rejected.push({ workspace_id: id, code });
        continue;
      }
      const { hub, moment } = use;
      // A fallback tells the hub nothing new, and would hide events that it knows to miss.
      if (!isFallback) hub.restore(verdict, moment);
      const isNew = !active.has(id) || since.has(id);
      const subscription = subscriptionOf(id, verdict.last_seq, since.get(id));
      settled.workspace_ids.push(id);
      settled.last_seq[id] = isNew ? verdict.last_seq : subscription.cursor;
      if (hub.state.epoch !== undefined) settled.epoch[id] = hub.state.epoch;
      settled.state[id] = subscription.state();
      if (isNew) settled.starts.push(() => active.get(id) === subscription && subscription.start());
    }
    return settled;
  };

  /**
   * Waits for the bus before it asks for the last sequences: an event in between is included in a sequence, or arrives at
   * the hub. While the bus is unavailable, the hub reads the log later.
   */
  const subscribe = async (
    ids: readonly string[],
    since: ReadonlyMap<string, Since>,
    requestId: string,
    isWanted: (id: string) => boolean = () => true,
  ): Promise<Settled> => {
    const leases = new Map<string, HubLease>(ids.filter(isId).map((id) => [id, hubs.use(id)]));
    try {
      await settledWithin(
        [...leases.values()].map(({ hub }) => hub.confirmed),
        busTimeoutMs,
      );
      const used = new Map([...leases].map(([id, { hub }]) => [id, { hub, moment: hub.moment }]));
      const answer = await check(userId, ids, requestId, since);
      // A socket that was closed in the meantime gets no subscription.
      return closed ? nothing() : settle(ids.filter(isWanted), answer, used, since);
    } finally {
      for (const { release } of leases.values()) release();
    }
  };

  const answer = ({ starts, ...response }: Settled, acknowledge?: (response: Subscribed) => void): void => {
    emit('workspace.subscribed', response);
    acknowledge?.(response);
    for (const start of starts) start();
  };

  const pending = createPendingSubscribes({
    timers,
    async subscribe(waiting) {
      const since = new Map([...waiting].flatMap(([id, one]) => (one.since === undefined ? [] : [[id, one.since]])));
      const isWanted = (id: string): boolean => pending.isWaiting(id, waiting.get(id));
      const settled = await subscribe([...waiting.keys()], since, randomUUID(), isWanted).catch((error: unknown) => {
        if (!(error instanceof ApiError) || isTransient(error)) throw error;
        const { code } = error;
        const wanted = [...waiting.keys()].filter(isWanted);
        return { ...nothing(), rejected: wanted.map((workspace_id) => ({ workspace_id, code })) };
      });
      const rejected = settled.rejected.filter(({ code }) => !ERRORS[code].retryable);
      const ids = [...settled.workspace_ids, ...rejected.map(({ workspace_id: id }) => id)];
      ids.filter(isWanted).forEach(pending.remove);
      if (ids.length > 0) answer({ ...settled, rejected });
    },
  });

  /** What the client has asked for, until the orchestrator responds. */
  const postpone = (ids: readonly string[], since: ReadonlyMap<string, Since>): void => {
    for (const id of ids) {
      // The events after the client's position follow later.
      if (since.has(id)) drop(id);
      pending.add(id, since.get(id));
    }
  };

  return {
    subscribe: {
      async handle({ payload, requestId, acknowledge }) {
        const parsed = safeParseRequest(WorkspaceSubscribe, payload);
        if (!parsed.success) throw validationError(parsed.error);
        if (closed) return;
        const positions = Object.entries(parsed.data.since ?? {});
        const since = new Map(positions.map(([id, position]) => [canonical(id), readSince(position)]));
        const { admitted, rejected } = admit(distinct(parsed.data.workspace_ids));
        admitted.forEach(pending.remove);
        try {
          const settled = admitted.length > 0 ? await subscribe(admitted, since, requestId) : nothing();
          const later = settled.rejected.filter(({ code }) => ERRORS[code].retryable);
          postpone(
            later.map(({ workspace_id: id }) => id),
            since,
          );
          answer({ ...settled, rejected: [...settled.rejected, ...rejected] }, acknowledge);
        } catch (error) {
          if (isTransient(error) && !closed) postpone(admitted.filter(isId), since);
          throw error;
        }
      },
      refused({ code }, payload) {
        const parsed = safeParseRequest(WorkspaceSubscribe, payload);
        // No other event answers a subscribe, so a payload without ids is reported as one rejected empty id.
        const ids = parsed.success ? distinct(parsed.data.workspace_ids) : [''];
        const rejected = ids.map((workspace_id) => ({ workspace_id, code }));
        emit('workspace.subscribed', { workspace_ids: [], rejected, last_seq: {} });
      },
    },
    unsubscribe: {
      async handle({ payload, acknowledge }) {
        const parsed = safeParseRequest(WorkspaceUnsubscribe, payload);
        if (!parsed.success) throw validationError(parsed.error);
        const ids = distinct(parsed.data.workspace_ids);
        ids.forEach(pending.remove);
        ids.forEach(drop);
        acknowledge({ workspace_ids: ids });
      },
      // No event reports this error, only the acknowledgement callback.
      refused: () => undefined,
    },
    hold: (workspaceId) => active.get(canonical(workspaceId))?.hold() ?? (() => undefined),
    cursor: (workspaceId) => active.get(canonical(workspaceId))?.cursor,
    close() {
      closed = true;
      pending.close();
      for (const id of active.keys()) drop(id);
    },
  };
}

/** Waits for all, but not longer than `ms`. */
async function settledWithin(work: readonly Promise<unknown>[], ms: number): Promise<void> {
  const done = new AbortController();
  const late = sleep(ms, undefined, { signal: done.signal, ref: false }).catch(() => undefined);
  await Promise.race([Promise.allSettled(work), late]);
  done.abort();
}
