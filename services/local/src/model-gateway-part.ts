import {
  createModelCallClient,
  createModelGateway,
  createModelGatewayMetrics,
  loadModelGatewayConfig,
  type ModelGateway,
} from '@uswarm/model-gateway';
import { type CloseStack, listen, type Logger, type Registry } from '@uswarm/service-kit';
import type { LocalSecrets } from './local-secrets.js';

export interface ModelGatewayPartOptions {
  /** The user's environment, with the model provider settings. */
  environment: Record<string, string | undefined>;
  secrets: Pick<LocalSecrets, 'model_calls_key' | 'model_token_key'>;
  host: string;
  metrics: Registry;
  logger: Logger;
  stack: CloseStack;
}

export interface ModelGatewayPart {
  /** Origin for runtimes. */
  url: string;
  /** Begins to serve, as soon as the orchestrator's internal API listens. */
  connect(internalUrl: string): void;
}

/**
 * Starts the model gateway in this process, so that runtimes have no provider key. Its address is an input of the
 * orchestrator, whose address is an input of the gateway: it listens first, and serves after `connect`.
 */
export async function startModelGatewayPart(options: ModelGatewayPartOptions): Promise<ModelGatewayPart> {
  const { environment, secrets, host, metrics, logger, stack } = options;
  let gateway: ModelGateway | undefined;
  const http = await listen(
    (request, response) => {
      if (gateway === undefined) response.writeHead(503, { 'retry-after': '1' }).end();
      else gateway.handler(request, response);
    },
    { host, port: 0 },
  );
  stack.defer('model gateway', () => http.close(1_000));
  return {
    url: http.url,
    connect(internalUrl) {
      const config = loadModelGatewayConfig({
        ...environment,
        MODEL_TOKEN_SIGNING_KEY: secrets.model_token_key,
        INTERNAL_API_URL: internalUrl,
        MODEL_CALLS_KEY: secrets.model_calls_key,
      });
      const calls = createModelCallClient(config.internalApi);
      stack.defer('client for model calls', () => calls.close());
      const started = createModelGateway({ config, calls, metrics: createModelGatewayMetrics(metrics), logger });
      stack.defer('model calls', () => started.close());
      gateway = started;
    },
  };
}
