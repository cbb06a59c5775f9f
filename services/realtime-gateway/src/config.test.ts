import { describe, expect, it } from '@jest/globals';
import { loadConfig } from '@uswarm/service-kit';
import { GatewayConfig } from './config.js';

const required = {
  INTERNAL_API_URL: 'http://orchestrator:8082',
  INTERNAL_API_KEY: 'k1:0123456789abcdef0123456789abcdef',
  REALTIME_REDIS_URL: 'redis://valkey:6379',
};

describe('gateway configuration', () => {
  it('requires only the orchestrator URL, its key and the Redis URL', () => {
    expect(() => loadConfig(GatewayConfig, {})).toThrow(
      'INTERNAL_API_URL is not set\nINTERNAL_API_KEY is not set\nREALTIME_REDIS_URL is not set',
    );
    expect(loadConfig(GatewayConfig, required)).toMatchObject({
      GATEWAY_PORT: 8080,
      OPS_PORT: 8081,
      TRANSPORTS: ['polling', 'websocket'],
      CORS_ORIGINS: [],
      SOCKETS_PER_USER: 10,
      SOCKET_EVENTS_PER_S: 20,
      SOCKET_EVENTS_BURST: 40,
      SOCKET_UNREAD_BYTES: 1_048_576,
      UNAUTHENTICATED_PER_ADDRESS: 1_000,
      HTTP_TRUSTED_PROXIES: [],
    });
  });

  it('reads comma-separated lists', () => {
    const env = { ...required, TRANSPORTS: 'websocket', CORS_ORIGINS: 'https://a.test, https://b.test,' };
    expect(loadConfig(GatewayConfig, env)).toMatchObject({
      TRANSPORTS: ['websocket'],
      CORS_ORIGINS: ['https://a.test', 'https://b.test'],
    });
  });

  it.each([
    ['TRANSPORTS', 'carrier-pigeon'],
    ['TRANSPORTS', ','],
    ['REALTIME_REDIS_URL', 'http://valkey'],
    ['INTERNAL_API_URL', 'orchestrator'],
    ['INTERNAL_API_KEY', 'short'],
    ['GATEWAY_PORT', '70000'],
    ['HTTP_TRUSTED_PROXIES', 'everyone'],
    ['CORS_ORIGINS', '*,https://a.test'],
  ])('rejects %s=%s', (name, value) => {
    expect(() => loadConfig(GatewayConfig, { ...required, [name]: value })).toThrow(
      new RegExp(`^${name}(\\.0)? is not valid`),
    );
  });
});
