import { setImmediate } from 'node:timers/promises';

/** A statement has a deadline, and its rows are several times in memory. */
const ROWS = 200;
const CHARACTERS = 1024 ** 2;

/** Other work can run between two batches. */
export async function* batches<Row>(rows: AsyncIterable<Row>): AsyncGenerator<Row[]> {
  let batch: Row[] = [];
  let characters = 0;
  for await (const row of rows) {
    characters += JSON.stringify(row).length;
    if (batch.push(row) < ROWS && characters < CHARACTERS) continue;
    yield batch;
    await setImmediate();
    [batch, characters] = [[], 0];
  }
  if (batch.length > 0) yield batch;
}
