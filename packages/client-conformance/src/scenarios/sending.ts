import type { Scenario } from '../scenario.js';

const ONCE =
  'The service stores a message once per local_id, so the same id can be sent until it is answered (rule 9).';

const sent = (text: string) => ({ role: 'user', text, state: 'sent' as const });
const queued = (text: string) => ({ role: 'user', text, state: 'queued' as const });

/** A message is sent until it is answered, once, and in the order in which the user wrote. */
export const SENDING: readonly Scenario[] = [
  {
    name: 'send',
    shows: 'The message is shown as queued immediately, and as sent after its acknowledgement.',
    why: 'Until the service has answered, it is unknown whether the message is stored (rule 9).',
    async run(stage) {
      const answer = Promise.withResolvers<void>();
      stage.server.outcomes.push({ after: answer.promise });
      await stage.start();
      await stage.send('tea');
      await stage.shows({ messages: [queued('tea')] });
      answer.resolve();
      await stage.shows({ messages: [sent('tea')] });
      await stage.settles(sent('tea'));
      stage.stored('tea');
    },
  },
  {
    name: 'lost-acknowledgement',
    shows: 'A message that is stored, but whose acknowledgement is lost, is shown once, as sent.',
    why: ONCE,
    async run(stage) {
      stage.server.outcomes.push({ lost: true });
      await stage.start();
      await stage.send('tea');
      await stage.shows({ messages: [sent('tea')] });
      await stage.live();
      await stage.settles(sent('tea'));
      stage.stored('tea');
    },
  },
  {
    name: 'lost-message',
    shows: 'A message that is lost in transit, twice, is sent again with the same local_id.',
    why: ONCE,
    async run(stage) {
      stage.server.outcomes.push({ lost: true, stored: false }, { lost: true, stored: false });
      await stage.start();
      await stage.send('tea');
      await stage.shows({ messages: [sent('tea')] });
      stage.stored('tea');
      stage.require('The message was not sent three times', stage.seen('send').length === 3, stage.seen('send').length);
    },
  },
  {
    name: 'lost-response',
    only: 'sse',
    shows: 'The response to a stored message is lost while the stream stays open: the message is shown once.',
    why: ONCE,
    async run(stage) {
      stage.server.outcomes.push({ lost: 'answer' });
      await stage.start();
      await stage.send('tea');
      await stage.shows({ messages: [sent('tea')] });
      await stage.settles(sent('tea'));
      stage.stored('tea');
    },
  },
  {
    name: 'event-before-acknowledgement',
    shows: 'The event of the own message arrives before its acknowledgement: it is one message.',
    why: 'A message of the log with the own local_id is the own message; `local_id` matches both.',
    async run(stage) {
      stage.server.outcomes.push({ eventFirst: true });
      await stage.start();
      await stage.send('tea');
      await stage.shows({ messages: [sent('tea')] });
      await stage.settles(sent('tea'));
      stage.stored('tea');
    },
  },
  {
    name: 'rate-limited',
    shows: 'A message that is refused with 429 and `retry_after_ms` is sent again, not earlier.',
    why: 'A retryable refusal may be sent again after `retry_after_ms`; a client that comes earlier is refused again (rule 10).',
    async run(stage) {
      const retryAfterMs = 900;
      stage.server.outcomes.push({ refuse: { code: 'rate_limited', retryAfterMs } });
      await stage.start();
      await stage.send('tea');
      await stage.shows({ messages: [sent('tea')] });
      stage.stored('tea');
      const [first, second] = stage.seen('send');
      const waited = (second?.at ?? 0) - (first?.at ?? 0);
      stage.require('The client sent it again too early, after ms', waited >= retryAfterMs - 50, waited);
    },
  },
  {
    name: 'service-unavailable',
    shows: 'A message that is refused with `service_unavailable` twice is sent a third time.',
    why: 'The error catalogue names the retryable codes; the message is not stored before (I12).',
    async run(stage) {
      const refuse = { code: 'service_unavailable', retryAfterMs: 200 } as const;
      stage.server.outcomes.push({ refuse }, { refuse });
      await stage.start();
      await stage.send('tea');
      await stage.shows({ messages: [sent('tea')] });
      stage.stored('tea');
    },
  },
  {
    name: 'stored-unknown',
    shows: 'A message with the answer `stored: unknown` is sent again with the same local_id, and is shown once.',
    why: 'Only the same local_id finds out whether it is stored.',
    async run(stage) {
      const refuse = { code: 'service_unavailable', retryAfterMs: 200, unknownWhetherStored: true } as const;
      stage.server.outcomes.push({ refuse, stored: true });
      await stage.start();
      await stage.send('tea');
      await stage.shows({ messages: [sent('tea')] });
      await stage.settles(sent('tea'));
      stage.stored('tea');
    },
  },
  {
    name: 'refused',
    shows: 'A message that is refused for good is shown as refused, and never sent again, also after a reconnect.',
    why: 'A code that is not retryable stays: the same message is refused each time (rule 9).',
    async run(stage) {
      stage.server.outcomes.push({ refuse: { code: 'content_type_not_allowed' } });
      await stage.start();
      await stage.send('tea');
      await stage.shows({ messages: [{ text: 'tea', state: 'refused' }] });
      await stage.reconnects();
      stage.world.agent('and then');
      await stage.shows({ messages: ['and then', { text: 'tea', state: 'refused' }] });
      stage.require('The refused message was sent again', stage.seen('send').length === 1);
    },
  },
  {
    name: 'limit-reached',
    shows: 'A message that is refused with 429 `token_limit_reached` is shown as refused, and not sent again.',
    why: 'The code decides, not the status: some codes with the status 429 are not retryable.',
    async run(stage) {
      stage.server.outcomes.push({ refuse: { code: 'token_limit_reached' } });
      await stage.start();
      await stage.send('tea');
      await stage.shows({ messages: [{ text: 'tea', state: 'refused' }] });
      await stage.keeps({ messages: [{ text: 'tea', state: 'refused' }] });
      stage.require('The refused message was sent again', stage.seen('send').length === 1);
    },
  },
  {
    name: 'unknown-refusal',
    shows: 'A message that is refused with an unknown code, as not retryable, is shown as refused.',
    why: 'Codes may be added: `retryable`, and over REST the status, decide.',
    async run(stage) {
      const refuse = { code: 'content_type_not_allowed', laterCode: 'quota_of_a_later_release' } as const;
      stage.server.outcomes.push({ refuse });
      await stage.start();
      await stage.send('tea');
      await stage.shows({ messages: [{ text: 'tea', state: 'refused' }] });
      await stage.keeps({ messages: [{ text: 'tea', state: 'refused' }] });
      stage.require('The refused message was sent again', stage.seen('send').length === 1);
    },
  },
  {
    name: 'unknown-transient-refusal',
    shows: 'A message that is refused with an unknown code, as retryable, is sent again.',
    why: 'Codes may be added: `retryable`, and over REST the status, decide.',
    async run(stage) {
      const refuse = { code: 'service_unavailable', laterCode: 'busy_of_a_later_release', retryAfterMs: 200 } as const;
      stage.server.outcomes.push({ refuse });
      await stage.start();
      await stage.send('tea');
      await stage.shows({ messages: [sent('tea')] });
      stage.stored('tea');
    },
  },
  {
    name: 'slow-answer',
    shows: 'A message whose answer takes its time stays queued, and is neither refused nor sent under another id.',
    why: 'While the service is slow, events wait for their answers; a second local_id would be a second message.',
    async run(stage) {
      const answer = Promise.withResolvers<void>();
      stage.server.outcomes.push({ after: answer.promise });
      await stage.start();
      await stage.send('tea');
      await stage.keeps({ messages: [queued('tea')] }, 2_500);
      answer.resolve();
      await stage.shows({ messages: [sent('tea')] });
      await stage.settles(sent('tea'));
      stage.stored('tea');
    },
  },
  {
    name: 'same-text-twice',
    shows: 'Two messages with the same text are two messages.',
    why: 'The local_id identifies a message, not its text.',
    async run(stage) {
      await stage.start();
      await stage.send('tea');
      await stage.shows({ messages: [sent('tea')] });
      await stage.send('tea');
      await stage.shows({ messages: [sent('tea'), sent('tea')] });
      await stage.settles(sent('tea'), sent('tea'));
      stage.stored('tea', 'tea');
    },
  },
  {
    name: 'send-offline',
    shows: 'A message that is written without a connection is queued, and sent when the connection is back.',
    why: 'The outbox of the client keeps what the service has not acknowledged (rule 9).',
    async run(stage) {
      await stage.start();
      stage.server.reachable = false;
      await stage.offline();
      await stage.send('tea');
      await stage.shows({ messages: [queued('tea')] });
      stage.server.reachable = true;
      await stage.shows({ connection: 'live', messages: [sent('tea')] });
      stage.stored('tea');
    },
  },
  {
    name: 'three-queued',
    shows: 'Three messages that were written without a connection are stored once each, in their order.',
    why: 'The order of the outbox is the order in which the user wrote.',
    async run(stage) {
      await stage.start();
      stage.server.reachable = false;
      await stage.offline();
      await stage.send('one', 'two', 'three');
      await stage.shows({ messages: [queued('one'), queued('two'), queued('three')] });
      stage.server.reachable = true;
      await stage.shows({ messages: [sent('one'), sent('two'), sent('three')] });
      await stage.settles(sent('one'), sent('two'), sent('three'));
      stage.stored('one', 'two', 'three');
    },
  },
  {
    name: 'order-after-refusal',
    shows: 'Messages wait behind one that is refused for a moment: the order is kept.',
    why: 'The order of the outbox is the order in which the user wrote.',
    async run(stage) {
      stage.server.outcomes.push({ refuse: { code: 'service_unavailable', retryAfterMs: 500 } });
      await stage.start();
      await stage.send('one', 'two', 'three');
      await stage.shows({ messages: [sent('one'), sent('two'), sent('three')] });
      stage.stored('one', 'two', 'three');
    },
  },
  {
    name: 'order-after-loss',
    shows: 'Messages wait behind one that was lost in transit: the order is kept.',
    why: 'The order of the outbox is the order in which the user wrote.',
    async run(stage) {
      stage.server.outcomes.push({ lost: true, stored: false });
      await stage.start();
      await stage.send('one', 'two', 'three');
      await stage.shows({ messages: [sent('one'), sent('two'), sent('three')] });
      stage.stored('one', 'two', 'three');
    },
  },
  {
    name: 'restart-with-unsent',
    shows: 'After a restart the client shows what was not sent, and sends it when the connection is back, in order.',
    why: 'Phones end apps at any time: a message is stored before it is shown.',
    async run(stage) {
      await stage.start();
      stage.server.reachable = false;
      await stage.offline();
      await stage.send('one', 'two');
      await stage.shows({ messages: [queued('one'), queued('two')] });
      await stage.kill();
      stage.launch();
      await stage.shows({ messages: [queued('one'), queued('two')] });
      stage.server.reachable = true;
      await stage.shows({ messages: [sent('one'), sent('two')] });
      await stage.settles(sent('one'), sent('two'));
      stage.stored('one', 'two');
    },
  },
  {
    name: 'restart-after-lost-acknowledgement',
    shows:
      'The client is ended before the acknowledgement of a stored message: after its restart the message is there once.',
    why: 'The local_id survives the restart, so that sending again finds the stored message.',
    async run(stage) {
      const answer = Promise.withResolvers<void>();
      stage.server.outcomes.push({ after: answer.promise, lost: true });
      await stage.start();
      await stage.send('tea');
      await stage.until('the message', () => stage.seen('send').length === 1);
      stage.server.reachable = false;
      answer.resolve();
      await stage.until('the stored message', () => stage.world.messages.length === 1);
      await stage.kill();
      stage.server.reachable = true;
      await stage.start();
      await stage.shows({ messages: [sent('tea')] });
      await stage.settles(sent('tea'));
      stage.stored('tea');
    },
  },
];
