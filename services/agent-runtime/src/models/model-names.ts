import { CATALOGUE_IDS } from '@uswarm/contract/providers';
import { ModelError } from './port.js';

/** Maps catalogue ids to provider names. */
export interface ModelNames {
  byId: Readonly<Record<string, string | undefined>>;
  /** For every id that `byId` does not name. */
  fallback?: string | undefined;
  /** For requests without a model: a catalogue id or a provider's name. */
  preferred?: string | undefined;
  /** The variable that sets `fallback`, for the error message. */
  variable: string;
}

const CATALOGUE = new Set<string>(CATALOGUE_IDS);
/** If neither the request nor the configuration has a model. */
const DEFAULT_ID = 'sonnet';

/** @throws ModelError if no model is configured */
export function resolveModel(requested: string, { byId, fallback, preferred, variable }: ModelNames): string {
  const id = requested || preferred || DEFAULT_ID;
  if (!CATALOGUE.has(id)) return id;
  const isId = CATALOGUE.has(preferred || DEFAULT_ID);
  // An id without a name becomes the default model.
  const model = byId[id] ?? fallback ?? (isId ? byId[preferred || DEFAULT_ID] : preferred);
  if (model) return model;
  throw new ModelError('model_rejected', `No model is configured: set ${variable}.`);
}
