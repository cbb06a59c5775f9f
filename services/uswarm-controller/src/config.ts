import { DNS_LABEL } from '@uswarm/contract/userswarm';
import { flag, headerSecret, loadConfig, port, secret } from '@uswarm/service-kit';
import { z } from 'zod';
import { HOOK_TIMEOUT_MS, RESYNC_S, ROLLOUT_LIMITS, MAX_CONCURRENT_STARTS, WORKERS } from './options.js';

export const namespaces = z
  .string()
  .transform((text) => [...new Set(text.split(',').map((name) => name.trim()))].filter((name) => name !== ''))
  .pipe(z.array(z.string().regex(DNS_LABEL, 'must be a comma-separated list of namespaces')).min(1));

const schema = z.object({
  SYNC_URL: z.url({ protocol: /^https?$/ }),
  SYNC_TOKEN: secret(headerSecret(32)),
  SYNC_TIMEOUT_MS: z.coerce.number().int().min(100).default(HOOK_TIMEOUT_MS),
  RUNTIME_NAMESPACES: namespaces,
  RESYNC_S: z.coerce.number().int().min(1).default(RESYNC_S),
  WORKERS: z.coerce.number().int().min(1).max(256).default(WORKERS),
  ROLLOUT_MAX_CONCURRENT: z.coerce.number().int().min(1).default(ROLLOUT_LIMITS.maxConcurrent),
  /** 0 disables the deadline. */
  ROLLOUT_DEADLINE_S: z.coerce.number().int().min(0).default(ROLLOUT_LIMITS.deadlineS),
  /** A runtime that began to wait before this time is replaced immediately, even if it is busy. */
  ROLLOUT_FORCED_BEFORE: z.iso
    .datetime({ offset: true })
    .transform((text) => new Date(text))
    .optional(),
  ROLLOUT_MAX_FAILURES: z.coerce.number().int().min(1).default(ROLLOUT_LIMITS.maxFailures),
  /** Maximum number of runtimes that start concurrently; 0 disables the limit. */
  START_MAX_CONCURRENT: z.coerce.number().int().min(0).default(MAX_CONCURRENT_STARTS),
  LEADER_ELECTION: flag.default(true),
  LEASE_NAMESPACE: z.string().optional(),
  LEASE_NAME: z.string().default('uswarm-controller'),
  POD_NAME: z.string().optional(),
  EVENTS_NAMESPACE: z.string().default('default'),
  /** `/livez`, `/readyz`, `/metrics`. */
  OPS_PORT: port.default(8081),
});

const checked = schema.superRefine((settings, context) => {
  for (const name of ['LEASE_NAMESPACE', 'POD_NAME'] as const) {
    if (settings.LEADER_ELECTION && settings[name] === undefined) {
      context.addIssue({ code: 'custom', path: [name], message: 'is required for LEADER_ELECTION' });
    }
  }
});

export type ControllerConfig = z.output<typeof schema>;

/** @throws ConfigError */
export const loadControllerConfig = (env: Record<string, string | undefined>): ControllerConfig =>
  loadConfig(checked, env);
