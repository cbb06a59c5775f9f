import { z } from 'zod';
import { resolveSecretFiles, secretNames } from './secret-files.js';

/** Settings are missing or invalid; the message lists each of them on a separate line. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/**
 * Parses the environment once, at start-up. Empty strings count as unset, because charts can set a variable to an
 * empty string but cannot remove it. A setting marked with `secret` can be read from a file: `<NAME>_FILE` is its path.
 *
 * @throws ConfigError that lists each invalid variable without its value, which may be a secret
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

const NO_PORT = 'must be a port number up to 65535';

/** A TCP port; 0 lets the system choose. */
export const port = z.coerce.number(NO_PORT).int(NO_PORT).min(0, NO_PORT).max(65_535, NO_PORT);

/** A boolean: `true`, `1`, `yes`, `on` or their opposites. */
export const flag = z.stringbool();

/** A comma-separated list; surrounding spaces and empty entries are removed. */
export const list = z.string().transform((text) =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== ''),
);

/** `<namespace>/<name>` for a Kubernetes object. */
export const namespacedName = z
  .string()
  .regex(/^[a-z0-9][-a-z0-9]*\/[a-z0-9][-.a-z0-9]*$/, 'must be <namespace>/<name>')
  .transform((text) => {
    const [namespace = '', name = ''] = text.split('/');
    return { namespace, name };
  });

/** A JSON value that is validated against `schema`. */
export function json<Schema extends z.ZodType>(schema: Schema) {
  return z
    .string()
    .transform((text, context) => {
      try {
        return JSON.parse(text) as unknown;
      } catch {
        context.addIssue({ code: 'custom', message: 'must be JSON' });
        return z.NEVER;
      }
    })
    .pipe(schema);
}
