import { z } from 'zod';

/** A Google service account's key file. Other fields are ignored. */
export const ServiceAccount = z.object({
  type: z.literal('service_account'),
  project_id: z.string().regex(/^[a-z0-9:.-]{1,100}$/),
  private_key_id: z.string().min(1).optional(),
  private_key: z.string().startsWith('-----BEGIN PRIVATE KEY-----'),
  client_email: z.string().min(1),
  token_uri: z.url().default('https://oauth2.googleapis.com/token'),
});
export type ServiceAccount = z.output<typeof ServiceAccount>;
