import { setTimeout as sleep } from 'node:timers/promises';
import {
  ApiError,
  type ServerEventPayload,
  type SubscriptionsAnswer,
  validationError,
  WorkspaceSubscribe,
  WorkspaceUnsubscribe,
} from '@uswarm/contract';
import type { EventBus, Unsubscribe } from '@uswarm/event-bus';
import { z } from 'zod';
import type { GatewayMetrics } from '../../gateway-metrics.js';
import type { OrchestratorClient } from '../../orchestrator-client.js';
import type { Emit } from '../../server-events.js';
import type { ClientEventHandler } from '../connection/dispatch.js';
import type { Delivery } from '../delivery/delivery.js';

export interface SubscriptionsDeps {
  userId: string;
  bus: Pick<EventBus, 'subscribe'>;
  orchestrator: Pick<OrchestratorClient, 'subscriptions'>;
  openDelivery: (workspaceId: string) => Delivery;
  emit: Emit;
  metrics: Pick<GatewayMetrics, 'subscriptions'>;
  /** Maximum number of workspaces per socket. */
  limit: number;
  /** Milliseconds within which the bus must confirm a subscription. */
  busTimeoutMs: number;
}

/** The workspace subscriptions of one socket. */
export interface Subscriptions {
  /** `workspace.subscribe` */
  subscribe: ClientEventHandler;
  /** `workspace.unsubscribe` */
  unsubscribe: ClientEventHandler;
  /** Buffers the durable events of a subscribed workspace. @returns flushes the buffer */
  buffer(workspaceId: string): () => void;
  /** Called when the socket is closed. */
  close(): void;
}

type Subscribed = ServerEventPayload<'workspace.subscribed'>;

/** The result of a subscribe. `starts` start the deliveries after the response is sent. */
type Settled = Subscribed & { starts: (() => void)[] };
const NOTHING: Settled = { workspace_ids: [], rejected: [], last_seq: {}, starts: [] };

interface Subscription {
  delivery: Delivery;
  confirmed: Promise<Unsubscribe>;
  close(): void;
}

const isId = (text: string): boolean => z.uuid().safeParse(text).success;
/** Ids are case-insensitive; the bus and the orchestrator use lower case. */
const canonical = (id: string): string => (isId(id) ? id.toLowerCase() : id);
const distinct = (ids: readonly string[]): string[] => [...new Set(ids.map(canonical))];

/** RT-001 RT-002 RT-004 */
export function createSubscriptions(deps: SubscriptionsDeps): Subscriptions {
  const { userId, bus, orchestrator, openDelivery, emit, metrics, limit, busTimeoutMs } = deps;
  const active = new Map<string, Subscription>();
  let closed = false;

  const open = (workspaceId: string): Subscription => {
    const delivery = openDelivery(workspaceId);
    const confirmed = bus.subscribe(workspaceId, delivery.push);
    return {
      delivery,
      confirmed,
      close() {
        delivery.close();
        confirmed.then(
          (leave) => leave(),
          () => undefined,
        );
      },
    };
  };

  const drop = (workspaceId: string): void => {
    active.get(workspaceId)?.close();
    if (active.delete(workspaceId)) metrics.subscriptions.dec();
  };

  /** Applies the limit. Subscribed workspaces do not count again. */
  const admit = (ids: readonly string[]): { admitted: string[]; rejected: Subscribed['rejected'] } => {
    const room = limit - active.size;
    const newIds = ids.filter((id) => !active.has(id));
    const tooMany = new Set(newIds.slice(Math.max(0, room)));
    return {
      admitted: ids.filter((id) => !tooMany.has(id)),
      rejected: [...tooMany].map((id) => ({ workspace_id: id, code: 'subscription_limit_reached' })),
    };
  };

  /** Activates the accepted subscriptions from `added`, and drops those that are no longer accepted. */
  const settle = (ids: readonly string[], added: Map<string, Subscription>, verdict: SubscriptionsAnswer): Settled => {
    const lastSeqs = new Map(verdict.accepted.map(({ workspace_id, last_seq }) => [workspace_id, last_seq]));
    const codes = new Map(verdict.rejected.map(({ workspace_id, code }) => [workspace_id, code]));
    const settled: Settled = { workspace_ids: [], rejected: [], last_seq: {}, starts: [] };
    for (const id of ids) {
      const lastSeq = lastSeqs.get(id);
      const existing = active.get(id);
      const subscription = added.get(id);
      if (lastSeq === undefined || (existing ?? subscription) === undefined) {
        drop(id);
        settled.rejected.push({ workspace_id: id, code: codes.get(id) ?? 'workspace_not_found' });
        continue;
      }
      settled.workspace_ids.push(id);
      settled.last_seq[id] = existing?.delivery.position() ?? lastSeq;
      if (subscription === undefined) continue;
      added.delete(id);
      active.set(id, subscription);
      metrics.subscriptions.inc();
      settled.starts.push(() => subscription.delivery.start(lastSeq));
    }
    return settled;
  };

  /**
   * Subscribes to the bus before it fetches the last sequence: an event in between is either included in that sequence or
   * buffered in the delivery.
   */
  const subscribe = async (ids: readonly string[], requestId: string): Promise<Settled> => {
    const added = new Map(ids.filter((id) => isId(id) && !active.has(id)).map((id) => [id, open(id)]));
    try {
      await withinTime(Promise.all([...added.values()].map(({ confirmed }) => confirmed)), busTimeoutMs);
      const verdict = await orchestrator.subscriptions(userId, ids, requestId);
      // A socket that was closed in the meantime gets no subscription.
      return settle(ids, closed ? new Map() : added, verdict);
    } finally {
      for (const [id, subscription] of added) if (active.get(id) !== subscription) subscription.close();
    }
  };

  return {
    subscribe: {
      async handle({ payload, requestId, acknowledge }) {
        const parsed = WorkspaceSubscribe.safeParse(payload);
        if (!parsed.success) throw validationError(parsed.error);
        if (closed) return;
        const { admitted, rejected } = admit(distinct(parsed.data.workspace_ids));
        const { starts, ...settled } = admitted.length > 0 ? await subscribe(admitted, requestId) : NOTHING;
        const response = { ...settled, rejected: [...settled.rejected, ...rejected] };
        emit('workspace.subscribed', response);
        acknowledge(response);
        for (const start of starts) start();
      },
      refused({ code }, payload) {
        const parsed = WorkspaceSubscribe.safeParse(payload);
        // No other event answers a subscribe, so a payload without ids is reported as one rejected empty id.
        const ids = parsed.success ? distinct(parsed.data.workspace_ids) : [''];
        const rejected = ids.map((workspace_id) => ({ workspace_id, code }));
        emit('workspace.subscribed', { workspace_ids: [], rejected, last_seq: {} });
      },
    },
    unsubscribe: {
      async handle({ payload, acknowledge }) {
        const parsed = WorkspaceUnsubscribe.safeParse(payload);
        if (!parsed.success) throw validationError(parsed.error);
        const ids = distinct(parsed.data.workspace_ids);
        ids.forEach(drop);
        acknowledge({ workspace_ids: ids });
      },
      // There is no event for this error; only the acknowledgement callback reports it.
      refused: () => undefined,
    },
    buffer: (workspaceId) => active.get(canonical(workspaceId))?.delivery.buffer() ?? (() => undefined),
    close() {
      closed = true;
      for (const id of active.keys()) drop(id);
    },
  };
}

/** @throws ApiError `service_unavailable` if `work` fails or takes longer than `ms` */
async function withinTime<T>(work: Promise<T>, ms: number): Promise<T> {
  const done = new AbortController();
  const late = sleep(ms, undefined, { signal: done.signal, ref: false }).then(() => {
    throw new Error('the event bus did not confirm in time');
  });
  try {
    return await Promise.race([work, late]);
  } catch (cause) {
    throw new ApiError('service_unavailable', { cause });
  } finally {
    done.abort();
    late.catch(() => undefined);
  }
}
