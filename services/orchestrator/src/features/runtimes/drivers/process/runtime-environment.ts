import { PROVIDER_VARIABLES } from '@uswarm/contract/providers';
import { callPublicKey } from '@uswarm/service-kit';
import type { RuntimeSpec } from '../driver.js';

export interface RuntimeEnvironmentOptions {
  callPrivateKey: string;
  mcpEndpoint: string | undefined;
  logLevel: string;
  /** Where the allowed names below are taken from. */
  environment: Record<string, string | undefined>;
}

/** Settings of the model provider, and what Node needs to reach it. Nothing else is passed on. */
const PASSED_ON = [
  ...PROVIDER_VARIABLES,
  'USWARM_DEFAULT_PROVIDER',
  'USWARM_DEFAULT_MODEL',
  'USWARM_MODEL_TIMEOUT_MS',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'TZ',
];

/** A runtime that nobody calls for this long ends by itself: nothing is left of a crashed orchestrator. */
const IDLE_EXIT_MS = '60000';

/** The environment of a runtime process: what a pod would get, and no secret of the platform's. */
export function runtimeEnvironment(options: RuntimeEnvironmentOptions) {
  const publicKey = callPublicKey(options.callPrivateKey);
  const passedOn = PASSED_ON.flatMap((name) => {
    const value = options.environment[name];
    return value === undefined || value === '' ? [] : [[name, value] as const];
  });
  return ({ workspaceId, userId }: Pick<RuntimeSpec, 'workspaceId' | 'userId'>): Record<string, string> => ({
    ...Object.fromEntries(passedOn),
    USWARM_WORKSPACE_ID: workspaceId,
    USWARM_USER_ID: userId,
    USWARM_RUNTIME_HOST: '127.0.0.1',
    USWARM_RUNTIME_PORT: '0',
    USWARM_CALL_PUBLIC_KEY: publicKey,
    USWARM_IDLE_EXIT_MS: IDLE_EXIT_MS,
    LOG_LEVEL: options.logLevel,
    ...(options.mcpEndpoint === undefined ? {} : { SVC_MCP_ENDPOINT: options.mcpEndpoint }),
  });
}
