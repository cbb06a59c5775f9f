import { text } from 'node:stream/consumers';
import { storable } from '@uswarm/service-kit';
import { jsonLines, type SwarmFile, type Table, tablePath } from '@uswarm/swarm-file';
import type { z } from 'zod';
import { ImportFailed } from './import-failed.js';

export interface Restoring {
  importId: string;
  userId: string;
  file: SwarmFile;
}

/** Postgres stores neither NUL nor half characters. The reader has limited the depth. */
function stored<Value>(value: Value): Value {
  if (typeof value === 'string') return storable(value) as Value;
  if (Array.isArray(value)) return value.map(stored) as Value;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [storable(key), stored(child)])) as Value;
}

/** @throws ImportFailed `rows_invalid` */
export function parsed<Schema extends z.ZodType>(schema: Schema, value: unknown, path: string): z.output<Schema> {
  const { data, error } = schema.safeParse(value);
  if (error !== undefined) throw new ImportFailed('rows_invalid', `${path}: ${error.issues[0]?.path.join('.')}`);
  return stored(data);
}

/** @throws ImportFailed `rows_invalid`; `limit_reached` above `maxRows` */
export async function* rowsOf<Schema extends z.ZodType>(
  { file }: Pick<Restoring, 'file'>,
  table: Table,
  schema: Schema,
  maxRows: number,
): AsyncGenerator<z.output<Schema>> {
  const path = tablePath(table);
  let count = 0;
  for await (const row of jsonLines(await file.open(path), path)) {
    count += 1;
    if (count > maxRows) throw new ImportFailed('limit_reached', `${path} has too many rows`);
    yield parsed(schema, row, path);
  }
}

/** @throws ImportFailed `too_large` */
export async function shortText(file: SwarmFile, path: string, maxBytes: number): Promise<string> {
  if ((file.sizeOf(path) ?? 0) > maxBytes) throw new ImportFailed('too_large', `${path} is too large`);
  return text(await file.open(path));
}
