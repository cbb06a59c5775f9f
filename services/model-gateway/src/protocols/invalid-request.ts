import type { z } from 'zod';
import { GatewayError } from '../gateway-error.js';

/** Names the fields, never their values. */
export function invalidRequest(error: z.ZodError): GatewayError {
  const fields = [...new Set(error.issues.map(({ path }) => String(path[0] ?? 'body')))];
  return new GatewayError('invalid_request', `These fields are not valid or not allowed: ${fields.join(', ')}.`);
}
