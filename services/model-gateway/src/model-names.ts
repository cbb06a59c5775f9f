import { GatewayError } from './gateway-error.js';

export const CATALOGUE_IDS = ['flash', 'sonnet', 'opus'] as const;

/** The models of a provider that runtimes may use. */
export interface ModelNames {
  /** The names of the models of the catalogue. */
  byId: Readonly<Record<(typeof CATALOGUE_IDS)[number], string | undefined>>;
  /** For ids that `byId` does not name. */
  fallback: string | undefined;
  /** Further allowed names. */
  further: readonly string[];
}

/**
 * Returns the name at the provider for a model id of the catalogue or an allowed name.
 * @throws GatewayError `model_not_allowed`
 */
export function allowedModel(requested: string, { byId, fallback, further }: ModelNames): string {
  const id = CATALOGUE_IDS.find((known) => known === requested);
  const model = id === undefined ? undefined : (byId[id] ?? fallback);
  if (model !== undefined) return model;
  if ([...Object.values(byId), fallback, ...further].includes(requested)) return requested;
  throw new GatewayError('model_not_allowed', 'This model is not configured.');
}

/**
 * Returns the model id of the catalogue for its name at the provider, so that a call has the price of its model by each name.
 * If several ids have this name, it is the last one, which is the most capable. Names without an id stay.
 */
export function pricedModel(requested: string, { byId, fallback }: ModelNames): string {
  if (CATALOGUE_IDS.some((known) => known === requested)) return requested;
  return CATALOGUE_IDS.findLast((id) => (byId[id] ?? fallback) === requested) ?? requested;
}
