import type { Clock } from '@uswarm/service-kit';
import type { Database } from '../../database/database.js';
import { createLegalStore } from '../legal/legal.store.js';
import type { Plans } from '../plans/plans.js';
import { userHandlers } from './users.routes.js';
import { createUserService } from './users.service.js';
import { createUserStore } from './users.store.js';

export interface UsersModuleDeps {
  database: Database;
  plans: Plans;
  clock: Clock;
}

/** Profiles of users. */
export function createUsersModule({ database, plans, clock }: UsersModuleDeps) {
  const store = createUserStore(database);
  const service = createUserService({
    store,
    legal: createLegalStore(database),
    plans,
    clock,
  });
  return { store, service, routes: userHandlers(service) };
}
