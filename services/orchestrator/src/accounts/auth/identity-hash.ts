import { createHmac } from 'node:crypto';
import type { Identity } from './actor.js';

/** Identifies a user in data that outlives the account: deleted accounts, the audit log, log lines. */
export type IdentityHash = (identity: Pick<Identity, 'issuer' | 'subject'>) => Buffer;

/** @param key secret; without it, a hash cannot be linked to an identity */
export function createIdentityHash(key: string): IdentityHash {
  return ({ issuer, subject }) => createHmac('sha256', key).update(`${issuer}\n${subject}`).digest();
}
