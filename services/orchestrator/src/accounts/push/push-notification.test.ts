import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type AnnouncedMessage, notificationOf, withdrawalOf } from './push-notification.js';

const IDS = { id: 'm', workspaceId: 'w', conversationId: 'c' };
const answer = (more: Partial<AnnouncedMessage> = {}): AnnouncedMessage => ({
  ...IDS,
  agentName: 'Researcher',
  content: { type: 'text', text: 'The report\nis ready.' },
  status: 'delivered',
  ...more,
});
const card: AnnouncedMessage = answer({
  content: {
    type: 'action_card',
    title: 'Send a mail to Bob?',
    description: 'secret',
    actions: [],
    selected_action_id: null,
  },
});

describe('a push notification', () => {
  it('names the agent and shows the start of its answer', () => {
    expect(notificationOf(answer(), 3, true)).toEqual({
      collapseKey: 'm',
      group: 'c',
      alert: { title: 'Researcher', body: 'The report is ready.' },
      badge: 3,
      data: { type: 'answer', workspace_id: 'w', conversation_id: 'c', message_id: 'm' },
    });
  });

  it('shows the title of a card that waits for a decision', () => {
    expect(notificationOf(card, 1, true)).toMatchObject({
      alert: { title: 'Your decision is needed', body: 'Send a mail to Bob?' },
      data: { type: 'decision' },
    });
  });

  it('does not show the text of a failed answer', () => {
    const failed = answer({ status: 'failed', content: { type: 'text', text: 'half of a' } });
    expect(notificationOf(failed, 1, true)).toMatchObject({
      alert: { title: 'Researcher', body: 'Your request could not be answered.' },
      data: { type: 'failure' },
    });
  });

  it.each([
    ['an answer', answer(), 'New answer', 'Open the app to read it.'],
    ['a card', card, 'Your decision is needed', 'Open the app to decide.'],
    ['a failed answer', answer({ status: 'failed' }), 'No answer', 'Your request could not be answered.'],
  ])('contains neither names nor text without a preview: %s', (_what, message, title, body) => {
    expect(notificationOf(message, 1, false).alert).toEqual({ title, body });
  });

  it('is one line without characters that hide or reorder text', () => {
    const text = 'pay \u202etxt.exe\u202c\u200b\u2066now';
    expect(notificationOf(answer({ content: { type: 'text', text } }), 1, true).alert?.body).toBe('pay txt.exenow');
  });

  it('has a title and a body of limited length for any message', () => {
    const any = fc.string({ unit: 'binary', maxLength: 5_000 });
    fc.assert(
      fc.property(any, any, (agentName, text) => {
        const { alert } = notificationOf(answer({ agentName, content: { type: 'text', text } }), 1, true);
        const { title = '', body = '' } = alert ?? {};
        expect({ title: title.length > 0, body: body.length > 0 }).toEqual({ title: true, body: true });
        expect([...title].length).toBeLessThanOrEqual(80);
        expect([...body].length).toBeLessThanOrEqual(140);
        expect(body.isWellFormed()).toBe(true);
      }),
    );
  });
});

describe('the withdrawal of notifications', () => {
  const IN = { workspaceId: 'w', conversationId: 'c' };

  it('names the messages, and shows nothing', () => {
    expect(withdrawalOf({ ...IN, messageIds: ['m', 'n'] }, 2)).toEqual({
      collapseKey: 'c',
      group: 'c',
      alert: null,
      badge: 2,
      data: { type: 'withdrawal', workspace_id: 'w', conversation_id: 'c', message_ids: 'm,n' },
    });
  });

  it('replaces the only notification that it is about', () => {
    expect(withdrawalOf({ ...IN, messageIds: ['m'] }, 0).collapseKey).toBe('m');
  });
});
