import { loadConfig, namespacedName } from '@uswarm/service-kit';
import { z } from 'zod';
import { namespaces } from '../config.js';

const schema = z.object({
  /** The ConfigMap that is the drain flag, `<namespace>/<name>`. */
  DRAIN_FLAG: namespacedName,
  /** Identifies the Job across restarts of its pod. */
  DRAIN_RUN: z.string().min(1),
  RUNTIME_NAMESPACES: namespaces,
  DRAIN_GRACE_S: z.coerce.number().int().min(0).default(60),
  DRAIN_TIMEOUT_S: z.coerce.number().int().min(1).default(240),
  /** Objects that are kept when the release is removed, one per line, for the log. */
  DRAIN_KEEPS: z.string().default(''),
});

export type DrainConfig = z.output<typeof schema>;

const finishSchema = z.object({
  /** The controller's Lease, `<namespace>/<name>`; unset with Metacontroller. */
  CONTROLLER_LEASE: namespacedName.optional(),
});

export type FinishConfig = z.output<typeof finishSchema>;

const cleanupSchema = schema.pick({ DRAIN_TIMEOUT_S: true }).extend({
  RELEASE_NAMESPACE: z.string().min(1),
  CONTROLLER_LEASE: namespacedName.optional(),
  /** Comma-separated Deployment and Service names. Nothing is deleted while one of them exists. */
  RELEASE_COMPONENTS: namespaces,
});

export type CleanupConfig = z.output<typeof cleanupSchema>;

type Environment = Record<string, string | undefined>;

/** @throws ConfigError */
export const loadDrainConfig = (env: Environment): DrainConfig => loadConfig(schema, env);

/** @throws ConfigError */
export const loadFinishConfig = (env: Environment): FinishConfig => loadConfig(finishSchema, env);

/** @throws ConfigError */
export const loadCleanupConfig = (env: Environment): CleanupConfig => loadConfig(cleanupSchema, env);
