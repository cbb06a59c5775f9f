import { expect, it } from '@jest/globals';
import { showTrace } from './show-trace.js';

const at = (second: number): string => new Date(Date.UTC(2026, 10, 30, 1, 0, second)).toISOString();
const step = { status: null, name: null, finished_at: null, tokens: null, cost_micros: null, turn_id: null };

it('a trace shows each step with its offset, duration and tokens', () => {
  const text = showTrace({
    turn_id: 't1',
    workspace_id: 'w1',
    conversation_id: 'c1',
    agent: 'manager',
    status: 'failed',
    error_code: 'runtime_lost',
    delegated_by: null,
    created_at: at(0),
    started_at: at(2),
    finished_at: at(9),
    steps: [
      {
        ...step,
        type: 'model_call',
        name: 'gpt\u001B',
        status: 'completed',
        started_at: at(2),
        finished_at: at(4),
        tokens: 1_300,
      },
      { ...step, type: 'delegation', name: 'scout', status: 'running', started_at: at(5), turn_id: 't2' },
    ],
    truncated: true,
  });
  expect(text).toBe(
    [
      't1',
      '  workspace   w1',
      '  agent       manager',
      '  status      failed (runtime_lost)',
      '  queued      2026-11-30T01:00:00.000Z',
      '  started     after 2.0s',
      '  ended       after 9.0s',
      '',
      'AT     TOOK  STEP        NAME             STATUS     TOKENS',
      '+2.0s  2.0s  model_call  gpt              completed  1,300',
      '+5.0s  -     delegation  scout (turn t2)  running    -',
      'More steps are not shown.',
    ].join('\n'),
  );
});
