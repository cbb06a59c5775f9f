import type { ServerEventPayload, StreamState } from '@uswarm/contract';
import { boundedLabel } from '@uswarm/service-kit';
import type { GatewayMetrics } from '../../metrics/gateway-metrics.js';
import type { Emit } from '../../server-events.js';
import type { Timers } from '../../timers.js';
import { Feed } from './feed.js';
import type { Frame } from './frame.js';
import type { Hub, Member, Resync } from './hub.js';
import type { HubLease } from './hubs.js';
import { DELIVERED_EVENTS } from '../../metrics/labels.js';
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
  ended(workspaceId: string): void;
}

/** Delivers the events of one workspace to one socket. */
export interface Subscription {
  readonly cursor: number;
  /** The workspace state in `workspace.subscribed`. */
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

/** One object with the state of all roles, because a gateway has a subscription per socket and workspace. */
class SocketSubscription implements Subscription, Member, Source {
  readonly #deps: SubscriptionDeps;
  readonly #start: SubscriptionStart;
  readonly #feed: Feed;
  #isStarted = false;
  /** Sent instead of events. */
  #pending: Resync | undefined;

  constructor(start: SubscriptionStart, deps: SubscriptionDeps) {
    const { lease, lastSeq, since } = start;
    const { hub } = lease;
    const cursor = since?.seq ?? lastSeq;
    this.#deps = deps;
    this.#start = start;
    this.#feed = new Feed(hub.state, {
      cursor,
      announceAt: since === undefined ? undefined : lastSeq,
      // A client that does not send `since` may not know this state.
      received: since === undefined ? [] : shownStreams(hub.state.textsAt(cursor)),
    });
    this.#pending = obstacle(start, deps);
    hub.join(this);
  }

  get #hub(): Hub {
    return this.#start.lease.hub;
  }

  get userId(): string {
    return this.#deps.userId;
  }

  get cursor(): number {
    return this.#feed.cursor;
  }

  next(): Frame | undefined {
    const step = this.#feed.next(this.#deps.now());
    if (step === 'read') void this.#hub.read(this.#feed.cursor);
    if (step === undefined || step === 'read') return undefined;
    this.#deps.metrics.eventsDelivered.inc({ event: boundedLabel(KNOWN_EVENTS, step.frame.event) });
    return step.frame;
  }

  wake(): void {
    if (this.#isStarted) this.#deps.outlet.wake(this);
  }

  resync(resync: Resync): void {
    if (this.#isStarted) this.#sendResync(resync);
    else this.#pending = resync;
  }

  deleted(): void {
    if (this.#isStarted) this.#deps.emit('workspace.deleted', { workspace_id: this.#hub.state.workspaceId });
    this.#start.ended(this.#hub.state.workspaceId);
  }

  state(): WorkspaceState {
    const { state } = this.#hub;
    return {
      agents: state.statuses.states(this.#deps.now()),
      streams: shownStreams(state.textsAt(this.cursor)),
    };
  }

  start(): void {
    this.#isStarted = true;
    if (this.#pending === undefined) this.wake();
    else this.#sendResync(this.#pending);
  }

  hold(): () => void {
    const endHold = this.#feed.hold();
    const end = (): void => {
      cancel();
      endHold();
      this.wake();
    };
    const cancel = this.#deps.timers.after(this.#deps.options.maxHoldMs, end);
    return end;
  }

  close(): void {
    this.#hub.leave(this);
    this.#deps.outlet.remove(this);
    this.#isStarted = false;
    this.#start.lease.release();
  }

  #sendResync(resync: Resync): void {
    const { emit, options } = this.#deps;
    // A diverged history concerns all clients together.
    const in_ms = resync.reason === 'diverged' ? Math.floor(Math.random() * options.resyncSpreadMs) : 0;
    emit('workspace.resync', { workspace_id: this.#hub.state.workspaceId, ...resync, in_ms });
    this.#start.ended(this.#hub.state.workspaceId);
  }
}

export const createSubscription = (start: SubscriptionStart, deps: SubscriptionDeps): Subscription =>
  new SocketSubscription(start, deps);

function obstacle({ lease, lastSeq, since }: SubscriptionStart, deps: SubscriptionDeps): Resync | undefined {
  const { epoch } = lease.hub.state;
  if (since === undefined) return undefined;
  const reason = obstacleOf(since, { seq: lastSeq, epoch, maxEvents: deps.options.resumeEvents });
  if (reason === undefined) return undefined;
  deps.metrics.resyncs.inc({ reason });
  return { reason, last_seq: lastSeq, epoch: epoch ?? '0' };
}

function shownStreams(streams: readonly StreamState[]): StreamState[] {
  let left = STATE_TEXT;
  return streams.filter(({ text }) => {
    left -= text.length;
    return left >= 0;
  });
}
