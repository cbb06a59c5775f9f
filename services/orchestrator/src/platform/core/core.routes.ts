import type { ModelCatalogItem } from '@uswarm/contract';
import type { DocumentAnswer } from '../http/document-answer.js';
import type { Handler, Handlers } from '../http/handlers.js';
import type { Assets } from './assets.js';

export interface CoreDeps {
  version: string;
  models: ModelCatalogItem[];
  online: () => Promise<boolean>;
  openApi: () => Promise<DocumentAnswer>;
  asyncApi: () => Promise<DocumentAnswer>;
  assets: Pick<Assets, 'get'>;
}

/** REST-001, REST-002: public routes, including the API documents and assets. */
export function coreHandlers({ version, models, online, openApi, asyncApi, assets }: CoreDeps) {
  const getAsset: Handler<'getAsset'> = async ({ params }) => assets.get(params.name);
  return {
    getHealth: async () => ({ status: 200, body: { data: { online: await online(), version } } }),
    getOpenApi: openApi,
    getAsyncApi: asyncApi,
    getAsset,
    listModels: async () => ({ status: 200, body: { data: models } }),
  } satisfies Partial<Handlers>;
}
