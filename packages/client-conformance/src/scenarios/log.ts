import type { Scenario } from '../scenario.js';
import type { Stage } from '../stage.js';
import { positionOf, textContent } from '../server/world.js';

const REV = 'A copy with a higher `rev` is newer; events may arrive any number of times (rule 3, I3).';
const RESYNC =
  'After `workspace.resync` a client forgets the workspace, waits `in_ms`, and begins with a snapshot (rule 6).';

/** Tells the client to reload, after changes that it has not received. */
function resync(stage: Stage, change: () => void): void {
  stage.server.withheld(change);
  stage.world.forgetLog();
  for (const connection of stage.server.connections) stage.server.resync(connection, 'too_far');
}

const texts = (name: string, count: number, rest = '') =>
  Array.from({ length: count }, (_, n) => `${name} ${n}${rest}`);

/** Snapshots, positions and the events after them. */
export const LOG: readonly Scenario[] = [
  {
    name: 'snapshot',
    shows: 'The messages of the snapshot, and those that follow.',
    why: 'A snapshot at a position and the events after it are the present state (I4).',
    async run(stage) {
      stage.world.before('Hello', 'How can I help?');
      await stage.start();
      await stage.settles({ role: 'agent', text: 'Hello', status: 'delivered' }, 'How can I help?');
    },
  },
  {
    name: 'event-after-snapshot',
    shows: 'A message that is stored between the snapshot and the subscription.',
    why: 'The position of the snapshot belongs in `since`, so that the events after it follow (rules 1 and 2).',
    async run(stage) {
      stage.world.before('Hello');
      stage.server.onSnapshot = () => {
        stage.server.onSnapshot = () => undefined;
        stage.world.agent('in between');
      };
      await stage.start();
      await stage.shows({ messages: ['Hello', 'in between'] });
    },
  },
  {
    name: 'snapshot-unavailable',
    shows: 'A snapshot that fails for a moment is read again.',
    why: 'The error catalogue names the retryable codes, and `retry_after_ms` the time.',
    async run(stage) {
      stage.world.before('Hello');
      const failures = [{ code: 'service_unavailable' as const, retryAfterMs: 300 }, { code: 'rate_limited' as const }];
      stage.server.failures.set('listMessages', failures);
      await stage.start();
      await stage.settles('Hello');
    },
  },
  {
    name: 'huge-page',
    shows: 'A page of 900 KB is shown completely, in order.',
    why: 'A page has up to 1 MB.',
    async run(stage) {
      const long = texts('long', 100, 'x'.repeat(9_000));
      stage.world.before(...long);
      await stage.start();
      await stage.shows({ last: long.slice(-20) });
    },
  },
  {
    name: 'order-by-position',
    shows: 'Messages are in the order of `position`, whatever their times and the order of their events are.',
    why: '`position` is the sort key; times are only for display, and tool calls of a reply are listed before it.',
    async run(stage) {
      await stage.start();
      stage.world.agent('second', { position: positionOf(9_000), createdAt: '2026-11-28T09:00:00.000Z' });
      stage.world.agent('third', { position: positionOf(9_500), createdAt: '2026-11-28T08:00:00.000Z' });
      const call = {
        type: 'tool_status' as const,
        tool: 'web_search_tool',
        description: 'tea',
        state: 'running' as const,
      };
      stage.world.agent(call, { position: positionOf(8_000), createdAt: '2026-11-28T11:00:00.000Z' });
      await stage.shows({ messages: [{}, 'second', 'third'] });
    },
  },
  {
    name: 'gap',
    shows: 'A jump of `seq` loses nothing: the client shows what arrives, and reloads nothing.',
    why: 'Numbers are left out whose event a later one replaces; losses are found by the service (rule 4).',
    async run(stage) {
      await stage.start();
      await stage.settles();
      const before = { snapshots: stage.seen('snapshot').length, subscriptions: stage.seen('subscribe').length };
      stage.world.skip(5);
      stage.world.agent('one');
      stage.world.skip(1_000);
      stage.world.agent('two');
      await stage.keeps({ messages: ['and then', 'one', 'two'] });
      const after = { snapshots: stage.seen('snapshot').length, subscriptions: stage.seen('subscribe').length };
      stage.require('The client reloaded', after.snapshots === before.snapshots, { before, after });
      stage.require('The client subscribed again', after.subscriptions === before.subscriptions, { before, after });
    },
  },
  {
    name: 'doubled-events',
    shows: 'Events that arrive twice change nothing the second time.',
    why: REV,
    async run(stage) {
      await stage.start();
      const events = stage.server.withheld(() => {
        stage.world.user('tea', { localId: 'of-another-device' });
        stage.world.finish(stage.world.begin(), 'Green tea.');
      });
      // The creations once more: older than what follows them.
      stage.deliver(...events.flatMap((event) => [event, event]), ...events.slice(0, 2));
      await stage.settles('tea', { text: 'Green tea.', status: 'delivered' });
    },
  },
  {
    name: 'older-copy',
    shows: 'A copy with a lower `rev` that arrives later does not replace the newer one.',
    why: REV,
    async run(stage) {
      await stage.start();
      const message = stage.world.agent('one');
      const older = stage.server.withheld(() => stage.world.update(message, { content: textContent('two') }));
      stage.world.update(message, { content: textContent('three') });
      stage.deliver(...older);
      await stage.settles('three');
    },
  },
  {
    name: 'update-before-creation',
    shows: 'A message whose `message.updated` arrives first is shown, and its late `message.new` does not change it.',
    why: REV,
    async run(stage) {
      await stage.start();
      const [created, updated] = stage.server.withheld(() => {
        stage.world.update(stage.world.agent('one'), { content: textContent('two') });
      });
      if (created === undefined || updated === undefined) throw new Error('no events');
      stage.deliver(updated);
      await stage.shows({ messages: ['two'] });
      stage.deliver(created);
      await stage.settles('two');
    },
  },
  {
    name: 'resume',
    shows: 'After a reconnect the client resumes at its position, and shows what happened meanwhile.',
    why: 'Subscriptions belong to a connection: each subscribe names the last position (rules 2 and 4).',
    async run(stage) {
      stage.world.before('Hello');
      await stage.start();
      stage.world.agent('one');
      await stage.shows({ messages: ['Hello', 'one'] });
      const { position } = stage.world;
      await stage.reconnects(() => {
        stage.server.cut();
        stage.world.agent('two');
      });
      await stage.settles('Hello', 'one', 'two');
      const since = stage.seen('subscribe').at(-1)?.since;
      stage.require(
        `The client did not resume at ${position}`,
        since === position || since === position.split(':')[1],
        since,
      );
    },
  },
  {
    name: 'reported-position',
    shows: 'After `workspace.position` the client resumes at that position.',
    why: 'Events that the client does not need advance its position too (rule 4).',
    async run(stage) {
      await stage.start();
      const reply = stage.world.begin();
      stage.world.skip(50);
      for (const connection of stage.server.connections) stage.server.position(connection);
      stage.world.chunk(reply, 'Green');
      await stage.shows({ messages: ['Green'] });
      const { position } = stage.world;
      await stage.reconnects();
      const since = stage.seen('subscribe').at(-1)?.since;
      stage.require(
        `The client did not resume at ${position}`,
        since === position || since === position.split(':')[1],
        since,
      );
    },
  },
  {
    name: 'burst',
    shows: 'Two hundred events that follow a reconnect are all shown, in order.',
    why: 'No event is skipped (I5).',
    async run(stage) {
      await stage.start();
      const many = texts('message', 200);
      await stage.reconnects(() => {
        stage.server.cut();
        for (const text of many) stage.world.agent(text);
      });
      await stage.shows({ messages: many });
    },
  },
  {
    name: 'resync',
    shows: 'After `workspace.resync` the client shows the present state: without what was deleted meanwhile.',
    why: RESYNC,
    async run(stage) {
      const [, second] = stage.world.before('one', 'two');
      await stage.start();
      await stage.shows({ messages: ['one', 'two'] });
      resync(stage, () => {
        if (second !== undefined) stage.world.remove(second);
        stage.world.agent('three');
      });
      await stage.shows({ messages: ['one', 'three'] });
      await stage.live();
      await stage.settles('one', 'three');
    },
  },
  {
    name: 'resync-spread',
    shows: 'The client waits `in_ms` before it reloads.',
    why: 'Otherwise all clients reload at the same moment after a failover (rule 6).',
    async run(stage) {
      stage.world.before('one');
      await stage.start();
      await stage.shows({ messages: ['one'] });
      stage.server.resyncInMs = 1_200;
      const at = performance.now();
      const before = stage.seen('snapshot').length;
      resync(stage, () => void stage.world.agent('two'));
      await stage.shows({ messages: ['one', 'two'] });
      const waited = (stage.seen('snapshot')[before]?.at ?? 0) - at;
      stage.require('The client reloaded too early, after ms', waited >= 1_150, waited);
    },
  },
  {
    name: 'resync-with-unsent',
    shows: 'A message that is not acknowledged survives `workspace.resync`, and is stored once.',
    why: 'The client forgets what came from the service, not what the user wrote (rules 6 and 9).',
    async run(stage) {
      const answer = Promise.withResolvers<void>();
      stage.server.outcomes.push({ after: answer.promise });
      await stage.start();
      await stage.send('tea');
      await stage.until('the message', () => stage.seen('send').length === 1);
      resync(stage, () => void stage.world.agent('one'));
      await stage.shows({ messages: ['one', { text: 'tea', state: 'queued' }] });
      answer.resolve();
      await stage.shows({ messages: ['one', { text: 'tea', state: 'sent' }] });
      await stage.settles('one', 'tea');
      stage.stored('tea');
    },
  },
  {
    name: 'creation-after-resync',
    shows: 'A message of the snapshot whose `message.new` follows is shown once.',
    why: REV,
    async run(stage) {
      await stage.start();
      await stage.send('tea');
      await stage.shows({ messages: [{ text: 'tea', state: 'sent' }] });
      const own = stage.world.log.map(({ event }) => event);
      let other: typeof own = [];
      resync(stage, () => void (other = stage.server.withheld(() => stage.world.agent('one'))));
      await stage.shows({ messages: ['tea', 'one'] });
      await stage.live();
      stage.deliver(...own, ...other);
      await stage.settles({ text: 'tea', state: 'sent' }, 'one');
    },
  },
  {
    name: 'epoch-change',
    shows: 'After a failover that lost writes the client shows what is left, although its revisions are lower.',
    why: 'Sequences and revisions belong to an epoch: after it changes, the client forgets the workspace (rule 6).',
    async run(stage) {
      const [first] = stage.world.before('one', 'two');
      await stage.start();
      await stage.shows({ messages: ['one', 'two'] });
      await stage.reconnects(() => {
        stage.server.cut();
        stage.world.failover(1);
        stage.server.withheld(() => stage.world.update(first ?? { id: '' }, { content: textContent('one again') }));
        stage.world.forgetLog();
      });
      await stage.shows({ messages: ['one again'] });
      await stage.live();
      await stage.settles('one again');
    },
  },
  {
    name: 'deleted-while-offline',
    shows: 'A message that was deleted while the connection was lost is not shown after the reconnect.',
    why: '`message.deleted` is among the events after the position.',
    async run(stage) {
      const [, second] = stage.world.before('one', 'two', 'three');
      await stage.start();
      await stage.shows({ messages: ['one', 'two', 'three'] });
      await stage.reconnects(() => {
        stage.server.cut();
        if (second !== undefined) stage.world.remove(second);
      });
      await stage.settles('one', 'three');
    },
  },
  {
    name: 'conversation-deleted',
    shows: 'A deleted conversation disappears with its messages.',
    why: '`conversation.deleted` is the end of the conversation and of all messages in it.',
    async run(stage) {
      stage.world.before('one');
      await stage.start();
      await stage.shows({ messages: ['one'] });
      stage.world.deleteConversation();
      await stage.shows({ messages: [], conversation: null });
    },
  },
  {
    name: 'conversation-deleted-while-ended',
    shows:
      'A conversation that was deleted while the client was ended is not shown after its start, and the client is connected.',
    why: '`conversation_not_found`, or a list without it, means that it was deleted; the client has not failed.',
    async run(stage) {
      stage.world.before('one');
      await stage.start();
      await stage.shows({ messages: ['one'] });
      await stage.kill();
      stage.world.deleteConversation();
      stage.launch();
      await stage.shows({ connection: 'live', messages: [], conversation: null });
    },
  },
];
