import { readFileSync } from 'node:fs';
import { z } from 'zod';

const secrets = new WeakSet<z.core.$ZodType>();

/** Marks a setting as secret: it can also be read from the file at `<NAME>_FILE`. */
export function secret<Schema extends z.ZodType>(schema: Schema): Schema {
  // Clone, because the same schema may be used for a setting that is not secret.
  const marked = schema.clone();
  secrets.add(marked);
  return marked;
}

/** Setting names that are marked with `secret` in `schema`. */
export function secretNames(schema: z.ZodType): string[] {
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape).flatMap(([name, setting]) => (secrets.has(setting) ? [name] : []));
}

export interface ResolvedSecrets {
  /** The environment; the content of each file replaces its `<NAME>_FILE`. */
  environment: Record<string, string | undefined>;
  /** One line per setting that cannot be read, without values. */
  problems: string[];
}

/** Reads the files of `names` and removes one trailing newline, which editors add. */
export function resolveSecretFiles(
  names: readonly string[],
  environment: Record<string, string | undefined>,
): ResolvedSecrets {
  const resolved = { ...environment };
  const problems: string[] = [];
  for (const name of names) {
    const file = environment[`${name}_FILE`];
    if (file === undefined || file === '') continue;
    delete resolved[`${name}_FILE`];
    if ((environment[name] ?? '') !== '') {
      problems.push(`${name} and ${name}_FILE are both set; set one of them`);
      continue;
    }
    try {
      resolved[name] = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
    } catch (error) {
      problems.push(`${name}_FILE cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown error'}`);
      continue;
    }
    if (resolved[name] === '') problems.push(`${name}_FILE names an empty file`);
  }
  return { environment: resolved, problems };
}
