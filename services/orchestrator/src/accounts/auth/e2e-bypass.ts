import { timingSafeEqual } from 'node:crypto';
import { ApiError } from '@uswarm/contract';
import type { Identity } from './actor.js';
import type { Credentials } from '../../platform/http/credentials.js';
import { isSubject, profileEmail, profileName } from './id-token-claims.js';

/**
 * Lets a CI pipeline name the user to act as. Only `main.nonproduction.ts` and local mode import this module. AUTH-003
 */
export interface EndToEndBypass {
  /** Reads the identity from the headers; undefined if they name none. @throws ApiError `token_invalid` */
  identify(credentials: Credentials): { identity: Identity; token: string } | undefined;
}

const MINIMUM_BYTES = 32;

export function createEndToEndBypass(token: string): EndToEndBypass {
  const expected = Buffer.from(token);
  if (expected.length < MINIMUM_BYTES) throw new Error(`E2E_TOKEN needs at least ${MINIMUM_BYTES} bytes`);
  return {
    identify(credentials) {
      const sent = credentials['x-e2e-token'];
      if (sent === undefined) return undefined;
      const actual = Buffer.from(sent);
      const subject = credentials['x-e2e-uid'];
      const matches = actual.length === expected.length && timingSafeEqual(actual, expected);
      if (!matches || subject === undefined || !isSubject(subject)) throw new ApiError('token_invalid');
      return {
        token: sent,
        identity: {
          issuer: 'e2e',
          subject,
          email: profileEmail(credentials['x-e2e-email'] ?? ''),
          name: profileName(credentials['x-e2e-name'] ?? ''),
          expiresAt: null,
          issuedAt: null,
          authenticatedAt: null,
        },
      };
    },
  };
}
