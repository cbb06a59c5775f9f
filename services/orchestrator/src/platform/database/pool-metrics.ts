import type { Registry } from '@uswarm/service-kit';
import type pg from 'pg';
import { Gauge } from 'prom-client';

const pools = new WeakMap<Registry, Map<string, pg.Pool>>();

/** Also measures statements that wait for a connection. */
export function measurePool(registry: Registry, name: string, pool: pg.Pool): void {
  const measured = pools.get(registry);
  if (measured !== undefined) {
    measured.set(name, pool);
    return;
  }
  const first = new Map([[name, pool]]);
  pools.set(registry, first);
  register(registry, first);
}

function register(registry: Registry, measured: ReadonlyMap<string, pg.Pool>): void {
  const registers = [registry];
  const connections: Gauge<'pool' | 'state'> = new Gauge({
    name: 'uswarm_database_connections',
    help: 'Connections to Postgres by pool and state.',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      for (const [pool, { idleCount, totalCount }] of measured) {
        connections.set({ pool, state: 'idle' }, idleCount);
        connections.set({ pool, state: 'in_use' }, totalCount - idleCount);
      }
    },
  });
  const limit: Gauge<'pool'> = new Gauge({
    name: 'uswarm_database_connections_limit',
    help: 'Maximum connections to Postgres by pool of this process.',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const [pool, { options }] of measured) limit.set({ pool }, options.max);
    },
  });
  const waiting: Gauge<'pool'> = new Gauge({
    name: 'uswarm_database_pool_pending',
    help: 'Statements and transactions that wait for a free connection, by pool.',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const [pool, { waitingCount }] of measured) waiting.set({ pool }, waitingCount);
    },
  });
}
