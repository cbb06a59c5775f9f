import type { Database } from '../../platform/database/database.js';
import { type LegalConfig, publishLegalFiles } from './legal-files.js';
import { legalHandlers } from './legal.routes.js';
import { createLegalService } from './legal.service.js';

export interface LegalModuleDeps {
  config: LegalConfig;
  database: Database;
}

/** Publishes new documents from the configured directory. */
export async function createLegalModule({ config, database }: LegalModuleDeps) {
  await publishLegalFiles(config, database);
  return { routes: legalHandlers(createLegalService({ database })) };
}
