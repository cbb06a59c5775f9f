import type { ServerEventPayload, StreamState } from '@uswarm/contract';
import { boundedLabel } from '@uswarm/service-kit';
import type { GatewayMetrics } from '../../gateway-metrics.js';
import type { Emit } from '../../server-events.js';
import type { Timers } from '../../timers.js';
import { Feed } from './feed.js';
import type { Frame } from './frame.js';
import type { Member, Resync } from './hub.js';
import type { HubLease } from './hubs.js';
import { DELIVERED_EVENTS } from './labels.js';
import type { Outlet, Source } from './outlet.js';
import { obstacleOf, type Since } from './since.js';

export interface SubscriptionDeps {
  userId: string;
  outlet: Outlet;
  emit: Emit;
  metrics: Pick<GatewayMetrics, 'eventsDelivered' | 'resyncs'>;
  timers: Timers;
  /** Monotonic milliseconds. */
  now: () => number;
  options: SubscriptionOptions;
}

export interface SubscriptionOptions {
  /** Maximum milliseconds for which durable events are held. */
  maxHoldMs: number;
  /** Maximum number of events that are sent again to a client that resumes. */
  resumeEvents: number;
  /** All clients that must reload are asked to do so within this time in milliseconds. */
  resyncSpreadMs: number;
}

export interface SubscriptionStart {
  lease: HubLease;
  /** The last sequence that the orchestrator has read. */
  lastSeq: number;
  /** Absent if the client loads the workspace afterwards. */
  since: Since | undefined;
  /** Called when no more events follow. */
  ended(): void;
}

/** Delivers the events of one workspace to one socket. */
export interface Subscription {
  readonly cursor: number;
  /** The state of the workspace in `workspace.subscribed`. */
  state(): WorkspaceState;
  /** Sends events from now on. */
  start(): void;
  /** Holds durable events for a limited time, so that a response can be sent first. @returns ends it */
  hold(): () => void;
  close(): void;
}

type WorkspaceState = NonNullable<ServerEventPayload<'workspace.subscribed'>['state']>[string];

/** UTF-16 code units of text in `workspace.subscribed`. The rest follows in chunks. */
const STATE_TEXT = 32 * 1024;

const KNOWN_EVENTS: ReadonlySet<string> = new Set(DELIVERED_EVENTS);

export function createSubscription(
  { lease, lastSeq, since, ended }: SubscriptionStart,
  deps: SubscriptionDeps,
): Subscription {
  const { userId, outlet, emit, metrics, timers, now, options } = deps;
  const { hub, release } = lease;
  const { workspaceId } = hub.state;
  const cursor = since?.seq ?? lastSeq;
  const feed = new Feed(hub.state, {
    cursor,
    announceAt: since === undefined ? undefined : lastSeq,
    // A client that does not send `since` may not know this state.
    received: since === undefined ? [] : shownStreams(hub.state.streams.states(cursor)),
  });
  let started = false;

  const source: Source = {
    next(): Frame | undefined {
      const step = feed.next(now());
      if (step === 'read') void hub.read(feed.cursor);
      if (step === undefined || step === 'read') return undefined;
      metrics.eventsDelivered.inc({ event: boundedLabel(KNOWN_EVENTS, step.frame.event) });
      return step.frame;
    },
  };
  const member: Member = {
    userId,
    get cursor() {
      return feed.cursor;
    },
    wake() {
      if (started) outlet.wake(source);
    },
    resync(resync) {
      if (started) sendResync(resync);
      else pending = resync;
    },
    deleted() {
      if (started) emit('workspace.deleted', { workspace_id: workspaceId });
      ended();
    },
  };
  let pending = obstacle();

  function obstacle(): Resync | undefined {
    const { epoch } = hub.state;
    if (since === undefined) return undefined;
    const reason = obstacleOf(since, { seq: lastSeq, epoch, maxEvents: options.resumeEvents });
    if (reason === undefined) return undefined;
    metrics.resyncs.inc({ reason });
    return { reason, last_seq: lastSeq, epoch: epoch ?? '0' };
  }

  function sendResync(resync: Resync): void {
    // A diverged history concerns all clients together.
    const in_ms = resync.reason === 'diverged' ? Math.floor(Math.random() * options.resyncSpreadMs) : 0;
    emit('workspace.resync', { workspace_id: workspaceId, ...resync, in_ms });
    ended();
  }

  hub.join(member);
  return {
    get cursor() {
      return feed.cursor;
    },
    state: () => ({
      agents: hub.state.statuses.states(now()),
      streams: shownStreams(hub.state.streams.states(feed.cursor)),
    }),
    start() {
      started = true;
      if (pending === undefined) outlet.wake(source);
      else sendResync(pending);
    },
    hold() {
      const endHold = feed.hold();
      const end = (): void => {
        cancel();
        endHold();
        member.wake();
      };
      const cancel = timers.after(options.maxHoldMs, end);
      return end;
    },
    close() {
      hub.leave(member);
      outlet.remove(source);
      started = false;
      release();
    },
  };
}

function shownStreams(streams: readonly StreamState[]): StreamState[] {
  let left = STATE_TEXT;
  return streams.filter(({ text }) => {
    left -= text.length;
    return left >= 0;
  });
}
