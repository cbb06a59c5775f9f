import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { CLIENT_EVENTS } from '../events/client.js';
import { ROUTES, type RouteDefinition } from '../routes/index.js';
import { EVENT_EXAMPLES } from './event-examples.js';

const page = readFileSync(new URL('../../../../docs/realtime.md', import.meta.url), 'utf8');
const section = (title: string): string => page.split('\n## ').find((text) => text.startsWith(`${title}\n`)) ?? '';

describe('docs/realtime.md', () => {
  const positions = section('Positions');

  it('lists the responses that have a position', () => {
    const listed = [...positions.matchAll(/^- `(\w+ \/\S+)`$/gm)].map(([, route]) => route);
    const routes: readonly RouteDefinition[] = ROUTES;
    const withPosition = routes.filter((route) => route.position !== undefined);
    expect(listed).toEqual(withPosition.map(({ method, path }) => `${method.toUpperCase()} ${path}`));
  });

  it('shows a subscription that begins after a position, as the AsyncAPI document does', () => {
    const [, json = ''] = /```json\n([^]*?)```/.exec(positions) ?? [];
    const shown: unknown = JSON.parse(json);
    expect(shown).toEqual(EVENT_EXAMPLES['workspace.subscribe']);
    expect(CLIENT_EVENTS['workspace.subscribe'].payload.safeParse(shown).success).toBe(true);
  });

  it('shows a condition that is true for the events that end an answer only', () => {
    const [, code = ''] = /```js\n([^]*?)```/.exec(section('The end of an answer')) ?? [];
    // The page is the program.
    const isAnswered = new Function('payload', 'questionId', `${code}; return isAnswered;`) as (
      payload: unknown,
      questionId: string,
    ) => boolean;
    const message = { in_reply_to: 'question' };
    const ends = [
      { message, answer_ended: true },
      { ...message, answer_ended: true },
    ];
    const others = [
      { message },
      { message, answer_ended: false },
      { message: {}, answer_ended: true },
      { answer_ended: true },
    ];
    expect(ends.map((payload) => isAnswered(payload, 'question'))).toEqual([true, true]);
    expect(ends.map((payload) => isAnswered(payload, 'another'))).toEqual([false, false]);
    expect(others.map((payload) => isAnswered(payload, 'question'))).toEqual(others.map(() => false));
  });
});
