import { loadConfig, namespacedName } from '@uswarm/service-kit';
import { z } from 'zod';
import { namespaces } from '../config.js';

const schema = z.object({
  /** `<namespace>/<name>` of the ConfigMap that `helm uninstall` raises. */
  DRAIN_FLAG: namespacedName,
  RUNTIME_NAMESPACES: namespaces,
  DRAIN_GRACE_S: z.coerce.number().int().min(0).default(60),
  DRAIN_TIMEOUT_S: z.coerce.number().int().min(1).default(240),
  /** What the removal of the release leaves, a line each, for the log. */
  DRAIN_KEEPS: z.string().default(''),
});

export type DrainConfig = z.output<typeof schema>;

/** @throws ConfigError */
export const loadDrainConfig = (env: Record<string, string | undefined>): DrainConfig => loadConfig(schema, env);
