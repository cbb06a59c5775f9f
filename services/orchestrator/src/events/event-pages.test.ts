import { describe, expect, it } from '@jest/globals';
import type { DurableEventName } from '@uswarm/contract';
import fc from 'fast-check';
import { FIELD_BYTES } from '../records/stored-bytes.js';
import { fittingPrefix, withBodies } from './event-pages.js';
import type { SizedEvent } from '../records/event-log.js';

const TYPES: readonly DurableEventName[] = ['message.new', 'message.updated', 'message.done', 'message.deleted'];
const events = fc.array(
  fc.record({
    type: fc.constantFrom(...TYPES),
    subjectId: fc.constantFrom('a', 'b', 'c'),
    bytes: fc.nat({ max: 5_000 }),
  }),
  { minLength: 1, maxLength: 30 },
);
const sharesBody = ({ type }: { type: DurableEventName }): boolean =>
  type === 'message.new' || type === 'message.updated';
type PageEvent = Pick<SizedEvent, 'type' | 'subjectId' | 'bytes'>;

describe('a page of events', () => {
  it('has every creation, the last change of each object, and all bodies of other events', () => {
    fc.assert(
      fc.property(events, (page) => {
        const kept = withBodies(page);
        const keys = kept.filter(sharesBody).map(({ type, subjectId }) => `${type} ${subjectId}`);
        expect(keys).toEqual([...new Set(keys)]);
        for (const event of page.filter((one) => !kept.includes(one))) {
          const later = page.slice(page.indexOf(event) + 1);
          expect(sharesBody(event)).toBe(true);
          expect(later.some(({ type, subjectId }) => type === event.type && subjectId === event.subjectId)).toBe(true);
        }
      }),
    );
  });

  it('is the longest prefix whose bodies fit, and never empty', () => {
    const size = (page: PageEvent[]): number => {
      const first = page.filter(
        (event, at) =>
          !sharesBody(event) ||
          page.findIndex(({ type, subjectId }) => type === event.type && subjectId === event.subjectId) === at,
      );
      return first.reduce((sum, { bytes }) => sum + bytes + FIELD_BYTES, 0);
    };
    fc.assert(
      fc.property(events, fc.nat({ max: 50_000 }), (all, maxBytes) => {
        const page = fittingPrefix(all, maxBytes);
        expect(page).toEqual(all.slice(0, page.length));
        expect(page.length === 1 || size(page) <= maxBytes).toBe(true);
        expect(page.length === all.length || size(all.slice(0, page.length + 1)) > maxBytes).toBe(true);
      }),
    );
  });
});
