import { expect, it } from '@jest/globals';
import { type SentStatement, tapStatements } from './statement-counter.js';

function message(type: string, body: string | Buffer = ''): Buffer {
  const content = Buffer.from(body);
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeUInt32BE(content.length + 4, 1);
  return Buffer.concat([head, content]);
}

const STARTUP = Buffer.from([0, 0, 0, 8, 0, 3, 0, 0]);

it('records simple, prepared and pipelined statements, with the rows that each returns', () => {
  const seen: SentStatement[] = [];
  const { there, back } = tapStatements(7, (statement) => seen.push(statement));
  const client = Buffer.concat([
    STARTUP,
    message('Q', 'BEGIN\0'),
    message('P', 'named\0SELECT $1\0\0\0'),
    message('B', '\0named\0'),
    message('E', '\0\0\0\0\0'),
    message('P', '\0UPDATE a\0\0\0'),
    message('B', '\0\0'),
    message('E', '\0\0\0\0\0'),
  ]);
  // In parts, as a network delivers them.
  for (let at = 0; at < client.length; at += 3) there(client.subarray(at, at + 3));
  back(Buffer.concat([message('C', 'BEGIN\0'), message('Z', 'T')]));
  back(Buffer.concat([message('D'), message('D'), message('C', 'SELECT 2\0'), message('C', 'UPDATE 5\0')]));
  expect(seen).toEqual([
    { connection: 7, text: 'BEGIN', rows: 0 },
    { connection: 7, text: 'SELECT $1', rows: 2 },
    { connection: 7, text: 'UPDATE a', rows: 0 },
  ]);
});

it('assigns no rows to statements that the server skips after an error', () => {
  const seen: SentStatement[] = [];
  const { there, back } = tapStatements(1, (statement) => seen.push(statement));
  const extended = (text: string): Buffer =>
    Buffer.concat([message('P', `\0${text}\0\0\0`), message('B', '\0\0'), message('E', '\0\0\0\0\0')]);
  there(Buffer.concat([STARTUP, extended('wrong'), extended('SELECT 1'), message('S'), message('Q', 'SELECT 2\0')]));
  back(Buffer.concat([message('E', 'SERROR\0\0'), message('Z', 'I')]));
  back(Buffer.concat([message('D'), message('C', 'SELECT 1\0')]));
  expect(seen.map(({ rows }) => rows)).toEqual([undefined, undefined, 1]);
});
