import { AgentActivity } from '@uswarm/runtime-proto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { toolEvent, type TurnEventBody } from '../turns/turn-events.js';
import { createReplyWriter } from './reply-writer.js';

/** A writer whose timer the test fires. */
function setUp() {
  const events: TurnEventBody[] = [];
  let due: (() => void) | undefined;
  const writer = createReplyWriter({
    emit: (event) => events.push(event),
    now: () => 0,
    schedule: (task) => {
      due = task;
      return () => void (due = undefined);
    },
  });
  return { writer, events, fire: () => due?.() };
}

const chunks = (events: readonly TurnEventBody[]): string[] =>
  events.flatMap((event) => (event.case === 'chunk' ? [event.value.text] : []));

describe('a reply writer', () => {
  it('emits the first text immediately and joins the text of each later interval', () => {
    const { writer, events, fire } = setUp();
    writer.write('a');
    expect(chunks(events)).toEqual(['a']);
    writer.write('b');
    writer.write('c');
    expect(chunks(events)).toEqual(['a']);
    fire();
    writer.write('d');
    expect(chunks(events)).toEqual(['a', 'bc']);
    fire();
    expect(chunks(events)).toEqual(['a', 'bc', 'd']);
  });

  it('emits text immediately after an interval without text', () => {
    const { writer, events, fire } = setUp();
    writer.write('a');
    fire();
    writer.write('b');
    expect(chunks(events)).toEqual(['a', 'b']);
  });

  it('emits buffered text before any other event', () => {
    const { writer, events } = setUp();
    writer.write('a');
    writer.write('b');
    writer.event(toolEvent({ callId: 'c' }));
    expect(events.map((event) => event.case)).toEqual(['activity', 'chunk', 'chunk', 'tool']);
  });

  it('emits an activity once', () => {
    const { writer, events } = setUp();
    writer.activity(AgentActivity.THINKING);
    writer.activity(AgentActivity.THINKING);
    writer.write('a');
    writer.write('b');
    expect(events.map(({ value }) => ('activity' in value ? value.activity : undefined))).toEqual([
      AgentActivity.THINKING,
      AgentActivity.WRITING,
    ]);
  });

  it('begins a paragraph only between two texts', () => {
    const { writer } = setUp();
    writer.breakParagraph();
    writer.write('One.');
    writer.breakParagraph();
    writer.write('Two.\n');
    writer.breakParagraph();
    writer.write('Three.');
    expect(writer.text).toBe('One.\n\nTwo.\nThree.');
  });

  it('emits chunks that add up to the reply, whenever the timer fires', () => {
    const step = fc.oneof(
      fc.string().map((text) => ({ text })),
      fc.constantFrom('fire' as const, 'break' as const, 'event' as const),
    );
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const { writer, events, fire } = setUp();
        for (const next of steps) {
          if (next === 'fire') fire();
          else if (next === 'break') writer.breakParagraph();
          else if (next === 'event') writer.event(toolEvent({}));
          else writer.write(next.text);
        }
        writer.end();
        expect(chunks(events).join('')).toBe(writer.text);
        expect(chunks(events)).not.toContain('');
      }),
    );
  });
});
