import { backOff, refusesToken, toError, UswarmError, type Fetch, type Headers } from './api.js';
import { SESSION_CODES, type SessionEnding, type SessionReady } from './gen/types.js';
import { computed } from './store.js';
import type { Transport, TransportOptions } from './transports.js';

/**
 * `offline`: the client reconnects by itself. `signed_out`: the credentials are refused. `ended`: the service does not
 * want this client, for example because newer devices replaced it. After both, `start` tries again. `code` is the
 * reason: from the error catalogue or `session.ending`, or `network_error`, `background` or `closed`.
 */
export type Connection = { state: 'offline' | 'connecting' | 'live' | 'signed_out' | 'ended'; code: string | null };
type Timer = ReturnType<typeof setTimeout>;
type Attempt = { transport?: Transport; liveAt?: number };

export interface ConnectionDeps {
  url: string;
  fetch: Fetch;
  open(options: TransportOptions): Transport;
  headers: Headers;
  since(): Record<string, string>;
  /** Loads what is missing. @returns the workspaces to subscribe to */
  prepare(isCurrent: () => boolean): Promise<string[]>;
  onEvent(name: string, payload: unknown): Promise<void>;
  onChange(state: Connection['state']): void;
  /** Milliseconds in the background until the connection is closed. */
  backgroundMs: number;
}

/** Positions are reported every 10 seconds. After a connection that lasted as long, the first attempt is quick. */
const [REPORT_MS, STABLE_MS] = [9_000, 10_000];

/** Keeps a transport connected. */
export function createConnection({ open, headers, prepare, onEvent, onChange, backgroundMs, ...deps }: ConnectionDeps) {
  let shown: Connection = { state: 'offline', code: null };
  const signal = computed(() => shown);
  let [wanted, hidden, refresh, attempt] = [false, false, false, 0];
  let [current, resumeToken] = [undefined as Attempt | undefined, undefined as string | undefined];
  let [retry, hiding, reporting] = [] as (Timer | undefined)[];
  let applied: Record<string, number> = {};

  function set(state: Connection['state'], code: string | null = null): void {
    if (shown.state === state && shown.code === code) return;
    shown = { state, code };
    signal.refresh();
    onChange(state);
  }
  function drop(): void {
    const dropped = current;
    current = undefined;
    dropped?.transport?.close();
  }
  function stop(state: Connection['state'], code: string | null): void {
    for (const timer of [retry, hiding, reporting]) clearTimeout(timer);
    [wanted, resumeToken, reporting] = [false, undefined, undefined];
    drop();
    set(state, code);
  }

  async function connect(): Promise<void> {
    if (!wanted || hidden || current !== undefined) return;
    clearTimeout(retry);
    const self: Attempt = {};
    current = self;
    set('connecting');
    const ifCurrent =
      <Given extends unknown[]>(call: (...given: Given) => void) =>
      (...given: Given): void => {
        if (current === self) call(...given);
      };
    try {
      const credentials = await headers(refresh);
      await prepare(() => current === self);
      if (current !== self) return;
      const onOpen = ifCurrent(() => self.transport?.subscribe(Object.keys(deps.since())));
      const handlers = { onOpen, onEvent: ifCurrent(receive), onClosed: ifCurrent(fail) };
      self.transport = open({ ...deps, ...handlers, headers: credentials, resumeToken });
    } catch (error) {
      ifCurrent(fail)(toError(error));
    }
  }
  function fail(error: UswarmError): void {
    if (performance.now() - (current?.liveAt ?? Infinity) > STABLE_MS) attempt = 0;
    drop();
    if (error.retryable) {
      set('offline', error.code);
      clearTimeout(retry);
      retry = setTimeout(() => void connect(), backOff(attempt, error.retry_after_ms));
      attempt += 1;
    } else if (refusesToken(error) && !refresh) {
      refresh = true;
      void connect();
    } else stop(SESSION_CODES.includes(error.code) ? 'signed_out' : 'ended', error.code);
  }
  /** Loads and subscribes to what is missing on this connection. */
  async function synchronize(): Promise<void> {
    const self = current;
    const isCurrent = (): boolean => self !== undefined && current === self;
    try {
      const ids = await prepare(isCurrent);
      if (isCurrent() && ids.length > 0) self?.transport?.subscribe(ids);
    } catch (error) {
      if (isCurrent()) fail(toError(error));
    }
  }

  function receive(name: string, payload: unknown): void {
    if (name === 'session.ready') resumeToken = (payload as SessionReady).resume_token;
    if (name === 'session.ending') {
      const { code, reconnect, in_ms: inMs } = payload as SessionEnding;
      if (!reconnect) stop(code === 'too_many_sockets' ? 'ended' : 'signed_out', code);
      else if (code === 'token_expired') void renew(inMs);
    }
    if (name === 'workspace.subscribed' && current !== undefined) {
      // An event is lost if its workspace was created or deleted after the list was loaded.
      if (!current.liveAt) void synchronize();
      current.liveAt ??= performance.now();
      refresh = false;
      set('live');
    }
    // A malformed event does not stop the client.
    void onEvent(name, payload).catch(() => undefined);
  }
  /** A connection that is not renewed ends, and the next one has a new token. */
  async function renew(inMs: number): Promise<void> {
    const transport = current?.transport;
    refresh = true;
    const credentials = inMs > 0 && (await headers(true).catch(() => undefined));
    if (!credentials || transport !== current?.transport) return;
    if (transport?.emit) return transport.emit('session.renew', { credentials });
    drop();
    await connect();
  }
  function report(): void {
    clearTimeout(reporting);
    reporting = undefined;
    current?.transport?.emit?.('position', applied);
    applied = {};
  }

  return {
    signal,
    stop,
    connect: () => void connect(),
    synchronize: () => void synchronize(),
    subscribe: (ids: string[]) => current?.transport?.subscribe(ids),
    lost: () => current && fail(new UswarmError('network_error')),
    start(): void {
      [wanted, refresh] = [true, false];
      void connect();
    },
    /** Tells the service what this device has, so that it is not notified. @param now whether that must not wait */
    report(workspaceId: string, seq: number, now: boolean): void {
      applied[workspaceId] = seq;
      if (now) report();
      else reporting ??= setTimeout(report, REPORT_MS);
    },
    background(): void {
      hiding ??= setTimeout(() => {
        hidden = true;
        report();
        drop();
        if (wanted) set('offline', 'background');
      }, backgroundMs);
    },
    foreground(): void {
      clearTimeout(hiding);
      [hiding, hidden] = [undefined, false];
      void connect();
    },
  };
}
