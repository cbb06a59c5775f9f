import { readFileSync } from 'node:fs';
import { z } from 'zod';

const secrets = new WeakSet<z.core.$ZodType>();

/** Marks a setting as secret: it can then also be given as a file that `<NAME>_FILE` names. */
export function secret<Schema extends z.ZodType>(schema: Schema): Schema {
  // A copy: the same schema may be used for a setting that is not secret.
  const marked = schema.clone();
  secrets.add(marked);
  return marked;
}

/** The names of the settings of `schema` that `secret` marked. */
export function secretNames(schema: z.ZodType): string[] {
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape).flatMap(([name, setting]) => (secrets.has(setting) ? [name] : []));
}

export interface ResolvedSecrets {
  /** The environment with the content of each file in place of its `<NAME>_FILE`. */
  environment: Record<string, string | undefined>;
  /** A line for each setting that cannot be read; none contains a value. */
  problems: string[];
}

/** Reads the files of `names`. One newline at the end of a file is not part of the secret: editors add it. */
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
