import { readFileSync } from 'node:fs';
import { safeParseRequest } from '@uswarm/contract';
import { ConfigError } from '@uswarm/service-kit';
import type { z } from 'zod';

/**
 * Reads a JSON file that a setting names.
 *
 * @throws ConfigError that lists each problem with its place, such as `AGENTS_FILE: 1.skills.0: …`
 */
export function readOperatorFile<Schema extends z.ZodType>(
  setting: string,
  file: string,
  schema: Schema,
): z.output<Schema> {
  const { data, error } = safeParseRequest(schema, readJson(setting, file));
  if (error === undefined) return data;
  const lines = error.issues.map(({ path, message }) => [setting, path.join('.'), message].filter(Boolean));
  throw new ConfigError(lines.map((line) => line.join(': ')).join('\n'));
}

function readJson(setting: string, file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new ConfigError(`${setting} is not valid: ${error instanceof Error ? error.message : String(error)}`);
  }
}
