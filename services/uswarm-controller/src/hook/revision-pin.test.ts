import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createRevisionPin, versionOf, type WebhookVersion } from './revision-pin.js';

const GONE_MS = 5_000;
const version = (at: number): WebhookVersion => ({ revision: `r${at}`, startedMs: at * 1_000 });

describe('the revision pin', () => {
  let time = 0;
  const create = () => createRevisionPin({ goneAfterMs: GONE_MS, now: () => time });

  it('never returns to an older revision while a newer one responds, in any order of responses', () => {
    const answers = fc.array(fc.record({ pauseMs: fc.integer({ min: 0, max: 3_000 }), at: fc.nat({ max: 3 }) }));
    const wrong = (given: readonly { pauseMs: number; at: number }[]): string[] => {
      time = 0;
      const pin = create();
      const seen: { at: number; time: number }[] = [];
      return given.flatMap(({ pauseMs, at }) => {
        time += pauseMs;
        const newer = seen.filter((other) => other.at > at);
        const recent = newer.some((other) => other.time > time - GONE_MS);
        seen.push({ at, time });
        const accepted = pin.accepts(version(at));
        if (accepted && recent) return [`${at} was accepted at ${time} although a newer one had responded recently`];
        return !accepted && newer.length === 0 ? [`${at}, the newest so far, was rejected at ${time}`] : [];
      });
    };
    expect(() =>
      fc.assert(
        fc.property(answers, (given) => wrong(given).length === 0),
        { numRuns: 500 },
      ),
    ).not.toThrow();
  });

  it('selects an older revision when the newest has not responded for some seconds, as in a rollback', () => {
    time = 0;
    const pin = create();
    expect(pin.accepts(version(2))).toBe(true);
    time = 60_000;
    // A time without calls does not mean that the newest revision stopped responding.
    expect(pin.accepts(version(1))).toBe(false);
    time += GONE_MS;
    expect(pin.accepts(version(1))).toBe(true);
    expect(pin.accepts(version(2))).toBe(true);
  });

  it('accepts all processes of one revision', () => {
    const pin = create();
    expect(pin.accepts({ revision: 'a', startedMs: 2 })).toBe(true);
    expect(pin.accepts({ revision: 'a', startedMs: 1 })).toBe(true);
    expect(pin.accepts({ revision: 'a', startedMs: 2 })).toBe(true);
  });

  it('reads the headers and treats a response without them as the oldest', () => {
    const started = '2030-01-01T00:00:00.000Z';
    const versioned = versionOf({ 'uswarm-webhook-revision': 'abc', 'uswarm-webhook-started': started });
    expect(versioned).toEqual({ revision: 'abc', startedMs: Date.parse(started) });
    const unversioned = versionOf({});
    expect(unversioned.startedMs).toBeLessThan(versioned.startedMs);
    expect(versionOf({ 'uswarm-webhook-revision': 'abc', 'uswarm-webhook-started': 'soon' })).toEqual(unversioned);
    const pin = create();
    expect(pin.accepts(unversioned)).toBe(true);
    expect(pin.accepts(versioned)).toBe(true);
    expect(pin.accepts(unversioned)).toBe(false);
  });
});
