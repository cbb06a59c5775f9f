import { createPublicKey } from 'node:crypto';
import { MODEL_PROVIDERS } from '@uswarm/contract/providers';
import { port } from '@uswarm/service-kit';
import { z } from 'zod';

/** Charts and shells often carry a PEM on one line, with `\n` spelt out. */
const publicKey = z.string().transform((text, context) => {
  try {
    const key = createPublicKey(text.replaceAll('\\n', '\n'));
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {
    // Reported below: the reason may quote the value.
  }
  context.addIssue({ code: 'custom', message: 'is no Ed25519 public key in PEM form' });
  return z.NEVER;
});

const milliseconds = z.coerce.number().int().min(0);

const environment = z.object({
  USWARM_WORKSPACE_ID: z.string(),
  USWARM_USER_ID: z.string(),
  USWARM_RUNTIME_HOST: z.string().default('0.0.0.0'),
  USWARM_RUNTIME_PORT: port.default(42_618),
  USWARM_CALL_PUBLIC_KEY: publicKey,
  SVC_MCP_ENDPOINT: z.url({ protocol: /^https?$/ }).optional(),
  USWARM_MCP_TOKEN: z.string().optional(),
  USWARM_DEFAULT_PROVIDER: z.enum(MODEL_PROVIDERS).optional(),
  USWARM_DEFAULT_MODEL: z.string().optional(),
  OPENAI_BASE_URL: z.url({ protocol: /^https?$/ }).optional(),
  OPENAI_API_KEY: z.string().optional(),
  OPENAI_MODEL: z.string().optional(),
  OPENAI_MODEL_FLASH: z.string().optional(),
  OPENAI_MODEL_SONNET: z.string().optional(),
  OPENAI_MODEL_OPUS: z.string().optional(),
  /** Above 5 minutes the HTTP client's own limits would come first. */
  USWARM_MODEL_TIMEOUT_MS: milliseconds.min(1).max(300_000).default(60_000),
  USWARM_DEMO_DELAY_MS: milliseconds.default(15),
  USWARM_IDLE_EXIT_MS: milliseconds.default(0),
  USWARM_TERMINATION_GRACE_S: z.coerce.number().int().min(1).max(86_400).default(5),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
});

/** The environment of a runtime; see `RuntimeConfig` for what becomes of it. */
export const configSchema = environment.transform((env) => ({
  workspaceId: env.USWARM_WORKSPACE_ID,
  userId: env.USWARM_USER_ID,
  host: env.USWARM_RUNTIME_HOST,
  port: env.USWARM_RUNTIME_PORT,
  callPublicKey: env.USWARM_CALL_PUBLIC_KEY,
  mcp: env.SVC_MCP_ENDPOINT === undefined ? undefined : { endpoint: env.SVC_MCP_ENDPOINT, token: env.USWARM_MCP_TOKEN },
  provider:
    env.USWARM_DEFAULT_PROVIDER ??
    ((env.OPENAI_API_KEY ?? env.OPENAI_BASE_URL) ? ('openai' as const) : ('demo' as const)),
  openai: {
    baseUrl: env.OPENAI_BASE_URL,
    apiKey: env.OPENAI_API_KEY,
    models: {
      byId: { flash: env.OPENAI_MODEL_FLASH, sonnet: env.OPENAI_MODEL_SONNET, opus: env.OPENAI_MODEL_OPUS },
      fallback: env.OPENAI_MODEL,
      preferred: env.USWARM_DEFAULT_MODEL,
    },
  },
  /** Milliseconds until the first byte of a model's answer, and between its chunks. */
  modelTimeoutMs: env.USWARM_MODEL_TIMEOUT_MS,
  /** Milliseconds between two words of the demo provider. */
  demoDelayMs: env.USWARM_DEMO_DELAY_MS,
  /** Milliseconds without a call or a turn after which the process exits; 0 for never. */
  idleExitMs: env.USWARM_IDLE_EXIT_MS,
  /** Milliseconds between SIGTERM and SIGKILL: the grace period of the pod. Running turns may use nearly all of it. */
  graceMs: env.USWARM_TERMINATION_GRACE_S * 1_000,
  logLevel: env.LOG_LEVEL,
}));

export type RuntimeConfig = z.output<typeof configSchema>;
