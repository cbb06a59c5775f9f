import { z } from 'zod';

export const LegalDocumentName = z.enum(['terms_of_service', 'privacy_policy']);
export type LegalDocumentName = z.output<typeof LegalDocumentName>;

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
