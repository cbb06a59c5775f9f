import { configuredProvider, PROVIDER_CONNECTIONS, PROVIDER_VARIABLES } from '@uswarm/contract/providers';
import { callPublicKey } from '@uswarm/service-kit';

export interface RuntimeEnvironmentOptions {
  callPrivateKey: string;
  mcpEndpoint: string | undefined;
  /** Model gateway origin. If set, runtimes get neither a provider key nor a provider address. */
  modelGatewayUrl: string | undefined;
  logLevel: string;
  /** The source for the variables in PASSED_ON. */
  environment: Record<string, string | undefined>;
}

/** Settings for the model provider and Node's network. No other variables are passed on. */
const PASSED_ON = [
  ...PROVIDER_VARIABLES,
  'USWARM_DEFAULT_PROVIDER',
  'USWARM_DEFAULT_MODEL',
  'USWARM_MODEL_TIMEOUT_MS',
  'USWARM_MODEL_RETRY_MS',
  'USWARM_MODEL_CONTEXT_WINDOW',
  'USWARM_MODEL_OUTPUT_LIMIT',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'TZ',
];

/** Provider keys and addresses. */
const CONNECTIONS = new Set<string>(
  Object.values(PROVIDER_CONNECTIONS).flatMap(({ baseUrl, apiKey }) => [baseUrl, apiKey]),
);

/** A runtime exits after this time without calls, so that a crashed orchestrator leaves no processes behind. */
const IDLE_EXIT_MS = '60000';

/** Returns the same environment that a pod gets, without platform secrets. */
export function runtimeEnvironment(options: RuntimeEnvironmentOptions) {
  const publicKey = callPublicKey(options.callPrivateKey);
  const withheld = options.modelGatewayUrl === undefined ? new Set<string>() : CONNECTIONS;
  const passedOn = PASSED_ON.flatMap((name) => {
    const value = options.environment[name];
    return value === undefined || value === '' || withheld.has(name) ? [] : [[name, value] as const];
  });
  // Without a key and an address, a runtime would use the demo provider.
  const gateway =
    options.modelGatewayUrl === undefined
      ? {}
      : {
          MODEL_GATEWAY_URL: options.modelGatewayUrl,
          USWARM_DEFAULT_PROVIDER:
            options.environment['USWARM_DEFAULT_PROVIDER'] || configuredProvider(options.environment),
        };
  return (identity: Record<string, string>): Record<string, string> => ({
    ...Object.fromEntries(passedOn),
    ...identity,
    USWARM_RUNTIME_HOST: '127.0.0.1',
    USWARM_RUNTIME_PORT: '0',
    USWARM_CALL_PUBLIC_KEY: publicKey,
    USWARM_IDLE_EXIT_MS: IDLE_EXIT_MS,
    LOG_LEVEL: options.logLevel,
    ...(options.mcpEndpoint === undefined ? {} : { SVC_MCP_ENDPOINT: options.mcpEndpoint }),
    ...gateway,
  });
}
