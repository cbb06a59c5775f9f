import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { pathOf, readPush } from './push-payload.js';

const DATA = { type: 'answer', workspace_id: 'w', conversation_id: 'c', message_id: 'm' };

describe('a push that the service worker receives', () => {
  it('shows title and text, and replaces an earlier notification of the message', () => {
    const payload = { title: 'Researcher', body: 'The report is ready.', badge: 3, data: DATA };
    expect(readPush(JSON.stringify(payload))).toEqual({
      withdrawn: [],
      shown: { title: 'Researcher', body: 'The report is ready.', tag: 'm', data: DATA },
      badge: 3,
    });
  });

  it('closes the notifications of a withdrawal, and shows nothing', () => {
    const payload = { badge: 0, data: { type: 'withdrawal', message_ids: 'm,n' } };
    expect(readPush(JSON.stringify(payload))).toEqual({ withdrawn: ['m', 'n'], shown: undefined, badge: 0 });
  });

  it('shows something for any other payload, because browsers require it', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        const { shown, withdrawn } = readPush(text);
        expect([shown?.title, ...withdrawn].some((value) => typeof value === 'string')).toBe(true);
      }),
    );
  });

  it('opens the conversation, and the start of the page without one', () => {
    expect([pathOf(DATA), pathOf({ ...DATA, workspace_id: '../x' }), pathOf(null)]).toEqual([
      '/w/w/c/c',
      '/w/..%2Fx/c/c',
      '/',
    ]);
  });
});
