import type { ModelCatalogItem } from '@uswarm/contract';
import type { DocumentAnswer } from '../../http/document-answer.js';
import type { Handlers } from '../../http/handlers.js';

export interface CoreDeps {
  version: string;
  models: ModelCatalogItem[];
  /** Whether Postgres answers. */
  online: () => Promise<boolean>;
  openApi: () => Promise<DocumentAnswer>;
}

/** The public routes. spec: orchestrator §4.1 */
export function coreHandlers({ version, models, online, openApi }: CoreDeps) {
  return {
    getHealth: async () => ({ status: 200, body: { data: { online: await online(), version } } }),
    getOpenApi: openApi,
    listModels: async () => ({ status: 200, body: { data: models } }),
  } satisfies Partial<Handlers>;
}
