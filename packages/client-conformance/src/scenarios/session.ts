import { SESSION_ENDINGS, type SessionEndingCode } from '@uswarm/contract';
import type { Scenario } from '../scenario.js';

const CODES = Object.entries(SESSION_ENDINGS) as [SessionEndingCode, { reconnect: boolean; summary: string }][];

const kebab = (code: string) => code.replaceAll('_', '-');

/** Each way in which the service ends a session. */
const ENDINGS: Scenario[] = CODES.map(([code, { reconnect, summary }]) => ({
  name: `ending-${kebab(code)}`,
  shows: reconnect
    ? `After \`session.ending\` with \`${code}\` the client connects again by itself.`
    : `After \`session.ending\` with \`${code}\` the client shows the code, and does not connect again.`,
  why: `\`reconnect\` is ${reconnect}: ${summary}.`,
  async run(stage) {
    await stage.start();
    if (!reconnect) {
      stage.server.end(code);
      return stage.ended(code);
    }
    // Only a flood has a time: the server ignores the client until then.
    await stage.reconnects(() => stage.server.end(code, { inMs: code === 'rate_limited' ? 600 : 0 }));
    await stage.settles();
  },
}));

/** Connections: how they begin, are lost, and end. */
export const SESSION: readonly Scenario[] = [
  {
    name: 'token-expiring',
    shows:
      'With `session.ending` `token_expired` in 1.5 s the client presents a fresh token, by `session.renew` or a new connection.',
    why: 'A client that ignores it loses its connection; one that signs out loses its user needlessly.',
    async run(stage) {
      await stage.start();
      stage.server.rotate('token-2');
      stage.server.end('token_expired', { inMs: 1_500 });
      await stage.settles();
      await stage.until('the fresh token', () =>
        [...stage.seen('renew'), ...stage.seen('connect')].some(({ token }) => token === 'token-2'),
      );
      await stage.wait(1_600);
      await stage.live();
      await stage.settles('and then');
    },
  },
  {
    name: 'token-expired-while-away',
    shows: 'A client whose token expired while the connection was lost connects with a fresh one.',
    why: 'The credentials are asked for at each connect, not kept from the first one.',
    async run(stage) {
      await stage.start();
      await stage.reconnects(() => {
        stage.server.cut();
        stage.server.rotate('token-2');
      });
      await stage.settles();
      const token = stage.seen('connect').at(-1)?.token;
      stage.require('The client connected with another token', token === 'token-2', token);
    },
  },
  {
    name: 'refused-credentials',
    shows: 'A banned user is signed out, and the client does not try again.',
    why: 'A permanent refusal is final for these credentials: show its code.',
    async run(stage) {
      stage.server.tokens.set('token-1', 'user_banned');
      stage.launch();
      await stage.ended('user_banned');
    },
  },
  {
    name: 'revoked-credentials',
    shows: 'A token that was revoked while the connection was lost ends the session.',
    why: 'A permanent refusal is final for these credentials: show its code.',
    async run(stage) {
      await stage.start();
      stage.server.rotate('token-1');
      stage.server.tokens.set('token-1', 'token_revoked');
      stage.server.cut();
      await stage.ended('token_revoked');
    },
  },
  ...ENDINGS,
  {
    name: 'ending-unknown-reconnect',
    shows: 'After `session.ending` with an unknown code and `reconnect: true` the client connects again.',
    why: 'Codes may be added; `reconnect` decides.',
    async run(stage) {
      await stage.start();
      await stage.reconnects(() => stage.server.end('server_leaving', { laterCode: 'moved_to_another_region' }));
      await stage.settles();
    },
  },
  {
    name: 'ending-unknown',
    shows: 'After `session.ending` with an unknown code and `reconnect: false` the session has ended.',
    why: 'Codes may be added; `reconnect` decides, and an unknown code counts as `session_ended`.',
    async run(stage) {
      await stage.start();
      stage.server.end('logged_out', { laterCode: 'contract_ended' });
      await stage.ended();
    },
  },
  {
    name: 'service-unavailable-at-connect',
    shows: 'A client that cannot be admitted now connects later by itself.',
    why: 'A transient refusal, 503 or a closed transport, does not mean that the credentials are wrong (I8).',
    async run(stage) {
      stage.world.before('Hello');
      const failure = { code: 'service_unavailable' as const, retryAfterMs: 300 };
      stage.server.failures.set('connect', [failure, failure]);
      await stage.start();
      await stage.settles('Hello');
    },
  },
  {
    name: 'rate-limited-at-connect',
    only: 'sse',
    shows: 'A stream that is refused with 429 is opened again, not before `Retry-After`.',
    why: 'A client that comes earlier is refused again.',
    async run(stage) {
      stage.server.failures.set('connect', [{ code: 'rate_limited', retryAfterMs: 1_000 }]);
      await stage.start();
      const [first, second] = stage.seen('connect');
      const waited = (second?.at ?? 0) - (first?.at ?? 0);
      stage.require('The client connected too early, after ms', waited >= 950, waited);
    },
  },
  {
    name: 'resume-token',
    only: 'socket',
    shows: 'A client reconnects with the newest resume token while credentials cannot be verified.',
    why: 'The resume token of `session.ready` admits a reconnect for up to 10 minutes.',
    async run(stage) {
      await stage.start();
      await stage.reconnects(() => {
        stage.server.credentialsUnavailable = true;
        stage.server.cut();
      });
      stage.server.credentialsUnavailable = false;
      await stage.settles();
    },
  },
  {
    name: 'heartbeat-lost',
    only: 'socket',
    pings: { intervalMs: 300, timeoutMs: 300 },
    shows: 'A connection without heartbeats is replaced, although it was not closed.',
    why: 'A network that goes away closes nothing: only missing pings show it.',
    async run(stage) {
      await stage.start();
      await stage.reconnects(() => {
        for (const connection of stage.server.connections) connection.freeze();
        stage.world.agent('meanwhile');
      });
      await stage.settles('meanwhile');
    },
  },
  {
    name: 'background',
    shows: 'After 40 s in the background the client shows what happened meanwhile, although its connection looks open.',
    why: 'Longer than a heartbeat: the connection of before cannot be trusted.',
    async run(stage) {
      await stage.start();
      for (const connection of stage.server.connections) connection.freeze();
      stage.world.agent('meanwhile');
      await stage.client.background(40_000);
      await stage.shows({ connection: 'live', messages: ['meanwhile'] });
      await stage.live();
      await stage.settles('meanwhile');
    },
  },
  {
    name: 'background-expired',
    shows:
      'The token expires and the server closes the connection while the client is in the background: it continues with a fresh token.',
    why: 'The credentials are asked for at each connect, not kept from the first one.',
    async run(stage) {
      await stage.start();
      await stage.reconnects(async () => {
        stage.server.cut();
        stage.server.rotate('token-2');
        stage.world.agent('meanwhile');
        await stage.client.background(40_000);
      });
      await stage.shows({ connection: 'live', messages: ['meanwhile'] });
      const token = stage.seen('connect').at(-1)?.token;
      stage.require('The client connected with another token', token === 'token-2', token);
    },
  },
];
