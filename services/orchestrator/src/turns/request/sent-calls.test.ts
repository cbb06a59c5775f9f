import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { SentCall } from '../receipts/receipts.store.js';
import { describeSentCalls } from './sent-calls.js';

const call = (minute: number, more: Partial<SentCall> = {}): SentCall => ({
  tool: 'send_mail',
  arguments: '{"to": ["bob@example.com"]}',
  status: 'succeeded',
  sentAt: new Date(Date.UTC(2026, 10, 24, 8, minute)),
  ...more,
});

describe('the calls that earlier turns sent', () => {
  it('are listed oldest first, as a record of the platform', () => {
    expect(describeSentCalls([call(2, { status: 'sent' }), call(1)])).toBe(
      [
        'Recorded by the platform, not written by the user: calls that agents have already sent to other apps in this ' +
          'conversation. Do not repeat one unless the user asks for it after this.',
        '- 2026-11-24T08:01:00.000Z send_mail {"to": ["bob@example.com"]}: succeeded',
        '- 2026-11-24T08:02:00.000Z send_mail {"to": ["bob@example.com"]}: unknown',
      ].join('\n'),
    );
  });

  it('are not mentioned if there are none', () => {
    expect(describeSentCalls([])).toBe('');
  });

  it('have one line each and fit into 4 KiB, whatever their arguments are', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'binary', maxLength: 400 }), { minLength: 1, maxLength: 20 }),
        (inputs) => {
          const text = describeSentCalls(inputs.map((input, index) => call(60 - index, { arguments: input })));
          expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4_096);
          const lines = text.split('\n').slice(1);
          expect(lines.length).toBeGreaterThan(0);
          expect(lines.every((line) => line.startsWith('- 2026-'))).toBe(true);
        },
      ),
    );
  });
});
