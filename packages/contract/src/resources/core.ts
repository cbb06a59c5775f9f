import { z } from 'zod';

export const Health = z.strictObject({ online: z.boolean(), version: z.string() }).meta({ id: 'Health' });
export type Health = z.output<typeof Health>;

export const ModelCatalogItem = z
  .strictObject({ id: z.string(), name: z.string(), provider: z.string(), description: z.string() })
  .meta({ id: 'ModelCatalogItem' });
export type ModelCatalogItem = z.output<typeof ModelCatalogItem>;

/** A document in the format of its standard. */
export const OpenApiBody = z.looseObject({ openapi: z.string() }).meta({ id: 'OpenApiBody' });
export type OpenApiBody = z.output<typeof OpenApiBody>;

/** A document in the format of its standard. */
export const AsyncApiBody = z.looseObject({ asyncapi: z.string() }).meta({ id: 'AsyncApiBody' });
