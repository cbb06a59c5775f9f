import type { Clock } from '@uswarm/service-kit';
import type { Connections } from '../../records/connections.js';
import { createGroups, READS_OF_RECONNECTS } from '../../platform/database/groups.js';
import type { Plans } from '../../metering/plans.js';
import { userHandlers } from './users.routes.js';
import { createUserService } from './users.service.js';
import { areUsersBanned } from '../../records/users.store.js';

export interface UsersModuleDeps {
  connections: Pick<Connections, 'database' | 'withTransaction' | 'events'>;
  plans: Plans;
  clock: Clock;
}

export function createUsersModule({ connections, plans, clock }: UsersModuleDeps) {
  const { database, withTransaction, events } = connections;
  const service = createUserService({
    withTransaction,
    database,
    events,
    plans,
    clock,
  });
  /** Undefined if the user does not exist. */
  const isBanned = createGroups({
    run: (userIds: readonly string[]) => areUsersBanned(database, userIds),
    ...READS_OF_RECONNECTS,
  });
  return { isBanned, service, routes: userHandlers(service) };
}
