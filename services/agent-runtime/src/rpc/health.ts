import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import { AgentRuntime, health } from '@uswarm/runtime-proto';
import { createEventLog } from '../turns/event-log.js';

const { SERVING, NOT_SERVING, SERVICE_UNKNOWN } = health.HealthCheckResponse_ServingStatus;
/** The empty name is the server as a whole. */
const SERVICES = new Set(['', AgentRuntime.typeName]);

export interface HealthState {
  /** Reports NOT_SERVING from now on. */
  stopServing(): void;
  /** Ends all watchers' streams. */
  close(): void;
  routes: ServiceImpl<typeof health.Health>;
}

/** The standard gRPC health protocol for kubelets. It requires no token. */
export function createHealth(): HealthState {
  const changes = createEventLog<health.HealthCheckResponse_ServingStatus>();
  changes.append(SERVING);
  const current = (): health.HealthCheckResponse_ServingStatus => (changes.length === 1 ? SERVING : NOT_SERVING);

  return {
    stopServing() {
      if (changes.length === 1) changes.append(NOT_SERVING);
    },
    close: () => changes.close(new ConnectError('shutting down', Code.Unavailable)),
    routes: {
      check({ service }) {
        if (!SERVICES.has(service)) throw new ConnectError('unknown service', Code.NotFound);
        return { status: current() };
      },
      async *watch({ service }, { signal }) {
        const known = SERVICES.has(service);
        if (!known) yield { status: SERVICE_UNKNOWN };
        // The protocol keeps an unknown service's stream open.
        for await (const status of changes.read(known ? changes.length - 1 : Number.MAX_SAFE_INTEGER, signal)) {
          yield { status };
        }
      },
    },
  };
}
