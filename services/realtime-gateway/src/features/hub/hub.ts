import { randomUUID } from 'node:crypto';
import { ApiError, EVENTS_PAGE_BYTES } from '@uswarm/contract';
import type { EventBus, Unsubscribe } from '@uswarm/event-bus';
import { type Logger, retry, type TaskQueue } from '@uswarm/service-kit';
import type { GatewayMetrics } from '../../metrics/gateway-metrics.js';
import type { OrchestratorClient } from '../../orchestrator-client.js';
import type { Timers } from '../../timers.js';
import type { EventLogLimits } from './event-log.js';
import type { HistoryBudget, HistoryOwner } from './history-budget.js';
import { type HubEvent, HubState, type Moment, type WorkspaceSnapshot } from './hub-state.js';
import type { Evidence, ResyncReason } from '../../metrics/labels.js';
import { createTextPace, type TextPace } from './text-pace.js';

export interface Resync {
  reason: ResyncReason;
  last_seq: number;
  epoch: string;
}

/** A socket that is subscribed to the workspace. */
export interface Member {
  userId: string;
  /** The last sequence that the socket has. */
  readonly cursor: number;
  /** There may be something to send. */
  wake(): void;
  /** Ends the subscription: the events after the socket's position cannot be proven whole. */
  resync(resync: Resync): void;
  /** Ends the subscription: the workspace was deleted. */
  deleted(): void;
}

export interface HubMoment extends Moment {
  /** False if the bus did not deliver events. */
  isDelivering: boolean;
}

export interface HubOptions extends EventLogLimits {
  /** Milliseconds for which an event may be missing before the log is read. */
  gapMs: number;
  /** Milliseconds between two requests for the beginning of a text. */
  stateRetryMs: number;
}

export interface HubDeps {
  bus: Pick<EventBus, 'subscribe'>;
  orchestrator: Pick<OrchestratorClient, 'events' | 'subscriptions'>;
  /** Limits concurrent requests from all hubs. */
  queue: TaskQueue;
  budget: HistoryBudget;
  timers: Timers;
  /** Monotonic milliseconds. */
  now: () => number;
  logger: Pick<Logger, 'warn' | 'debug'>;
  metrics: Pick<GatewayMetrics, 'fills' | 'resyncs'>;
  options: HubOptions;
}

const RETRY = { initialMs: 100, maxMs: 5_000 };

/** Connects a workspace's state to the bus, the log and the sockets in this process. */
export class Hub implements HistoryOwner {
  readonly state: HubState;
  /** Resolves when the bus delivers events. Never rejects: without the bus, the position checks find all events. */
  readonly confirmed: Promise<void>;
  readonly #deps: HubDeps;
  /** Replaced with each change: most workspaces have one socket, and a Set is much larger. */
  #members: readonly Member[] = [];
  #isClosed = false;
  /** Cancels requests. */
  #requests: AbortController | undefined;
  readonly #subscription: Promise<Unsubscribe>;
  /** Log reads in progress, by position. */
  #reads: Map<number, Promise<void>> | undefined;
  #pace: TextPace | undefined;
  #isDelivering = false;
  #isFilling = false;
  #cancelGap: (() => void) | undefined;
  #cancelExpiry: (() => void) | undefined;
  #nextExpiry: number | undefined;
  #cancelRefresh: (() => void) | undefined;

  constructor(workspaceId: string, deps: HubDeps) {
    this.#deps = deps;
    this.state = new HubState(workspaceId, deps.options);
    this.#subscription = deps.bus.subscribe(workspaceId, (event) => this.#receive(event));
    this.confirmed = this.#follow();
  }

  /** To be taken before a request. */
  get moment(): HubMoment {
    return { ...this.state.moment, isDelivering: this.#isDelivering };
  }

  get historyBytes(): number {
    return this.state.historyBytes;
  }

  dropHistory(): void {
    this.state.dropHistory();
  }

  join(member: Member): void {
    this.#members = [...this.#members, member];
  }

  leave(member: Member): void {
    this.#members = this.#members.filter((other) => other !== member);
  }

  /** Applies a snapshot that was requested at `moment`. */
  restore(snapshot: WorkspaceSnapshot, moment: HubMoment): void {
    const { position } = this.state;
    if (this.state.restore(snapshot, moment, this.#deps.now()) === 'diverged') {
      this.#reset('diverged', snapshot.epoch, snapshot.last_seq);
      this.state.restore(snapshot, this.state.moment, this.#deps.now());
    }
    if (position !== this.state.position) this.#deps.budget.used(this);
    // Events between the snapshot and the bus confirmation did not arrive.
    if (this.#isDelivering && !moment.isDelivering) this.fill('subscribe');
    this.#after('subscribe');
    this.#wake();
  }

  /** Applies the log head that was requested at `moment`. */
  checked(epoch: string, lastSeq: number, moment: Moment): void {
    if (this.state.head(epoch, lastSeq, moment) === 'diverged') this.#reset('diverged', epoch, lastSeq);
    this.#after('check');
  }

  /** The bus may have lost events: the log shows the durable ones, but not texts and statuses. */
  suspectState(): void {
    if (this.state.streams.size > 0 || this.state.statuses.active) this.#refresh();
  }

  /** Reads the log, because the bus did not deliver from the beginning. */
  fill(evidence: Evidence): void {
    if (this.#isFilling || this.state.position === undefined || this.#isClosed) return;
    this.#isFilling = true;
    this.#deps.metrics.fills.inc({ evidence });
    void this.#fillToHead().finally(() => {
      this.#isFilling = false;
      this.#after(evidence);
    });
  }

  /** Reads the events after `after` for the sockets that wait for them. */
  read(after: number): Promise<void> {
    this.#reads ??= new Map();
    const running = this.#reads.get(after);
    if (running !== undefined) return running;
    const read = this.#readPage(after)
      .catch((error: unknown) => this.#readFailed(error))
      .finally(() => {
        this.#reads?.delete(after);
        this.#wake();
      });
    this.#reads.set(after, read);
    return read;
  }

  /** The workspace no longer exists. */
  deleted(): void {
    for (const member of this.#members) member.deleted();
  }

  close(): void {
    this.#isClosed = true;
    this.#requests?.abort();
    this.#deps.budget.remove(this);
    this.#pace?.stop();
    this.#cancelGap?.();
    this.#cancelExpiry?.();
    this.#cancelRefresh?.();
    this.#subscription.then(
      (leave) => leave(),
      () => undefined,
    );
  }

  get #signal(): AbortSignal {
    if (this.#isClosed) return AbortSignal.abort();
    this.#requests ??= new AbortController();
    return this.#requests.signal;
  }

  async #follow(): Promise<void> {
    try {
      await this.#subscription;
    } catch (error) {
      const { workspaceId } = this.state;
      this.#deps.logger.warn({ err: error, workspaceId }, 'subscribing to the event bus failed');
      return;
    }
    this.#isDelivering = true;
    this.fill('subscribe');
  }

  #receive(event: HubEvent): void {
    if (this.#isClosed) return;
    const { wake, doubtful } = this.state.receive(event, this.#deps.now());
    if (event.kind !== 'ephemeral') this.#deps.budget.used(this);
    this.#after(event.kind === 'ephemeral' ? 'after_seq' : 'gap');
    if (doubtful) this.fill('epoch');
    if (wake === 'now') this.#wake();
    else if (wake === 'text') this.#textChanged();
  }

  #textChanged(): void {
    const { timers, now } = this.#deps;
    this.#pace ??= createTextPace({ timers, now, flush: () => this.#wake() });
    this.#pace.textChanged();
  }

  #wake(): void {
    for (const member of this.#members) member.wake();
  }

  /** Arms the timers that the state needs. */
  #after(evidence: Evidence): void {
    if (this.#isClosed) return;
    if (this.state.log.behind && !this.#isFilling) this.#watchGap(evidence);
    if (this.state.streams.incomplete) this.#refreshLater();
    this.#watchExpiry();
  }

  /** Events can arrive in another order, so that a gap often closes by itself. */
  #watchGap(evidence: Evidence): void {
    const { position } = this.state;
    this.#cancelGap ??= this.#deps.timers.after(this.#deps.options.gapMs, () => {
      this.#cancelGap = undefined;
      if (!this.state.log.behind) return;
      if (this.state.position === position) this.fill(evidence);
      else this.#watchGap(evidence);
    });
  }

  #watchExpiry(): void {
    const end = this.state.statuses.nextEnd;
    if (end === this.#nextExpiry) return;
    this.#cancelExpiry?.();
    this.#nextExpiry = end;
    if (end === undefined) return;
    this.#cancelExpiry = this.#deps.timers.after(end - this.#deps.now(), () => {
      this.#nextExpiry = undefined;
      const changed = this.state.statuses.expire(this.#deps.now());
      this.#watchExpiry();
      if (changed) this.#wake();
    });
  }

  async #fillToHead(): Promise<void> {
    const before = this.state.position;
    let after: number | undefined;
    do {
      after = this.state.position;
      await this.read(after ?? 0);
    } while (this.state.log.behind && this.state.position !== after);
    // Each missed event can have come with a text or a status, also of agents that seem to be online.
    if (this.state.position === before) this.suspectState();
    else this.#refresh();
  }

  /** Retries until the page is read, and applies it. */
  async #readPage(after: number): Promise<void> {
    const { orchestrator } = this.#deps;
    const { workspaceId } = this.state;
    let moment = this.state.moment;
    const page = await this.#request(() => {
      moment = this.state.moment;
      return orchestrator.events({ workspace_id: workspaceId, after, max_bytes: EVENTS_PAGE_BYTES }, randomUUID());
    });
    const result = this.state.page(after, page, moment);
    this.#deps.budget.used(this);
    if (result === 'applied') return;
    if (result === 'diverged' || after >= (this.state.position ?? 0)) {
      this.#reset(result, page.epoch, page.last_seq);
      return;
    }
    for (const member of this.#members) if (member.cursor <= after) this.#resync(member, result);
  }

  /** Until it succeeds or the hub is closed, with an upper limit on concurrent requests from all hubs. */
  #request<T>(send: () => Promise<T>): Promise<T> {
    const attempt = (): Promise<T> => this.#inTurn(send);
    const options = { ...RETRY, deadlineMs: Infinity, signal: this.#signal };
    return retry(attempt, { ...options, retryable: (error) => !isDeleted(error) });
  }

  #inTurn<T>(send: () => Promise<T>): Promise<T> {
    return this.#deps.queue.run(send, { signal: this.#signal });
  }

  #readFailed(error: unknown): void {
    if (this.#isClosed) return;
    if (isDeleted(error)) this.deleted();
    else this.#deps.logger.warn({ err: error, workspaceId: this.state.workspaceId }, 'reading the event log failed');
  }

  #reset(reason: Resync['reason'], epoch: string | undefined, lastSeq: number): void {
    const { logger, budget } = this.#deps;
    logger.warn({ workspaceId: this.state.workspaceId, reason, epoch, lastSeq }, 'reset the events of a workspace');
    this.state.reset(epoch, lastSeq);
    budget.used(this);
    for (const member of this.#members) this.#resync(member, reason);
  }

  #resync(member: Member, reason: Resync['reason']): void {
    this.#deps.metrics.resyncs.inc({ reason });
    member.resync({ reason, last_seq: this.state.position ?? 0, epoch: this.state.epoch ?? '0' });
  }

  #refreshLater(): void {
    this.#cancelRefresh ??= this.#deps.timers.after(this.#deps.options.stateRetryMs, () => {
      this.#cancelRefresh = undefined;
      if (this.state.streams.incomplete) this.#refresh();
    });
  }

  /** Asks for texts and statuses. */
  #refresh(): void {
    const [member] = this.#members;
    if (member === undefined) return;
    const { moment } = this;
    const { workspaceId } = this.state;
    const { orchestrator, logger } = this.#deps;
    const ask = async (): Promise<void> => {
      try {
        const { accepted } = await orchestrator.subscriptions(member.userId, [workspaceId], randomUUID());
        for (const snapshot of accepted) this.restore(snapshot, moment);
      } finally {
        // A text that is still incomplete is asked for again.
        this.#after('subscribe');
      }
    };
    this.#inTurn(ask).catch((error: unknown) =>
      logger.debug({ err: error, workspaceId }, 'asking for the state failed'),
    );
  }
}

const isDeleted = (error: unknown): boolean => error instanceof ApiError && error.code === 'workspace_not_found';
