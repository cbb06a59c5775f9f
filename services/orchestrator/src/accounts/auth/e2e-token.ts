import { ConfigError, resolveSecretFiles } from '@uswarm/service-kit';

/** Reads the bypass token from E2E_TOKEN or the file at E2E_TOKEN_FILE. @throws ConfigError */
export function e2eToken(environment: Record<string, string | undefined>): string | undefined {
  const { environment: resolved, problems } = resolveSecretFiles(['E2E_TOKEN'], environment);
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  return resolved['E2E_TOKEN'] === '' ? undefined : resolved['E2E_TOKEN'];
}
