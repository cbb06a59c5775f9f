import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createParser } from './transports.js';

function parse(parts: readonly string[]) {
  const events: [name: string, data: string][] = [];
  const retries: number[] = [];
  const parser = createParser(
    (name, data) => void events.push([name, data]),
    (ms) => void retries.push(ms),
  );
  parts.forEach(parser);
  return { events, retries };
}

const LINES = [
  'retry: 1500',
  '',
  ': a comment',
  'id: 7',
  'event: message.new',
  'data: {"a":',
  'data: "b: c"}',
  '',
  'data:x',
  '',
  '',
];
const EXPECTED = {
  events: [
    ['message.new', '{"a":\n"b: c"}'],
    ['message', 'x'],
  ],
  retries: [1500],
};

describe('the parser of event streams', () => {
  it('reads the same events, however the stream is cut and its lines end', () => {
    const cuts = fc.array(fc.nat({ max: 200 }), { maxLength: 8 });
    fc.assert(
      fc.property(fc.constantFrom('\n', '\r\n'), cuts, (end, at) => {
        const text = LINES.join(end) + end;
        const places = [0, ...at.map((place) => place % text.length).toSorted((a, b) => a - b), text.length];
        const parts = places.slice(1).map((place, index) => text.slice(places[index], place));
        expect(parse(parts)).toEqual(EXPECTED);
      }),
    );
  });

  it('does not report an event that is not complete', () => {
    expect(parse(['event: message.new\ndata: 1\n']).events).toEqual([]);
  });
});
