import type { OrchestratorConfig } from '../../config.js';
import { loadLegalDocuments } from '../../platform/core/catalog.js';
import { installDocuments } from './legal.store.js';
import type { Database } from '../../platform/database/database.js';

export type LegalConfig = Pick<
  OrchestratorConfig,
  'LEGAL_VERSION' | 'LEGAL_TERMS_VERSION' | 'LEGAL_PRIVACY_VERSION' | 'LEGAL_DIRECTORY'
>;

export async function publishLegalFiles(config: LegalConfig, database: Database): Promise<void> {
  const versions = {
    terms_of_service: config.LEGAL_TERMS_VERSION ?? config.LEGAL_VERSION,
    privacy_policy: config.LEGAL_PRIVACY_VERSION ?? config.LEGAL_VERSION,
  };
  await installDocuments(database, loadLegalDocuments(versions, config.LEGAL_DIRECTORY));
}
