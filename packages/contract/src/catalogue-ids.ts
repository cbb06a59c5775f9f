/** Ids of the model catalogue. */
export const CATALOGUE_IDS = ['flash', 'sonnet', 'opus'] as const;
export type CatalogueId = (typeof CATALOGUE_IDS)[number];
