import { z } from 'zod';

export const LegalDocumentName = z.enum(['terms_of_service', 'privacy_policy']);
export type LegalDocumentName = z.output<typeof LegalDocumentName>;

export const LegalStatus = z
  .strictObject({
    terms_of_service: z.string().meta({ description: 'The whole document as Markdown of the operator.' }),
    privacy_policy: z.string().meta({ description: 'The whole document as Markdown of the operator.' }),
    has_agreed_with_terms: z
      .boolean()
      .meta({ description: 'Whether the user accepted the present version of the document.' }),
    has_agreed_with_privacy_policy: z.boolean().meta({
      description: 'Whether the user accepted the present version of the document.',
    }),
    terms_of_service_version: z.string().meta({ description: 'What to send when the user accepts the present text.' }),
    privacy_policy_version: z.string().meta({ description: 'What to send when the user accepts the present text.' }),
  })
  .meta({ id: 'LegalStatus', description: 'The legal documents, and whether the user has accepted them.' });
export type LegalStatus = z.output<typeof LegalStatus>;
