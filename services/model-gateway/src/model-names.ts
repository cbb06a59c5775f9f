import { CATALOGUE_IDS, type CatalogueId } from '@uswarm/contract/providers';
import { GatewayError } from './gateway-error.js';

/** A provider's models that runtimes may use. */
export interface ModelNames {
  /** Model names by catalogue id. */
  byId: Readonly<Record<CatalogueId, string | undefined>>;
  /** For ids that `byId` does not name. */
  fallback: string | undefined;
  /** Further allowed names. */
  further: readonly string[];
}

/**
 * Returns the provider's name for a catalogue id or an allowed name.
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
 * Returns the catalogue id for a provider's name, so that a call has its model's price by each name. If several ids
 * have this name, it is the last one, which is the most capable. Names without an id stay.
 */
export function pricedModel(requested: string, { byId, fallback }: ModelNames): string {
  if (CATALOGUE_IDS.some((known) => known === requested)) return requested;
  return CATALOGUE_IDS.findLast((id) => (byId[id] ?? fallback) === requested) ?? requested;
}
