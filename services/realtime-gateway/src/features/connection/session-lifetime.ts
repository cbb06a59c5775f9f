import { LIMITS, SESSION_ENDINGS, type SessionEndingCode } from '@uswarm/contract';
import type { Emit } from '../../server-events.js';
import type { GatewaySettings } from '../../settings.js';
import type { Timers } from '../../timers.js';
import type { OwnedWorkspaces } from './owned-workspaces.js';
import { RESUME_MS, type ResumeTokens } from './resume-token.js';
import type { SessionData } from './session-data.js';

export interface SessionLifetimeDeps {
  data: SessionData;
  workspaces: Pick<OwnedWorkspaces, 'list'>;
  tokens: Pick<ResumeTokens, 'issue'>;
  emit: Emit;
  end: (code: SessionEndingCode) => void;
  settings: Pick<
    GatewaySettings,
    | 'subscriptionsPerSocket'
    | 'eventsPerSocket'
    | 'queuedEventsPerSocket'
    | 'refusalsPerSocket'
    | 'unreadBytesPerSocket'
    | 'resumeTokenMs'
  >;
  timers: Timers;
  /** Monotonic milliseconds. */
  now: () => number;
}

/** Tells a client what its session is, and ends the session when its credential expires. */
export interface SessionLifetime {
  /** The socket is connected, or its credential was replaced. */
  start(): void;
  /** The session's workspaces have changed: sends a new resume token soon. */
  workspacesChanged(): void;
  /** The socket is disconnected. Nothing starts again, because one of its requests may end later. */
  stop(): void;
}

/** Milliseconds before the expiry at which it is announced; at most half of the remaining time. */
const ANNOUNCE_MS = 60_000;
/** Milliseconds for which workspace changes are collected. */
const CHANGES_MS = 1_000;

/** Longer delays are rounded down to seconds: Node.js keeps a list of timers for each duration. */
const ROUNDED_MS = 30_000;
const rounded = (ms: number): number => (ms > ROUNDED_MS ? Math.floor(ms / 1_000) * 1_000 : ms);

export function createSessionLifetime(deps: SessionLifetimeDeps): SessionLifetime {
  const { data, workspaces, tokens, emit, end, settings, timers, now } = deps;
  let cancelExpiry: (() => void) | undefined;
  let cancelRefresh: (() => void) | undefined;
  let cancelChange: (() => void) | undefined;
  let isStopped = false;
  /** The newest token's `confirmedAt`. */
  let sentConfirmation = 0;

  function sendReady(): void {
    const expiresInMs = data.expiresAt === null ? null : Math.max(0, Math.round(data.expiresAt - now()));
    sentConfirmation = data.confirmedAt;
    emit('session.ready', {
      session_id: data.sessionId,
      resumed: data.resumed,
      resume_token: tokens.issue({
        ...data,
        workspaceIds: workspaces.list(),
        confirmedMsAgo: now() - data.confirmedAt,
        expiresInMs,
      }),
      expires_in_ms: expiresInMs,
      limits: {
        subscriptions: settings.subscriptionsPerSocket,
        events_per_second: settings.eventsPerSocket.perSecond,
        events_burst: settings.eventsPerSocket.burst,
        events_queued: settings.queuedEventsPerSocket,
        refusals_per_second: settings.refusalsPerSocket.perSecond,
        refusals_burst: settings.refusalsPerSocket.burst,
        event_bytes: LIMITS.bodyBytes,
        unread_bytes: settings.unreadBytesPerSocket,
      },
    });
  }

  function scheduleRefresh(): void {
    // Jitter, because clients that connected together must not get their tokens together.
    cancelRefresh = timers.after(rounded(settings.resumeTokenMs * (0.75 + 0.25 * Math.random())), () => {
      // Without a newer confirmation, a new token is not valid for longer.
      if (data.confirmedAt > sentConfirmation) sendReady();
      scheduleRefresh();
    });
  }

  function scheduleExpiry(): void {
    cancelExpiry?.();
    if (data.expiresAt === null) return;
    const remaining = Math.max(0, data.expiresAt - now());
    const notice = Math.min(ANNOUNCE_MS, remaining / 2);
    cancelExpiry = timers.after(rounded(remaining - notice), () => {
      const { reconnect } = SESSION_ENDINGS.token_expired;
      emit('session.ending', { code: 'token_expired', reconnect, in_ms: Math.round(notice) });
      cancelExpiry = timers.after(notice, () => end('token_expired'));
    });
  }

  return {
    start() {
      if (isStopped) return;
      sendReady();
      scheduleExpiry();
      if (cancelRefresh === undefined) scheduleRefresh();
    },
    workspacesChanged() {
      if (isStopped) return;
      cancelChange ??= timers.after(CHANGES_MS, () => {
        cancelChange = undefined;
        if (now() - data.confirmedAt < RESUME_MS) sendReady();
      });
    },
    stop() {
      isStopped = true;
      for (const cancel of [cancelExpiry, cancelRefresh, cancelChange]) cancel?.();
    },
  };
}
