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
  /** Workspaces that one socket may watch. */
  limit: number;
  /** Milliseconds that the bus may take to confirm. */
  busTimeoutMs: number;
}

/** The workspaces that one socket watches. */
export interface Subscriptions {
  /** `workspace.subscribe` */
  subscribe: ClientEventHandler;
  /** `workspace.unsubscribe` */
  unsubscribe: ClientEventHandler;
  /** Keeps the durable events of a workspace back, if it is watched. @returns ends it. */
  hold(workspaceId: string): () => void;
  /** Called when the socket is closed. */
  close(): void;
}

type Subscribed = ServerEventPayload<'workspace.subscribed'>;

/** How a subscribe ended; `starts` begin the deliveries once the client was told. */
type Settled = Subscribed & { starts: (() => void)[] };
const NOTHING: Settled = { workspace_ids: [], rejected: [], last_seq: {}, starts: [] };

interface Subscription {
  delivery: Delivery;
  inForce: Promise<Unsubscribe>;
  close(): void;
}

const isId = (text: string): boolean => z.uuid().safeParse(text).success;
/** Ids are the same in any case; the bus and the orchestrator write them in lower case. */
const canonical = (id: string): string => (isId(id) ? id.toLowerCase() : id);
const distinct = (ids: readonly string[]): string[] => [...new Set(ids.map(canonical))];

/** spec: orchestrator §6.1, §6.2 */
export function createSubscriptions(deps: SubscriptionsDeps): Subscriptions {
  const { userId, bus, orchestrator, openDelivery, emit, metrics, limit, busTimeoutMs } = deps;
  const active = new Map<string, Subscription>();
  let closed = false;

  const open = (workspaceId: string): Subscription => {
    const delivery = openDelivery(workspaceId);
    const inForce = bus.subscribe(workspaceId, delivery.push);
    return {
      delivery,
      inForce,
      close() {
        delivery.close();
        inForce.then(
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

  /** What fits under the limit, and what does not. Asking again for a watched workspace is free. */
  const admit = (ids: readonly string[]): { asked: string[]; rejected: Subscribed['rejected'] } => {
    const room = limit - active.size;
    const newIds = ids.filter((id) => !active.has(id));
    const tooMany = new Set(newIds.slice(Math.max(0, room)));
    return {
      asked: ids.filter((id) => !tooMany.has(id)),
      rejected: [...tooMany].map((id) => ({ workspace_id: id, code: 'subscription_limit_reached' })),
    };
  };

  /** Takes the accepted ones over from `fresh`, and leaves those that are no longer the user's. */
  const settle = (
    asked: readonly string[],
    fresh: Map<string, Subscription>,
    verdict: SubscriptionsAnswer,
  ): Settled => {
    const lastSeqs = new Map(verdict.accepted.map(({ workspace_id, last_seq }) => [workspace_id, last_seq]));
    const codes = new Map(verdict.rejected.map(({ workspace_id, code }) => [workspace_id, code]));
    const settled: Settled = { workspace_ids: [], rejected: [], last_seq: {}, starts: [] };
    for (const id of asked) {
      const lastSeq = lastSeqs.get(id);
      const begun = active.get(id);
      const added = fresh.get(id);
      if (lastSeq === undefined || (begun ?? added) === undefined) {
        drop(id);
        settled.rejected.push({ workspace_id: id, code: codes.get(id) ?? 'workspace_not_found' });
        continue;
      }
      settled.workspace_ids.push(id);
      settled.last_seq[id] = begun?.delivery.position() ?? lastSeq;
      if (added === undefined) continue;
      fresh.delete(id);
      active.set(id, added);
      metrics.subscriptions.inc();
      settled.starts.push(() => added.delivery.start(lastSeq));
    }
    return settled;
  };

  /**
   * Subscribes first and asks for the last seq then: an event between the two is either counted in
   * that seq or waits in the delivery.
   */
  const subscribe = async (asked: readonly string[], requestId: string): Promise<Settled> => {
    const fresh = new Map(asked.filter((id) => isId(id) && !active.has(id)).map((id) => [id, open(id)]));
    try {
      await withinTime(Promise.all([...fresh.values()].map(({ inForce }) => inForce)), busTimeoutMs);
      const verdict = await orchestrator.subscriptions(userId, asked, requestId);
      // A socket that left meanwhile watches nothing.
      return settle(asked, closed ? new Map() : fresh, verdict);
    } finally {
      for (const [id, subscription] of fresh) if (active.get(id) !== subscription) subscription.close();
    }
  };

  return {
    subscribe: {
      async handle({ payload, requestId, acknowledge }) {
        const parsed = WorkspaceSubscribe.safeParse(payload);
        if (!parsed.success) throw validationError(parsed.error);
        if (closed) return;
        const { asked, rejected } = admit(distinct(parsed.data.workspace_ids));
        const { starts, ...settled } = asked.length > 0 ? await subscribe(asked, requestId) : NOTHING;
        const answer = { ...settled, rejected: [...settled.rejected, ...rejected] };
        emit('workspace.subscribed', answer);
        acknowledge(answer);
        for (const start of starts) start();
      },
      refused({ code }, payload) {
        const parsed = WorkspaceSubscribe.safeParse(payload);
        // The only event that a subscribe is answered by: a payload without ids is one rejected nameless id.
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
      // No event is documented for it; the acknowledgement callback tells.
      refused: () => undefined,
    },
    hold: (workspaceId) => active.get(canonical(workspaceId))?.delivery.hold() ?? (() => undefined),
    close() {
      closed = true;
      for (const id of active.keys()) drop(id);
    },
  };
}

/** @throws ApiError `service_unavailable` when `work` fails or takes longer than `ms`. */
async function withinTime<T>(work: Promise<T>, ms: number): Promise<T> {
  const done = new AbortController();
  const late = sleep(ms, undefined, { signal: done.signal, ref: false }).then(() => {
    throw new Error('the event bus does not answer');
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
