import type { Clock } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../../config.js';
import type { PermitRequest } from '../../platform/http/routes.js';
import type { Connections } from '../../records/connections.js';
import type { SessionRevocationPublisher } from '../auth/session-revocation-publisher.js';
import { apiTokenHandlers } from './api-tokens.routes.js';
import { createApiTokenService } from './api-tokens.service.js';
import { requireAccess } from './token-reach.js';
import { findWorkspaceOf } from './token-reach.store.js';

export interface ApiTokensModuleDeps {
  config: Pick<OrchestratorConfig, 'API_TOKEN_DAYS' | 'API_TOKEN_MAX_DAYS'>;
  connections: Pick<Connections, 'database' | 'withTransaction'>;
  sessionEnds: Pick<SessionRevocationPublisher, 'publish'>;
  clock: Clock;
}

export function createApiTokensModule({ config, connections, sessionEnds, clock }: ApiTokensModuleDeps) {
  const { database, withTransaction } = connections;
  const service = createApiTokenService({
    database,
    withTransaction,
    sessionEnds,
    days: { initial: config.API_TOKEN_DAYS, maximum: config.API_TOKEN_MAX_DAYS },
    clock,
  });
  const permit: PermitRequest = (actor, route, params) =>
    requireAccess(actor, route, params, (kind, id) => findWorkspaceOf(database, kind, id));
  return { permit, routes: apiTokenHandlers(service) };
}
