import type { Scenario } from '../scenario.js';
import { textContent } from '../server/world.js';
import { CARD } from './streams.js';

/** Scenarios in which the user acts on another device. */
export const DEVICES: readonly Scenario[] = [
  {
    name: 'message-of-another-device',
    shows: 'A message that the user sent from another device is shown, beside an own one with the same text.',
    why: 'All devices of a user have the same messages; `local_id` tells whose copy it is.',
    async run(stage) {
      await stage.start();
      stage.world.user('tea', { localId: 'of-another-device' });
      await stage.shows({ messages: [{ role: 'user', text: 'tea', local_id: 'of-another-device' }] });
      await stage.send('tea');
      await stage.shows({ messages: ['tea', { text: 'tea', state: 'sent' }] });
      await stage.settles('tea', 'tea');
    },
  },
  {
    name: 'read-on-another-device',
    shows: 'The number of unread messages rises with answers, and falls when another device reads.',
    why: 'A second device of a user sees what the first one has read (S6).',
    async run(stage) {
      await stage.start();
      stage.world.agent('one');
      stage.world.finish(stage.world.begin(), 'two');
      await stage.shows({ conversation: { unread_count: 2 } });
      stage.world.read();
      await stage.shows({ conversation: { unread_count: 0 } });
    },
  },
  {
    name: 'renamed-on-another-device',
    shows: 'A new title of the conversation, also after an older copy of it.',
    why: 'A copy with a higher `rev` is newer (rule 3).',
    async run(stage) {
      await stage.start();
      const older = stage.server.withheld(() => stage.world.rename('Tea'));
      stage.world.rename('Green tea');
      await stage.shows({ conversation: { title: 'Green tea' } });
      stage.deliver(...older);
      await stage.settles();
      await stage.shows({ conversation: { title: 'Green tea' } });
    },
  },
  {
    name: 'conversation-change-of-a-message',
    shows: 'The title that a first message gives to its conversation, and not that of an older event.',
    why: '`conversation` in an event about a message replaces the fields of a copy with a lower `rev`.',
    async run(stage) {
      await stage.start();
      const older = stage.server.withheld(() => stage.world.agent('Hello'));
      stage.world.title = 'Green tea';
      stage.world.user('Green tea', { localId: 'of-another-device' });
      await stage.shows({ conversation: { title: 'Green tea' } });
      stage.deliver(...older);
      await stage.settles('Hello', 'Green tea');
      await stage.shows({ conversation: { title: 'Green tea' } });
    },
  },
  {
    name: 'card-chosen-on-another-device',
    shows: 'A card whose action was chosen elsewhere shows the choice, and the message that it creates.',
    why: '`selected_action_id` disables all buttons: an action is chosen once.',
    async run(stage) {
      await stage.start();
      const card = stage.world.agent(CARD);
      await stage.shows({ messages: [{ text: 'Book the table?', selected: null }] });
      stage.world.update(card, { content: { ...CARD, selected_action_id: 'yes' } });
      stage.world.user('Yes', { localId: 'of-another-device' });
      await stage.settles({ text: 'Book the table?', selected: 'yes' }, { role: 'user', text: 'Yes' });
    },
  },
  {
    name: 'edited-on-another-device',
    shows:
      'A message that is edited elsewhere has the new text and its place; its old answer is removed, the new one follows.',
    why: 'An edited message keeps its id and position; its answers are deleted.',
    async run(stage) {
      await stage.start();
      const question = stage.world.user('tea?', { localId: 'of-another-device' });
      const answer = stage.world.finish(stage.world.begin(), 'Green.');
      await stage.shows({ messages: ['tea?', 'Green.'] });
      stage.world.remove(answer);
      stage.world.update(question, { content: textContent('coffee?'), edited_at: '2026-11-28T10:01:00.000Z' });
      stage.world.finish(stage.world.begin(), 'Black.');
      await stage.settles('coffee?', 'Black.');
    },
  },
];
