import { describe, expect, it } from '@jest/globals';
import type { DurableEventName } from '@uswarm/contract';
import fc from 'fast-check';
import { FIELD_BYTES } from '../messages/stored-bytes.js';
import { fittingPrefix, withBodies } from './event-pages.js';

const TYPES: readonly DurableEventName[] = ['message.new', 'message.updated', 'message.done', 'message.deleted'];
const events = fc.array(
  fc.record({
    type: fc.constantFrom(...TYPES),
    subjectId: fc.constantFrom('a', 'b', 'c'),
    bytes: fc.nat({ max: 5_000 }),
  }),
  { minLength: 1, maxLength: 30 },
);
const hasObject = ({ type }: { type: DurableEventName }): boolean =>
  type === 'message.new' || type === 'message.updated';

describe('a page of events', () => {
  it('has one body per object, that of its last event, and all bodies of other events', () => {
    fc.assert(
      fc.property(events, (page) => {
        const kept = withBodies(page);
        const objects = kept.filter(hasObject).map(({ subjectId }) => subjectId);
        expect(objects).toEqual([...new Set(objects)]);
        for (const event of page.filter((one) => !kept.includes(one))) {
          expect(hasObject(event)).toBe(true);
          expect(page.slice(page.indexOf(event) + 1).some((later) => later.subjectId === event.subjectId)).toBe(true);
        }
      }),
    );
  });

  it('is the longest prefix whose bodies fit, and never empty', () => {
    const size = (page: { type: DurableEventName; subjectId: string; bytes: number }[]): number => {
      const first = page.filter(
        (event, at) =>
          !hasObject(event) || page.findIndex((one) => hasObject(one) && one.subjectId === event.subjectId) === at,
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
