import { createPublicKey } from 'node:crypto';
import { port } from '@uswarm/service-kit';
import { z } from 'zod';
import { type ModelVariables, modelVariables, providerOf } from './models/providers.js';

/** Charts and shells often pass a PEM on one line, with escaped `\n`. */
const publicKey = z.string().transform((text, context) => {
  try {
    const key = createPublicKey(text.replaceAll('\\n', '\n'));
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {
    // Reported below without the reason, which may quote the value.
  }
  context.addIssue({ code: 'custom', message: 'must be an Ed25519 public key in PEM form' });
  return z.NEVER;
});

const milliseconds = z.coerce.number().int().min(0);

const variables = z.object({
  USWARM_WORKSPACE_ID: z.string(),
  USWARM_USER_ID: z.string(),
  /** The runtime's name in a pool: it serves the workspace that `Bind` names. */
  USWARM_POOL_MEMBER: z.string().optional(),
  USWARM_RUNTIME_HOST: z.string().optional(),
  USWARM_RUNTIME_PORT: port.default(42_618),
  USWARM_CALL_PUBLIC_KEY: publicKey,
  SVC_MCP_ENDPOINT: z.url({ protocol: /^https?$/ }).optional(),
  USWARM_MCP_TOKEN: z.string().optional(),
  ...modelVariables,
  USWARM_IDLE_EXIT_MS: milliseconds.default(0),
  USWARM_TERMINATION_GRACE_S: z.coerce.number().int().min(1).max(86_400).default(5),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
});

const UNBOUND = { USWARM_WORKSPACE_ID: '', USWARM_USER_ID: '' };

const environment = z.preprocess(
  (env: Record<string, string>) => (env['USWARM_POOL_MEMBER'] === undefined ? env : { ...UNBOUND, ...env }),
  variables,
);

/** Runtime environment. */
export const configSchema = environment.transform((env) => ({
  /** Empty until the runtime is bound. */
  workspaceId: env.USWARM_WORKSPACE_ID,
  poolMember: env.USWARM_POOL_MEMBER,
  host: env.USWARM_RUNTIME_HOST,
  port: env.USWARM_RUNTIME_PORT,
  callPublicKey: env.USWARM_CALL_PUBLIC_KEY,
  mcp: env.SVC_MCP_ENDPOINT === undefined ? undefined : { endpoint: env.SVC_MCP_ENDPOINT, token: env.USWARM_MCP_TOKEN },
  provider: providerOf(env),
  modelVariables: env as ModelVariables,
  /** Milliseconds without a call or a turn after which the process exits; 0 disables it. */
  idleExitMs: env.USWARM_IDLE_EXIT_MS,
  /** Milliseconds between SIGTERM and SIGKILL: the pod's grace period. Running turns may use most of it. */
  graceMs: env.USWARM_TERMINATION_GRACE_S * 1_000,
  logLevel: env.LOG_LEVEL,
}));

export type RuntimeConfig = z.output<typeof configSchema>;
