import { z } from 'zod';
import { AttachmentType } from '../enums.js';
import { Id } from './primitives.js';

/** spec: orchestrator §2.2 */
export const Health = z.strictObject({ online: z.boolean(), version: z.string() }).meta({ id: 'Health' });
export type Health = z.output<typeof Health>;

/** spec: orchestrator §2.3 */
export const ModelCatalogItem = z
  .strictObject({ id: z.string(), name: z.string(), provider: z.string(), description: z.string() })
  .meta({ id: 'ModelCatalogItem' });
export type ModelCatalogItem = z.output<typeof ModelCatalogItem>;

/** A document as its own standard has it. */
export const OpenApiBody = z.looseObject({ openapi: z.string() }).meta({ id: 'OpenApiBody' });
export type OpenApiBody = z.output<typeof OpenApiBody>;

/** A document as its own standard has it. */
export const AsyncApiBody = z.looseObject({ asyncapi: z.string() }).meta({ id: 'AsyncApiBody' });

export const LegalDocumentName = z.enum(['terms_of_service', 'privacy_policy']);
export type LegalDocumentName = z.output<typeof LegalDocumentName>;

/** spec: orchestrator §2.4 */
export const LegalStatus = z
  .strictObject({
    terms_of_service: z.string(),
    privacy_policy: z.string(),
    has_agreed_with_terms: z.boolean(),
    has_agreed_with_privacy_policy: z.boolean(),
    terms_of_service_version: z.string(),
    privacy_policy_version: z.string(),
  })
  .meta({ id: 'LegalStatus' });
export type LegalStatus = z.output<typeof LegalStatus>;

/** spec: orchestrator §2.10 */
export const Attachment = z
  .strictObject({
    id: Id,
    url: z.string(),
    type: AttachmentType,
    name: z.string(),
    size: z.int().nonnegative(),
    mime_type: z.string(),
    duration: z.int().nonnegative().nullable(),
  })
  .meta({ id: 'Attachment' });
export type Attachment = z.output<typeof Attachment>;
