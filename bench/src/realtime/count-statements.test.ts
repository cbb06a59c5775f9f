import { expect, it } from '@jest/globals';
import { countStatements } from './count-statements.js';
import type { SentStatement } from './statement-counter.js';

const sent = (connection: number, text: string, rows = 0): SentStatement => ({ connection, text, rows });

it('counts the statements and transactions of two connections whose statements alternate', () => {
  const counted = countStatements(
    [
      sent(1, 'BEGIN'),
      sent(2, 'SELECT 1', 1),
      sent(1, 'INSERT INTO a'),
      sent(2, 'UPDATE b'),
      sent(1, 'COMMIT'),
      sent(1, 'SELECT 2'),
    ],
    [],
  );
  expect(counted).toMatchObject({ statements: 6, transactions: 2 });
});

it('does not count polls that find nothing, and counts them if they find more than at rest', () => {
  const atRest = [sent(1, 'SELECT work', 0), sent(1, 'UPDATE relays', 1)];
  const busy = [sent(1, 'SELECT work', 0), sent(1, 'UPDATE relays', 1), sent(1, 'SELECT work', 1)];
  expect(countStatements(busy, atRest)).toMatchObject({ statements: 1, transactions: 0 });
});

it('counts a whole transaction if one of its statements is not a poll', () => {
  const poll = [sent(1, 'BEGIN'), sent(1, 'SELECT work', 0), sent(1, 'COMMIT')];
  const found = [sent(1, 'BEGIN'), sent(1, 'SELECT work', 1), sent(1, 'COMMIT')];
  expect(countStatements([...poll, ...found], poll)).toMatchObject({ statements: 3, transactions: 1 });
});
