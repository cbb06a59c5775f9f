import { z } from 'zod';
import { resolveSecretFiles, secretNames } from './secret-files.js';

/** A setting is missing or malformed; the message names every one of them, a line each. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/**
 * Parses the environment once, at start-up. Empty strings count as unset, because charts and
 * shells can only set a variable to nothing, not remove it. A setting marked with `secret` may be
 * given as a file: `<NAME>_FILE` is its path.
 *
 * @throws ConfigError that names each bad variable; values are never printed, they may be secrets.
 */
export function loadConfig<Schema extends z.ZodType>(
  schema: Schema,
  env: Record<string, string | undefined>,
): z.output<Schema> {
  const { environment, problems } = resolveSecretFiles(secretNames(schema), env);
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  const present = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
  const result = schema.safeParse(present);
  if (result.success) return result.data;
  const lines = result.error.issues.map((issue) => {
    const name = issue.path.join('.');
    const missing = issue.code === 'invalid_type' && !(String(issue.path[0]) in present);
    return name === '' ? issue.message : `${name} ${missing ? 'is not set' : `is not valid: ${issue.message}`}`;
  });
  throw new ConfigError(lines.join('\n'));
}

const NO_PORT = 'needs a port number, at most 65535';

/** A TCP port; 0 lets the system choose. */
export const port = z.coerce.number(NO_PORT).int(NO_PORT).min(0, NO_PORT).max(65_535, NO_PORT);

/** `true`, `1`, `yes`, `on` and their opposites. */
export const flag = z.stringbool();

/** A comma-separated list; spaces and empty entries do not count. */
export const list = z.string().transform((text) =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== ''),
);

/** `<namespace>/<name>` of an object of Kubernetes. */
export const namespacedName = z
  .string()
  .regex(/^[a-z0-9][-a-z0-9]*\/[a-z0-9][-.a-z0-9]*$/, 'needs <namespace>/<name>')
  .transform((text) => {
    const [namespace = '', name = ''] = text.split('/');
    return { namespace, name };
  });

/** A value that is itself JSON, checked against `schema`. */
export function json<Schema extends z.ZodType>(schema: Schema) {
  return z
    .string()
    .transform((text, context) => {
      try {
        return JSON.parse(text) as unknown;
      } catch {
        context.addIssue({ code: 'custom', message: 'is not JSON' });
        return z.NEVER;
      }
    })
    .pipe(schema);
}
