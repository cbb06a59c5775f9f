import { readGauge, type Registry } from '@uswarm/service-kit';
import type pg from 'pg';
import { Gauge } from 'prom-client';

/** How much of the pool is in use, and who waits for a connection of it. */
export function measurePool(registry: Registry, pool: pg.Pool): void {
  const connections: Gauge<'state'> = new Gauge({
    name: 'uswarm_database_connections',
    help: 'Connections to Postgres, by whether something uses them.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      connections.set({ state: 'idle' }, pool.idleCount);
      connections.set({ state: 'in_use' }, pool.totalCount - pool.idleCount);
    },
  });
  const { max } = pool.options;
  readGauge(
    registry,
    'uswarm_database_connections_limit',
    'Connections to Postgres that this process may have.',
    () => max,
  );
  readGauge(
    registry,
    'uswarm_database_waiting',
    'Statements and transactions that wait for a connection.',
    () => pool.waitingCount,
  );
}
