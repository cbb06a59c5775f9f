import { describe, expect, it } from '@jest/globals';
import { type ModelStep, startModelServer } from '@uswarm/dev-servers';
import { HistoryRole } from '@uswarm/runtime-proto';
import { portOf, turnsWith } from '../../test/real-turn.js';
import { answer, run } from '../../test/scripted-turn.js';
import { ModelError } from '../models/port.js';

const BUDGETED = { budgeted: true, journaled: true };
const spent = () => new ModelError('token_limit_reached', 'The budget is spent.', { budgetReached: true });
const TURN = {
  turnId: 't',
  generation: 1,
  agent: { id: 'a' },
  history: [{ role: HistoryRole.USER, text: 'Hello' }],
  firstStep: 5,
};

describe('requests to a provider', () => {
  async function ask(script: ModelStep[][], budgeted: boolean) {
    let calls = 0;
    /** The number of requests that the server has received, at each event. */
    const received: [name: string, requests: number][] = [];
    const server = await startModelServer({ script: () => script[calls++] ?? [{ text: 'The end.' }] });
    try {
      const { events } = await turnsWith(portOf('openai', server.baseUrl))(
        { ...TURN, budgeted },
        { onEvent: ({ case: name }) => void received.push([name, server.requests.length]) },
      );
      return { events, received };
    } finally {
      await server.close();
    }
  }

  it('are announced before they are sent, each retry as a separate step', async () => {
    const { events, received } = await ask(
      [[{ error: { status: 503 } }], [{ text: 'Hi' }, { disconnect: true }]],
      true,
    );
    const steps = events.flatMap((event): object[] => {
      if (event.case === 'attempt') return [{ attempt: event.value.step }];
      if (event.case === 'usage') return [{ usage: event.value.step, refused: event.value.refused }];
      return [];
    });
    expect(steps).toEqual([
      { attempt: 5 },
      { usage: 5, refused: true },
      { attempt: 6 },
      { usage: 6, refused: false },
      { attempt: 7 },
      { usage: 7, refused: false },
    ]);
    expect(received.filter(([name]) => name === 'attempt').map(([, requests]) => requests)).toEqual([0, 1, 2]);
  });

  it('are announced with their prompt and their output limit', async () => {
    const { events } = await ask([], true);
    const attempt = events.find((event) => event.case === 'attempt')?.value;
    expect(attempt).toMatchObject({ provider: 'openai', model: 'scripted', metered: false });
    expect(Number(attempt?.promptTokens)).toBeGreaterThan(100);
    expect(Number(attempt?.maxOutputTokens)).toBe(4_096);
  });

  it('are not announced to an orchestrator that does not reserve tokens', async () => {
    const { events } = await ask([[{ error: { status: 503 } }]], false);
    expect(events.map((event) => event.case)).not.toContain('attempt');
    expect(events.filter((event) => event.case === 'usage')).toHaveLength(1);
  });
});

describe('a call that the gateway refuses because of the budget of the turn', () => {
  it('is repeated after the orchestrator has committed the question', async () => {
    const { asked, events, done } = await run([[spent()], answer('Done.')], { turn: BUDGETED });
    expect(events.flatMap((event) => (event.case === 'attempt' ? [event.value.metered] : []))).toEqual([true]);
    expect(asked).toHaveLength(2);
    expect(done.text).toBe('Done.');
  });

  it('fails the turn if it is refused again and again', async () => {
    const { asked, done } = await run([[spent()]], { turn: BUDGETED });
    expect(asked).toHaveLength(11);
    expect(done.errorCode).toBe('token_limit_reached');
  });

  it('fails the turn of an orchestrator that does not know the question', async () => {
    const { asked, events, done } = await run([[spent()]]);
    expect(asked).toHaveLength(1);
    expect(events.map((event) => event.case)).not.toContain('attempt');
    expect(done.errorCode).toBe('token_limit_reached');
  });
});
