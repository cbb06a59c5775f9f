import type { Scenario } from '../scenario.js';
import { textContent } from '../server/world.js';

const OFFSET = 'The text of a message in progress is its first `offset` UTF-16 units and `chunk` (rule 5).';

/** The partial text of an answer: always a prefix of its final text. */
export const STREAMS: readonly Scenario[] = [
  {
    name: 'answer',
    shows: 'The text grows with each chunk, and is the final text at the end.',
    why: OFFSET,
    async run(stage) {
      await stage.start();
      const reply = stage.world.begin();
      await stage.shows({ messages: [{ role: 'agent', text: '', status: 'pending' }] });
      stage.world.chunk(reply, 'Green');
      await stage.shows({ messages: [{ text: 'Green', status: 'pending' }] });
      stage.world.chunk(reply, ' tea');
      await stage.shows({ messages: [{ text: 'Green tea', status: 'pending' }] });
      stage.world.finish(reply, 'Green tea.');
      await stage.shows({ messages: [{ text: 'Green tea.', status: 'delivered' }] });
    },
  },
  {
    name: 'failed-answer',
    shows: 'An answer that ends with a failure has the status `failed` and the text that was written.',
    why: '`message.updated` has the final text and status of an answer, however it ends.',
    async run(stage) {
      await stage.start();
      const reply = stage.world.begin();
      stage.world.chunk(reply, 'Green');
      stage.world.finish(reply, 'Green t', 'incomplete');
      await stage.shows({ messages: [{ text: 'Green t', status: 'failed' }] });
    },
  },
  {
    name: 'two-answers',
    shows: 'The chunks of two answers that are written at the same time are not mixed.',
    why: 'A chunk belongs to the message with its `message_id`.',
    async run(stage) {
      await stage.start();
      const [first, second] = [stage.world.begin(), stage.world.begin()];
      stage.world.chunk(first, 'Green');
      stage.world.chunk(second, 'Black');
      stage.world.chunk(first, ' tea');
      stage.world.chunk(second, ' coffee');
      await stage.shows({ messages: ['Green tea', 'Black coffee'] });
    },
  },
  {
    name: 'cut-in-a-chunk',
    shows:
      'The connection is lost in the middle of a chunk: the text continues after the reconnect without a loss or a repetition.',
    why: 'The state of `workspace.subscribed` has the text so far; half of an event is none.',
    async run(stage) {
      await stage.start();
      const reply = stage.world.begin();
      stage.world.chunk(reply, 'Green');
      await stage.shows({ messages: ['Green'] });
      await stage.reconnects(() => {
        if (stage.transport === 'socket') {
          stage.server.withheld(() => stage.world.chunk(reply, ' tea'));
          stage.server.cut();
        } else {
          stage.server.sse.cutWithin = 'message.chunk';
          stage.world.chunk(reply, ' tea');
        }
      });
      await stage.shows({ messages: [{ text: 'Green tea', status: 'pending' }] });
      stage.world.chunk(reply, ' and milk');
      await stage.shows({ messages: [{ text: 'Green tea and milk', status: 'pending' }] });
    },
  },
  {
    name: 'end-while-away',
    shows: 'An answer that ends while the connection is lost is complete after the reconnect.',
    why: 'The events after the position of the client follow, among them the final `message.updated`.',
    async run(stage) {
      await stage.start();
      const reply = stage.world.begin();
      stage.world.chunk(reply, 'Green');
      await stage.shows({ messages: ['Green'] });
      await stage.reconnects(() => {
        stage.server.cut();
        stage.world.chunk(reply, ' tea');
        stage.world.finish(reply, 'Green tea.');
      });
      await stage.shows({ messages: [{ text: 'Green tea.', status: 'delivered' }] });
    },
  },
  {
    name: 'retracted-text',
    shows: 'A chunk with a smaller offset replaces the end of the text.',
    why: OFFSET,
    async run(stage) {
      await stage.start();
      const reply = stage.world.begin();
      stage.world.chunk(reply, 'I like coffee');
      await stage.shows({ messages: ['I like coffee'] });
      stage.world.chunk(reply, 'tea', { offset: 7 });
      await stage.shows({ messages: ['I like tea'] });
    },
  },
  {
    name: 'repeated-chunk',
    shows: 'A chunk that arrives twice is in the text once.',
    why: OFFSET,
    async run(stage) {
      await stage.start();
      const reply = stage.world.begin();
      stage.world.chunk(reply, 'Green');
      stage.deliver(stage.world.chunk(reply, ' tea'));
      await stage.settles('Green tea');
    },
  },
  {
    name: 'missing-chunk',
    shows:
      'After a lost chunk the text stays as it was: nothing is appended over the hole, and the end has the whole text.',
    why: 'The text of a client is a prefix of the answer at all times (S17).',
    async run(stage) {
      await stage.start();
      const reply = stage.world.begin();
      stage.world.chunk(reply, 'Green');
      stage.server.withheld(() => stage.world.chunk(reply, ' tea'));
      stage.world.chunk(reply, ' and milk');
      await stage.settles('Green');
      stage.world.finish(reply, 'Green tea and milk.');
      await stage.shows({ messages: ['Green tea and milk.', 'and then'] });
    },
  },
  {
    name: 'higher-generation',
    shows: 'A higher generation begins the text again, and later chunks of the earlier generation are ignored.',
    why: 'A runtime that took over begins the answer again; texts of two generations are never mixed (rule 5, S20).',
    async run(stage) {
      await stage.start();
      const reply = stage.world.begin();
      stage.world.chunk(reply, 'Black');
      const late = stage.server.withheld(() => stage.world.chunk(reply, ' coffee'));
      stage.world.chunk(reply, 'Green', { generation: 2 });
      await stage.shows({ messages: ['Green'] });
      stage.deliver(...late);
      stage.world.chunk(reply, ' tea');
      await stage.settles('Green tea');
    },
  },
  {
    name: 'utf-16-offsets',
    shows: 'Offsets count UTF-16 code units, also behind an emoji.',
    why: OFFSET,
    async run(stage) {
      await stage.start();
      const reply = stage.world.begin();
      stage.world.chunk(reply, 'Tea 🍵');
      stage.world.chunk(reply, ' and 🍋');
      await stage.shows({ messages: ['Tea 🍵 and 🍋'] });
      stage.world.chunk(reply, 'milk', { offset: 'Tea 🍵 and '.length });
      await stage.shows({ messages: ['Tea 🍵 and milk'] });
    },
  },
  {
    name: 'chunk-before-message',
    shows: 'An answer whose `message.new` arrives after its first chunk has the whole text.',
    why: 'An answer streams from its first character although the event that created its message was lost (S11).',
    async run(stage) {
      await stage.start();
      let reply = { id: '' } as ReturnType<typeof stage.world.begin>;
      const created = stage.server.withheld(() => void (reply = stage.world.begin()));
      stage.world.chunk(reply, 'Green');
      stage.deliver(...created);
      stage.world.chunk(reply, ' tea');
      await stage.shows({ messages: [{ text: 'Green tea', status: 'pending' }] });
    },
  },
  {
    name: 'done-before-last-chunk',
    shows: 'A chunk that arrives after the end of its answer changes nothing.',
    why: 'The final `message.updated` has the whole text; the text of a message that is no longer `loading` does not grow (rule 5).',
    async run(stage) {
      await stage.start();
      const reply = stage.world.begin();
      stage.world.chunk(reply, 'Green');
      const late = stage.server.withheld(() => stage.world.chunk(reply, ' tea and'));
      stage.world.finish(reply, 'Green tea.');
      stage.deliver(...late);
      await stage.settles({ text: 'Green tea.', status: 'delivered' });
    },
  },
  {
    name: 'deleted-before-last-chunk',
    shows: 'A deleted message does not come back with a late chunk or a late update.',
    why: '`message.deleted` is the end of a message: later events about it are ignored.',
    async run(stage) {
      await stage.start();
      const reply = stage.world.begin();
      stage.world.chunk(reply, 'Green');
      await stage.shows({ messages: ['Green'] });
      const late = stage.server.withheld(() => {
        stage.world.chunk(reply, ' tea');
        stage.world.update(reply, { content: textContent('Green tea') });
      });
      stage.world.remove(reply);
      stage.deliver(...late);
      await stage.settles();
    },
  },
  {
    name: 'answer-becomes-card',
    shows: 'A reply that waits becomes a card, without a `message.done`; without its text so far.',
    why: 'The text of an answer ends when the message is no longer `loading` (rule 5).',
    async run(stage) {
      await stage.start();
      const reply = stage.world.begin();
      await stage.shows({ messages: [{ text: '', status: 'pending' }] });
      stage.world.update(reply, { content: CARD, extended_status: 'delivered' });
      await stage.shows({ messages: [{ text: 'Book the table?', status: 'delivered', selected: null }] });
    },
  },
  {
    name: 'restart-in-mid-answer',
    shows:
      'The client is ended in the middle of an answer: after its restart it has the text so far, and the rest as it is written.',
    why: 'The state of `workspace.subscribed` has the text so far.',
    async run(stage) {
      await stage.start();
      const reply = stage.world.begin();
      stage.world.chunk(reply, 'Green');
      await stage.shows({ messages: ['Green'] });
      await stage.kill();
      stage.world.chunk(reply, ' tea');
      await stage.start();
      await stage.shows({ messages: [{ text: 'Green tea', status: 'pending' }] });
      stage.world.chunk(reply, ' and milk');
      await stage.shows({ messages: [{ text: 'Green tea and milk', status: 'pending' }] });
      stage.world.finish(reply, 'Green tea and milk.');
      await stage.shows({ messages: [{ text: 'Green tea and milk.', status: 'delivered' }] });
    },
  },
  {
    name: 'restart-after-answer',
    shows:
      'The client is ended in the middle of an answer that ends meanwhile: after its restart it has the whole text.',
    why: 'A snapshot at a position and the events after it are the present state (I4).',
    async run(stage) {
      await stage.start();
      const reply = stage.world.begin();
      stage.world.chunk(reply, 'Green');
      await stage.shows({ messages: ['Green'] });
      await stage.kill();
      stage.world.finish(reply, 'Green tea.');
      await stage.start();
      await stage.shows({ messages: [{ text: 'Green tea.', status: 'delivered' }] });
    },
  },
];

export const CARD = {
  type: 'action_card' as const,
  title: 'Book the table?',
  description: 'Tonight at eight, for two.',
  actions: [
    { id: 'yes', label: 'Yes', style: 'primary' as const },
    { id: 'no', label: 'No', style: 'secondary' as const },
  ],
  selected_action_id: null,
};
