import { z } from 'zod';
import { IntegrationItemType, IntegrationProvider } from '../enums.js';

export const IntegrationCategory = z
  .strictObject({ id: z.string(), name: z.string(), image_url: z.string() })
  .meta({ id: 'IntegrationCategory' });

export const IntegrationItem = z
  .strictObject({
    name: z.string(),
    description: z.string(),
    icon_url: z.string(),
    category_id: z.string().optional(),
    type: IntegrationItemType,
    provider: IntegrationProvider.nullable(),
    enabled: z.boolean(),
  })
  .meta({ id: 'IntegrationItem' });

export const IntegrationCatalog = z
  .strictObject({ categories: z.array(IntegrationCategory), items: z.array(IntegrationItem) })
  .meta({ id: 'IntegrationCatalog' });
export type IntegrationCatalog = z.output<typeof IntegrationCatalog>;

export const OAuthConfiguration = z
  .strictObject({
    client_id: z.string(),
    redirect_url: z.string(),
    authorization_endpoint: z.string(),
    token_endpoint: z.string(),
    scopes: z.array(z.string()),
    additional_parameters: z.record(z.string(), z.string()).meta({
      description:
        'Additional parameters of the authorization URL. With `code_challenge_method` (S256), a `code_challenge` is also required. ' +
        '`state` is valid for one flow of this user and expires after 30 minutes; return it with the callback.',
    }),
  })
  .meta({ id: 'OAuthConfiguration' });
export type OAuthConfiguration = z.output<typeof OAuthConfiguration>;
