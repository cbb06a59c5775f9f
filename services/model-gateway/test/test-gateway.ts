import type { ModelCallReservation, ModelCallTerms, ModelCallUsage } from '@uswarm/contract';
import {
  type BodyRules,
  createLogger,
  createMetrics,
  listen,
  type ModelTokenTurn,
  parseSigningKey,
  type Registry,
  signModelToken,
} from '@uswarm/service-kit';
import { loadModelGatewayConfig } from '../src/config.js';
import { createModelGatewayMetrics } from '../src/metrics.js';
import type { ModelCallClient } from '../src/model-call-client.js';
import { createModelGateway } from '../src/model-gateway.js';

export const TOKEN_KEY = `t1:${'m'.repeat(32)}`;
export const PROVIDER_KEY = 'provider-key-of-this-test';
export const TURN: ModelTokenTurn = {
  workspaceId: '0192d3a4-0000-7000-8000-000000000001',
  turnId: '0192d3a4-0000-7000-8000-000000000002',
  agentId: '0192d3a4-0000-7000-8000-000000000003',
  purpose: 'turn',
};

export interface TestGatewayOptions {
  /** Provider origin. */
  provider: string;
  environment?: Record<string, string>;
  /** How fast bodies must arrive. */
  bodies?: BodyRules;
  /** Catalogue entry for the model. */
  terms?: ModelCallTerms;
  /** Called for each reservation; throws to refuse it. */
  onReserve?: (call: ModelCallReservation) => void | Promise<void>;
  onSettle?: () => void | Promise<void>;
}

export interface TestGateway {
  url: string;
  reserved: ModelCallReservation[];
  /** Settled usage by call. */
  settled: Map<string, ModelCallUsage>;
  log: string[];
  registry: Registry;
  token: string;
  openai(body: object, init?: RequestInit): Promise<Response>;
  anthropic(body: object, init?: RequestInit): Promise<Response>;
  close(): Promise<void>;
}

/** A gateway over HTTP with an orchestrator in memory. */
export async function startTestGateway(options: TestGatewayOptions): Promise<TestGateway> {
  const { provider, onReserve, onSettle, terms = { context_window: null, prices: null } } = options;
  const config = loadModelGatewayConfig({
    MODEL_TOKEN_SIGNING_KEY: TOKEN_KEY,
    INTERNAL_API_URL: 'http://127.0.0.1:1',
    MODEL_CALLS_KEY: `k1:${'s'.repeat(32)}`,
    OPENAI_BASE_URL: `${provider}/v1`,
    OPENAI_API_KEY: PROVIDER_KEY,
    OPENAI_MODEL: 'gpt-default',
    OPENAI_MODEL_FLASH: 'gpt-small',
    ANTHROPIC_BASE_URL: `${provider}/v1`,
    ANTHROPIC_API_KEY: PROVIDER_KEY,
    ANTHROPIC_MODEL: 'claude-default',
    ...options.environment,
  });
  const reserved: ModelCallReservation[] = [];
  const settled = new Map<string, ModelCallUsage>();
  const calls: Pick<ModelCallClient, 'reserve' | 'settle'> = {
    async reserve(call) {
      await onReserve?.(call);
      reserved.push(call);
      return terms;
    },
    async settle(id, usage) {
      await onSettle?.();
      settled.set(id, usage);
    },
  };
  const log: string[] = [];
  const destination = { write: (line: string) => void log.push(line) };
  const registry = createMetrics('model-gateway');
  const gateway = createModelGateway({
    config,
    calls,
    metrics: createModelGatewayMetrics(registry),
    logger: createLogger({ service: 'model-gateway', level: 'trace', destination }),
  });
  const { bodies } = options;
  const http = await listen(gateway.handler, {
    host: '127.0.0.1',
    port: 0,
    ...(bodies === undefined ? {} : { bodies }),
  });
  const token = await signModelToken(parseSigningKey(TOKEN_KEY), TURN);
  const post = (path: string, headers: Record<string, string>, body: object, init: RequestInit = {}) =>
    fetch(`${http.url}${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      ...init,
      headers: { 'content-type': 'application/json', ...headers, ...(init.headers as Record<string, string>) },
    });
  return {
    url: http.url,
    reserved,
    settled,
    log,
    registry,
    token,
    openai: (body, init) => post('/openai/v1/chat/completions', { authorization: `Bearer ${token}` }, body, init),
    anthropic: (body, init) => post('/anthropic/v1/messages', { 'x-api-key': token }, body, init),
    async close() {
      await http.close(0);
      await gateway.close();
    },
  };
}
