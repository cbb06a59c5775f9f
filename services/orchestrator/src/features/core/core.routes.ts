import type { ModelCatalogItem, OpenApiBody } from '@uswarm/contract';
import type { Handlers } from '../../http/handlers.js';

export interface CoreDeps {
  version: string;
  models: ModelCatalogItem[];
  /** Whether Postgres answers. */
  online: () => Promise<boolean>;
  openApi: () => Promise<OpenApiBody>;
}

/** The public routes. spec: orchestrator §4.1 */
export function coreHandlers({ version, models, online, openApi }: CoreDeps) {
  return {
    getHealth: async () => ({ status: 200, body: { data: { online: await online(), version } } }),
    getOpenApi: async () => ({ status: 200, body: await openApi() }),
    listModels: async () => ({ status: 200, body: { data: models } }),
  } satisfies Partial<Handlers>;
}
