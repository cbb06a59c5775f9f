import type { ModelCatalogItem } from '@uswarm/contract';
import type { Handlers } from '../../http/handlers.js';
import type { LegalDocuments } from './catalog.js';

export interface CoreDeps {
  version: string;
  models: ModelCatalogItem[];
  legal: LegalDocuments;
  /** Whether Postgres answers. */
  online: () => Promise<boolean>;
}

/** The public routes. spec: orchestrator §4.1 */
export function coreHandlers({ version, models, legal, online }: CoreDeps) {
  return {
    getHealth: async () => ({ status: 200, body: { data: { online: await online(), version } } }),
    listModels: async () => ({ status: 200, body: { data: models } }),
    getLegal: async () => ({
      status: 200,
      body: {
        data: {
          terms_of_service: legal.termsOfService,
          privacy_policy: legal.privacyPolicy,
          has_agreed_with_terms: false,
          has_agreed_with_privacy_policy: false,
          terms_of_service_version: legal.version,
          privacy_policy_version: legal.version,
        },
      },
    }),
  } satisfies Handlers;
}
