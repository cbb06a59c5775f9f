import type { Clock } from '@uswarm/service-kit';
import { sql } from 'kysely';
import type { OrchestratorConfig } from '../../config.js';
import type { Database } from '../database/database.js';
import type { Assets } from './assets.js';
import { coreHandlers } from './core.routes.js';
import { sharedHealth } from './health.js';
import type { ModelCatalog } from './models.js';
import { asyncApiSource, openApiSource } from './openapi.js';

export interface CoreModuleDeps {
  config: Pick<OrchestratorConfig, 'PUBLIC_URL'>;
  version: string;
  database: Database;
  assets: Assets;
  models: ModelCatalog;
  clock: Clock;
  /** True if this system accepts the end-to-end bypass: then its documents describe it. */
  bypass: boolean;
}

export function createCoreModule({ config, version, database, assets, models, clock, bypass }: CoreModuleDeps) {
  const online = (): Promise<boolean> =>
    sql`SELECT 1`.execute(database).then(
      () => true,
      () => false,
    );
  const documents = { version, publicUrl: config.PUBLIC_URL, bypass };
  return {
    online,
    routes: coreHandlers({
      version,
      models: models.items,
      online: sharedHealth(online, clock),
      openApi: openApiSource(documents),
      asyncApi: asyncApiSource(documents),
      assets,
    }),
  };
}
